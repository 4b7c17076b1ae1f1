// Values of SQL types from their text, as Flink's formats read them (which is as Java reads them).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "columnar/column.h"

namespace strand::codec {

/// `2026-02-08 10:14:20` or `2026-02-08T10:14:20`.
enum class TimestampForm : uint8_t { kSql, kIso };

/// Without characters up to ' ' at both ends.
std::string_view java_trim(std::string_view text);

/// Long.parseLong and its smaller siblings: an optional sign and digits, within [low, high].
std::optional<int64_t> parse_integer(std::string_view text, int64_t low, int64_t high);
/// Double.parseDouble, without hexadecimal forms. Infinity where the number is too large.
std::optional<double> parse_double(std::string_view text);

enum class DecimalText : uint8_t { kFits, kTooWide, kNoNumber };
/// new BigDecimal(text), rounded half up to `scale`; kTooWide if that takes more than `precision` digits.
DecimalText parse_decimal(std::string_view text, int precision, int scale, columnar::Int128& out);

/// LocalDate.parse: days since 1970-01-01.
std::optional<int32_t> parse_date(std::string_view text);
/// `HH:mm:ss[.fraction]`: milliseconds of the day.
std::optional<int32_t> parse_time(std::string_view text);
/// A value of TIMESTAMP(precision), or of TIMESTAMP_LTZ(precision) if `zulu`, which wants a final Z. As in
/// Flink, SQL form takes 31 for the last day of any month and 24:00:00 for the end of the day; ISO without
/// zone does not.
std::optional<int64_t> parse_timestamp(std::string_view text, int precision, TimestampForm form, bool zulu);

/// Base64 with its padding.
bool decode_base64(std::string_view text, std::string& out);
void encode_base64(std::string_view bytes, std::string& out);

}  // namespace strand::codec
