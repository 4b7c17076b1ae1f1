#include "runtime/state_fits.h"

#include "plan/ends.h"

namespace strand::runtime {

int32_t max_parallelism_of(const checkpoint::Manifest& snapshot, const JobOptions& options) {
  const bool keeps = options.keeps_max_parallelism && options.parallelism <= snapshot.max_parallelism;
  return keeps ? snapshot.max_parallelism : options.max_parallelism;
}

Status check_state_fits(const checkpoint::Manifest& snapshot, const std::string& path, const plan::Plan& plan,
                        const JobOptions& options) {
  if (snapshot.job != options.job) {
    return Status(ErrorCode::kStateMismatch,
                  "expected a snapshot of job '" + options.job + "', found one of job '" + snapshot.job + "'")
        .at(path)
        .hint("choose a snapshot of this job, or give the job its old name");
  }
  const int32_t asked = max_parallelism_of(snapshot, options);
  if (snapshot.max_parallelism != asked) {
    const std::string highest = std::to_string(snapshot.max_parallelism);
    return Status(ErrorCode::kMaxParallelism, "the snapshot has a maximum parallelism of " + highest +
                                                  ", the job asks for " + std::to_string(asked))
        .at(path)
        .hint("set 'pipeline.max-parallelism' = '" + highest + "'");
  }
  const auto differences =
      plan::fingerprint_differences(snapshot.fingerprint, plan::fingerprint(plan), options.may_drop);
  if (differences.empty()) return Status();
  std::string text = "the state does not fit the job:";
  for (const std::string& difference : differences) text += "\n    " + difference;
  return Status(ErrorCode::kStateMismatch, std::move(text))
      .at(path)
      .hint(
          "undo the change, start anew with --from none (the input is read from its start), or name "
          "operators that are gone for good in 'strand.state.drop'");
}

Status check_savepoint_first(const checkpoint::Manifest& snapshot, const std::string& path,
                             const plan::Plan& plan) {
  if (snapshot.kind == checkpoint::SnapshotKind::kSavepoint) return Status();
  const auto differences = plan::end_differences(snapshot.fingerprint, plan);
  if (differences.empty()) return Status();
  std::string text = "the newest snapshot is a checkpoint, and the job has changed since:";
  for (const std::string& difference : differences) text += "\n    " + difference;
  return Status(ErrorCode::kStateMismatch, std::move(text))
      .at(path)
      .hint(
          "run the old form once more and stop it with a savepoint (strandline stop), then this one; or go "
          "on from the "
          "checkpoint all the same, by its name: --from " +
          path + "; or count again: --from none");
}

}  // namespace strand::runtime
