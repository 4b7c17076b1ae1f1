// Watermark alignment: sources that wait for each other.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "plan/plan.h"

namespace strand::plan {

inline constexpr const char* kAlignmentOptions = "scan.watermark.alignment.";

/// Shards of tables of one group are not read while they are more than `max_drift` ahead of its slowest
/// source.
struct WatermarkAlignment {
  std::string group;
  Duration max_drift;
  Duration update_interval{1'000};  // how often sources tell how far they are
  friend bool operator==(const WatermarkAlignment&, const WatermarkAlignment&) = default;
};

/// What the options of the table say. Errors: kBadOption, kUnknownOption.
Result<std::optional<WatermarkAlignment>> watermark_alignment(const TableSpec& table);

}  // namespace strand::plan
