// The half of JsonReader that knows types.
#include "codec/json_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace strand::codec {

using columnar::BatchBuilder;
using columnar::ColumnBuilder;
using columnar::TypeKind;

JsonShape JsonShape::of(const columnar::TypePtr& type) {
  JsonShape shape;
  shape.type = type;
  for (const columnar::Field& field : type->children) {
    shape.names.push_back(field.name);
    shape.children.push_back(of(field.type));
  }
  return shape;
}

namespace {

void number_places(JsonShape& row, int& next) {
  for (JsonShape& child : row.children) {
    child.place = next++;
    if (child.type->kind == TypeKind::kRow) number_places(child, next);
  }
}

}  // namespace

JsonShape JsonShape::of(const columnar::Schema& schema) {
  JsonShape shape = of(columnar::row_type(schema.fields()));
  int next = 0;
  number_places(shape, next);
  return shape;
}

namespace {

constexpr size_t kShownMax = 64;

/// A text for a message: as it stands, cut if long.
std::string shown(std::string_view text) {
  return text.size() <= kShownMax ? std::string(text) : std::string(text.substr(0, kShownMax)) + "...";
}

/// JSON without the blanks between its tokens.
void compact(std::string_view json, std::string& out) {
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) continue;
    out.push_back(c);
    if (c == '\\') out.push_back(json[++i]);
    if (c == '"') quoted = !quoted;
  }
}

size_t find_name(const JsonShape& shape, std::string_view name) {
  const auto at = std::find(shape.names.begin(), shape.names.end(), name);
  return static_cast<size_t>(at - shape.names.begin());
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

}  // namespace

/// Calls member(name) in front of each value of the object at p_.
template <class F>
bool JsonReader::object(const F& member) {
  if (p_ >= end_ || *p_ != '{') return syntax("'{'");
  ++p_;
  blanks();
  if (p_ < end_ && *p_ == '}') {
    ++p_;
    return true;
  }
  std::string_view name;
  for (bool more = true; more;) {
    if (!member_name(name) || !member(name) || !comma_or('}', more)) return false;
  }
  return true;
}

bool JsonReader::record(std::string_view line, const JsonShape& shape, BatchBuilder& out,
                        JsonMembers* members) {
  members_ = members;
  const bool read = record(line, shape, out);
  members_ = nullptr;
  return read;
}

bool JsonReader::record(std::string_view line, const JsonShape& shape, BatchBuilder& out) {
  start(line.data(), line.data() + line.size());
  blanks();
  const int64_t row = out.rows();
  const bool read = object([&](std::string_view name) {
    const size_t field = find_name(shape, name);
    if (field == shape.names.size()) return unwanted_member();
    ColumnBuilder& column = out.column(field);
    column.truncate(row);
    if (wanted_member(shape.children[field], column)) return true;
    if (reason_.starts_with("expected ")) reason_ = "field " + shape.names[field] + ": " + reason_;
    return false;
  });
  if (!read) return false;
  blanks();
  if (p_ != end_) return syntax("the end of the record");
  for (size_t i = 0; i < shape.names.size(); ++i) {
    if (out.column(i).length() > row) continue;
    if (!missing(shape, i)) return false;
    out.column(i).append_null();
  }
  return true;
}

bool JsonReader::unwanted_member() {
  const char* from = p_;
  if (!skip_value()) return false;
  if (members_ != nullptr) {
    members_->values.push_back(
        {static_cast<size_t>(from - begin_), static_cast<size_t>(p_ - begin_), JsonShape::kNoPlace});
  }
  return true;
}

bool JsonReader::wanted_member(const JsonShape& shape, ColumnBuilder& out) {
  const char* from = p_;
  const bool fields_are_places = p_ < end_ && *p_ == '{' && shape.type->kind == TypeKind::kRow;
  JsonMembers* const members = std::exchange(members_, fields_are_places ? members_ : nullptr);
  const bool read = convert(shape, out);
  members_ = members;
  if (!read || members == nullptr) return read;
  if (fields_are_places) {
    members->rows.push_back(shape.place);
  } else {
    members->values.push_back(
        {static_cast<size_t>(from - begin_), static_cast<size_t>(p_ - begin_), shape.place});
  }
  return true;
}

const char* JsonReader::value_at(const char* p, const char* end, const JsonShape& shape, ColumnBuilder& out) {
  start(p, end);
  return convert(shape, out) ? p_ : nullptr;
}

bool JsonReader::missing(const JsonShape& shape, size_t field) {
  if (!options_.fail_on_missing) return true;
  reason_ = "field " + shape.names[field] + " is missing";
  return false;
}

bool JsonReader::misfit(const JsonShape& shape, std::string_view text, ColumnBuilder& out) {
  if (options_.misfit_is_null) {
    out.append_null();
    return true;
  }
  reason_ = "expected " + to_string(*shape.type) + ", found " + shown(text);
  return false;
}

bool JsonReader::convert(const JsonShape& shape, ColumnBuilder& out) {
  if (p_ < end_ && (*p_ == '{' || *p_ == '[')) return convert_nested(shape, out);
  const char* from = p_;
  Token token;
  if (!scalar(token)) return false;
  if (!token.quoted && token.text == "null") {
    out.append_null();
    return true;
  }
  if (convert_scalar(token, shape, out)) return true;
  return misfit(shape, {from, static_cast<size_t>(p_ - from)}, out);
}

