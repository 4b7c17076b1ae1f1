#include "connect/kafka/transactions.h"

#include <algorithm>

#include "connect/kafka/broker_setting.h"
#include "connect/kafka/plain_sink.h"

namespace strand::connect::kafka {

using table::Commit;
using table::CommitOutcome;
using table::Marker;
using table::WriterSpec;

namespace {

constexpr Duration kTransactionTime{60'000};  // librdkafka's default
constexpr int kQueuePauseMillis = 5;

Duration transaction_time(const KafkaOptions& options) {
  const auto given = options.properties.find("transaction.timeout.ms");
  return given == options.properties.end() ? kTransactionTime : Duration{std::atoll(given->second.c_str())};
}

Properties transaction_properties(const KafkaOptions& options, const std::string& id) {
  Properties properties = producer_properties(options);
  properties["enable.idempotence"] = "true";
  properties["transactional.id"] = id;
  // A transaction that follows directly on another waits so long for the broker to end that one.
  properties.try_emplace("retry.backoff.ms", "10");
  return properties;
}

bool higher(const Marker& a, const table::SinkClaim& b) {
  return std::pair(a.generation, a.attempt) > std::pair(b.generation, b.attempt);
}

std::string version(Generation generation, Attempt attempt) {
  return "generation " + std::to_string(generation.value) + ", attempt " + std::to_string(attempt.value);
}

/// Calls again while the answer says that this goes on where it was; the last error, or null.
template <class Call>
ErrorPtr keep_on(Duration deadline, Call&& call) {
  constexpr Duration kSlice{5'000};
  for (int64_t spent = 0;; spent += kSlice.millis) {
    ErrorPtr error(call(static_cast<int>(kSlice.millis)));
    if (error == nullptr || !rd_kafka_error_is_retriable(error.get()) || spent >= deadline.millis)
      return error;
  }
}

}  // namespace

KafkaTransactions::KafkaTransactions(KafkaOptions options, std::unique_ptr<OutgoingRows> rows)
    : options_(std::move(options)), rows_(std::move(rows)), deadline_(transaction_time(options_)) {}

std::string KafkaTransactions::name(int32_t subtask) const {
  return options_.transactional_prefix + "." + topic() + "." + spec_.writer + "." + std::to_string(subtask);
}

Result<std::optional<StoredMarker>> KafkaTransactions::stored(int32_t subtask, Stability stability) const {
  return read_marker(options_.properties, name(subtask), topic(), subtask, stability);
}

/// The most subtasks that the sink ever had; the marker of the first one tells.
Result<int32_t> KafkaTransactions::known_subtasks() const {
  STRAND_TRY(const auto first, stored(0, Stability::kAsCommitted));
  return first ? first->subtasks : 1;
}

Result<std::vector<Marker>> KafkaTransactions::check(const WriterSpec& spec) {
  spec_ = spec;
  STRAND_TRY(const int32_t subtasks, known_subtasks());
  std::vector<Marker> markers;
  for (int32_t subtask = 0; subtask < subtasks; ++subtask) {
    STRAND_TRY(const auto found, stored(subtask, Stability::kAsCommitted));
    if (!found) continue;
    if (found->job != spec_.job) return check_owner(found);
    markers.push_back(found->marker);
  }
  return markers;
}

Status KafkaTransactions::open(const WriterSpec& spec) {
  spec_ = spec;
  return Status();
}

Status KafkaTransactions::claim(const table::SinkClaim& claim) {
  claim_ = claim;
  STRAND_TRY(const int32_t known, known_subtasks());
  subtasks_ = std::max(known, claim.parallelism);
  for (const auto& [subtask, rows] : claim.unsettled) subtasks_ = std::max(subtasks_, subtask + 1);
  for (int32_t subtask = claim.subtask; subtask < subtasks_; subtask += claim.parallelism) {
    Id& id = ids_[subtask];
    if (id.client == nullptr) STRAND_OK(take_over(subtask, id));
    // An id that is no more, and has nothing to be sent again, rests.
    if (subtask >= claim.parallelism && !claim.unsettled.contains(subtask)) id.let_go();
  }
  return Status();
}

Status KafkaTransactions::check_owner(const std::optional<StoredMarker>& marker) const {
  if (!marker) return Status();
  if (marker->job != spec_.job) {
    return Status(ErrorCode::kWriterTaken,
                  "topic " + topic() + ": '" + name(marker->marker.subtask) + "' is of job '" + marker->job +
                      "' (" + version(marker->marker.generation, marker->marker.attempt) + ", checkpoint " +
                      std::to_string(marker->marker.epoch.value) + ")")
        .hint("give one of the jobs another 'sink.transactional-id-prefix'");
  }
  if (!higher(marker->marker, claim_)) return Status();
  return Status(ErrorCode::kFenced, "topic " + topic() + ": expected it to belong to " +
                                        version(claim_.generation, claim_.attempt) + " of job '" + spec_.job +
                                        "', found " +
                                        version(marker->marker.generation, marker->marker.attempt))
      .hint("a newer start of the job owns the topic; this one must not write any more");
}

/// In the order that the class comment gives.
Status KafkaTransactions::take_over(int32_t subtask, Id& id) {
  STRAND_TRY(const auto before, stored(subtask, Stability::kAsCommitted));
  STRAND_OK(check_owner(before));
  STRAND_OK(begin_with(subtask, id));
  const auto settle = [&]() -> Status {
    STRAND_TRY(const auto found, stored(subtask, Stability::kStable));
    STRAND_OK(check_owner(found));
    if (found) {
      id.reached = found->marker.epoch;
    } else {
      STRAND_TRY(id.reached, epoch_without_marker(subtask));
    }
    return write({subtask, claim_.generation, claim_.attempt, id.reached}, {}, id);
  };
  Status status = settle();
  if (!status.ok()) id.let_go();
  return status;
}

Status KafkaTransactions::begin_with(int32_t subtask, Id& id) {
  id.let_go();
  STRAND_TRY(auto client, Client::make(RD_KAFKA_PRODUCER, transaction_properties(options_, name(subtask))));
  STRAND_TRY(id.topic, client->topic(topic()));
  // Where this returns early, the topic must go before its client.
  const auto give_up = [&](Status status) {
    id.topic.reset();
    return status;
  };
  const ErrorPtr error =
      keep_on(deadline_, [&](int millis) { return rd_kafka_init_transactions(client->get(), millis); });
  if (error != nullptr) {
    if (Status refused = client->refusal(Side::kSink); !refused.ok()) return give_up(std::move(refused));
    const rd_kafka_resp_err_t code = rd_kafka_error_code(error.get());
    std::string doing = "begin with transactional id " + name(subtask) +
                        " ('properties.transaction.timeout.ms' of the table is " +
                        std::to_string(deadline_.millis);
    if (code == RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT)
      if (const auto most = broker_setting(*client, "transaction.max.timeout.ms"))
        doing += ", transaction.max.timeout.ms of the broker is " + *most;
    return give_up(client->error(Side::kSink, code, doing + ")"));
  }
  // librdkafka 2.0 looks at a topic that it does not know only once a second.
  const struct rd_kafka_metadata* answer = nullptr;
  const auto asked =
      rd_kafka_metadata(client->get(), 0, id.topic.get(), &answer, static_cast<int>(kAnswerTime.millis));
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return give_up(client->error(Side::kSink, asked, "write topic " + topic()));
  }
  const rd_kafka_resp_err_t of_topic = answer->topics[0].err;
  rd_kafka_metadata_destroy(answer);
  if (of_topic != RD_KAFKA_RESP_ERR_NO_ERROR && of_topic != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
    return give_up(client->error(Side::kSink, of_topic, "write topic " + topic()));
  }
  id.producing = std::make_unique<Producing>(*client, id.topic.get(), options_.partitioner, subtask);
  id.client = std::move(client);
  return Status();
}

/// Where the broker has no marker: of an id that is new, the beginning. Else it has been forgotten.
Result<Epoch> KafkaTransactions::epoch_without_marker(int32_t subtask) const {
  const auto rows = claim_.unsettled.find(subtask);
  if (rows == claim_.unsettled.end() || options_.lost_marker == LostMarker::kMissing) return Epoch{0};
  if (options_.lost_marker == LostMarker::kWritten) return claim_.restored;
  return Status(ErrorCode::kMarkerLost, "topic " + topic() + ": expected a marker in group " + name(subtask) +
                                            " that tells whether " + std::to_string(rows->second) +
                                            " rows of checkpoint " + std::to_string(claim_.restored.value) +
                                            " are in the topic, found none")
      .hint(
          "see whether they are, then run once with 'strand.lost-marker' = 'written' if so, 'missing' if "
          "not; or give the table the 'sink.transactional-id-prefix' of the last run again");
}

Result<std::vector<Marker>> KafkaTransactions::markers() {
  std::vector<Marker> markers;
  for (int32_t subtask = 0; subtask < subtasks_; ++subtask) {
    const auto mine = ids_.find(subtask);
    if (mine != ids_.end()) {
      markers.push_back({subtask, claim_.generation, claim_.attempt, mine->second.reached});
      continue;
    }
    STRAND_TRY(const auto found, stored(subtask, Stability::kAsCommitted));
    if (found) markers.push_back(found->marker);
  }
  return markers;
}

Result<CommitOutcome> KafkaTransactions::commit(const Commit& commit) {
  Id& id = ids_[commit.marker.subtask];
  if (id.client == nullptr) STRAND_OK(take_over(commit.marker.subtask, id));
  if (id.reached >= commit.marker.epoch) return CommitOutcome::kHad;
  STRAND_OK(write(commit.marker, commit.rows, id));
  id.reached = commit.marker.epoch;
  // Of a subtask that is no more: this was all.
  if (commit.marker.subtask >= claim_.parallelism) id.let_go();
  return CommitOutcome::kCommitted;
}

StoredMarker KafkaTransactions::full(const Marker& marker) const { return {marker, spec_.job, subtasks_}; }

/// One transaction. After an error the id must be taken over again: that ends what was open.
Status KafkaTransactions::write(const Marker& marker, const std::vector<table::BatchPtr>& rows, Id& id) {
  rd_kafka_t* handle = id.client->get();
  if (const ErrorPtr error(rd_kafka_begin_transaction(handle)); error != nullptr)
    return failed(id, *error, "begin a transaction");
  if (Status status = produce(rows, id); !status.ok()) {
    id.let_go();
    return status;
  }
  const std::string group = name(marker.subtask);
  const StoredMarker stored_marker = full(marker);
  ErrorPtr error = keep_on(deadline_, [&](int millis) {
    return send_marker(*id.client, group, topic(), stored_marker, Duration{millis}).release();
  });
  if (error != nullptr) return failed(id, *error, "add the marker to a transaction");
  error = keep_on(deadline_, [&](int millis) { return rd_kafka_commit_transaction(handle, millis); });
  return error == nullptr ? Status() : failed(id, *error, "commit a transaction");
}

Status KafkaTransactions::produce(const std::vector<table::BatchPtr>& rows, Id& id) {
  int64_t waited = 0;
  for (const table::BatchPtr& batch : rows) {
    outgoing_.clear();
    STRAND_OK(rows_->append(*batch, outgoing_));
    for (size_t sent = 0; sent < outgoing_.records.size();) {
      STRAND_TRY(const size_t now, id.producing->produce(outgoing_, sent));
      waited = now > sent ? 0 : waited + kQueuePauseMillis;
      sent = now;
      if (sent < outgoing_.records.size()) rd_kafka_poll(id.client->get(), kQueuePauseMillis);
      if (waited <= deadline_.millis) continue;
      return id.client->error(Side::kSink, RD_KAFKA_RESP_ERR__TIMED_OUT, "write topic " + topic());
    }
  }
  return Status();
}

Status KafkaTransactions::failed(Id& id, const rd_kafka_error_t& error, const std::string& doing) const {
  rd_kafka_resp_err_t code = rd_kafka_error_code(&error);
  if (const auto of_record = id.client->failed_delivery()) code = *of_record;
  Status status = id.client->error(Side::kSink, code, doing + " in topic " + topic());
  id.let_go();
  return status;
}

void KafkaTransactions::close() { ids_.clear(); }

}  // namespace strand::connect::kafka
