// Tables in PostgreSQL: the user's, with the bookkeeping of its writers, and Strandline's own.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "connect/postgres/connection.h"
#include "connect/table/names.h"

namespace strand::connect::postgres {

/// Creates what is missing: the table with the columns of the job, columns that a table of the user lacks,
/// with `tagged` the writer's bookkeeping and its index, and Strandline's own tables; and takes the writer's
/// name for the job. One subtask at a time does so. kSinkSchema if the table has another key or a column that
/// would not keep the values; kWriterTaken.
Status prepare_schema(Connection& connection, const table::WriterSpec& spec, bool tagged);

/// Whether `prepare_schema` would succeed. Changes nothing.
Status check_schema(Connection& connection, const table::WriterSpec& spec, bool tagged);

/// Quoted names of all columns of a table, in its order; empty if there is no such table.
Result<std::vector<std::string>> table_columns(Connection& connection, const std::string& quoted_table);

/// `schema.table` with each part quoted; the other names of a writer as elsewhere.
table::WriterNames names_of(const table::WriterSpec& spec);

}  // namespace strand::connect::postgres
