// Expressions of `eval` sections, and what the judges say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conformance/sql/case.h"

namespace strand::conformance::sql {

/// Of a case or an expression; no problem: it passed.
struct Verdict {
  std::string problem;
  bool unsupported = false;  // the engine says by number that it cannot do this
};
inline Verdict failed(std::string problem) { return {std::move(problem), false}; }
inline Verdict unsupported(std::string problem) { return {std::move(problem), true}; }
bool is_not_supported(const Status& error);

/// Every expression of the case with its verdict.
std::vector<std::pair<std::string, Verdict>> judge_evals(const Case& test_case, const std::string& folder);

}  // namespace strand::conformance::sql
