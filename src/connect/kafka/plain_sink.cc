#include "connect/kafka/plain_sink.h"

namespace strand::connect::kafka {

namespace {
constexpr Duration kLookAgainSoon{2};
}

Properties producer_properties(const KafkaOptions& options) {
  Properties properties = options.properties;
  properties.try_emplace("enable.idempotence", "true");
  // As Java's client chooses: what other programs wrote with the same key lies in the same partition.
  properties.try_emplace("partitioner", "murmur2_random");
  properties.try_emplace("linger.ms", "5");
  properties.try_emplace("queue.buffering.max.messages", "500000");
  properties.try_emplace("queue.buffering.max.kbytes", "131072");
  for (const char* of_consumers : {"group.id", "isolation.level"}) properties.erase(of_consumers);
  return properties;
}

PlainSink::PlainSink(const TableContext& table, KafkaOptions options, std::unique_ptr<OutgoingRows> rows)
    : table_(table.table),
      options_(std::move(options)),
      env_(table.env),
      memory_(table.memory),
      rows_(std::move(rows)) {}

PlainSink::~PlainSink() {
  // What was not acknowledged before a barrier comes again: it need not be sent now.
  if (client_ != nullptr) rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

Status PlainSink::start(const flow::SinkStart& start) {
  STRAND_TRY(client_, Client::make(RD_KAFKA_PRODUCER, producer_properties(options_)));
  STRAND_TRY(topic_, client_->topic(options_.topics.front()));
  producing_ = std::make_unique<Producing>(*client_, topic_.get(), options_.partitioner, start.subtask);
  return Status();
}

Status PlainSink::write(const flow::Batch& rows, flow::WriteTag) {
  STRAND_CHECK(sent_ == waiting_.records.size());
  waiting_.clear();
  sent_ = 0;
  STRAND_OK(rows_->append(rows, waiting_));
  rows_in_ += static_cast<int64_t>(waiting_.records.size());
  memory_.set(static_cast<int64_t>(waiting_.bytes.capacity()));
  return send();
}

Status PlainSink::send() {
  rd_kafka_poll(client_->get(), 0);
  STRAND_TRY(sent_, producing_->produce(waiting_, sent_));
  return Status();
}

Result<bool> PlainSink::busy() {
  STRAND_OK(delivery_error());
  if (sent_ < waiting_.records.size()) STRAND_OK(send());
  return sent_ < waiting_.records.size();
}

/// Also serves what the library has to tell.
Status PlainSink::delivery_error() {
  STRAND_OK(client_->refusal(Side::kSink));
  char text[512];
  const rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(client_->get(), text, sizeof text);
  const rd_kafka_resp_err_t error = fatal != RD_KAFKA_RESP_ERR_NO_ERROR
                                        ? fatal
                                        : client_->failed_delivery().value_or(RD_KAFKA_RESP_ERR_NO_ERROR);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return Status();
  return client_->error(Side::kSink, error, "write topic " + options_.topics.front());
}

int64_t PlainSink::unacknowledged() const {
  if (client_ == nullptr) return 0;
  return rd_kafka_outq_len(client_->get()) + static_cast<int64_t>(waiting_.records.size() - sent_);
}

Result<bool> PlainSink::drained() {
  STRAND_TRY(const bool full, busy());
  if (options_.guarantee == Guarantee::kNone) return !full;
  if (!full && unacknowledged() > 0) rd_kafka_flush(client_->get(), 0);  // sends without waiting for more
  STRAND_OK(delivery_error());
  return unacknowledged() == 0;
}

Result<bool> PlainSink::close() {
  STRAND_TRY(const bool full, busy());
  if (!full) rd_kafka_flush(client_->get(), 0);
  STRAND_OK(delivery_error());
  return unacknowledged() == 0;
}

flow::SinkCounts PlainSink::counts() const {
  flow::SinkCounts counts;
  counts.rows_in = rows_in_;
  counts.pending = unacknowledged();
  counts.written = rows_in_ - counts.pending;
  return counts;
}

WallTime PlainSink::next_wakeup() const {
  return unacknowledged() > 0 ? env_.clock->now() + kLookAgainSoon : WallTime::never();
}

}  // namespace strand::connect::kafka
