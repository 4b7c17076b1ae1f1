#include "runtime/state_fits.h"

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

}  // namespace strand::runtime
