#include "conformance/family.h"

namespace strand::conformance {

Family make_family(const std::string& family, const Json& config, const state::MakeSpillSpace& spill_space) {
  for (const auto make : {make_watermark_family, make_assigner_family, make_key_family}) {
    if (auto made = make(family, config)) return std::move(*made);
  }
  for (const auto make : {make_operator_family, make_sql_family}) {
    if (auto made = make(family, config, spill_space)) return std::move(*made);
  }
  Family unknown;
  unknown.unsupported = "family " + family;
  return unknown;
}

}  // namespace strand::conformance
