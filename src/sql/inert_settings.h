// Settings of Flink that a job may say and that change nothing here.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace strand::sql {

/// Why a setting of a cluster, a client or of what Strandline does by itself has no effect; nothing for any
/// other key. Families that belong to a cluster are taken whole, others key by key, so that a slip of the pen
/// shows.
std::optional<std::string_view> why_inert(std::string_view key);
/// The keys that are listed one by one.
std::span<const std::string_view> inert_keys();

}  // namespace strand::sql
