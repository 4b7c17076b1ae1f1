// Rows (k STRING, v BIGINT, ts TIMESTAMP(3)) for tests of this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "columnar/batch.h"

namespace strand::testing {

struct TimedRow {
  std::optional<std::string> key;
  int64_t value = 0;
  int64_t time = 0;
  columnar::RowKind kind = columnar::RowKind::kInsert;
};

inline columnar::SchemaPtr timed_schema(std::vector<columnar::Field> more = {}) {
  std::vector<columnar::Field> fields = {{"k", columnar::make_type(columnar::TypeKind::kString)},
                                         {"v", columnar::make_type(columnar::TypeKind::kBigInt)},
                                         {"ts", columnar::timestamp_type(3, false)}};
  fields.insert(fields.end(), more.begin(), more.end());
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

inline columnar::Batch timed_batch(const std::vector<TimedRow>& rows) {
  columnar::BatchBuilder builder(timed_schema());
  for (const TimedRow& row : rows) {
    if (row.key) {
      builder.column(0).append_string(*row.key);
    } else {
      builder.column(0).append_null();
    }
    builder.column(1).append(row.value);
    builder.column(2).append(row.time);
    builder.end_row(row.kind);
  }
  return builder.finish();
}

/// `1970-01-01 00:00:07.000`
inline std::string second_text(int second) {
  return "1970-01-01 00:00:" + std::string(second < 10 ? "0" : "") + std::to_string(second) + ".000";
}

}  // namespace strand::testing
