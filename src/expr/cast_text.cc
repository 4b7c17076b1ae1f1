// Casts from and to text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "columnar/print.h"
#include "expr/cast.h"
#include "expr/civil.h"
#include "expr/decimal.h"
#include "expr/temporal_text.h"
#include "expr/utf8.h"

namespace strand::expr {

namespace {

/// ` +12.7 ` is 12: decimals are read and cut.
template <class T>
bool parse_integer(std::string_view text, T& out) {
  text = without_blanks(text);
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const size_t point = text.find('.');
  if (point != std::string_view::npos) {
    const std::string_view decimals = text.substr(point + 1);
    if (decimals.find_first_not_of("0123456789") != std::string_view::npos) return false;
    text = text.substr(0, point);
  }
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && at == end;
}

/// As Java's Double.parseDouble: also `1.5f`, `NaN`, `Infinity`.
template <class T>
bool parse_real(std::string_view text, T& out) {
  text = without_blanks(text);
  std::string_view bare = text;
  if (bare.starts_with('+')) bare.remove_prefix(1);
  const bool negative = bare.starts_with('-');
  const std::string_view magnitude = negative ? bare.substr(1) : bare;
  if (magnitude == "NaN" || magnitude == "Infinity") {
    const T value =
        magnitude == "NaN" ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
    out = negative ? -value : value;
    return true;
  }
  if (magnitude.size() > 1 && std::string_view("fFdD").find(magnitude.back()) != std::string_view::npos) {
    bare.remove_suffix(1);
  }
  if (magnitude.empty() || (magnitude[0] != '.' && (magnitude[0] < '0' || magnitude[0] > '9'))) return false;
  const char* end = bare.data() + bare.size();
  const auto [at, error] = std::from_chars(bare.data(), end, out);
  if (at != end) return false;
  if (error == std::errc::result_out_of_range) {
    // Too large is infinite, too small is 0: strtod says which.
    out = static_cast<T>(std::strtod(std::string(bare).c_str(), nullptr));
    return true;
  }
  return error == std::errc();
}

std::optional<bool> parse_boolean(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char* yes : {"t", "true", "y", "yes", "1"}) {
    if (lower == yes) return true;
  }
  for (const char* no : {"f", "false", "n", "no", "0"}) {
    if (lower == no) return false;
  }
  return std::nullopt;
}

NodePtr text_to_number(const CastCall& cast, Nodes args) {
  return with_storage(cast.to->kind, [&]<class T>(Storage<T>) {
    return make_cast<T, std::string_view>(
        cast, std::move(args),
        [out = DecimalType{cast.to->precision, cast.to->scale}](T& to, std::string_view text) {
          if constexpr (std::is_same_v<T, Int128>) {
            bool overflow = false;
            const std::optional<Int128> value = parse_decimal(text, out, overflow);
            to = value.value_or(0);
            return value.has_value();
          } else if constexpr (std::is_floating_point_v<T>) {
            return parse_real(text, to);
          } else {
            return parse_integer(text, to);
          }
        });
  });
}

int64_t cut_time(int64_t nanos, int precision) {
  int64_t unit = kMillisPerSecond;
  for (int digit = 0; digit < std::min(precision, 3); ++digit) unit /= 10;
  return nanos / 1'000'000 / unit * unit;
}

/// Cuts a text to the length of the type, and fills it up with blanks (BINARY: with zeros) to a fixed one.
class Fitting {
 public:
  explicit Fitting(const Type& type)
      : most_(type.precision), fixed_(type.fixed), bytes_(type.kind == TypeKind::kBytes) {}
  void append(std::string_view text, TextWriter& out) const {
    if (most_ == 0) return out.append(text);
    const std::string_view cut =
        bytes_ ? text.substr(0, std::min(text.size(), static_cast<size_t>(most_))) : prefix(text, most_);
    out.append(cut);
    if (!fixed_) return;
    const int64_t size = bytes_ ? static_cast<int64_t>(cut.size()) : count_characters(cut);
    for (int64_t i = size; i < most_; ++i) out.push_back(bytes_ ? '\0' : ' ');
  }

