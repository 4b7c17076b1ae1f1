#include "connect/datagen/fields.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"

namespace strand::connect::datagen {
namespace {

using columnar::Type;
using columnar::TypeKind;

constexpr int64_t kMillisPerDay = 86'400'000;
constexpr int64_t kLengthMax = 1 << 20;
constexpr int64_t kElements = 3;  // of an array, if no option says another number

Status bad_value(const std::string& key, const std::string& value, const std::string& expected) {
  return Status(ErrorCode::kBadOption, "'" + key + "' must be " + expected + ", not '" + value + "'");
}

template <class T>
Result<T> parse_number(const std::string& key, const std::string& value) {
  T number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return bad_value(key, value, "a number");
  return number;
}

template <class T>
void set_range(FieldPlan& plan) {
  plan.low = int64_t{std::numeric_limits<T>::min()};
  plan.high = std::numeric_limits<T>::max();
}

/// The range where no option says another: the type's.
Status set_defaults(const std::string& name, const Type& type, FieldPlan& plan) {
  switch (type.kind) {
    case TypeKind::kTinyInt:
      set_range<int8_t>(plan);
      break;
    case TypeKind::kSmallInt:
      set_range<int16_t>(plan);
      break;
    case TypeKind::kInt:
      set_range<int32_t>(plan);
      break;
    case TypeKind::kBigInt:
      set_range<int64_t>(plan);
      break;
    case TypeKind::kDecimal:
      plan.high = 1;
      for (int digit = 0; digit < std::min(type.precision, 18); ++digit) plan.high *= 10;
      plan.high -= 1;
      plan.low = -plan.high;
      break;
    case TypeKind::kFloat:
    case TypeKind::kDouble:
      plan.high_real = 1;
      break;
    case TypeKind::kBoolean:
    case TypeKind::kString:
    case TypeKind::kBytes:
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
    case TypeKind::kRow:
      break;
    case TypeKind::kArray:
    case TypeKind::kMap:
      plan.length = kElements;
      break;
    default:
      return Status(ErrorCode::kBadOption,
                    "datagen cannot make up values of column " + name + " of type " + to_string(type))
          .hint("leave the column out, or compute it from others");
  }
  return Status();
}

Status set_bound(const std::string& key, const std::string& value, const Type& type, int64_t& whole,
                 double& real) {
  if (type.kind == TypeKind::kFloat || type.kind == TypeKind::kDouble) {
    STRAND_TRY(real, parse_number<double>(key, value));
    return Status();
  }
  STRAND_TRY(whole, parse_number<int64_t>(key, value));
  return Status();
}

/// The first or last number of a sequence.
Status set_whole(const std::string& key, const std::string& value, int64_t& whole) {
  STRAND_TRY(whole, parse_number<int64_t>(key, value));
  return Status();
}

Status set_option(const std::string& key, const std::string& what, const std::string& value, const Type& type,
                  FieldPlan& plan) {
  if (what == "kind") {
    plan.sequence = value == "sequence";
    return plan.sequence || value == "random" ? Status() : bad_value(key, value, "random or sequence");
  }
  if (what == "start") return set_whole(key, value, plan.low);
  if (what == "end") return set_whole(key, value, plan.high);
  if (what == "min") return set_bound(key, value, type, plan.low, plan.low_real);
  if (what == "max") return set_bound(key, value, type, plan.high, plan.high_real);
  if (what == "length") {
    STRAND_TRY(plan.length, parse_number<int64_t>(key, value));
    return plan.length >= 0 && plan.length <= kLengthMax ? Status() : bad_value(key, value, "0 to 1048576");
  }
  if (what == "var-len") {
    plan.varying_length = value == "true";
    return value == "true" || value == "false" ? Status() : bad_value(key, value, "true or false");
  }
  if (what == "max-past") {
    STRAND_TRY(const Duration past, parse_duration(value));
    plan.past_ms = past.millis;
    return plan.past_ms >= 0 ? Status() : bad_value(key, value, "a duration that is not negative");
  }
  if (what == "null-rate") {
    STRAND_TRY(plan.null_rate, parse_number<double>(key, value));
    return plan.null_rate >= 0 && plan.null_rate <= 1 ? Status() : bad_value(key, value, "0 to 1");
  }
  return Status(ErrorCode::kUnknownOption, "datagen has no option '" + key + "'")
      .hint("known: kind, min, max, start, end, length, var-len, max-past, null-rate");
}

void append_hex(Random& random, size_t length, columnar::ColumnBuilder& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  char* to = out.string_space(length);
  for (size_t i = 0; i < length;) {
    uint64_t bits = random.next();
    for (int digit = 0; digit < 16 && i < length; ++digit, bits >>= 4) to[i++] = kDigits[bits & 15];
  }
  out.close_string(length);
}

void append_whole(TypeKind kind, int64_t value, columnar::ColumnBuilder& out) {
  switch (kind) {
    case TypeKind::kTinyInt:
      return out.append(static_cast<int8_t>(value));
    case TypeKind::kSmallInt:
      return out.append(static_cast<int16_t>(value));
    case TypeKind::kInt:
      return out.append(static_cast<int32_t>(value));
    case TypeKind::kBigInt:
      return out.append(value);
    case TypeKind::kDecimal:
      return out.append(columnar::Int128{value});
    case TypeKind::kFloat:
      return out.append(static_cast<float>(value));
    case TypeKind::kDouble:
      return out.append(static_cast<double>(value));
    default:
      return out.append_string(std::to_string(value));
  }
}

void append_time(const Type& type, int64_t at_ms, columnar::ColumnBuilder& out) {
  int64_t day = at_ms / kMillisPerDay;
  if (at_ms % kMillisPerDay < 0) --day;
  if (type.kind == TypeKind::kDate) return out.append(static_cast<int32_t>(day));
  if (type.kind == TypeKind::kTime) return out.append(static_cast<int32_t>(at_ms - day * kMillisPerDay));
  out.append(at_ms * (columnar::timestamp_units(type.precision) / 1'000));
}

void append_value(const FieldPlan& plan, Random& random, int64_t row, int64_t at_ms,
                  columnar::ColumnBuilder& out);

/// Of equal keys the first counts: a map may have fewer entries than `length`.
void append_map(const FieldPlan& plan, Random& random, int64_t row, int64_t at_ms,
                columnar::ColumnBuilder& out) {
  const int64_t length = plan.varying_length ? random.between(0, plan.length) : plan.length;
  std::set<std::string> keys;
  for (int64_t i = 0; i < length; ++i) {
    columnar::ColumnBuilder key(out.type()->children[0].type);
    append_value(plan.parts[0], random, row, at_ms, key);
    const columnar::ColumnPtr made = key.finish();
    if (!keys.insert(columnar::value_to_string(*made, 0)).second) continue;
    out.child(0).append_from(*made, 0);
    append_value(plan.parts[1], random, row, at_ms, out.child(1));
  }
  out.close_nested();
}

void append_random(const FieldPlan& plan, Random& random, int64_t row, int64_t at_ms,
                   columnar::ColumnBuilder& out) {
  const Type& type = *out.type();
  switch (type.kind) {
    case TypeKind::kBoolean:
      return out.append_boolean((random.next() & 1) != 0);
    case TypeKind::kFloat:
    case TypeKind::kDouble: {
      const double share = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
      const double value = plan.low_real + share * (plan.high_real - plan.low_real);
      if (type.kind == TypeKind::kDouble) return out.append(value);
      return out.append(static_cast<float>(value));
    }
    case TypeKind::kString:
    case TypeKind::kBytes: {
      const int64_t length = plan.varying_length ? random.between(0, plan.length) : plan.length;
      return append_hex(random, static_cast<size_t>(length), out);
    }
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return append_time(type, at_ms - random.between(0, plan.past_ms), out);
    case TypeKind::kArray: {
      const int64_t length = plan.varying_length ? random.between(0, plan.length) : plan.length;
      for (int64_t i = 0; i < length; ++i) append_value(plan.parts[0], random, row, at_ms, out.child(0));
      return out.close_nested();
    }
    case TypeKind::kMap:
      return append_map(plan, random, row, at_ms, out);
    case TypeKind::kRow:
      for (size_t i = 0; i < plan.parts.size(); ++i)
        append_value(plan.parts[i], random, row, at_ms, out.child(i));
      return out.close_nested();
    default: {
      const uint64_t span = static_cast<uint64_t>(plan.high) - static_cast<uint64_t>(plan.low);
      const uint64_t offset = span == UINT64_MAX ? random.next() : random.below(span + 1);
      return append_whole(type.kind, static_cast<int64_t>(static_cast<uint64_t>(plan.low) + offset), out);
    }
  }
}

void append_value(const FieldPlan& plan, Random& random, int64_t row, int64_t at_ms,
                  columnar::ColumnBuilder& out) {
  if (plan.null_rate > 0 && random.chance(plan.null_rate)) {
    out.append_null();
  } else if (plan.sequence) {
    append_whole(out.type()->kind, plan.low + row, out);
  } else {
    append_random(plan, random, row, at_ms, out);
  }
}

Status check_sequence(const columnar::Field& field, const std::string& prefix,
                      const std::map<std::string, std::string>& options) {
  if (!options.contains(prefix + "start") || !options.contains(prefix + "end")) {
    return Status(ErrorCode::kBadOption, "the sequence of column " + field.name + " needs '" + prefix +
                                             "start' and '" + prefix + "end'");
  }
  if (columnar::is_numeric(field.type->kind) || field.type->kind == TypeKind::kString) return Status();
  return bad_value(prefix + "kind", "sequence", "random for a column of type " + to_string(*field.type));
}

Result<FieldPlan> read_field(const columnar::Field& field,
                             const std::map<std::string, std::string>& options) {
  FieldPlan plan;
  plan.salt = hash64(field.name);
  STRAND_OK(set_defaults(field.name, *field.type, plan));
  const FieldPlan whole_type = plan;
  const std::string prefix = "fields." + field.name + ".";
  std::vector<std::string> parts;
  for (const columnar::Field& part : field.type->children) {
    parts.push_back(part.name);
    STRAND_TRY(FieldPlan made, read_field({field.name + "." + part.name, part.type}, options));
    plan.parts.push_back(std::move(made));
  }
  for (auto option = options.lower_bound(prefix);
       option != options.end() && option->first.starts_with(prefix); ++option) {
    const std::string what = option->first.substr(prefix.size());
    if (std::ranges::find(parts, what.substr(0, what.find('.'))) != parts.end()) continue;
    STRAND_OK(set_option(option->first, what, option->second, *field.type, plan));
  }
  if (plan.sequence) STRAND_OK(check_sequence(field, prefix, options));
  const bool exact = whole_type.high > 0;  // a type of whole numbers
  const bool beyond = exact && (plan.low < whole_type.low || plan.high > whole_type.high);
  if (beyond || plan.low > plan.high || plan.low_real > plan.high_real) {
    return Status(ErrorCode::kBadOption,
                  "the range of column " + field.name + " is empty or exceeds its type");
  }
  return plan;
}

}  // namespace

Result<std::vector<FieldPlan>> read_fields(const columnar::Schema& schema,
                                           const std::map<std::string, std::string>& options) {
  std::vector<FieldPlan> plans;
  for (const columnar::Field& field : schema.fields()) {
    STRAND_TRY(FieldPlan plan, read_field(field, options));
    plans.push_back(plan);
  }
  return plans;
}

Result<std::optional<int64_t>> rows_of_sequences(const std::map<std::string, std::string>& options) {
  std::optional<int64_t> rows;
  for (const auto& [key, value] : options) {
    if (!key.starts_with("fields.") || !key.ends_with(".kind") || value != "sequence") continue;
    const std::string prefix = key.substr(0, key.size() - 4);
    const auto start = options.find(prefix + "start");
    const auto end = options.find(prefix + "end");
    if (start == options.end() || end == options.end()) continue;
    STRAND_TRY(const int64_t first, parse_number<int64_t>(start->first, start->second));
    STRAND_TRY(const int64_t last, parse_number<int64_t>(end->first, end->second));
    const int64_t length = std::max<int64_t>(last - first, -1) + 1;
    rows = std::min(rows.value_or(length), length);
  }
  return rows;
}

void append_row(const std::vector<FieldPlan>& plans, uint64_t seed, int64_t row, int64_t at_ms,
                columnar::BatchBuilder& out) {
  for (size_t i = 0; i < plans.size(); ++i) {
    const FieldPlan& plan = plans[i];
    columnar::ColumnBuilder& column = out.column(i);
    Random random(combine_hash(combine_hash(seed, plan.salt), static_cast<uint64_t>(row)));
    append_value(plan, random, row, at_ms, column);
  }
  out.end_row();
}

}  // namespace strand::connect::datagen
