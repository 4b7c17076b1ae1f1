// How far the shards had been read when a process ended, for the number of records that a restart reads
// again.
#pragma once

#include <map>
#include <string>

#include "checkpoint/manifest.h"
#include "env/env.h"
#include "plan/plan.h"
#include "runtime/attempt.h"

namespace strand::engine {

/// Records read, by `table/shard`.
using Progress = std::map<std::string, int64_t>;

Progress progress_of(const runtime::AttemptView& view);
/// What a restore goes on from.
Progress progress_of(const checkpoint::Manifest& manifest, const plan::Plan& plan);
/// The further of both, shard by shard.
void merge(Progress& into, const Progress& other);
/// Records that `reached` holds beyond `restored`: they are read again.
int64_t records_again(const Progress& reached, const Progress& restored);

/// `run_dir/progress`, replaced whole and not synced: it is for people, and a crash may lose the newest of
/// it. So the number of replayed records is a lower bound after a process died, and exact after a restart
/// within it.
Status save_progress(env::FileSystem& files, const std::string& run_dir, const Progress& progress);
/// Empty if there is none or it is damaged.
Progress load_progress(env::FileSystem& files, const std::string& run_dir);

}  // namespace strand::engine
