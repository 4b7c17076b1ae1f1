#include "plan/alignment.h"

#include "base/text.h"

namespace strand::plan {

namespace {

constexpr const char* kGroup = "scan.watermark.alignment.group";
constexpr const char* kMaxDrift = "scan.watermark.alignment.max-drift";
constexpr const char* kUpdateInterval = "scan.watermark.alignment.update-interval";

Result<Duration> duration_of(const std::string& key, const std::string& text) {
  auto duration = parse_duration(text);
  if (duration.ok() && *duration >= Duration{0}) return duration;
  return Status(ErrorCode::kBadOption, "'" + key + "' expects a time, found '" + text + "'")
      .hint("for example '10 s'");
}

}  // namespace

Result<std::optional<WatermarkAlignment>> watermark_alignment(const TableSpec& table) {
  WatermarkAlignment alignment;
  std::optional<Duration> max_drift;
  for (const auto& [key, value] : table.options) {
    if (!key.starts_with(kAlignmentOptions)) continue;
    if (key == kGroup) {
      alignment.group = value;
    } else if (key == kMaxDrift) {
      STRAND_TRY(max_drift, duration_of(key, value));
    } else if (key == kUpdateInterval) {
      STRAND_TRY(alignment.update_interval, duration_of(key, value));
    } else {
      return Status(ErrorCode::kUnknownOption, "option '" + key + "' is not known")
          .hint("there are '" + std::string(kGroup) + "', '" + kMaxDrift + "' and '" + kUpdateInterval + "'");
    }
  }
  if (alignment.group.empty() && !max_drift) return std::optional<WatermarkAlignment>();
  if (alignment.group.empty() || !max_drift) {
    const std::string missing = max_drift ? kGroup : kMaxDrift;
    const std::string given = max_drift ? kMaxDrift : kGroup;
    return Status(ErrorCode::kBadOption, "'" + given + "' is of no use without '" + missing + "'")
        .hint("set both: tables of one group wait for the slowest when they are further ahead");
  }
  alignment.max_drift = *max_drift;
  return std::optional(std::move(alignment));
}

}  // namespace strand::plan
