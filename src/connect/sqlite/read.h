// Reads tables that SQLite sinks have written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"

namespace strand::connect::sqlite {

struct TableRows {
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<std::string>>> rows;  // nothing: NULL
  /// The value of a column in a row; nothing also if there is no such column.
  std::optional<std::string> value(size_t row, std::string_view column) const;
};

/// Every row of a table as text (as print_cell writes it), in the order of its columns from the first to the
/// last. Without `bookkeeping`, the columns of Strandline's writers (<writer>_ckpt, _gen, _attempt, _ix,
/// job_gen) are left out. kFileNotFound, kUnknownTable.
Result<TableRows> read_table(const std::string& path, const std::string& table, bool bookkeeping = false);

/// The named columns as batches, in the order of the first column. NULL where the table lacks a column.
Result<std::vector<columnar::Batch>> read_batches(const std::string& path, const std::string& table,
                                                  const columnar::SchemaPtr& schema);

}  // namespace strand::connect::sqlite
