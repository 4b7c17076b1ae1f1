// For tests: the smallest job that can go wrong in every way a sink must survive.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connect/table/flush_sink.h"
#include "connect/table/rows.h"
#include "connect/table/test_rows.h"
#include "connect/table/transaction_sink.h"
#include "sim/env/env.h"
#include "sim/store/sim_store.h"
#include "sim/store/writer_run.h"

namespace strand::sim {

/// A job with one source and two writers of one table (totals per key), or one writer of a topic, run by
/// chance: events are read, barriers pass, checkpoints complete or fail, notices get lost, the store answers
/// or not, requests linger, the process dies, an older checkpoint is chosen, the parallelism changes. A
/// replay decides otherwise than the first run: which key an event counts for depends on the attempt. The
/// store must end at what the surviving line of attempts has emitted. Everything follows from the seed.
class MiniJob {
 public:
  struct Options {
    table::Rules rules;
    bool transactions = false;
    int crashes_max = 4;
    int events = 60;
  };
  MiniJob(uint64_t seed, const Options& options)
      : options_(options), random_(seed), env_(seed, WallTime{0}), store_({true, options.rules}) {
    STRAND_CHECK(env_.files.make_dirs("/files").ok());
    snapshots_[0] = {};
    store_.set_plan([this](const StoreCallInfo&) { return fault(); });
  }

  static constexpr const char* kNoEnd = "no end";
  /// What is wrong at the end; empty: nothing.
  std::string run() {
    start();
    for (int step = 0; step < kStepsMax; ++step) {
      advance();
      if (done()) return difference();
    }
    return kNoEnd;
  }
  const StoreFaultCounts& counts() const { return store_.counts(); }

 private:
  static constexpr int kStepsMax = 20'000;
  using Totals = std::map<std::string, int64_t>;
  struct State {
    int position = 0;
    std::map<std::string, Totals> totals;  // by writer
    std::vector<std::string> emitted;      // topic rows of this line
    std::vector<state::Section> sections;
  };

  StoreFault fault() {
    if (calm_) return StoreFault::kNone;
    if (crashes_ < options_.crashes_max && random_.chance(0.04)) {
      ++crashes_;
      return random_.chance(0.5) ? StoreFault::kCrashBefore : StoreFault::kCrashAfter;
    }
    if (!random_.chance(0.25)) return StoreFault::kNone;
    constexpr StoreFault kHits[] = {StoreFault::kUnavailable, StoreFault::kLostAnswer, StoreFault::kDelayed,
                                    StoreFault::kCopied};
    return kHits[random_.below(4)];
  }

  std::vector<std::string> writers() const {
    return options_.transactions ? std::vector<std::string>{"fast"}
                                 : std::vector<std::string>{"fast", "late"};
  }
  table::WriterSpec spec(const std::string& writer) const {
    table::WriterSpec made = connect::table::test_writer(writer);
    if (!options_.transactions) return made;
    made.values = row_schema(made);
    made.key = std::make_shared<columnar::Schema>();
    return made;
  }

