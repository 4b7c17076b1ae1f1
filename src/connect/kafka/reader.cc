#include "connect/kafka/reader.h"

#include <algorithm>

#include "base/hash.h"
#include "connect/bad_records.h"

namespace strand::connect::kafka {

namespace {

constexpr Duration kLookAgain{5};
constexpr Duration kLookForBrokers{1'000};
constexpr int kBrokerAnswerMillis = 2'000;
constexpr size_t kEpochsKept = 64;  // whose offsets may still be committed

Properties reader_properties(const KafkaOptions& options) {
  Properties properties = options.properties;
  // What the user says stands.
  properties.try_emplace("isolation.level", "read_committed");
  properties.try_emplace("queued.max.messages.kbytes", "16384");
  properties.try_emplace("fetch.message.max.bytes", "4194304");
  properties["enable.auto.commit"] = "false";
  properties["enable.auto.offset.store"] = "false";
  properties["enable.partition.eof"] = "true";
  properties["auto.offset.reset"] = "error";
  return properties;
}

void ask_any_broker(Client& client) {
  const struct rd_kafka_metadata* answer = nullptr;
  if (rd_kafka_metadata(client.get(), 0, nullptr, &answer, kBrokerAnswerMillis) != RD_KAFKA_RESP_ERR_NO_ERROR)
    return;
  rd_kafka_metadata_destroy(answer);
  client.heard();
}

}  // namespace

KafkaReader::KafkaReader(const TableContext& table, KafkaOptions options, std::unique_ptr<RecordRows> rows)
    : table_(table.table),
      options_(std::move(options)),
      env_(table.env),
      events_(table.events),
      want_bad_(table.want_bad),
      rows_(std::move(rows)),
      fetched_(RecordRows::kMessagesMax) {}

KafkaReader::~KafkaReader() {
  drop_messages();
  for (Shard& shard : shards_) stop(shard);
}

Status KafkaReader::connect() {
  if (client_ != nullptr) return Status();
  STRAND_TRY(auto client, Client::make(RD_KAFKA_CONSUMER, reader_properties(options_)));
  client_ = std::move(client);
  return Status();
}

Status KafkaReader::assign(const ShardState& state) {
  STRAND_OK(connect());
  Shard shard;
  shard.name = state.shard;
  shard.records = state.records;
  STRAND_TRY(shard.place, PartitionName::parse(state.shard));
  STRAND_TRY(shard.position, Position::parse(state));
  TopicPtr& topic = topics_[shard.place.topic];
  if (topic == nullptr) {
    STRAND_TRY(topic, client_->topic(shard.place.topic));
  }
  shard.topic = topic.get();
  shard.ended = shard.position.at_stop();
  shards_.push_back(std::move(shard));
  return shards_.back().ended ? Status() : start(shards_.back());
}

Status KafkaReader::start(Shard& shard) {
  shard.queue.reset(rd_kafka_queue_new(client_->get()));
  if (rd_kafka_consume_start_queue(shard.topic, shard.place.partition, shard.position.next,
                                   shard.queue.get()) == 0) {
    return Status();
  }
  shard.queue.reset();
  return client_->error(Side::kSource, rd_kafka_last_error(), "read " + shard.name);
}

void KafkaReader::stop(Shard& shard) {
  if (shard.queue == nullptr) return;
  rd_kafka_consume_stop(shard.topic, shard.place.partition);
  shard.queue.reset();
}

ShardState KafkaReader::state(size_t index) const {
  const Shard& shard = shards_[index];
  return {shard.name, shard.position.text(), shard.records};
}

Result<flow::Polled> KafkaReader::poll(WallTime now) {
  flow::Polled nothing;
  for (size_t visited = 0; visited < shards_.size(); ++visited) {
    const size_t index = next_;
    next_ = (next_ + 1) % shards_.size();
    Shard& shard = shards_[index];
    if (shard.ended || shard.paused) continue;
    Status status = fetch(shard);
    if (!status.ok()) return std::move(status).at(table_ + "/" + shard.name);
    if (!messages_.empty()) {
      Result<flow::Polled> polled = take(index, now);
      drop_messages();
      if (!polled.ok() || polled->records > 0) return polled;
    }
  }
  STRAND_OK(client_->refusal(Side::kSource));
  look_for_brokers(now);
  nothing.until = now + kLookAgain;
  nothing.behind = std::ranges::any_of(shards_, [](const Shard& s) { return !s.ended && !s.at_end; });
  if (std::ranges::all_of(shards_, [](const Shard& s) { return s.ended; }))
    nothing.kind = flow::Polled::Kind::kEnded;
  return nothing;
}

/// Takes what has arrived of the partition: records that count into messages_.
Status KafkaReader::fetch(Shard& shard) {
  const ssize_t found = rd_kafka_consume_batch_queue(shard.queue.get(), 0, fetched_.data(), fetched_.size());
  Status status;
  for (ssize_t i = 0; i < found; ++i) {
    rd_kafka_message_t* message = fetched_[static_cast<size_t>(i)];
    if (status.ok() && !shard.ended) {
      status = on_message(shard, message);
    } else {
      rd_kafka_message_destroy(message);
    }
  }
  if (!status.ok()) drop_messages();
  if (shard.ended) stop(shard);
  return status;
}

/// Owns the message.
Status KafkaReader::on_message(Shard& shard, rd_kafka_message_t* message) {
  Position& position = shard.position;
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    const Status status = on_error(shard, *message);
    rd_kafka_message_destroy(message);
    return status;
  }
  const bool behind_stop = position.stop && message->offset >= *position.stop;
  shard.at_end = false;
  if (behind_stop || message->offset < position.next) {
    shard.ended = behind_stop;
    rd_kafka_message_destroy(message);
    return Status();
  }
  position.next = message->offset + 1;
  shard.ended = position.at_stop();
  messages_.push_back(message);
  return Status();
}

Status KafkaReader::on_error(Shard& shard, const rd_kafka_message_t& message) {
  switch (message.err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
      // What lies before it and was no record was of a transaction.
      shard.position.next = std::max(shard.position.next, message.offset);
      shard.ended = shard.position.at_stop();
      shard.at_end = true;
      client_->heard();
      return Status();
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      return on_lost_position(shard);
    default: {
      Status status = client_->error(Side::kSource, message.err, "read " + shard.name);
      return status.reaction() == Reaction::kRetry ? Status() : status;  // the library tries again
    }
  }
}

Status KafkaReader::on_lost_position(Shard& shard) {
  int64_t low = 0, high = 0;
  const auto asked =
      rd_kafka_query_watermark_offsets(client_->get(), shard.place.topic.c_str(), shard.place.partition, &low,
                                       &high, static_cast<int>(kAnswerTime.millis));
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR)
    return client_->error(Side::kSource, asked, "find the offsets of " + shard.name);
  const std::string text = "expected the record at offset " + std::to_string(shard.position.next) +
                           ", found offsets " + std::to_string(low) + " to " + std::to_string(high);
  if (options_.lost == LostPosition::kFail) {
    return Status(ErrorCode::kRecordsGone, text)
        .hint(
            "retention has deleted them, or the topic was made anew; to go on over the gap: "
            "'properties.auto.offset.reset' = 'earliest'");
  }
  shard.position.next = options_.lost == LostPosition::kEarliest ? low : high;
  if (events_ != nullptr) {
    obs::Event event{
        obs::Level::kWarn, static_cast<int>(ErrorCode::kRecordsGone), "records_gone", env_.clock->now(), {}};
    events_->on_event(std::move(event.with("shard", table_ + "/" + shard.name)
                                    .with("message", text)
                                    .with("goes_on_from", shard.position.next)));
  }
  stop(shard);
  return start(shard);
}

