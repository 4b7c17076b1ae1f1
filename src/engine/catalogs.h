// Catalogs that are kept in files, from one run to the next.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "env/env.h"
#include "sql/compile.h"

namespace strand::engine {

/// The file of a catalog; nothing where there is none. Errors: kIo and the like, kBadCatalog for one that is
/// too large.
Result<std::optional<std::string>> read_catalog(env::FileSystem& files, const std::string& path);

/// Writes what a script has left of a catalog, if that is something else than before. The file is replaced
/// whole, so a crash leaves the old one or the new one; `PATH.lock` is locked meanwhile, and stays. Errors:
/// kBadCatalog, if somebody else has written it since it was read, or writes it now.
Status keep_catalog(env::FileSystem& files, const sql::KeptCatalog& catalog);
/// One after the other, up to the first error.
Status keep_catalogs(env::FileSystem& files, const std::vector<sql::KeptCatalog>& catalogs);

}  // namespace strand::engine