  /// E1, E2: the newest snapshot that is not void, or the one before; the attempt is recorded first.
  void start() {
    const bool older = snapshots_.size() > 1 && !options_.transactions && random_.chance(0.2);
    const auto chosen = older ? std::prev(snapshots_.end(), 2) : std::prev(snapshots_.end());
    const int64_t restored = chosen->first;
    snapshots_.erase(snapshots_.upper_bound(restored), snapshots_.end());
    state_ = chosen->second;
    history_.push_back(connect::table::test_record(
        1, ++attempt_, history_.empty() ? std::nullopt : std::optional(restored), epoch_));
    tag_epoch_ = restored;
    parallelism_ = 1 + static_cast<int32_t>(random_.below(2));
    for (const std::string& writer : writers()) start_writer(writer);
  }
  void start_writer(const std::string& writer) {
    for (int32_t subtask = 0; subtask < parallelism_; ++subtask) {
      flow::SinkStart start = sink_start(history_, subtask, parallelism_);
      start.state = state_.sections;
      auto sink = options_.transactions
                      ? make_transaction_sink(spec(writer), store_.connect_transactions(), env_.env(),
                                              {subtask_lane(subtask), nullptr, options_.rules})
                      : make_flush_sink(spec(writer), store_.connect(), env_.env(), flush_options(subtask));
      failed_ = failed_ || !sink->start(start).ok();
      for (const auto& [key, value] : state_.totals[writer]) {
        if (owner(key) == subtask)
          failed_ = failed_ || !sink->held(test_batch(spec(writer), {{key, "b", value}})).ok();
      }
      failed_ = failed_ || !sink->held_end().ok();
      sinks_[writer].push_back(std::move(sink));
    }
  }
  static uint64_t subtask_lane(int32_t subtask) { return static_cast<uint64_t>(subtask); }
  connect::table::FlushOptions flush_options(int32_t subtask) const {
    connect::table::FlushOptions made;
    made.batch_rows = 3;
    made.lane = subtask_lane(subtask);
    made.rules = options_.rules;
    return made;
  }
  int32_t owner(const std::string& key) const {
    std::vector<uint64_t> hashes;
    const std::vector<size_t> keys = {0, 1};
    columnar::hash_rows(test_batch(connect::table::test_writer("fast"), {{key, "b", 0}}), keys, hashes);
    return owner_of(columnar::key_group(hashes[0], 128), parallelism_, 128);
  }

  void advance() {
    calm_ = state_.position >= options_.events;
    for (auto& [writer, sinks] : sinks_) {
      for (auto& sink : sinks) {
        const auto busy = sink->busy();
        if (!busy.ok()) failed_ = true;
      }
    }
    if (failed_ || store_.dead()) return crash();
    if (random_.chance(0.03)) store_.deliver_one(random_);
    if (random_.chance(0.5) && env_.executor.run_one(random_)) return;
    if (calm_ && random_.chance(0.3)) env_.clock.advance(Duration{random_.between(0, 200)});
    if (barrier_) return pass_barrier();
    if (state_.position < options_.events && random_.chance(0.6)) return read();
    if (random_.chance(0.15) || calm_) {
      barrier_ = ++epoch_;
      return;
    }
    env_.clock.advance(Duration{random_.between(0, 200)});
  }

  bool idle() {
    for (auto& [writer, sinks] : sinks_) {
      for (auto& sink : sinks) {
        const auto busy = sink->busy();
        if (!busy.ok() || *busy) return false;
      }
    }
    return true;
  }

  void read() {
    if (!idle()) return;
    Random decision(static_cast<uint64_t>(state_.position * 1000 + attempt_));
    const std::string key = "ad_" + std::to_string(decision.below(12));
    const std::string writer = writers()[decision.below(writers().size())];
    const bool deletes = !options_.transactions && decision.chance(0.15);
    const int64_t value = options_.transactions ? state_.position : ++state_.totals[writer][key];
    if (deletes) state_.totals[writer].erase(key);
    const connect::table::TestRow row{key, "b", value,
                                      deletes ? columnar::RowKind::kDelete : columnar::RowKind::kInsert};
    ++state_.position;
    if (options_.transactions) state_.emitted.push_back("+I[" + key + ", b, " + std::to_string(value) + "]");
    const flow::WriteTag tag{{1}, {attempt_}, {tag_epoch_}, 0};
    auto& sink = sinks_[writer][static_cast<size_t>(options_.transactions
                                                        ? decision.below(static_cast<uint64_t>(parallelism_))
                                                        : static_cast<uint64_t>(owner(key)))];
    failed_ = failed_ || !sink->write(test_batch(spec(writer), {row}), tag).ok();
  }

