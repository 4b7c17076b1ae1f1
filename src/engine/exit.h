// Exit codes of the commands, and how an error reaches a terminal.
#pragma once

#include "base/status.h"

namespace strand::engine {

enum Exit : int {
  kDone = 0,        // input ended, stopped with a savepoint, nothing found
  kAnswerIsNo = 1,  // the SQL has errors, check found some, --diff, sim or the ledger differ
  kBadUsage = 2,    // command line, profile, file not there
  kFailed = 3,      // failed while running, restarts used up
  kRefused = 4,     // refused to start, nothing touched
  kNoSuchJob = 5,   // no such job, or it does not answer
  kInterrupted = 130,
  kTerminated = 143,
};

/// The exit code that goes with an error of a command that did not get to run a job.
Exit exit_of(const Status& error);
/// The exit code of a job that has failed for good: refusals that only a sink's start can find are refusals
/// still.
Exit exit_of_failure(const Status& error);
/// Prints the error to stderr and gives its exit code.
Exit report(const Status& error);

}  // namespace strand::engine
