// Reads partitions.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connect/kafka/position.h"
#include "connect/kafka/records.h"
#include "flow/source.h"
#include "obs/events.h"

namespace strand::connect::kafka {

/// Reads the partitions that were assigned to it, each through a queue of its own that librdkafka's threads
/// fill: `poll` takes what is there and never waits. A partition that is not polled, because it is paused or
/// the job does not keep up, fills its queue and is then fetched no further.
///
/// Records of transactions that were not committed are not seen (isolation.level is read_committed unless the
/// table says otherwise). Every record is read once, from exactly the position on; where the topic does not
/// hold that position any more, nothing is skipped in silence: kRecordsGone, or a warning if
/// properties.auto.offset.reset says what to read instead. A bounded partition ends at the offset that was
/// fixed when it was found, also if that belongs to no record.
///
/// With a group, offsets are committed to it in the background when their checkpoint is complete (unless
/// properties.commit.offsets.on.checkpoint is false): for others to see, never to go on from. Belongs to its
/// task.
class KafkaReader final : public flow::SourceReader {
 public:
  KafkaReader(const TableContext& table, KafkaOptions options, std::unique_ptr<RecordRows> rows);
  ~KafkaReader() override;
  Status assign(const ShardState& shard) override;
  Result<flow::Polled> poll(WallTime now) override;
  size_t shards() const override { return shards_.size(); }
  ShardState state(size_t shard) const override;
  bool ended(size_t shard) const override { return shards_[shard].ended; }
  void pause(size_t shard, bool paused) override { shards_[shard].paused = paused; }
  void passed(Epoch epoch) override;
  void committed(Epoch epoch) override;
  std::string waits_for() const override;

 private:
  struct Shard {
    std::string name;
    PartitionName place;
    Position position;
    int64_t records = 0;
    rd_kafka_topic_t* topic = nullptr;
    QueuePtr queue;
    bool ended = false;
    bool paused = false;
    bool at_end = false;  // nothing was behind the last record that was read
  };

  Status connect();
  Status start(Shard& shard);
  void stop(Shard& shard);
  Status fetch(Shard& shard);
  Status on_message(Shard& shard, rd_kafka_message_t* message);
  Status on_error(Shard& shard, const rd_kafka_message_t& message);
  Status on_lost_position(Shard& shard);
  Result<flow::Polled> take(size_t index, WallTime now);
  void drop_messages();
  void look_for_brokers(WallTime now);

  const std::string table_;
  const KafkaOptions options_;
  const env::Env env_;
  obs::EventSink* const events_;
  const bool want_bad_;
  const std::unique_ptr<RecordRows> rows_;
  std::shared_ptr<Client> client_;
  std::map<std::string, TopicPtr> topics_;
  std::vector<Shard> shards_;
  size_t next_ = 0;
  std::vector<rd_kafka_message_t*> fetched_;
  std::vector<rd_kafka_message_t*> messages_;      // with records that count
  std::map<Epoch, std::vector<int64_t>> offsets_;  // of all shards at barriers, until they are committed
  WallTime look_again_{INT64_MIN};
  /// A look for brokers waits for its turn or for an answer.
  const std::shared_ptr<std::atomic<bool>> looking_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace strand::connect::kafka
