// Dates, times and timestamps in text, as Flink's casts read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace strand::expr {

/// `2024-01-02`, `2024-1-2`, `2024-01`, `2024`, and what has a blank and a time behind it: days since 1970.
std::optional<int64_t> parse_date(std::string_view text);
/// `03:04:05.678`, `3:4:5`, `03:04`: nanoseconds of the day.
std::optional<int64_t> parse_time(std::string_view text);
/// `2024-01-02` or `2024-01-02 03:04:05[.fffffffff]`: a value of TIMESTAMP(precision), cut to its digits.
std::optional<int64_t> parse_timestamp(std::string_view text, int precision);

/// A value of TIMESTAMP(from) as TIMESTAMP(to), cut to its digits. Nothing if it is out of range.
std::optional<int64_t> convert_precision(int64_t value, int from, int to);

}  // namespace strand::expr