  void pass_barrier() {
    for (auto& [writer, sinks] : sinks_) {
      for (auto& sink : sinks) {
        const auto drained = sink->drained();
        failed_ = failed_ || !drained.ok();
        if (!drained.ok() || !*drained) return env_.clock.advance(Duration{random_.between(0, 200)});
      }
    }
    State taken = state_;
    taken.sections.clear();
    for (auto& [writer, sinks] : sinks_) {
      for (auto& sink : sinks) snapshot(*sink, taken);
    }
    tag_epoch_ = barrier_;
    const int64_t epoch = std::exchange(barrier_, 0);
    if (!calm_ && random_.chance(0.2)) return;  // the checkpoint fails
    snapshots_[epoch] = std::move(taken);
    if (!calm_ && crashes_ < options_.crashes_max && random_.chance(0.1)) {
      ++crashes_;
      return crash();  // nobody is told
    }
    completed_ = epoch;
    for (auto& [writer, sinks] : sinks_) {
      for (auto& sink : sinks) {
        if (calm_ || random_.chance(0.7)) failed_ = failed_ || !sink->committed({epoch}).ok();
      }
    }
  }
  void snapshot(flow::Sink& sink, State& taken) {
    state::SnapshotBuilder builder({barrier_}, {0, 127});
    builder.set_operator("sink");
    failed_ = failed_ || !sink.snapshot({barrier_}, builder).ok();
    const auto refs = builder.write(env_.files, "/files");
    STRAND_CHECK(refs.ok());
    state::SnapshotReader reader(env_.files, "/files");
    for (const state::SectionRef& ref : *refs) taken.sections.push_back(*reader.read(ref));
  }

  void crash() {
    sinks_.clear();
    env_.crash();
    store_.crash();
    failed_ = false;
    barrier_ = 0;
    completed_ = -1;
    start();
  }

  /// The input has ended, a checkpoint after it is complete, everything has been acknowledged, nothing
  /// lingers.
  bool done() {
    if (!calm_ || failed_ || store_.dead() || completed_ < 0 ||
        snapshots_.rbegin()->second.position < options_.events)
      return false;
    if (!idle() || env_.executor.pending() > 0 || store_.deliver_one(random_)) return false;
    for (auto& [writer, sinks] : sinks_) {
      for (auto& sink : sinks) {
        if (sink->counts().pending > 0 || sink->next_wakeup() != WallTime::never()) return false;
      }
    }
    return true;
  }

  std::string difference() {
    std::vector<std::string> want, found;
    if (options_.transactions) {
      want = state_.emitted;
      found = store_.tables().added("ad_metrics");
    } else {
      for (const auto& [writer, totals] : state_.totals) {
        for (const auto& [key, value] : totals)
          want.push_back(key + " b: " + writer + "_valid=" + std::to_string(value));
      }
      found = store_.dump("ad_metrics");
    }
    std::sort(want.begin(), want.end());
    std::sort(found.begin(), found.end());
    for (size_t i = 0; i < std::max(want.size(), found.size()); ++i) {
      const std::string a = i < want.size() ? want[i] : "nothing";
      const std::string b = i < found.size() ? found[i] : "nothing";
      if (a != b) return "expected " + a + ", found " + b;
    }
    return "";
  }

  const Options options_;
  Random random_;
  SimEnv env_;
  SimStore store_;
  std::map<std::string, std::vector<std::unique_ptr<flow::Sink>>> sinks_;
  std::map<int64_t, State> snapshots_;
  std::vector<AttemptRecord> history_;
  State state_;
  int64_t attempt_ = 0;
  int64_t epoch_ = 0;
  int64_t tag_epoch_ = 0;
  int64_t barrier_ = 0;     // under way
  int64_t completed_ = -1;  // by this attempt
  int32_t parallelism_ = 1;
  int crashes_ = 0;
  bool calm_ = false;
  bool failed_ = false;
};

}  // namespace strand::sim
