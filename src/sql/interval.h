// INTERVAL literals.
#pragma once

#include <string>

#include "base/status.h"
#include "columnar/type.h"

namespace strand::sql {

/// What stands behind an INTERVAL's text: DAY(3) TO SECOND.
struct IntervalUnits {
  std::string first;      // upper case, singular
  int precision = 2;      // digits of the first field
  std::string last = {};  // empty: one field
};

struct IntervalValue {
  int64_t value = 0;  // milliseconds or months
  columnar::TypeKind kind = columnar::TypeKind::kIntervalMillis;
};

/// The value of INTERVAL 'text' units, as Flink reads it: the first field has two digits unless a precision
/// says more, the others stay within their unit, fractions of a second have three digits that count. Errors
/// (without a place): kSyntax for a text that does not fit the units.
Result<IntervalValue> parse_interval(const std::string& text, const IntervalUnits& units);

/// Whether a word names a unit; plural forms too. Gives the singular, or an empty text.
std::string interval_unit(const std::string& word);

/// A literal that Flink reads as this many milliseconds, such as `INTERVAL '2' MINUTE`.
std::string interval_literal(int64_t millis);

}  // namespace strand::sql
