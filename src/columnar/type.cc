#include "columnar/type.h"

namespace strand::columnar {

bool operator==(const Type& a, const Type& b) {
  return a.kind == b.kind && a.nullable == b.nullable && a.precision == b.precision && a.scale == b.scale &&
         a.fixed == b.fixed && a.multiset == b.multiset && a.children == b.children;
}

TypePtr make_type(TypeKind kind, bool nullable) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->nullable = nullable;
  return type;
}

TypePtr decimal_type(int precision, int scale, bool nullable) {
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::kDecimal;
  type->nullable = nullable;
  type->precision = precision;
  type->scale = scale;
  return type;
}

TypePtr timestamp_type(int precision, bool ltz, bool nullable) {
  auto type = std::make_shared<Type>();
  type->kind = ltz ? TypeKind::kTimestampLtz : TypeKind::kTimestamp;
  type->nullable = nullable;
  type->precision = precision;
  return type;
}

TypePtr text_type(TypeKind kind, int length, bool fixed, bool nullable) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->nullable = nullable;
  type->precision = length;
  type->fixed = fixed;
  return type;
}

namespace {
TypePtr nested_type(TypeKind kind, std::vector<Field> children, bool nullable) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->nullable = nullable;
  type->children = std::move(children);
  return type;
}
}  // namespace

TypePtr array_type(TypePtr element, bool nullable) {
  return nested_type(TypeKind::kArray, {{"element", std::move(element)}}, nullable);
}

TypePtr map_type(TypePtr key, TypePtr value, bool nullable) {
  return nested_type(TypeKind::kMap, {{"key", std::move(key)}, {"value", std::move(value)}}, nullable);
}

TypePtr multiset_type(TypePtr element, bool nullable) {
  auto type =
      std::make_shared<Type>(*map_type(std::move(element), make_type(TypeKind::kInt, false), nullable));
  type->multiset = true;
  return type;
}

TypePtr row_type(std::vector<Field> fields, bool nullable) {
  return nested_type(TypeKind::kRow, std::move(fields), nullable);
}

TypePtr with_nullable(const TypePtr& type, bool nullable) {
  if (type->nullable == nullable) return type;
  auto copy = std::make_shared<Type>(*type);
  copy->nullable = nullable;
  return copy;
}

namespace {

std::string parameter(int value) { return "(" + std::to_string(value) + ")"; }

std::string row_name(const Type& type) {
  std::string text = "ROW<";
  for (size_t i = 0; i < type.children.size(); ++i) {
    if (i > 0) text += ", ";
    text += "`" + type.children[i].name + "` " + to_string(*type.children[i].type);
  }
  return text + ">";
}

std::string name_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::kNull:
      return "NULL";
    case TypeKind::kBoolean:
      return "BOOLEAN";
    case TypeKind::kTinyInt:
      return "TINYINT";
    case TypeKind::kSmallInt:
      return "SMALLINT";
    case TypeKind::kInt:
      return "INT";
    case TypeKind::kBigInt:
      return "BIGINT";
    case TypeKind::kFloat:
      return "FLOAT";
    case TypeKind::kDouble:
      return "DOUBLE";
    case TypeKind::kDecimal:
      return "DECIMAL(" + std::to_string(type.precision) + ", " + std::to_string(type.scale) + ")";
    case TypeKind::kString:
      if (type.precision == 0) return "STRING";
      return (type.fixed ? "CHAR" : "VARCHAR") + parameter(type.precision);
    case TypeKind::kBytes:
      if (type.precision == 0) return "BYTES";
      return (type.fixed ? "BINARY" : "VARBINARY") + parameter(type.precision);
    case TypeKind::kDate:
      return "DATE";
    case TypeKind::kTime:
      return "TIME" + parameter(type.precision);
    case TypeKind::kTimestamp:
      return "TIMESTAMP" + parameter(type.precision);
    case TypeKind::kTimestampLtz:
      return "TIMESTAMP_LTZ" + parameter(type.precision);
    case TypeKind::kIntervalMillis:
      return "INTERVAL SECOND(3)";
    case TypeKind::kIntervalMonths:
      return "INTERVAL MONTH";
    case TypeKind::kArray:
      return "ARRAY<" + to_string(*type.children[0].type) + ">";
    case TypeKind::kMap:
      if (type.multiset) return "MULTISET<" + to_string(*type.children[0].type) + ">";
      return "MAP<" + to_string(*type.children[0].type) + ", " + to_string(*type.children[1].type) + ">";
    case TypeKind::kRow:
      return row_name(type);
  }
  return "?";
}

}  // namespace

std::string to_string(const Type& type) { return name_of(type) + (type.nullable ? "" : " NOT NULL"); }

int fixed_width(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTinyInt:
      return 1;
    case TypeKind::kSmallInt:
      return 2;
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kDate:
    case TypeKind::kTime:
      return 4;
    case TypeKind::kBigInt:
    case TypeKind::kDouble:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
    case TypeKind::kIntervalMillis:
    case TypeKind::kIntervalMonths:
      return 8;
    case TypeKind::kDecimal:
      return 16;
    default:
      return 0;
  }
}

bool is_integer(TypeKind kind) { return kind >= TypeKind::kTinyInt && kind <= TypeKind::kBigInt; }
bool is_numeric(TypeKind kind) { return kind >= TypeKind::kTinyInt && kind <= TypeKind::kDecimal; }

int64_t timestamp_units(int precision) {
  if (precision <= 3) return 1'000;
  return precision <= 6 ? 1'000'000 : 1'000'000'000;
}

std::optional<size_t> Schema::find(std::string_view name) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace strand::columnar
