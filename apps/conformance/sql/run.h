// conformance sql: plays recorded SQL cases.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "state/spill/spill.h"

namespace strand::conformance::sql {

struct RunOptions {
  std::string folder;
  std::string where;  // topic=…,case=…
  bool verbose = false;
  std::optional<int> parallelism;  // of cases that do not say their own
  bool restore_each_step = false;
  state::MakeSpillSpace spill_space = {};
  /// More than 1: cases are not compared with the record, but played twice, so many lines at once and one by
  /// one, with time told at the same lines.
  size_t batch_rows = 1;
};

struct Counts {
  int passed = 0;
  int failed = 0;
  int unsupported = 0;
};

/// Plays the cases and prints a line for each topic. An expression of an `eval` section counts as a case of
/// its own.
Result<Counts> run(const RunOptions& options);

}  // namespace strand::conformance::sql
