// Whether a job may go on from a snapshot: what a restore asks before it touches anything.
#pragma once

#include <string>

#include "checkpoint/manifest.h"
#include "plan/plan.h"
#include "runtime/attempt.h"

namespace strand::runtime {

/// The maximum parallelism that a job has when it goes on from a snapshot.
int32_t max_parallelism_of(const checkpoint::Manifest& snapshot, const JobOptions& options);

/// Compares job, maximum parallelism and fingerprint; `path` is the snapshot's, for messages. What only a
/// sink or the files of the snapshot can tell is not asked here. Errors: kStateMismatch, kMaxParallelism.
Status check_state_fits(const checkpoint::Manifest& snapshot, const std::string& path, const plan::Plan& plan,
                        const JobOptions& options);

/// A run that goes on by itself from a checkpoint, with watermarks or sinks that are not those of the run
/// which made it: kStateMismatch, which asks for a savepoint first. Rows of the checkpoint that wait for a
/// commit, or are in flight, are of the old ones.
Status check_savepoint_first(const checkpoint::Manifest& snapshot, const std::string& path,
                             const plan::Plan& plan);

}  // namespace strand::runtime
