// Finds rows of a SQLite table by key.
#pragma once

#include <memory>
#include <string>

#include "connect/registry.h"

namespace strand::connect::sqlite {

/// Rows of `table` by `context.lookup_keys`, with the columns of `context.schema`, as the last commit has
/// left them. The file is opened with the first question. Errors: kFileNotFound, kSinkSchema,
/// kSinkUnavailable.
std::unique_ptr<flow::Lookup> make_sqlite_lookup(const TableContext& context, std::string path,
                                                 std::string table, Duration busy_timeout);

}  // namespace strand::connect::sqlite