bool JsonReader::convert_nested(const JsonShape& shape, ColumnBuilder& out) {
  const bool is_object = *p_ == '{';
  switch (shape.type->kind) {
    case TypeKind::kRow:
      if (is_object) return convert_row(shape, out);
      break;
    case TypeKind::kMap:
      if (is_object) return convert_map(shape, out);
      break;
    case TypeKind::kArray:
      if (!is_object) return convert_array(shape, out);
      break;
    default:
      break;
  }
  const char* from = p_;
  if (!skip_value()) return false;
  const std::string_view text(from, static_cast<size_t>(p_ - from));
  if (shape.type->kind != TypeKind::kString) return misfit(shape, text, out);
  text_buffer_.clear();
  compact(text, text_buffer_);
  out.append_string(text_buffer_);
  return true;
}

bool JsonReader::convert_row(const JsonShape& shape, ColumnBuilder& out) {
  const int64_t row = out.length();
  const bool read = object([&](std::string_view name) {
    const size_t field = find_name(shape, name);
    if (field == shape.names.size()) return unwanted_member();
    out.child(field).truncate(row);
    return wanted_member(shape.children[field], out.child(field));
  });
  if (!read) return false;
  for (size_t i = 0; i < shape.names.size(); ++i) {
    if (out.child(i).length() > row) continue;
    if (!missing(shape, i)) return false;
    out.child(i).append_null();
  }
  out.close_nested();
  return true;
}

bool JsonReader::convert_array(const JsonShape& shape, ColumnBuilder& out) {
  ++p_;
  blanks();
  if (p_ < end_ && *p_ == ']') {
    ++p_;
  } else {
    for (bool more = true; more;) {
      if (!convert(shape.children[0], out.child(0)) || !comma_or(']', more)) return false;
    }
  }
  out.close_nested();
  return true;
}

bool JsonReader::convert_map(const JsonShape& shape, ColumnBuilder& out) {
  // The last of equal keys counts, so the values are read only once all keys are known.
  std::vector<std::pair<std::string, const char*>> entries;
  const bool read = object([&](std::string_view name) {
    const auto same = [&](const auto& entry) { return entry.first == name; };
    const auto known = std::find_if(entries.begin(), entries.end(), same);
    if (known != entries.end()) {
      known->second = p_;
    } else {
      entries.emplace_back(name, p_);
    }
    return skip_value();
  });
  if (!read) return false;
  const char* behind = p_;
  for (const auto& [key, value] : entries) {
    out.child(0).append_string(key);
    p_ = value;
    if (!convert(shape.children[1], out.child(1))) return false;
  }
  p_ = behind;
  out.close_nested();
  return true;
}

bool JsonReader::convert_scalar(const Token& token, const JsonShape& shape, ColumnBuilder& out) {
  const std::string_view text = unescaped(token, text_buffer_);
  const columnar::Type& type = *shape.type;
  const auto put32 = [&](std::optional<int32_t> value) {
    if (value) out.append(*value);
    return value.has_value();
  };
  switch (type.kind) {
    case TypeKind::kString:
      out.append_string(text);
      return true;
    case TypeKind::kBoolean:
      out.append_boolean(equals_ignoring_case(java_trim(text), "true"));
      return true;
    case TypeKind::kBytes: {
      std::string bytes;
      if (!token.quoted || !decode_base64(text, bytes)) return false;
      out.append_string(bytes);
      return true;
    }
    case TypeKind::kDate:
      return put32(parse_date(text));
    case TypeKind::kTime:
      return put32(parse_time(text));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: {
      const auto value =
          parse_timestamp(text, type.precision, options_.form, type.kind == TypeKind::kTimestampLtz);
      if (value) out.append(*value);
      return value.has_value();
    }
    default:
      return convert_number(token.quoted ? java_trim(text) : text, token.quoted, shape, out);
  }
}

bool JsonReader::convert_integer(std::string_view text, bool quoted, int64_t low, int64_t high,
                                 int64_t& value) {
  if (const auto whole = parse_integer(text, low, high)) {
    value = *whole;
    return true;
  }
  // INT and BIGINT take a number with a fraction or exponent, not a text that holds one; both cut the
  // fraction off.
  if (quoted || high < INT32_MAX || text.find_first_of(".eE") == std::string_view::npos) return false;
  const auto number = parse_double(text);
  if (!number || *number < static_cast<double>(low)) return false;
  if (high == INT32_MAX ? *number > INT32_MAX : *number > 0x1p63) return false;
  value = *number >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(*number);
  return true;
}

bool JsonReader::convert_number(std::string_view text, bool quoted, const JsonShape& shape,
                                ColumnBuilder& out) {
  const columnar::Type& type = *shape.type;
  int64_t whole = 0;
  const auto integer = [&]<class T>(T) {
    if (!convert_integer(text, quoted, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), whole))
      return false;
    out.append(static_cast<T>(whole));
    return true;
  };
  switch (type.kind) {
    case TypeKind::kTinyInt:
      return integer(int8_t{});
    case TypeKind::kSmallInt:
      return integer(int16_t{});
    case TypeKind::kInt:
      return integer(int32_t{});
    case TypeKind::kBigInt:
      return integer(int64_t{});
    case TypeKind::kFloat:
    case TypeKind::kDouble: {
      const auto number = parse_double(text);
      if (!number) return false;
      if (type.kind == TypeKind::kDouble) {
        out.append(*number);
      } else {
        out.append(static_cast<float>(*number));
      }
      return true;
    }
    case TypeKind::kDecimal: {
      columnar::Int128 value = 0;
      const DecimalText fit = parse_decimal(text, type.precision, type.scale, value);
      if (fit == DecimalText::kNoNumber) return false;
      if (fit == DecimalText::kTooWide) {
        out.append_null();  // as Flink
      } else {
        out.append(value);
      }
      return true;
    }
    default:
      return false;
  }
}

}  // namespace strand::codec
