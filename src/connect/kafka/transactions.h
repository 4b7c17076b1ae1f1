// A topic as a store with transactions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connect/kafka/markers.h"
#include "connect/kafka/outgoing.h"

namespace strand::connect::kafka {

/// Writes a sink's rows with a marker in transactions of Kafka (replay.md X5).
///
/// A transaction is opened when its rows are complete and lives as long as sending them takes, so no reader
/// waits for it and its timeout hardly matters. Each subtask of the sink has a transactional id and a group
/// of its own, both named PREFIX.TOPIC.WRITER.SUBTASK and the same in every generation: whoever begins with
/// an id ends what an earlier process has left open under it. After a rescale subtask s takes over the ids of
/// all earlier subtasks i with i mod parallelism = s, before anything is written under any of them, and lets
/// those rest that are no more.
///
/// Who owns an id is told by its marker, not by Kafka, which lets the last come win. So in this order: read
/// the marker as it was committed (higher than mine: kFenced, and nobody was shut out), begin with the id,
/// read the marker when no transaction is open any more (higher: kFenced, nothing written), commit a marker
/// with my generation and attempt and the epoch that was there. Kafka reports a transaction that was ended
/// for its age as fenced, too; a fenced id is therefore taken over again in this order, which either finds a
/// higher owner or goes on. The marker then tells whether the last commit had been made.
///
/// Calls block, none longer than its deadline, and come from one executor lane.
class KafkaTransactions final : public table::TransactionStore {
 public:
  KafkaTransactions(KafkaOptions options, std::unique_ptr<OutgoingRows> rows);
  Result<std::vector<table::Marker>> check(const table::WriterSpec& spec) override;
  Status open(const table::WriterSpec& spec) override;
  Status claim(const table::SinkClaim& claim) override;
  Result<std::vector<table::Marker>> markers() override;
  Result<table::CommitOutcome> commit(const table::Commit& commit) override;
  void close() override;

 private:
  /// An id that this subtask has taken over.
  struct Id {
    std::unique_ptr<Client> client;  // null: must be taken over again
    TopicPtr topic;
    std::unique_ptr<Producing> producing;
    Epoch reached{0};  // by its marker
    void let_go() {
      producing.reset();
      topic.reset();
      client.reset();
    }
  };

  const std::string& topic() const { return options_.topics.front(); }
  std::string name(int32_t subtask) const;
  Result<std::optional<StoredMarker>> stored(int32_t subtask, Stability stability) const;
  Result<int32_t> known_subtasks() const;
  Status check_owner(const std::optional<StoredMarker>& marker) const;
  Status take_over(int32_t subtask, Id& id);
  Status begin_with(int32_t subtask, Id& id);
  Result<Epoch> epoch_without_marker(int32_t subtask) const;
  Status write(const table::Marker& marker, const std::vector<table::BatchPtr>& rows, Id& id);
  Status produce(const std::vector<table::BatchPtr>& rows, Id& id);
  Status failed(Id& id, const rd_kafka_error_t& error, const std::string& doing) const;
  StoredMarker full(const table::Marker& marker) const;

  const KafkaOptions options_;
  const std::unique_ptr<OutgoingRows> rows_;
  const Duration deadline_;
  table::WriterSpec spec_;
  table::SinkClaim claim_;
  int32_t subtasks_ = 1;
  std::map<int32_t, Id> ids_;
  Outgoing outgoing_;
};

}  // namespace strand::connect::kafka
