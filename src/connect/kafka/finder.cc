#include "connect/kafka/finder.h"

#include <re2/re2.h>

#include <functional>
#include <mutex>

#include "base/hash.h"

namespace strand::connect::kafka {

namespace {

using MetadataPtr = std::unique_ptr<const struct rd_kafka_metadata, Destroy<rd_kafka_metadata_destroy>>;

constexpr int kWait = static_cast<int>(kAnswerTime.millis);

Result<MetadataPtr> ask_metadata(const Client& client, rd_kafka_topic_t* topic, const std::string& doing) {
  const struct rd_kafka_metadata* answer = nullptr;
  const auto error = rd_kafka_metadata(client.get(), topic == nullptr ? 1 : 0, topic, &answer, kWait);
  MetadataPtr metadata(answer);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return metadata;
  STRAND_OK(client.refusal(Side::kSource));
  return client.error(Side::kSource, error, doing);
}

Status add_partitions(const Client& client, const rd_kafka_metadata_topic& topic,
                      std::vector<std::string>& shards) {
  if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return client.error(Side::kSource, topic.err, std::string("read topic ") + topic.topic);
  for (int i = 0; i < topic.partition_cnt; ++i)
    shards.push_back(shard_name(topic.topic, topic.partitions[i].id));
  return Status();
}

Result<std::vector<std::string>> look(Client& client, const KafkaOptions& options) {
  std::vector<std::string> shards;
  for (const std::string& name : options.topics) {
    STRAND_TRY(const TopicPtr topic, client.topic(name));
    STRAND_TRY(const MetadataPtr metadata, ask_metadata(client, topic.get(), "read topic " + name));
    for (int i = 0; i < metadata->topic_cnt; ++i)
      STRAND_OK(add_partitions(client, metadata->topics[i], shards));
  }
  if (options.topic_pattern.empty()) return shards;
  const re2::RE2 pattern(options.topic_pattern, re2::RE2::Quiet);
  STRAND_TRY(const MetadataPtr all, ask_metadata(client, nullptr, "list topics"));
  for (int i = 0; i < all->topic_cnt; ++i) {
    if (re2::RE2::FullMatch(all->topics[i].topic, pattern))
      STRAND_OK(add_partitions(client, all->topics[i], shards));
  }
  return shards;
}

using Ask = std::function<rd_kafka_resp_err_t(rd_kafka_topic_partition_list_t*)>;

/// Offsets of partitions in their order: what `ask` makes of a list that begins with `offset` in each.
Result<std::vector<int64_t>> ask_offsets(const Client& client, const std::vector<PartitionName>& names,
                                         int64_t offset, const Ask& ask, const std::string& doing) {
  PartitionsPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(names.size())));
  for (const PartitionName& name : names)
    rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition)->offset = offset;
  const auto error = ask(list.get());
  STRAND_OK(client.refusal(Side::kSource));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return client.error(Side::kSource, error, doing);
  std::vector<int64_t> offsets;
  for (const PartitionName& name : names) {
    const auto* found = rd_kafka_topic_partition_list_find(list.get(), name.topic.c_str(), name.partition);
    if (found->err != RD_KAFKA_RESP_ERR_NO_ERROR)
      return client.error(Side::kSource, found->err, doing + " in " + shard_name(name.topic, name.partition));
    offsets.push_back(found->offset);
  }
  return offsets;
}

/// The first offset at or behind an instant in milliseconds; RD_KAFKA_OFFSET_END: that of the next record.
Result<std::vector<int64_t>> offsets_at(const Client& client, const std::vector<PartitionName>& names,
                                        int64_t instant) {
  const auto ask = [&](rd_kafka_topic_partition_list_t* list) {
    return rd_kafka_offsets_for_times(client.get(), list, kWait);
  };
  return ask_offsets(client, names, instant, ask, "find offsets");
}

/// The same; where no record is so late, the end.
Result<std::vector<int64_t>> offsets_from(const Client& client, const std::vector<PartitionName>& names,
                                          int64_t instant) {
  STRAND_TRY(std::vector<int64_t> offsets, offsets_at(client, names, instant));
  STRAND_TRY(const std::vector<int64_t> ends, offsets_at(client, names, RD_KAFKA_OFFSET_END));
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] < 0) offsets[i] = ends[i];
  }
  return offsets;
}

/// What the group has committed; negative where it has committed nothing.
Result<std::vector<int64_t>> group_offsets(const Client& client, const std::vector<PartitionName>& names) {
  const auto ask = [&](rd_kafka_topic_partition_list_t* list) {
    return rd_kafka_committed(client.get(), list, kWait);
  };
  return ask_offsets(client, names, RD_KAFKA_OFFSET_INVALID, ask, "read the offsets of the group");
}

