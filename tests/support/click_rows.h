// Rows of clicks for operator tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "columnar/batch.h"
#include "tests/support/operator_harness.h"

namespace strand::testing {

struct Click {
  std::optional<std::string> ad;
  EventTime time;
  int64_t spend = 1;
};

/// ad STRING, ts TIMESTAMP_LTZ(3), spend BIGINT
inline columnar::SchemaPtr click_schema() {
  using columnar::make_type;
  using columnar::TypeKind;
  return std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"ad", make_type(TypeKind::kString)},
                                   {"ts", columnar::timestamp_type(3, /*ltz=*/true)},
                                   {"spend", make_type(TypeKind::kBigInt)}});
}

inline columnar::Batch click_batch(const std::vector<Click>& clicks) {
  columnar::BatchBuilder builder(click_schema());
  for (const Click& click : clicks) {
    if (click.ad) {
      builder.column(0).append_string(*click.ad);
    } else {
      builder.column(0).append_null();
    }
    builder.column(1).append(click.time.millis);
    builder.column(2).append(click.spend);
    builder.end_row();
  }
  return builder.finish();
}

}  // namespace strand::testing
