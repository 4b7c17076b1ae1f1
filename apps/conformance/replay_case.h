// One case, replayed.
#pragma once

#include <string>

#include "conformance/family.h"

namespace strand::conformance {

struct ReplayOptions {
  /// Elements of one input that follow each other go to the operator together, up to so many, where it takes
  /// batches.
  size_t batch_rows = 1;
  /// Instead of what was recorded: an operator that keeps the floor, stopped and restored after each step,
  /// must do what it does without (and this differs from Flink on purpose: docs/semantics/differences.md).
  bool restore_each_step = false;
  /// Where operators keep what has no room in memory, or empty.
  state::MakeSpillSpace spill_space;
};

enum class Verdict { kPassed, kFailed, kUnsupported };

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string why;  // unless it passed: the step and what differs, or what the engine does not have
};

Outcome replay_case(const Json& test_case, const ReplayOptions& options);

}  // namespace strand::conformance
