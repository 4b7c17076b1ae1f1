#include "conformance/family.h"

namespace strand::conformance {
std::optional<Family> make_operator_family(const std::string&, const Json&) { return std::nullopt; }
}  // namespace strand::conformance
