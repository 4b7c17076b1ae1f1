// A version of a job that runs beside an older one until that is stopped (replay.md B1).
#pragma once

#include <functional>
#include <string>

#include "checkpoint/store.h"
#include "engine/job_options.h"

namespace strand::engine {

/// Both versions have the name of the job and write its tables as its writers; each has a folder, checkpoints
/// and a generation of its own.
struct Version {
  std::string name;  // `ad-clicks.g2`: of its folder below the state root, and for commands
  JobFolder folder;
  Generation generation;
  std::function<Result<checkpoint::Elder>()> elder;  // see runtime::JobOptions
};

/// The highest generation that a version of the job was given: the file `versions` in the job's folder. 0:
/// none.
Result<Generation> newest_version(env::FileSystem& files, const JobFolder& job);

/// The version that `run --beside ELDER` starts: the newest one, if that began beside ELDER and has run; else
/// a new one. Its generation is higher than that of every start before it, recorded durably before this
/// returns and never given twice, because tags of an abandoned version may stand in the tables. Errors:
/// kNoSuchJob if ELDER has never run below `root`; kBadUsage if a new version begins and there is no
/// savepoint for it to go on from (`from_snapshot`).
Result<Version> version_beside(env::Env env, const std::string& root, const std::string& job,
                               const std::string& elder, bool from_snapshot);

}  // namespace strand::engine
