// Tables in SQLite: the user's, with the bookkeeping of its writers, and Strandline's own.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "connect/sqlite/database.h"
#include "connect/table/names.h"
#include "connect/table/writer.h"

namespace strand::connect::sqlite {

using table::joined;
using table::quoted;
using table::WriterNames;

/// Creates what is missing: the table with the columns of the job, columns that a table of the user lacks,
/// with `tagged` the writer's bookkeeping and its index, and Strandline's own tables; and takes the writer's
/// name for the job. kSinkSchema if the table has another key or a column that would not keep the values;
/// kWriterTaken.
Status prepare_schema(Database& database, const table::WriterSpec& spec, bool tagged);

/// Whether `prepare_schema` would succeed on the file, which may not be there yet. Changes nothing.
Status check_schema(const std::string& path, const table::WriterSpec& spec, bool tagged);

/// Quoted names of all columns of a table, in its order; empty if there is no such table.
Result<std::vector<std::string>> table_columns(Database& database, const std::string& table);

}  // namespace strand::connect::sqlite
