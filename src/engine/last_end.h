// How a job ended, for whoever asks for it afterwards: `JOB/run/ended`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/running_job.h"
#include "env/env.h"

namespace strand::engine {

/// The last word of a process that has run a job. A process that was killed leaves none.
struct LastEnd {
  std::string job;
  std::string how;  // `stopped at 2026-02-08T10:15:00.000Z with savepoint PATH`
  std::string hint;
  bool over = false;  // its input has ended, or somebody has stopped it: nobody starts it again
};

LastEnd last_end(const std::string& job, const JobEnd& end, WallTime at);

/// For people, and not synced: a crash may lose it.
Status write_last_end(env::FileSystem& files, const std::string& run_dir, const LastEnd& end);
/// Whether the last process that ran the job there has told that it is over.
bool has_ended(env::FileSystem& files, const std::string& run_dir);
/// When a job starts.
void forget_last_end(env::FileSystem& files, const std::string& run_dir);
/// Of the jobs below a state root, by name; files that cannot be read are left out.
std::vector<LastEnd> list_last_ends(env::FileSystem& files, const std::string& state_root);

}  // namespace strand::engine
