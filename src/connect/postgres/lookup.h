// Rows of a table in PostgreSQL by some of its columns.
#pragma once

#include <memory>

#include "connect/postgres/options.h"
#include "flow/lookup.h"

namespace strand::connect::postgres {

/// Reads what is there when it is asked. Errors: kSinkUnavailable and its kind as of connection.h.
std::unique_ptr<flow::Lookup> make_postgres_lookup(const TableContext& context, PostgresOptions options,
                                                   std::string table);

}  // namespace strand::connect::postgres
