#include "tests/fuzz/sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "columnar/builder.h"

namespace strand::fuzz {

namespace {

using columnar::Int128;
using columnar::Type;
using columnar::TypeKind;
using columnar::TypePtr;

constexpr std::array kTexts = {"",
                               "a",
                               "ab",
                               "abc",
                               "A b C",
                               "Gr\xC3\xB6\xC3\x9F"
                               "e",
                               "\xF0\x9F\x98\x80x\xE2\x82\xAC",
                               " 12 ",
                               "12",
                               "-3.5",
                               "1e5",
                               "+7",
                               ".5",
                               "9223372036854775808",
                               "99999999999999999999999999999999999999.5",
                               "NaN",
                               "Infinity",
                               "true",
                               "NO",
                               "t",
                               "2024-02-29",
                               "2024-2-9",
                               "2023-02-29",
                               "0001-01-01",
                               "9999-12-31",
                               "2024-01-01 00:00:00",
                               "2024-03-31 02:30:00.123456789",
                               "2024-01-01T10:00:00Z",
                               "23:59:59.999",
                               "24:00:00",
                               "1:2",
                               "{\"a\": 1, \"b\": [2, \"x\"]}",
                               "[1, 2, \"x\", null]",
                               "{\"a\": {\"b\": null}}",
                               "{\"a\"",
                               "\"x\"",
                               "null",
                               "a,b,,c",
                               "k=v,k2=v2",
                               "https://u:p@example.com:80/p/q?k=v&l=w#r",
                               "aGVsbG8=",
                               "%41+b",
                               "616263",
                               "xyz%_",
                               "a.b|c*",
                               "(a)(b)?",
                               "\\d+",
                               "%b_",
                               "UTF-8",
                               "UTC",
                               "Europe/Berlin",
                               "yyyy-MM-dd HH:mm:ss",
                               "$.a",
                               "lax $.b[0]",
                               "hello world",
                               "  x  "};

constexpr std::array<int64_t, 24> kNumbers = {0,
                                              1,
                                              -1,
                                              2,
                                              3,
                                              7,
                                              10,
                                              12,
                                              31,
                                              59,
                                              60,
                                              99,
                                              100,
                                              127,
                                              -128,
                                              255,
                                              999,
                                              32'767,
                                              -32'768,
                                              86'400,
                                              1'000'000,
                                              2'147'483'647,
                                              -2'147'483'648LL,
                                              1'704'067'200};

int64_t random_integer(int64_t low, int64_t high, Random& random) {
  if (random.chance(0.1)) return low;
  if (random.chance(0.1)) return high;
  const int64_t corner = kNumbers[random.below(kNumbers.size())];
  if (random.chance(0.7) && corner >= low && corner <= high) return corner;
  // Any 64 bits have no number that says how many they are.
  return low == std::numeric_limits<int64_t>::min() ? static_cast<int64_t>(random.next())
                                                    : random.between(low, high);
}

Int128 random_unscaled(int precision, Random& random) {
  const auto digits = static_cast<int>(random.below(static_cast<uint64_t>(precision) + 1));
  Int128 value = 0;
  for (int i = 0; i < digits; ++i)
    value = value * 10 + (random.chance(0.4) ? 9 : static_cast<int>(random.below(10)));
  return random.chance(0.5) ? value : -value;
}

double random_double(Random& random) {
  constexpr std::array kCorners = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   0.5,
                                   1.1,
                                   2.5,
                                   -2.5,
                                   1e10,
                                   1e-10,
                                   1e300,
                                   -1e300,
                                   4.9e-324,
                                   9007199254740993.0,
                                   9.2233720368547758e18,
                                   -2147483649.5,
                                   0.30000000000000004};
  switch (random.below(8)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return random.chance(0.5) ? std::numeric_limits<double>::infinity()
                                : -std::numeric_limits<double>::infinity();
    case 2:
    case 3:
      return static_cast<double>(random.between(-10'000, 10'000)) / 100;
    default:
      return kCorners[random.below(kCorners.size())];
  }
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Cut or filled to what the type takes.
std::string fitted(std::string text, const Type& type) {
  if (type.precision == 0) return text;
  const auto length = static_cast<size_t>(type.precision);
  while (characters(text) > length) {
    do {
      const char last = text.back();
      text.pop_back();
      if ((static_cast<unsigned char>(last) & 0xC0) != 0x80) break;
    } while (!text.empty());
  }
  while (type.fixed && characters(text) < length) text += ' ';
  return text;
}

/// Days from the year 1 to 9999; most of them near ours.
int64_t random_day(Random& random) {
  if (random.chance(0.2)) return random.between(-719'162, 2'932'896);
  constexpr std::array<int64_t, 8> kDays = {0, -1, 19'723, 19'782, 19'783, 19'813, 20'088, 11'016};
  return random.chance(0.5) ? kDays[random.below(kDays.size())] : random.between(15'000, 25'000);
}

int64_t random_instant(int precision, Random& random) {
  const int64_t units = columnar::timestamp_units(precision);
  int64_t fraction_unit = units;
  for (int i = 0; i < precision; ++i) fraction_unit /= 10;
  const int64_t days = precision > 6 ? random.between(-90'000, 90'000) : random_day(random);
  const int64_t second = random.chance(0.3) ? 0 : random.between(0, 86'399);
  const int64_t fraction =
      random.chance(0.4) ? 0 : random.between(0, units - 1) / fraction_unit * fraction_unit;
  return (days * 86'400 + second) * units + fraction;
}

void append_random(columnar::ColumnBuilder& out, Random& random, double null_chance) {
  const Type& type = *out.type();
  if (type.nullable && random.chance(null_chance)) return out.append_null();
  if (columnar::is_list(type.kind)) {
    const uint64_t elements = random.below(4);
    for (uint64_t i = 0; i < elements; ++i) {
      if (type.kind == TypeKind::kMap) {
        out.child(0).append_string(std::string(1, static_cast<char>('a' + i)));
        append_random(out.child(1), random, 0.3);
      } else {
        append_random(out.child(0), random, 0.3);
      }
    }
    return out.close_nested();
  }
  if (type.kind == TypeKind::kRow) {
    for (size_t i = 0; i < type.children.size(); ++i) append_random(out.child(i), random, 0.3);
    return out.close_nested();
  }
  const expr::Scalar value = random_scalar(type, random);
  if (type.kind == TypeKind::kBoolean) return out.append_boolean(std::get<bool>(value));
  if (columnar::is_string(type.kind)) return out.append_string(std::get<std::string>(value));
  if (type.kind == TypeKind::kDouble) return out.append(std::get<double>(value));
  if (type.kind == TypeKind::kFloat) return out.append(static_cast<float>(std::get<double>(value)));
  if (type.kind == TypeKind::kDecimal) return out.append(std::get<Int128>(value));
  const int64_t number = std::get<int64_t>(value);
  switch (columnar::fixed_width(type.kind)) {
    case 1:
      return out.append(static_cast<int8_t>(number));
    case 2:
      return out.append(static_cast<int16_t>(number));
    case 4:
      return out.append(static_cast<int32_t>(number));
    default:
      return out.append(number);
  }
}

}  // namespace

std::string random_text(Random& random) {
  if (random.chance(0.05)) return std::string(static_cast<size_t>(random.between(60, 300)), 'y') + "z";
  return kTexts[random.below(kTexts.size())];
}

expr::Scalar random_scalar(const Type& type, Random& random) {
  switch (type.kind) {
    case TypeKind::kBoolean:
      return random.chance(0.5);
    case TypeKind::kTinyInt:
      return random_integer(-128, 127, random);
    case TypeKind::kSmallInt:
      return random_integer(-32'768, 32'767, random);
    case TypeKind::kInt:
      return random_integer(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), random);
    case TypeKind::kBigInt:
      return random_integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), random);
    case TypeKind::kFloat:
      return static_cast<double>(static_cast<float>(random_double(random)));
    case TypeKind::kDouble:
      return random_double(random);
    case TypeKind::kDecimal:
      return random_unscaled(type.precision, random);
    case TypeKind::kString:
      return fitted(random_text(random), type);
    case TypeKind::kBytes:
      return random.chance(0.3) ? std::string("\x00\xFF\x80z", 4) : random_text(random);
    case TypeKind::kDate:
      return random_day(random);
    case TypeKind::kTime:
      return random.between(0, 86'399) * 1'000 + (type.precision == 0 ? 0 : random.between(0, 999));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return random_instant(type.precision, random);
    case TypeKind::kIntervalMillis:
      return random.chance(0.5) ? random.between(-400, 400) * 86'400'000
                                : random.between(-100'000'000, 100'000'000);
    case TypeKind::kIntervalMonths:
      return random.between(-40, 40);
    default:
      return std::monostate{};
  }
}

const std::vector<TypePtr>& sample_types() {
  using columnar::make_type;
  static const std::vector<TypePtr> types = {
      make_type(TypeKind::kBoolean),
      make_type(TypeKind::kTinyInt),
      make_type(TypeKind::kSmallInt),
      make_type(TypeKind::kInt),
      make_type(TypeKind::kBigInt),
      make_type(TypeKind::kFloat),
      make_type(TypeKind::kDouble),
      columnar::decimal_type(5, 2),
      columnar::decimal_type(38, 10),
      columnar::decimal_type(18, 0),
      columnar::decimal_type(38, 38),
      make_type(TypeKind::kString),
      columnar::text_type(TypeKind::kString, 3, true),
      columnar::text_type(TypeKind::kString, 5, false),
      make_type(TypeKind::kBytes),
      make_type(TypeKind::kDate),
      make_type(TypeKind::kTime),
      columnar::timestamp_type(0, false),
      columnar::timestamp_type(3, false),
      columnar::timestamp_type(6, false),
      columnar::timestamp_type(9, false),
      columnar::timestamp_type(3, true),
      columnar::timestamp_type(6, true),
      make_type(TypeKind::kIntervalMillis),
      make_type(TypeKind::kIntervalMonths),
      columnar::array_type(make_type(TypeKind::kInt)),
      columnar::array_type(make_type(TypeKind::kString)),
      columnar::map_type(make_type(TypeKind::kString, false), make_type(TypeKind::kInt)),
      columnar::row_type({{"a", make_type(TypeKind::kInt)}, {"b", make_type(TypeKind::kString)}})};
  return types;
}

columnar::Batch sample(Random& random, int64_t rows) {
  std::vector<columnar::Field> fields;
  for (const TypePtr& type : sample_types()) {
    fields.push_back({"c" + std::to_string(fields.size()), type});
    fields.push_back({"c" + std::to_string(fields.size()), columnar::with_nullable(type, false)});
  }
  std::vector<columnar::ColumnPtr> columns;
  for (const columnar::Field& field : fields) {
    constexpr std::array kChances = {0.2, 0.2, 0.5, 0.0, 1.0};
    const double null_chance = kChances[random.below(kChances.size())];
    columnar::ColumnBuilder builder(field.type);
    for (int64_t i = 0; i < rows; ++i) append_random(builder, random, null_chance);
    columns.push_back(builder.finish());
  }
  return {std::make_shared<columnar::Schema>(std::move(fields)), std::move(columns), rows};
}

}  // namespace strand::fuzz
