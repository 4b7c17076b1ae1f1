#include "tests/fuzz/reference_parts.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "base/floor_div.h"
#include "tests/fuzz/exact.h"

namespace strand::fuzz {

namespace {

using columnar::Int128;
using columnar::Type;
using columnar::TypeKind;
using expr::Expr;
using expr::Scalar;
using Values = std::vector<Scalar>;

constexpr int64_t kDay = 86'400'000;

int64_t whole(const Scalar& value) { return std::get<int64_t>(value); }
double real(const Scalar& value) { return std::get<double>(value); }
const std::string& text(const Scalar& value) { return std::get<std::string>(value); }

bool is_real(TypeKind kind) { return kind == TypeKind::kFloat || kind == TypeKind::kDouble; }

/// The low bits, as Java cuts them.
int64_t wrapped(Int128 value, TypeKind kind) {
  const int bits = kind == TypeKind::kTinyInt    ? 8
                   : kind == TypeKind::kSmallInt ? 16
                   : kind == TypeKind::kInt      ? 32
                                                 : 64;
  const Int128 range = Int128{1} << bits;
  Int128 low = value % range;
  if (low >= range / 2) low -= range;
  if (low < -range / 2) low += range;
  return static_cast<int64_t>(low);
}

/// At the precision of the type.
double rounded(double value, TypeKind kind) {
  return kind == TypeKind::kFloat ? static_cast<double>(static_cast<float>(value)) : value;
}

Reference decimal(const Exact& unscaled, int scale, const Type& type) {
  const auto value = fitted(unscaled, scale, type);
  return value ? Reference{*value} : Reference{};
}

Reference decimal_arithmetic(const Expr& e, const Values& args) {
  const Exact a(std::get<Int128>(args[0]));
  const Exact b(std::get<Int128>(args[1]));
  const int as = e.args[0]->type->scale;
  const int bs = e.args[1]->type->scale;
  const int common = std::max(as, bs);
  const Exact x = a.shifted(common - as);
  const Exact y = b.shifted(common - bs);
  switch (e.function[0]) {
    case '+':
      return decimal(x.plus(y), common, *e.type);
    case '-':
      return decimal(x.plus(y.negated()), common, *e.type);
    case '*':
      return decimal(a.times(b), as + bs, *e.type);
    default:
      break;
  }
  if (y.is_zero()) return {{}, true};
  if (e.function == "%") return decimal(x.by(y).rest, common, *e.type);
  const Exact quotient = x.shifted(e.type->scale).by_half_up(y);
  return quotient.length() > e.type->precision ? Reference{} : Reference{quotient.value()};
}

Reference real_arithmetic(const Expr& e, double a, double b) {
  const TypeKind kind = e.type->kind;
  switch (e.function[0]) {
    case '+':
      return {rounded(a + b, kind)};
    case '-':
      return {rounded(a - b, kind)};
    case '*':
      return {rounded(a * b, kind)};
    case '/':
      return {rounded(a / b, kind)};
    default:
      return {rounded(std::fmod(a, b), kind)};
  }
}

Reference integer_arithmetic(const Expr& e, Int128 a, Int128 b) {
  const char op = e.function[0];
  if ((op == '/' || op == '%') && b == 0) return {{}, true};
  const Int128 value = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : op == '/' ? a / b : a % b;
  return {wrapped(value, e.type->kind)};
}

int64_t plus_months(int64_t days, int64_t months) {
  using namespace std::chrono;
  const year_month_day from{sys_days{std::chrono::days{days}}};
  const auto month = year_month{from.year(), from.month()} + std::chrono::months{months};
  const auto last = year_month_day_last{month.year(), month_day_last{month.month()}}.day();
  return sys_days{year_month_day{month.year(), month.month(), std::min(from.day(), last)}}
      .time_since_epoch()
      .count();
}

Reference moment_arithmetic(const Expr& e, const Values& args) {
  const int64_t sign = e.function == "-" ? -1 : 1;
  const int64_t interval = sign * whole(args[1]);
  const bool months = e.args[1]->type->kind == TypeKind::kIntervalMonths;
  const int64_t moment = whole(args[0]);
  if (e.type->kind == TypeKind::kDate)
    return {months ? plus_months(moment, interval) : moment + interval / kDay};
  if (e.type->kind == TypeKind::kTime) return {months ? moment : floor_mod(moment + interval, kDay)};
  const int64_t units = columnar::timestamp_units(e.type->precision);
  if (!months) return {moment + interval * (units / 1'000)};
  const int64_t day = units * 86'400;
  return {plus_months(floor_div(moment, day), interval) * day + floor_mod(moment, day)};
}

std::vector<std::string> characters(const std::string& from) {
  std::vector<std::string> all;
  for (const char c : from) {
    if (all.empty() || (static_cast<unsigned char>(c) & 0xC0) != 0x80) all.emplace_back();
    all.back() += c;
  }
  return all;
}
std::string joined(const std::vector<std::string>& all, int64_t from, int64_t to) {
  std::string out;
  for (int64_t i = std::max<int64_t>(from, 0); i < std::min(to, static_cast<int64_t>(all.size())); ++i)
    out += all[static_cast<size_t>(i)];
  return out;
}

/// Of numbers and BOOLEAN.
Reference cast(const Expr& e, const Scalar& value) {
  const Type& from = *e.args[0]->type;
  const Type& to = *e.type;
  if (const bool* truth = std::get_if<bool>(&value)) {
    if (to.kind == TypeKind::kBoolean) return {*truth};
    if (to.kind == TypeKind::kDecimal) return decimal(Exact(*truth ? 1 : 0), 0, to);
    return is_real(to.kind) ? Reference{*truth ? 1.0 : 0.0} : Reference{int64_t{*truth}};
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    if (to.kind == TypeKind::kBoolean) return {*number != 0};
    if (to.kind == TypeKind::kDecimal) return decimal(Exact(*number), 0, to);
    if (to.kind == TypeKind::kFloat) return {static_cast<double>(static_cast<float>(*number))};
    return is_real(to.kind) ? Reference{static_cast<double>(*number)} : Reference{wrapped(*number, to.kind)};
  }
  if (const auto* unscaled = std::get_if<Int128>(&value)) {
    if (to.kind == TypeKind::kBoolean) return {*unscaled != 0};
    if (to.kind == TypeKind::kDecimal) return decimal(Exact(*unscaled), from.scale, to);
    return {wrapped(Exact(*unscaled).by(Exact(1).shifted(from.scale)).quotient.value(), to.kind)};
  }
  const double number = real(value);
  if (is_real(to.kind)) return {rounded(number, to.kind)};
  if (std::isnan(number)) return {int64_t{0}};
  const bool wide = to.kind == TypeKind::kBigInt;
  const int64_t low = wide ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  const int64_t high = wide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
  const int64_t cut = number <= static_cast<double>(low)    ? low
                      : number >= static_cast<double>(high) ? high
                                                            : static_cast<int64_t>(number);
  return {wrapped(cut, to.kind)};
}

bool casts(const Type& from, const Type& to) {
  const auto number = [](TypeKind kind) { return columnar::is_numeric(kind) || kind == TypeKind::kBoolean; };
  if (!number(from.kind) || !number(to.kind)) return false;
  if (is_real(from.kind)) return to.kind != TypeKind::kDecimal && to.kind != TypeKind::kBoolean;
  return !(from.kind == TypeKind::kDecimal && is_real(to.kind));
}

/// Functions of text, by name and number of arguments.
using TextFunction = Reference (*)(const Values&);
const std::map<std::pair<std::string_view, size_t>, TextFunction>& text_functions() {
  static const std::map<std::pair<std::string_view, size_t>, TextFunction> all = {
      {{"CHAR_LENGTH", 1},
       [](const Values& v) -> Reference { return {static_cast<int64_t>(characters(text(v[0])).size())}; }},
      {{"||", 2}, [](const Values& v) -> Reference { return {text(v[0]) + text(v[1])}; }},
      {{"REVERSE", 1},
       [](const Values& v) -> Reference {
         auto all_of = characters(text(v[0]));
         std::reverse(all_of.begin(), all_of.end());
         return {joined(all_of, 0, static_cast<int64_t>(all_of.size()))};
       }},
      {{"LEFT", 2},
       [](const Values& v) -> Reference {
         return {joined(characters(text(v[0])), 0, std::max<int64_t>(0, whole(v[1])))};
       }},
      {{"RIGHT", 2},
       [](const Values& v) -> Reference {
         const auto all_of = characters(text(v[0]));
         const auto size = static_cast<int64_t>(all_of.size());
         return {joined(all_of, size - std::max<int64_t>(0, whole(v[1])), size)};
       }},
      {{"STARTSWITH", 2}, [](const Values& v) -> Reference { return {text(v[0]).starts_with(text(v[1]))}; }},
      {{"ENDSWITH", 2}, [](const Values& v) -> Reference { return {text(v[0]).ends_with(text(v[1]))}; }},
  };
  return all;
}

Reference field(const Expr& e, const Scalar& value) {
  const Type& type = *e.args[0]->type;
  const int64_t days = type.kind == TypeKind::kDate
                           ? whole(value)
                           : floor_div(whole(value), columnar::timestamp_units(type.precision) * 86'400);
  using namespace std::chrono;
  const year_month_day date{sys_days{std::chrono::days{days}}};
  if (e.function == "YEAR") return {int64_t{static_cast<int>(date.year())}};
  if (e.function == "MONTH") return {int64_t{static_cast<unsigned>(date.month())}};
  return {int64_t{static_cast<unsigned>(date.day())}};
}

bool is_comparison(std::string_view function) {
  return function == "=" || function == "<>" || function == "<" || function == "<=" || function == ">" ||
         function == ">=";
}

bool compares(std::string_view function, int order) {
  if (function == "=") return order == 0;
  if (function == "<>") return order != 0;
  if (order == 2) return false;
  return function[0] == '<' ? order < 0 || (order == 0 && function.size() == 2)
                            : order > 0 || (order == 0 && function.size() == 2);
}

bool is_arithmetic(std::string_view function) {
  return function.size() == 1 && std::string_view("+-*/%").find(function[0]) != std::string_view::npos;
}

}  // namespace

bool comparable(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.kind == TypeKind::kNull || a.kind >= TypeKind::kArray) return false;
  if (a.kind == TypeKind::kDecimal) return a.scale == b.scale;
  const bool instant = a.kind == TypeKind::kTimestamp || a.kind == TypeKind::kTimestampLtz;
  return !instant || columnar::timestamp_units(a.precision) == columnar::timestamp_units(b.precision);
}

int order(const Scalar& a, const Scalar& b) {
  if (const double* x = std::get_if<double>(&a)) {
    const double y = real(b);
    return std::isnan(*x) || std::isnan(y) ? 2 : *x < y ? -1 : *x > y ? 1 : 0;
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

bool is_known(const Expr& e) {
  const auto kind = [&](size_t i) { return e.args[i]->type->kind; };
  const std::string_view function = e.function;
  if (is_comparison(function)) return comparable(*e.args[0]->type, *e.args[1]->type);
  if (function == "CAST" || function == "TRY_CAST") return casts(*e.args[0]->type, *e.type);
  if (function == "NOT") return true;
  if (function == "YEAR" || function == "MONTH" || function == "DAYOFMONTH")
    return kind(0) == TypeKind::kDate || kind(0) == TypeKind::kTimestamp;
  if (text_functions().contains({function, e.args.size()})) {
    return std::none_of(e.args.begin(), e.args.end(),
                        [](const expr::ExprPtr& arg) { return arg->type->kind == TypeKind::kBytes; });
  }
  if (!is_arithmetic(function) || e.args.size() != 2) return false;
  const bool moment =
      kind(0) == TypeKind::kDate || kind(0) == TypeKind::kTime || kind(0) == TypeKind::kTimestamp;
  if (moment) {
    // Of the intervals that are computed some lead beyond the years of <chrono>.
    const bool months = kind(1) == TypeKind::kIntervalMonths && e.args[1]->kind != Expr::Kind::kCall;
    return months || kind(1) == TypeKind::kIntervalMillis;
  }
  if (e.type->kind == TypeKind::kDecimal)
    return kind(0) == TypeKind::kDecimal && kind(1) == TypeKind::kDecimal;
  return kind(0) == e.type->kind && kind(1) == e.type->kind && columnar::is_numeric(e.type->kind);
}

Reference computed(const Expr& e, const Values& args) {
  const std::string_view function = e.function;
  if (is_comparison(function)) return {compares(function, order(args[0], args[1]))};
  if (function == "CAST" || function == "TRY_CAST") return cast(e, args[0]);
  if (function == "NOT") return {!std::get<bool>(args[0])};
  if (function == "YEAR" || function == "MONTH" || function == "DAYOFMONTH") return field(e, args[0]);
  const auto found = text_functions().find({function, e.args.size()});
  if (found != text_functions().end()) return found->second(args);
  if (e.type->kind == TypeKind::kDecimal) return decimal_arithmetic(e, args);
  if (is_real(e.type->kind)) return real_arithmetic(e, real(args[0]), real(args[1]));
  if (columnar::is_numeric(e.type->kind)) return integer_arithmetic(e, whole(args[0]), whole(args[1]));
  return moment_arithmetic(e, args);
}

}  // namespace strand::fuzz
