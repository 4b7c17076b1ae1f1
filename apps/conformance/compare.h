// Whether what the engine did is what was recorded.
#pragma once

#include <string>

#include "conformance/family.h"

namespace strand::conformance {

/// Nothing if `actual` agrees with `expected` under the rules of the corpus, else what differs.
///
/// Records of one firing keep their order. Firings of one timer time have no order among keys and windows:
/// their groups are compared as a multiset. Numbers of timers and of state entries depend on how an operator
/// is built and are compared only where nothing may be left.
std::string difference(Comparison comparison, const Json& expected, const Json& actual);

}  // namespace strand::conformance
