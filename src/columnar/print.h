// Text of values, appended to a string: shared by value_to_string and the codecs.
#pragma once

#include <cstdint>
#include <string>

#include "columnar/column.h"

namespace strand::columnar {

void print_integer(int64_t value, std::string& out);
/// As Java's Double.toString and Float.toString: `1.5`, `1.0E10`, `NaN`, `-Infinity`; the fewest digits that
/// read back as the same value.
void print_double(double value, std::string& out);
void print_float(float value, std::string& out);
/// Exactly `scale` decimals.
void print_decimal(Int128 unscaled, int scale, std::string& out);
/// `2026-02-08`
void print_date(int64_t days, std::string& out);
/// `10:14:20`, with `digits` decimals of the second if it is not 0.
void print_time(int64_t millis, int digits, std::string& out);
/// A value of TIMESTAMP(precision): `2026-02-08<separator>10:14:20` and exactly `precision` decimals.
void print_timestamp(int64_t value, int precision, char separator, std::string& out);
/// `+1 02:03:04.567` and `+1-02`
void print_interval_millis(int64_t millis, std::string& out);
void print_interval_months(int64_t months, std::string& out);

/// value_to_string, appended. A NULL is printed as `null_text`, NULLs inside it as NULL.
void print_value(const Column& column, int64_t row, std::string& out, std::string_view null_text = "null");

}  // namespace strand::columnar
