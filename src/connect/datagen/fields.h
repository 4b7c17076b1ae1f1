// The values of generated columns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"
#include "columnar/type.h"

namespace strand::connect::datagen {

/// How one column is made; the options `fields.NAME.…`.
struct FieldPlan {
  uint64_t salt = 0;  // from the column's name, so that leaving out columns does not change the others
  bool sequence = false;
  int64_t low = 0;  // of whole numbers; of a sequence the first and the last
  int64_t high = 0;
  double low_real = 0;  // of FLOAT and DOUBLE
  double high_real = 0;
  int64_t length = 100;
  bool varying_length = false;
  int64_t past_ms = 0;
  double null_rate = 0;
  std::vector<FieldPlan> parts = {};  // of an ARRAY its element, of a ROW its fields
};

/// Reads the plans of the columns. An element is `fields.NAME.element.…`, a field of a ROW
/// `fields.NAME.FIELD.…`. kBadOption: a value that does not fit, a type that cannot be made up (MAP).
Result<std::vector<FieldPlan>> read_fields(const columnar::Schema& schema,
                                           const std::map<std::string, std::string>& options);

/// The number of rows after which the shortest sequence has come to its end, also of columns that nobody
/// reads; nothing if there is none.
Result<std::optional<int64_t>> rows_of_sequences(const std::map<std::string, std::string>& options);

/// Appends the values of row `row` to every column. They follow from the arguments alone; `at_ms` is the
/// row's place in time, from which dates and times are counted back.
void append_row(const std::vector<FieldPlan>& plans, uint64_t seed, int64_t row, int64_t at_ms,
                columnar::BatchBuilder& out);

}  // namespace strand::connect::datagen
