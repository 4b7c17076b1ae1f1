#include "sim/world/made_input.h"

#include <algorithm>

#include "base/text.h"
#include "codec/record_decoder.h"
#include "expr/compile.h"

namespace strand::sim {

namespace {

using columnar::TypeKind;

bool is_made(TypeKind kind) {
  static constexpr TypeKind kMade[] = {
      TypeKind::kBoolean, TypeKind::kTinyInt,   TypeKind::kSmallInt,    TypeKind::kInt,    TypeKind::kBigInt,
      TypeKind::kFloat,   TypeKind::kDouble,    TypeKind::kDecimal,     TypeKind::kString, TypeKind::kDate,
      TypeKind::kTime,    TypeKind::kTimestamp, TypeKind::kTimestampLtz};
  return std::ranges::count(kMade, kind) > 0;
}

std::string instant_text(int64_t millis, bool zoned) {
  std::string text = format_utc(millis).substr(0, 23);
  text[10] = ' ';
  return "\"" + text + (zoned ? "Z" : "") + "\"";
}

std::string value(const columnar::Type& type, Random& random, int64_t millis) {
  switch (type.kind) {
    case TypeKind::kBoolean:
      return random.chance(0.5) ? "true" : "false";
    case TypeKind::kFloat:
    case TypeKind::kDouble:  // quarters: their sums do not depend on the order
      return std::to_string(random.between(0, 400)) + ".25";
    case TypeKind::kDecimal:
      return std::to_string(random.between(0, 9)) +
             (type.scale > 0 ? "." + std::to_string(random.between(0, 9)) : "");
    case TypeKind::kString:
      return "\"v" + std::to_string(random.below(6)) + "\"";
    case TypeKind::kDate:
      return "\"" + format_utc(millis).substr(0, 10) + "\"";
    case TypeKind::kTime:
      return "\"" + format_utc(millis).substr(11, 8) + "\"";
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return instant_text(millis, type.kind == TypeKind::kTimestampLtz);
    default:
      return std::to_string(random.between(0, 100));
  }
}

}  // namespace

Result<MadeTable> MadeTable::of(const plan::Scan& scan, const std::vector<std::string>& unique) {
  MadeTable table;
  table.name_ = scan.table.name;
  table.scan_ = scan;
  const columnar::Schema& schema = *scan.table.schema;
  table.roles_.assign(schema.size(), Role::kFree);
  for (size_t i = 0; i < schema.size(); ++i) {
    if (std::ranges::count(unique, schema[i].name) > 0) table.roles_[i] = Role::kUnique;
    if (is_made(schema[i].type->kind) || schema[i].type->nullable) continue;
    return Status(ErrorCode::kNotSimulated, "expected columns of which values can be made, found " +
                                                schema[i].name + " of type " +
                                                columnar::to_string(*schema[i].type))
        .at(scan.table.where)
        .hint("give the input with --input");
  }
  if (!scan.watermark) return table;
  const expr::ExprPtr& time = scan.project[scan.watermark->time_column];
  for (const size_t column : expr::columns_of(*time)) {
    if (scan.read[column] < schema.size()) table.roles_[scan.read[column]] = Role::kTime;
  }
  return table;
}

std::string MadeTable::line(Random& random, int64_t millis, int64_t number) const {
  const columnar::Schema& schema = *scan_.table.schema;
  std::string text = "{";
  for (size_t i = 0; i < schema.size(); ++i) {
    const columnar::Type& type = *schema[i].type;
    std::string written = is_made(type.kind) ? value(type, random, millis) : "null";
    const bool text_type = type.kind == TypeKind::kString;
    if (roles_[i] == Role::kUnique && text_type) written = "\"u" + std::to_string(number) + "\"";
    if (roles_[i] == Role::kUnique && type.kind == TypeKind::kBigInt) written = std::to_string(number);
    if (roles_[i] == Role::kTime && type.kind == TypeKind::kBigInt) written = std::to_string(millis);
    text += (i == 0 ? "\"" : ",\"") + schema[i].name + "\":" + written;
  }
  return text + "}";
}

Result<std::vector<int64_t>> MadeTable::times(const std::vector<std::string>& lines) const {
  std::vector<int64_t> times(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) times[i] = static_cast<int64_t>(i);
  if (!scan_.watermark) return times;
  std::vector<columnar::Field> fields;
  for (const size_t column : scan_.read) fields.push_back((*scan_.table.schema)[column]);
  const auto read = std::make_shared<const columnar::Schema>(std::move(fields));
  STRAND_TRY(const auto decoder, codec::make_decoder(scan_.table.option("format", "json"), read,
                                                     scan_.table.schema, scan_.table.options));
  STRAND_TRY(const auto time, expr::compile(scan_.project[scan_.watermark->time_column], {}));
  int64_t before = INT64_MIN;
  for (size_t i = 0; i < lines.size(); ++i) {
    codec::DecodeOutput output(read);
    STRAND_TRY([[maybe_unused]] const size_t used, decoder->decode(lines[i] + "\n", 0, output));
    const columnar::Batch row = output.take_rows();
    if (row.rows() == 1) {
      STRAND_TRY(const auto column, time->eval(row, {WallTime{0}, EventTime::min()}));
      const int64_t units = columnar::timestamp_units(column->type()->precision) / 1000;
      if (!column->is_null(0)) before = column->values<int64_t>()[0] / std::max<int64_t>(units, 1);
    }
    times[i] = before;
  }
  return times;
}

}  // namespace strand::sim
