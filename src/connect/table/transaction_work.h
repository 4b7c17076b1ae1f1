// The background part of a transaction sink: every call of the store.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "connect/table/epoch_rows.h"
#include "connect/table/lane.h"
#include "connect/table/transaction_sink.h"

namespace strand::connect::table {

/// What a transaction sink's lane works on. `start`, `commit`, `close` and the questions come from the task;
/// the rest are steps. A commit is the same rows and the same marker however often it is tried. Lives until
/// its last step has ended.
class TransactionWork : public std::enable_shared_from_this<TransactionWork> {
 public:
  TransactionWork(WriterSpec spec, std::unique_ptr<TransactionStore> store, const Rules& rules);

  /// Whether the store would take a job that starts so.
  Status check(const flow::SinkStart& start);
  /// Claims the sink, reads the markers, and sends what the checkpoint holds above them.
  void start(const flow::SinkStart& start, const std::shared_ptr<Lane>& lane);
  void commit(Commit commit);
  void close();

  bool started() const;
  bool closed() const;
  /// Everything of this subtask up to here is acknowledged.
  Epoch acknowledged() const;

 private:
  Status open();
  Status check_ahead(const std::vector<Marker>& markers, std::optional<Epoch> from_epoch) const;
  Result<std::vector<EpochRows>> restored_rows() const;
  void resend(const std::vector<Marker>& markers, std::vector<EpochRows> restored);
  void resend_above(Epoch marker, EpochRows rows);
  Status send(const Commit& commit);
  void then(Lane::Step step);

  const WriterSpec spec_;
  const columnar::SchemaPtr schema_;
  const std::unique_ptr<TransactionStore> store_;
  const Rules rules_;
  std::weak_ptr<Lane> lane_;
  flow::SinkStart start_;

  mutable std::mutex mutex_;
  bool started_ = false;
  bool closed_ = false;
  Epoch acknowledged_{-1};
};

}  // namespace strand::connect::table
