// Rows of a changelog for operator tests.
#pragma once

#include <string>
#include <vector>

#include "columnar/batch.h"
#include "tests/support/operator_harness.h"

namespace strand::testing {

struct Change {
  std::string kind;  // +I, -U, +U, -D
  std::string key;
  int64_t value = 0;
};

/// k STRING, v BIGINT
inline columnar::SchemaPtr change_schema() {
  using columnar::make_type;
  using columnar::TypeKind;
  return std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"k", make_type(TypeKind::kString)}, {"v", make_type(TypeKind::kBigInt)}});
}

inline columnar::Batch change_batch(const std::vector<Change>& changes) {
  using columnar::RowKind;
  columnar::BatchBuilder builder(change_schema());
  for (const Change& change : changes) {
    builder.column(0).append_string(change.key);
    builder.column(1).append(change.value);
    builder.end_row(change.kind == "+I"   ? RowKind::kInsert
                    : change.kind == "-U" ? RowKind::kUpdateBefore
                    : change.kind == "+U" ? RowKind::kUpdateAfter
                                          : RowKind::kDelete);
  }
  return builder.finish();
}

}  // namespace strand::testing
