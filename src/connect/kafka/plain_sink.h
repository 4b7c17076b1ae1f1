// Rows that are sent as they come.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "connect/kafka/outgoing.h"
#include "flow/sink.h"
#include "obs/memory.h"

namespace strand::connect::kafka {

/// Sends rows to a topic at once. A barrier waits until the broker has acknowledged everything before it
/// (at-least-once: after a crash rows since the last checkpoint come again), or for nothing ('none': rows
/// that were on their way may be lost, too). The order of rows with one key stays through all resends. A
/// broker that is away holds the sink back, and `why` says so; after properties.message.timeout.ms the
/// attempt ends. Belongs to its task; librdkafka's threads send.
class PlainSink final : public flow::Sink {
 public:
  PlainSink(const TableContext& table, KafkaOptions options, std::unique_ptr<OutgoingRows> rows);
  ~PlainSink() override;
  Status start(const flow::SinkStart& start) override;
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override { return Status(); }
  Status write(const flow::Batch& rows, flow::WriteTag tag) override;
  Result<bool> busy() override;
  Status before_barrier() override { return Status(); }
  Result<bool> drained() override;
  Status snapshot(Epoch, state::SnapshotBuilder&) override { return Status(); }
  Status committed(Epoch) override { return Status(); }
  Result<bool> close() override;
  flow::SinkCounts counts() const override;
  WallTime next_wakeup() const override;

 private:
  Status send();
  Status delivery_error();
  int64_t unacknowledged() const;

  const std::string table_;
  const KafkaOptions options_;
  const env::Env env_;
  obs::MemoryShare memory_;
  std::unique_ptr<OutgoingRows> rows_;
  std::unique_ptr<Client> client_;
  TopicPtr topic_;
  std::unique_ptr<Producing> producing_;
  Outgoing waiting_;  // of the last write, which the library's queue had no room for
  size_t sent_ = 0;   // of those
  int64_t rows_in_ = 0;
};

/// The settings of a producer beside what the table says.
Properties producer_properties(const KafkaOptions& options);

}  // namespace strand::connect::kafka