 private:
  int most_;
  bool fixed_;
  bool bytes_;
};

/// Appends whatever print writes, fitted to the type.
template <class In, class Print>
NodePtr printed(const CastCall& cast, Nodes args, Print print) {
  return make_row_call<std::string, In>(
      cast.to, std::move(args),
      [print, fitting = Fitting(*cast.to), text = std::string()](TextWriter& out, In value) mutable {
        text.clear();
        print(value, text);
        fitting.append(text, out);
        return true;
      });
}

template <class T>
NodePtr integer_to_text(const CastCall& cast, Nodes args) {
  return make_row_call<std::string, T>(
      cast.to, std::move(args), [most = static_cast<size_t>(cast.to->precision)](TextWriter& out, T value) {
        constexpr size_t kMost = 20;
        char* begin = out.extend(kMost);
        auto size = static_cast<size_t>(std::to_chars(begin, begin + kMost, value).ptr - begin);
        if (most != 0) size = std::min(size, most);
        out.shrink(kMost - size);
        return true;
      });
}

/// Types without a printer of their own: what value_to_string says.
NodePtr printed_value(const CastCall& cast, Nodes args) {
  return make_call(cast.to, std::move(args), {},
                   [type = cast.to, fitting = Fitting(*cast.to)](const Scope& scope,
                                                                 std::span<const Value> v) -> Result<Value> {
                     const BufferPtr present = combined_validity(v, scope.length);
                     TextWriter out(scope.length);
                     std::string text;
                     each_present(scope, present, [&](int64_t row) {
                       text.clear();
                       columnar::print_value(*v[0].column, v[0].row(row), text);
                       out.begin(row);
                       fitting.append(text, out);
                       return true;
                     });
                     return out.finish(type, present);
                   });
}

NodePtr timestamp_to_text(const CastCall& cast, Nodes args, const Environment& environment) {
  const bool ltz = cast.from->kind == TypeKind::kTimestampLtz;
  const int64_t per_milli = columnar::timestamp_units(cast.from->precision) / 1'000;
  return printed<int64_t>(cast, std::move(args),
                          [ltz, per_milli, precision = cast.from->precision, zone = environment.zone](
                              int64_t value, std::string& text) {
                            if (ltz) {
                              const int64_t millis = floor_div(value, per_milli);
                              value += (zone.local_of(millis) - millis) * per_milli;
                            }
                            columnar::print_timestamp(value, precision, ' ', text);
                          });
}

}  // namespace

NodePtr cast_from_text(const CastCall& cast, Nodes args, const Environment& environment) {
  switch (cast.to->kind) {
    case TypeKind::kBoolean:
      return make_cast<bool, std::string_view>(cast, std::move(args), [](auto&& to, std::string_view text) {
        const std::optional<bool> value = parse_boolean(text);
        to = value.value_or(false);
        return value.has_value();
      });
    case TypeKind::kDate:
      return make_cast<int32_t, std::string_view>(cast, std::move(args),
                                                  [](int32_t& to, std::string_view text) {
                                                    const std::optional<int64_t> days = parse_date(text);
                                                    to = static_cast<int32_t>(days.value_or(0));
                                                    return days.has_value();
                                                  });
    case TypeKind::kTime:
      return make_cast<int32_t, std::string_view>(
          cast, std::move(args), [precision = cast.to->precision](int32_t& to, std::string_view text) {
            const std::optional<int64_t> nanos = parse_time(text);
            to = static_cast<int32_t>(cut_time(nanos.value_or(0), precision));
            return nanos.has_value();
          });
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return make_cast<int64_t, std::string_view>(
          cast, std::move(args),
          [precision = cast.to->precision, ltz = cast.to->kind == TypeKind::kTimestampLtz,
           per_milli = columnar::timestamp_units(cast.to->precision) / 1'000,
           zone = environment.zone](int64_t& to, std::string_view text) {
            const std::optional<int64_t> value = parse_timestamp(text, precision);
            to = value.value_or(0);
            if (ltz) {
              const int64_t millis = floor_div(to, per_milli);
              to += (zone.utc_of(millis) - millis) * per_milli;
            }
            return value.has_value();
          });
    default:
      return text_to_number(cast, std::move(args));
  }
}

NodePtr cast_to_text(const CastCall& cast, Nodes args, const Environment& environment) {
  switch (cast.from->kind) {
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kInt:
    case TypeKind::kBigInt:
      if (cast.to->fixed) break;
      return with_storage(cast.from->kind, [&]<class T>(Storage<T>) -> NodePtr {
        if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
          return integer_to_text<T>(cast, std::move(args));
        } else {
          return nullptr;
        }
      });
    case TypeKind::kBoolean:
      return printed<bool>(cast, std::move(args),
                           [](bool value, std::string& text) { text = value ? "TRUE" : "FALSE"; });
    case TypeKind::kString:
    case TypeKind::kBytes:
      return printed<std::string_view>(cast, std::move(args),
                                       [](std::string_view value, std::string& text) { text = value; });
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return timestamp_to_text(cast, std::move(args), environment);
    default:
      break;
  }
  return printed_value(cast, std::move(args));
}

}  // namespace strand::expr
