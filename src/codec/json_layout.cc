#include "codec/json_layout.h"

#include <algorithm>

namespace strand::codec {

using columnar::TypeKind;

namespace {

FastValue fast_value(TypeKind kind) {
  switch (kind) {
    case TypeKind::kString:
      return FastValue::kString;
    case TypeKind::kInt:
      return FastValue::kInt;
    case TypeKind::kBigInt:
      return FastValue::kBigInt;
    case TypeKind::kBoolean:
      return FastValue::kBoolean;
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return FastValue::kTimestamp;
    default:
      return FastValue::kOther;
  }
}

bool set_literal(std::string_view text, std::string_view end, Literal& literal) {
  if (text.size() + end.size() > Literal::kMax) return false;
  std::copy(end.begin(), end.end(), std::copy(text.begin(), text.end(), literal.text.begin()));
  literal.size = static_cast<uint32_t>(text.size() + end.size());
  return true;
}

void list_shapes(const JsonShape& row, std::vector<const JsonShape*>& places) {
  for (const JsonShape& child : row.children) {
    places.push_back(&child);
    if (child.type->kind == TypeKind::kRow) list_shapes(child, places);
  }
}

/// Places of a ROW's fields that were not seen, and of those of its ROWs that were.
void find_missing(const JsonShape& row, const std::vector<bool>& seen, const std::vector<int>& rows,
                  std::vector<int>& missing) {
  for (const JsonShape& child : row.children) {
    if (!seen[static_cast<size_t>(child.place)]) {
      missing.push_back(child.place);
    } else if (std::ranges::find(rows, child.place) != rows.end()) {
      find_missing(child, seen, rows, missing);
    }
  }
}

}  // namespace

std::optional<JsonLayout> JsonLayout::learn(std::string_view line, const JsonMembers& members,
                                            const JsonShape& shape, const JsonOptions& options) {
  if (members.values.size() > kStepsMax) return std::nullopt;
  std::vector<const JsonShape*> places;
  list_shapes(shape, places);
  std::vector<bool> seen(places.size());
  const auto comes_again = [&seen](int place) {
    const bool again = seen[static_cast<size_t>(place)];
    seen[static_cast<size_t>(place)] = true;
    return again;
  };
  JsonLayout layout;
  size_t at = 0;
  for (const JsonMembers::Value& value : members.values) {
    Step step;
    if (!set_literal(line.substr(at, value.begin - at), {}, step.before)) return std::nullopt;
    at = value.end;
    if (value.place != JsonShape::kNoPlace) {
      if (comes_again(value.place)) return std::nullopt;
      step.place = value.place;
      step.kind = fast_value(places[static_cast<size_t>(value.place)]->type->kind);
    }
    layout.steps.push_back(step);
  }
  if (!set_literal(line.substr(at), "\n", layout.tail)) return std::nullopt;
  if (std::ranges::any_of(members.rows, comes_again)) return std::nullopt;
  layout.rows = members.rows;
  find_missing(shape, seen, layout.rows, layout.missing);
  if (options.fail_on_missing && !layout.missing.empty()) return std::nullopt;
  return layout;
}

FastKernel fast_kernel(CpuLevel level) {
#if STRAND_HAS_V3
  if (level == CpuLevel::kV3) return fast_lines_v3;
#else
  static_cast<void>(level);
#endif
  return fast_lines_portable;
}

}  // namespace strand::codec
