// Known traps, found in a plan before it runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lint/facts.h"
#include "plan/plan.h"

namespace strand::lint {

enum class Severity : uint8_t { kNote, kWarning };

/// One trap that a plan has walked into.
struct Finding {
  int number = 0;    // STRAND-2101 is rule L01
  std::string rule;  // `L01`
  Severity severity = Severity::kWarning;
  std::string node;         // id of the operator
  std::string where;        // file:line:column
  std::string message;      // what is wrong here
  std::string explanation;  // what comes of it
  std::string rewrite;      // what to write instead

  /// `job.sql:3:1: warning STRAND-2102 message`, explanation and rewrite on lines of their own, indented by
  /// two.
  std::string to_string() const;
};

/// A rule: one file each.
struct Rule {
  std::string_view id;
  int number;
  std::string_view title;
  void (*check)(const plan::Plan&, const Facts&, std::vector<Finding>&);
};

std::span<const Rule> all_rules();
/// The findings of all rules, in the order of the rules, then of the plan's nodes.
std::vector<Finding> lint(const plan::Plan& plan, const Facts& facts = {});

}  // namespace strand::lint
