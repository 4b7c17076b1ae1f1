// For tests: one attempt of one writer, driven by hand on a simulated machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "connect/table/flush_sink.h"
#include "connect/table/test_rows.h"
#include "connect/table/transaction_sink.h"
#include "sim/env/env.h"

namespace strand::sim {

/// Calls a sink as its task does. The first error that a sink reports stays in `status` and ends the attempt.
class WriterRun {
 public:
  WriterRun(SimEnv& env, table::WriterSpec spec, flow::SinkStart start, std::unique_ptr<flow::Sink> sink)
      : env_(env), spec_(std::move(spec)), sink_(std::move(sink)) {
    tag_ = {start.generation, start.attempt, start.restored.value_or(Epoch{0}), 0};
    keep(sink_->start(start));
  }

  WriterRun& hold(const std::vector<table::TestRow>& rows) {
    keep(sink_->held(test_batch(spec_, rows)));
    return *this;
  }
  /// The held rows have ended: the flush runs to its end.
  WriterRun& begin() {
    keep(sink_->held_end());
    return settle();
  }
  /// Hands rows over; they are on their way afterwards.
  WriterRun& send(const std::vector<table::TestRow>& rows) {
    if (status.ok()) keep(sink_->write(test_batch(spec_, rows), tag_));
    return *this;
  }
  WriterRun& write(const std::vector<table::TestRow>& rows) { return send(rows).settle(); }
  /// Runs background work, and the clock where it waits for that, until nothing is left to do.
  WriterRun& settle() {
    while (status.ok()) {
      const Result<bool> busy = sink_->busy();
      if (!busy.ok()) {
        keep(busy.status());
        break;
      }
      if (env_.executor.run_one(random_)) continue;
      const WallTime next = sink_->next_wakeup();
      if (next == WallTime::never()) break;
      env_.clock.advance(next - env_.clock.now());
    }
    return *this;
  }
  std::string waits_for() const { return sink_->waits_for(); }
  bool drained() {
    const Result<bool> drained = sink_->drained();
    if (!drained.ok()) keep(drained.status());
    return drained.ok() && *drained;
  }
  /// A barrier passes. Returns what the sink adds to the snapshot.
  std::vector<state::Section> barrier(int64_t epoch) {
    keep(sink_->before_barrier());
    settle();
    if (!status.ok() || !drained()) return {};
    state::SnapshotBuilder builder({epoch}, {0, 127});
    builder.set_operator("sink");
    keep(sink_->snapshot({epoch}, builder));
    tag_.epoch = {epoch};
    const auto refs = builder.write(env_.files, "/files");
    EXPECT_TRUE(refs.ok());
    std::vector<state::Section> sections;
    state::SnapshotReader reader(env_.files, "/files");
    for (const state::SectionRef& ref : *refs) sections.push_back(*reader.read(ref));
    return sections;
  }
  WriterRun& committed(int64_t epoch) {
    if (status.ok()) keep(sink_->committed({epoch}));
    return settle();
  }
  flow::SinkCounts counts() const { return sink_->counts(); }
  flow::Sink& sink() { return *sink_; }

  Status status;

 private:
  void keep(Status found) {
    if (status.ok()) status = std::move(found);
  }
  SimEnv& env_;
  table::WriterSpec spec_;
  std::unique_ptr<flow::Sink> sink_;
  flow::WriteTag tag_;
  Random random_{1};
};

/// How an attempt starts: history up to and including its own record, which is the last.
inline flow::SinkStart sink_start(std::vector<AttemptRecord> history, int32_t subtask = 0,
                                  int32_t parallelism = 1) {
  flow::SinkStart start;
  start.job = "ad-clicks";
  start.subtask = subtask;
  start.parallelism = parallelism;
  start.generation = history.back().generation;
  start.attempt = history.back().attempt;
  start.restored = history.back().restored;
  start.history = std::move(history);
  return start;
}

}  // namespace strand::sim
