// Names of the files in a checkpoint folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace strand::checkpoint {

struct SnapshotName {
  Epoch epoch;
  Generation generation;
  Attempt attempt;
  friend auto operator<=>(const SnapshotName&, const SnapshotName&) = default;
};

/// `m7-g1-a2`
std::string manifest_name(const SnapshotName& name);
/// Whether a file of `attempts` can be a record: `g<g>-a<a>`.
bool is_attempt_name(std::string_view text);
std::optional<SnapshotName> parse_manifest_name(std::string_view name);
/// The epoch of `e7-...`, a state file, finished or not.
std::optional<Epoch> parse_file_name(std::string_view name);
/// `savepoint-ad-clicks-e7-g1-a2-0123abcd`. The last part tells savepoints of one job apart whose numbers
/// began anew because the checkpoint folder was lost.
std::string savepoint_name(std::string_view job, const SnapshotName& name, std::string_view hash);
/// Nothing if the name is not that of a savepoint of this job.
std::optional<SnapshotName> parse_savepoint_name(std::string_view job, std::string_view name);
inline constexpr size_t kSavepointHash = 8;

}  // namespace strand::checkpoint
