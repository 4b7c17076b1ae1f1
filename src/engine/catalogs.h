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

/// Writes what a script has left of its catalogs. Each file is replaced whole, so a crash leaves the old one
/// or the new one. Errors: kBadCatalog, if somebody else has written it since it was read.
Status keep_catalogs(env::FileSystem& files, const std::vector<sql::KeptCatalog>& catalogs);

}  // namespace strand::engine
