#include "conformance/sql/values.h"

#include <algorithm>
#include <cmath>

#include "columnar/batch.h"
#include "columnar/print.h"

namespace strand::conformance::sql {
namespace {

using columnar::Column;
using columnar::TypeKind;

/// The value that Java's text of it is read as.
Json floating(const std::string& text, double value) {
  return std::isfinite(value) ? Json(value) : Json(text);
}

std::string hex_text(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

void sort_entries(Json& entries) {
  std::sort(entries.begin(), entries.end(), [](const Json& a, const Json& b) { return a.dump() < b.dump(); });
}

Json list_to_json(const Column& column, int64_t row) {
  Json out = Json::array();
  const bool pairs = column.type()->kind != TypeKind::kArray;
  for (int32_t i = column.offsets()[row]; i < column.offsets()[row + 1]; ++i) {
    Json element = value_to_json(*column.child(0), i);
    out.push_back(pairs ? Json::array({std::move(element), value_to_json(*column.child(1), i)})
                        : std::move(element));
  }
  if (pairs) sort_entries(out);
  return out;
}

Json row_to_json(const Column& column, int64_t row) {
  Json out = Json::array();
  for (const auto& child : column.parts().children) out.push_back(value_to_json(*child, row));
  return out;
}

}  // namespace

Json value_to_json(const Column& column, int64_t row) {
  const columnar::Type& type = *column.type();
  if (type.kind == TypeKind::kNull || column.is_null(row)) return {};
  std::string text;
  switch (type.kind) {
    case TypeKind::kBoolean:
      return column.boolean(row);
    case TypeKind::kTinyInt:
      return column.values<int8_t>()[row];
    case TypeKind::kSmallInt:
      return column.values<int16_t>()[row];
    case TypeKind::kInt:
      return column.values<int32_t>()[row];
    case TypeKind::kBigInt:
    case TypeKind::kIntervalMillis:
    case TypeKind::kIntervalMonths:
      return column.values<int64_t>()[row];
    case TypeKind::kFloat:
      columnar::print_float(column.values<float>()[row], text);
      return floating(text, static_cast<double>(column.values<float>()[row]));
    case TypeKind::kDouble:
      columnar::print_double(column.values<double>()[row], text);
      return floating(text, column.values<double>()[row]);
    case TypeKind::kBytes:
      return hex_text(column.string(row));
    case TypeKind::kTime: {
      const int32_t millis = column.values<int32_t>()[row];
      columnar::print_time(millis, millis % 1000 == 0 ? 0 : 3, text);
      return text;
    }
    case TypeKind::kArray:
    case TypeKind::kMap:
      return list_to_json(column, row);
    case TypeKind::kRow:
      return row_to_json(column, row);
    default:
      return columnar::value_to_string(column, row);
  }
}

Json normalized(const Json& value, const columnar::Type& type) {
  if (value.is_null()) return value;
  if (value.is_number() && type.kind == TypeKind::kFloat) return static_cast<double>(value.get<float>());
  if (value.is_number() && type.kind == TypeKind::kDouble) return value.get<double>();
  if (!value.is_array()) return value;
  Json out = Json::array();
  for (size_t i = 0; i < value.size(); ++i) {
    if (type.kind == TypeKind::kMap && value[i].is_array() && value[i].size() == 2) {
      out.push_back(
          {normalized(value[i][0], *type.children[0].type), normalized(value[i][1], *type.children[1].type)});
    } else if (type.kind == TypeKind::kArray) {
      out.push_back(normalized(value[i], *type.children[0].type));
    } else if (type.kind == TypeKind::kRow && i < type.children.size()) {
      out.push_back(normalized(value[i], *type.children[i].type));
    } else {
      out.push_back(value[i]);
    }
  }
  if (type.kind == TypeKind::kMap) sort_entries(out);
  return out;
}

std::string plain_type(std::string name) {
  for (const std::string_view mark : {" NOT NULL", " *ROWTIME*", " *PROCTIME*"}) {
    for (size_t at = name.find(mark); at != std::string::npos; at = name.find(mark))
      name.erase(at, mark.size());
  }
  return name;
}

}  // namespace strand::conformance::sql
