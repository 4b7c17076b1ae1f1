#include "connect/kafka/markers.h"

#include <re2/re2.h>

#include <cstring>

namespace strand::connect::kafka {

namespace {

/// A consumer of the group that joins nothing and reads no record.
Properties asking_properties(const Properties& properties, const std::string& group, Stability stability) {
  Properties asking = properties;
  for (auto at = asking.begin(); at != asking.end();) {
    at = at->first.starts_with("transaction") ? asking.erase(at) : std::next(at);
  }
  asking["group.id"] = group;
  asking["enable.auto.commit"] = "false";
  asking["isolation.level"] = stability == Stability::kStable ? "read_committed" : "read_uncommitted";
  return asking;
}

}  // namespace

std::string StoredMarker::metadata() const {
  return "gen=" + std::to_string(marker.generation.value) +
         ",attempt=" + std::to_string(marker.attempt.value) + ",epoch=" + std::to_string(marker.epoch.value) +
         ",subtasks=" + std::to_string(subtasks) + ",job=" + job;
}

std::optional<StoredMarker> StoredMarker::parse(int32_t subtask, int64_t epoch, std::string_view metadata) {
  StoredMarker stored;
  stored.marker.subtask = subtask;
  int64_t generation = 0, attempt = 0, named = 0;
  if (!re2::RE2::FullMatch(metadata, R"(gen=(\d+),attempt=(\d+),epoch=(\d+),subtasks=(\d+),job=(.*))",
                           &generation, &attempt, &named, &stored.subtasks, &stored.job) ||
      named != epoch) {
    return std::nullopt;
  }
  stored.marker.generation = Generation{generation};
  stored.marker.attempt = Attempt{attempt};
  stored.marker.epoch = Epoch{epoch};
  return stored;
}

Result<std::optional<StoredMarker>> read_marker(const Properties& properties, const std::string& group,
                                                const std::string& topic, int32_t subtask,
                                                Stability stability) {
  STRAND_TRY(const auto client,
             Client::make(RD_KAFKA_CONSUMER, asking_properties(properties, group, stability)));
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), 0);
  // Asks again by itself while the group's coordinator is not ready or, for stable offsets, a transaction is
  // just being ended.
  rd_kafka_resp_err_t error =
      rd_kafka_committed(client->get(), list.get(), static_cast<int>(kAnswerTime.millis));
  STRAND_OK(client->refusal(Side::kSink));
  const rd_kafka_topic_partition_t& found = list->elems[0];
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = found.err;
  if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return std::optional<StoredMarker>();
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
    return client->error(Side::kSink, error, "read the marker in group " + group);
  if (found.offset < 0) return std::optional<StoredMarker>();
  const std::string_view metadata(static_cast<const char*>(found.metadata), found.metadata_size);
  auto stored = StoredMarker::parse(subtask, found.offset, metadata);
  if (stored) return stored;
  return Status(ErrorCode::kWriterTaken, "expected a marker of Strandline in group " + group +
                                             ", found offset " + std::to_string(found.offset) + " with '" +
                                             std::string(metadata) + "'")
      .hint("a consumer uses the group: give the table another 'sink.transactional-id-prefix'");
}

ErrorPtr send_marker(const Client& client, const std::string& group, const std::string& topic,
                     const StoredMarker& marker, Duration deadline) {
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_t* place = rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), 0);
  const std::string metadata = marker.metadata();
  place->offset = marker.marker.epoch.value;
  place->metadata = strdup(metadata.c_str());  // the list frees it
  place->metadata_size = metadata.size();
  rd_kafka_consumer_group_metadata_t* members = rd_kafka_consumer_group_metadata_new(group.c_str());
  ErrorPtr error(rd_kafka_send_offsets_to_transaction(client.get(), list.get(), members,
                                                      static_cast<int>(deadline.millis)));
  rd_kafka_consumer_group_metadata_destroy(members);
  return error;
}

}  // namespace strand::connect::kafka
