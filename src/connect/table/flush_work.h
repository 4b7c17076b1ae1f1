// The background part of a flush sink: every call of the store.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "connect/table/flush.h"
#include "connect/table/flush_sink.h"
#include "connect/table/lane.h"

namespace strand::connect::table {

/// What a flush sink's lane works on. The sink's task hands over rows and reads counts under the mutex;
/// everything else belongs to the steps, which run one at a time. Lives until its last step has ended, also
/// when the sink has gone.
class FlushWork : public std::enable_shared_from_this<FlushWork> {
 public:
  FlushWork(WriterSpec spec, std::unique_ptr<TableStore> store, env::Env env, FlushOptions options);

  /// From the task.
  Status check(const flow::SinkStart& start);
  void start(const flow::SinkStart& start, const std::shared_ptr<Lane>& lane);
  void hold(BatchPtr rows);
  void flush();
  void write(const BatchPtr& rows, WriteTag first);
  /// A checkpoint is complete: the second sweep begins if it is due.
  void committed();
  /// The older generation has ended: what it wrote is swept.
  void elders_ended(Epoch highest);
  void close();
  bool flushing() const;
  bool closed() const;
  flow::SinkCounts counts() const;

 private:
  struct Piece {
    BatchPtr rows;
    WriteTag first;  // tag of its first row; the following rows have the following sequences
  };
  // Steps.
  Status open();
  Status claim(bool elders_run);
  Status hold_all();
  bool flushes() const;
  Status list();
  Status sweep();
  Status visit();
  Status drain();

  void then(Status (FlushWork::*step)());
  void begin_visits();
  void finish_visits();
  void finish_flush();
  void finish_sweep();
  std::vector<Piece> take();
  void fold(const std::vector<Piece>& pieces);
  void book_flush(const std::vector<Request>& requests, const std::vector<Answer>& answers);
  void book_writes(const std::vector<Answer>& answers);
  void report_refusal(const Request& request);
  void report_flush(const flow::SinkCounts& counts);

  const WriterSpec spec_;
  const std::unique_ptr<TableStore> store_;
  const env::Env env_;
  const FlushOptions options_;
  std::weak_ptr<Lane> lane_;
  std::vector<size_t> key_columns_;

  // Of the steps.
  flow::SinkStart start_;
  std::unique_ptr<Flush> flush_;
  int64_t flush_began_ = 0;
  int64_t sweep_from_ = 0;        // steady nanoseconds
  std::vector<Request> sending_;  // the batch under way: sent again as it is until it is acknowledged

  mutable std::mutex mutex_;
  std::vector<BatchPtr> held_;
  std::deque<Piece> waiting_;
  bool draining_ = false;  // a drain step is queued
  bool flushing_ = false;
  enum class Sweep : uint8_t { kNone, kDue, kUnderWay } sweep_ = Sweep::kNone;
  std::optional<Epoch> elders_ended_;  // the highest epoch of the older generation, once that has ended
  bool closed_ = false;
  flow::SinkCounts counts_;
};

}  // namespace strand::connect::table
