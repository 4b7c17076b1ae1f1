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

}  // namespace

std::optional<JsonLayout> JsonLayout::learn(std::string_view line, const std::vector<JsonMember>& members,
                                            const JsonShape& shape, const JsonOptions& options) {
  if (members.size() > kStepsMax) return std::nullopt;
  JsonLayout layout;
  std::vector<bool> seen(shape.children.size());
  size_t at = 0;
  for (const JsonMember& member : members) {
    Step step;
    if (!set_literal(line.substr(at, member.value_begin - at), {}, step.before)) return std::nullopt;
    at = member.value_end;
    if (member.column >= 0) {
      const auto column = static_cast<size_t>(member.column);
      if (seen[column]) return std::nullopt;
      seen[column] = true;
      step.column = member.column;
      step.kind = fast_value(shape.children[column].type->kind);
    }
    layout.steps.push_back(step);
  }
  if (!set_literal(line.substr(at), "\n", layout.tail)) return std::nullopt;
  for (size_t column = 0; column < seen.size(); ++column) {
    if (seen[column]) continue;
    if (options.fail_on_missing) return std::nullopt;
    layout.missing.push_back(static_cast<int>(column));
  }
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
