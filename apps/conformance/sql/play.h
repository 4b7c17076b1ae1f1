// Plays a job of a case through the engine: SQL text to plan to running tasks.
#pragma once

#include <string>
#include <vector>

#include "conformance/sql/script.h"
#include "state/spill/spill.h"

namespace strand::conformance::sql {

/// What became of a job.
struct Played {
  Status error;
  bool started = false;  // false: the error came before the job ran
  std::string shown;     // what SHOW, DESCRIBE and EXPLAIN have answered
  std::shared_ptr<Stage> stage;
  /// The rows of the query itself; none for INSERTs.
  const Received* result() const;
};

/// How a case is played.
struct PlayOptions {
  int parallelism = 1;
  /// Before each row the job is stopped with a savepoint and started from it, or crashes behind a checkpoint,
  /// in turn.
  bool restore_each_step = false;
  state::MakeSpillSpace spill_space = {};
  /// More than 1: so many lines of a table come before anything is done with them, and time is told behind
  /// them. With `one_by_one` they come as without it, but time is told as late.
  size_t batch_rows = 1;
  bool one_by_one = false;
};

/// Compiles `text` and plays `input` to it, a line at a time: each line is handed out when everything that
/// the one before it caused has come to rest; then the tables end, one by one, in the order of their first
/// line. Watermarks follow each row. There are no checkpoints and no restarts but those of the input and of
/// the options; sinks hold what is committed, so a crash takes back what came after the last checkpoint.
Played play(const std::string& text, const std::vector<InputLine>& input, const PlayOptions& options);

}  // namespace strand::conformance::sql