Result<flow::Polled> KafkaReader::take(size_t index, WallTime now) {
  Shard& shard = shards_[index];
  client_->heard();
  STRAND_TRY(RecordRows::Made made, rows_->make_rows(messages_));
  flow::Polled polled;
  polled.kind = flow::Polled::Kind::kRows;
  polled.shard = index;
  polled.records = made.batch.rows() + static_cast<int64_t>(made.bad.size());
  polled.batch = std::move(made.batch);
  shard.records += polled.records;
  if (made.bad.empty()) return polled;
  if (want_bad_) {
    polled.bad = bad_batch(shard.name, made.bad, now);
  } else if (!options_.ignore_bad) {
    return bad_record_error(table_, shard.name, options_.value.name, made.bad.front());
  }
  return polled;
}

void KafkaReader::drop_messages() {
  for (rd_kafka_message_t* message : messages_) rd_kafka_message_destroy(message);
  messages_.clear();
}

/// While no broker answers, asks in the background whether one does again. One look at a time: each takes a
/// thread for as long as brokers are silent, and whoever ends the job waits for all that were submitted.
void KafkaReader::look_for_brokers(WallTime now) {
  if (now < look_again_ && look_again_ <= now + kLookForBrokers) return;
  look_again_ = now + kLookForBrokers;
  if (!client_->trouble() || env_.executor == nullptr || looking_->exchange(true)) return;
  const std::weak_ptr<Client> of_reader = client_;
  env_.executor->submit(hash64("kafka reader " + table_), [of_reader, looking = looking_] {
    if (const auto client = of_reader.lock(); client != nullptr && client->trouble()) ask_any_broker(*client);
    looking->store(false);
  });
}

std::string KafkaReader::waits_for() const {
  if (client_ == nullptr) return {};
  const auto trouble = client_->trouble();
  return trouble ? "table " + table_ + ": " + *trouble : std::string();
}

void KafkaReader::passed(Epoch epoch) {
  if (!options_.has_group() || !options_.commit_offsets || shards_.empty()) return;
  std::vector<int64_t> offsets;
  for (const Shard& shard : shards_) offsets.push_back(shard.position.next);
  offsets_[epoch] = std::move(offsets);
  if (offsets_.size() > kEpochsKept) offsets_.erase(offsets_.begin());
}

void KafkaReader::committed(Epoch epoch) {
  const auto at = offsets_.find(epoch);
  if (at == offsets_.end()) return;
  PartitionsPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(at->second.size())));
  for (size_t i = 0; i < at->second.size(); ++i) {
    if (at->second[i] < 0) continue;
    const PartitionName& place = shards_[i].place;
    rd_kafka_topic_partition_list_add(list.get(), place.topic.c_str(), place.partition)->offset =
        at->second[i];
  }
  if (list->cnt > 0) rd_kafka_commit(client_->get(), list.get(), /*async=*/1);
  offsets_.erase(offsets_.begin(), std::next(at));
}

}  // namespace strand::connect::kafka