Status no_offset(const std::string& shard, const KafkaOptions& options) {
  return Status(ErrorCode::kRecordsGone, "expected an offset of group " + options.properties.at("group.id") +
                                             " to begin at, found none")
      .at(shard)
      .hint(
          "set 'properties.auto.offset.reset' = 'earliest' or 'latest' for partitions without one, or "
          "another 'scan.startup.mode'");
}

}  // namespace

/// What the finder and a look in the background share.
struct KafkaFinder::Looking {
  std::unique_ptr<Client> client;
  std::mutex mutex;
  bool under_way = false;
  std::optional<Result<std::vector<std::string>>> last;
};

KafkaFinder::KafkaFinder(const TableContext& table, KafkaOptions options)
    : table_(table.table),
      options_(std::move(options)),
      env_(table.env),
      looking_(std::make_shared<Looking>()) {}

Result<std::vector<std::string>> KafkaFinder::find() {
  if (looking_->client == nullptr) {
    STRAND_TRY(looking_->client, Client::make(RD_KAFKA_CONSUMER, options_.properties));
  }
  if (!looking_->last) {
    Result<std::vector<std::string>> found = look(*looking_->client, options_);
    if (found.ok()) looking_->last = found;
    return found;
  }
  const std::lock_guard lock(looking_->mutex);
  if (!looking_->under_way) {
    looking_->under_way = true;
    env_.executor->submit(hash64("kafka finder " + table_), [looking = looking_, options = options_] {
      Result<std::vector<std::string>> found = look(*looking->client, options);
      const std::lock_guard inner(looking->mutex);
      looking->under_way = false;
      const bool passes = !found.ok() && found.status().reaction() != Reaction::kFailJob;
      if (!passes) looking->last = std::move(found);
    });
  }
  return *looking_->last;
}

Status KafkaFinder::begin(std::vector<ShardState>& shards, bool late) {
  std::vector<Place> places;
  for (ShardState& shard : shards) {
    STRAND_TRY(PartitionName name, PartitionName::parse(shard.shard));
    places.push_back({&shard, std::move(name), {}});
  }
  if (places.empty()) return Status();
  STRAND_OK(find_starts(places, late));
  if (options_.bounded()) STRAND_OK(find_stops(places));
  for (const Place& place : places) place.shard->position = place.position.text();
  return Status();
}

Status KafkaFinder::find_starts(std::vector<Place>& places, bool late) {
  if (late || options_.start == StartMode::kEarliest) return Status();
  const Client& client = *looking_->client;
  std::vector<PartitionName> names;
  for (const Place& place : places) names.push_back(place.name);
  std::vector<int64_t> starts(places.size(), RD_KAFKA_OFFSET_BEGINNING);
  if (options_.start == StartMode::kLatest) {
    STRAND_TRY(starts, offsets_at(client, names, RD_KAFKA_OFFSET_END));
  } else if (options_.start == StartMode::kTimestamp) {
    STRAND_TRY(starts, offsets_from(client, names, options_.start_millis));
  } else if (options_.start == StartMode::kSpecific) {
    for (size_t i = 0; i < names.size(); ++i) {
      const auto given = options_.start_offsets.find(names[i].partition);
      if (given != options_.start_offsets.end()) starts[i] = given->second;
    }
  } else {
    STRAND_TRY(starts, group_offsets(client, names));
    STRAND_TRY(const std::vector<int64_t> ends, offsets_at(client, names, RD_KAFKA_OFFSET_END));
    for (size_t i = 0; i < names.size(); ++i) {
      if (starts[i] >= 0) continue;
      if (options_.lost == LostPosition::kFail) return no_offset(places[i].shard->shard, options_);
      starts[i] = options_.lost == LostPosition::kLatest ? ends[i] : RD_KAFKA_OFFSET_BEGINNING;
    }
  }
  for (size_t i = 0; i < places.size(); ++i) places[i].position.next = starts[i];
  return Status();
}

Status KafkaFinder::find_stops(std::vector<Place>& places) {
  const Client& client = *looking_->client;
  std::vector<PartitionName> names;
  for (const Place& place : places) names.push_back(place.name);
  STRAND_TRY(std::vector<int64_t> stops, offsets_at(client, names, RD_KAFKA_OFFSET_END));
  if (options_.stop == StopMode::kTimestamp) {
    STRAND_TRY(stops, offsets_from(client, names, options_.stop_millis));
  } else if (options_.stop == StopMode::kSpecific) {
    for (size_t i = 0; i < names.size(); ++i) {
      const auto given = options_.stop_offsets.find(names[i].partition);
      if (given != options_.stop_offsets.end()) stops[i] = given->second;
    }
  } else if (options_.stop == StopMode::kGroup) {
    STRAND_TRY(stops, group_offsets(client, names));
    for (size_t i = 0; i < names.size(); ++i) {
      if (stops[i] < 0) return no_offset(places[i].shard->shard, options_);
    }
  }
  for (size_t i = 0; i < places.size(); ++i) places[i].position.stop = stops[i];
  return Status();
}

}  // namespace strand::connect::kafka
