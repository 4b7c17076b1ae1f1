// The options of a table in Kafka, by Flink's names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "codec/record_decoder.h"
#include "connect/kafka/client.h"
#include "connect/registry.h"

namespace strand::connect::kafka {

enum class StartMode : uint8_t { kEarliest, kLatest, kGroup, kTimestamp, kSpecific };
enum class StopMode : uint8_t { kNever, kLatest, kGroup, kTimestamp, kSpecific };
/// What to do where the position to go on from is not there any more.
enum class LostPosition : uint8_t { kFail, kEarliest, kLatest };
enum class Guarantee : uint8_t { kNone, kAtLeastOnce, kExactlyOnce };
enum class Partitioner : uint8_t { kDefault, kFixed, kRoundRobin };
/// The answer to kMarkerLost.
enum class LostMarker : uint8_t { kAsk, kWritten, kMissing };

/// Offsets by partition.
using Offsets = std::map<int32_t, int64_t>;

/// One side of a record.
struct PartFormat {
  std::string name;              // empty: the side is not used
  codec::FormatOptions options;  // without `key.` or `value.`
};

struct KafkaOptions {
  std::vector<std::string> topics;
  std::string topic_pattern;  // instead of topics
  Properties properties;
  PartFormat value;
  PartFormat key;
  std::vector<std::string> key_fields;
  std::string key_prefix;    // key.fields-prefix
  bool key_in_value = true;  // value.fields-include = ALL
  bool upsert = false;       // upsert-kafka
  bool ignore_bad = false;   // FORMAT.ignore-parse-errors
  StartMode start = StartMode::kGroup;
  int64_t start_millis = 0;
  Offsets start_offsets;
  StopMode stop = StopMode::kNever;
  int64_t stop_millis = 0;
  Offsets stop_offsets;
  std::optional<Duration> discovery;  // nothing: the first look is the last
  LostPosition lost = LostPosition::kFail;
  bool commit_offsets = true;  // to the group, if there is one
  Guarantee guarantee = Guarantee::kAtLeastOnce;
  Partitioner partitioner = Partitioner::kDefault;
  LostMarker lost_marker = LostMarker::kAsk;
  std::string transactional_prefix;

  bool has_group() const { return properties.contains("group.id"); }
  bool bounded() const { return stop != StopMode::kNever; }
};

/// Reads and checks them; asks no broker. kBadOption, kUnknownOption.
Result<KafkaOptions> read_options(const TableContext& table, Side side, bool upsert);

/// The names of all options of the connector.
std::vector<std::string> source_option_names(bool upsert);
std::vector<std::string> sink_option_names(bool upsert);

}  // namespace strand::connect::kafka
