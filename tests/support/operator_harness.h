// Runs one operator as a task would: rows, watermarks, wake-ups, snapshots and restores at any parallelism.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "columnar/batch.h"
#include "flow/operator.h"
#include "state/snapshot.h"
#include "state/spill/spill.h"
#include "tests/support/memory_file_system.h"

namespace strand::testing {

/// `12:03` or `12:03:15.250` of one fixed day as event time.
inline EventTime at(const std::string& time) {
  const auto millis = parse_utc("2026-02-08 " + (time.size() == 5 ? time + ":00" : time));
  EXPECT_TRUE(millis.has_value()) << time;
  return EventTime{millis.value_or(0)};
}

/// What a snapshot of an operator holds: the sections and floors of all subtasks.
struct HarnessSnapshot {
  Epoch epoch;
  std::vector<state::SectionRef> sections;
  std::vector<time::Floor::Part> floors;
  obs::Ledger ledger;
};

/// An operator at some parallelism. Rows go to the subtask that owns their key (`keys`, columns of the
/// input), or to subtask 0. Every call checks that the ledger balances. Outputs are lists of `+I[a, 1]` by
/// port.
class OperatorHarness {
 public:
  using Make = std::function<Result<std::unique_ptr<flow::Operator>>()>;
  static constexpr int32_t kGroups = 128;

  OperatorHarness(Make make, std::vector<size_t> keys, int32_t parallelism = 1,
                  std::shared_ptr<MemoryFileSystem> files = std::make_shared<MemoryFileSystem>(),
                  state::SpillSpace* space = nullptr)
      : make_(std::move(make)), keys_(std::move(keys)), files_(std::move(files)), space_(space) {
    start(parallelism, nullptr);
  }

  /// The same operator in a new process, from a snapshot, at any parallelism.
  void restore(const HarnessSnapshot& snapshot, int32_t parallelism) { start(parallelism, &snapshot); }

  void batch(const columnar::Batch& rows, int input = 0) {
    std::vector<uint64_t> hashes;
    columnar::hash_rows(rows, keys_, hashes);
    for (Subtask& subtask : subtasks_) {
      auto mine = std::make_shared<columnar::Selection>();
      rows.for_each_row([&](int64_t row) {
        const int32_t group =
            keys_.empty() ? 0 : columnar::key_group(hashes[static_cast<size_t>(row)], kGroups);
        if (subtask.context.key_groups.contains(group)) mine->push_back(static_cast<uint32_t>(row));
      });
      if (mine->empty()) continue;
      subtask.context.now = now_;
      ok(subtask, subtask.op->process(input, rows.with_selection(mine), *out_));
    }
  }
  void watermark(EventTime time) {
    for (size_t i = 0; i < subtasks_.size(); ++i) watermark_of(i, time);
  }
  void watermark_of(size_t subtask, EventTime time) {
    subtasks_[subtask].context.reach(std::max(time, subtasks_[subtask].context.watermark));
    subtasks_[subtask].context.now = now_;
    ok(subtasks_[subtask], subtasks_[subtask].op->advance(*out_));
  }
  /// The wall clock reaches `time`; operators that asked for it are woken.
  void clock(WallTime time) {
    now_ = time;
    for (Subtask& subtask : subtasks_) {
      subtask.context.now = time;
      if (subtask.op->next_wakeup() <= time) ok(subtask, subtask.op->on_wakeup(*out_));
    }
  }
  WallTime next_wakeup() const {
    WallTime next = WallTime::never();
    for (const Subtask& subtask : subtasks_) next = std::min(next, subtask.op->next_wakeup());
    return next;
  }
  void before_barrier() {
    for (Subtask& subtask : subtasks_) ok(subtask, subtask.op->before_barrier(*out_));
  }
  /// A snapshot whose barrier has passed: its files are written by `finish`, however much happens before.
  struct Started {
    HarnessSnapshot all;
    std::vector<state::SnapshotBuilder> builders;
  };
  Started start_snapshot() {
    before_barrier();
    Started started{{Epoch{++epoch_}, {}, {}, {}}, {}};
    for (Subtask& subtask : subtasks_) {
      state::SnapshotBuilder& builder =
          started.builders.emplace_back(started.all.epoch, subtask.context.key_groups);
      builder.set_operator(subtask.context.operator_id);
      ok(subtask, subtask.op->snapshot(started.all.epoch, builder));
      const auto floors = subtask.context.floor.at_barrier(
          subtask.context.key_groups, flow::reached_at_barrier(subtask.context, *subtask.op));
      started.all.floors.insert(started.all.floors.end(), floors.begin(), floors.end());
      started.all.ledger += *subtask.ledger;
    }
    return started;
  }
  HarnessSnapshot finish(Started started, bool lost = false) {
    for (size_t i = 0; i < started.builders.size(); ++i) {
      auto refs = started.builders[i].write(*files_, "files");
      EXPECT_TRUE(refs.ok());
      if (!refs.ok()) continue;
      if (!lost) subtasks_[i].op->snapshot_written(started.all.epoch, *refs);
      started.all.sections.insert(started.all.sections.end(), refs->begin(), refs->end());
    }
    return started.all;
  }
  HarnessSnapshot snapshot(bool lost = false) { return finish(start_snapshot(), lost); }

  /// Rows emitted since the last call.
  std::vector<std::string> output(Port port = Port::kMain) { return std::exchange(out_->rows[port], {}); }
  /// Event time that the operator made and told since the last call.
  std::vector<int64_t> told() { return std::exchange(out_->told, {}); }
  /// Rows told again after the last restore.
  std::vector<std::string> held(Port port = Port::kMain) { return std::exchange(held_.rows[port], {}); }
  /// Batches emitted on kMain since the last call, for an operator behind this one.
  std::vector<columnar::Batch> batches() { return std::exchange(out_->main, {}); }
  /// Sizes of the batches emitted so far.
  const std::vector<int64_t>& batch_sizes() const { return out_->sizes; }
  obs::Ledger ledger() const {
    obs::Ledger sum;
    for (const Subtask& subtask : subtasks_) sum += *subtask.ledger;
    return sum;
  }
  const std::shared_ptr<MemoryFileSystem>& files() const { return files_; }
  flow::Operator& op(size_t subtask = 0) { return *subtasks_[subtask].op; }
  int64_t memory_used() const { return account_->used(); }
  /// What the last call that failed returned, where a test expects it.
  void expect_failures() { failures_expected_ = true; }
  const Status& last_failure() const { return last_failure_; }

 private:
  struct Collector : flow::Emitter {
    explicit Collector(const state::SpillSpace* of) : space(of) {}
    Status emit(Port port, flow::Batch batch) override {
      if (space != nullptr) STRAND_OK(space->intact());
      sizes.push_back(batch.rows());
      if (port == Port::kMain) main.push_back(batch);
      batch.for_each_row([&](int64_t row) { rows[port].push_back(columnar::row_to_string(batch, row)); });
      return Status();
    }
    bool wanted(Port) const override { return true; }
    Status watermark(EventTime time) override {
      told.push_back(time.millis);
      return Status();
    }
    const state::SpillSpace* space;
    std::vector<int64_t> told;
    std::map<Port, std::vector<std::string>> rows;
    std::vector<int64_t> sizes;
    std::vector<columnar::Batch> main;
  };
  struct Subtask {
    flow::OperatorContext context;
    std::unique_ptr<obs::Ledger> ledger;
    std::unique_ptr<flow::Operator> op;
  };

  void start(int32_t parallelism, const HarnessSnapshot* snapshot) {
    subtasks_.clear();
    account_ = std::make_unique<obs::MemoryAccount>();
    held_ = Collector(space_);
    if (snapshot != nullptr) epoch_ = std::max(epoch_, snapshot->epoch.value);
    subtasks_.resize(static_cast<size_t>(parallelism));
    for (int32_t i = 0; i < parallelism; ++i) start_subtask(i, parallelism, snapshot);
  }
  void start_subtask(int32_t i, int32_t parallelism, const HarnessSnapshot* snapshot) {
    Subtask& subtask = subtasks_[static_cast<size_t>(i)];
    subtask.ledger = std::make_unique<obs::Ledger>();
    auto& context = subtask.context;
    context.operator_id = "op";
    context.subtask = i;
    context.parallelism = parallelism;
    context.max_parallelism = kGroups;
    context.key_groups = range_of(i, parallelism, kGroups);
    context.now = now_;
    context.ledger = subtask.ledger.get();
    context.memory = account_.get();
    context.spill = space_;
    auto made = make_();
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    subtask.op = *std::move(made);
    std::vector<state::Section> parts;
    if (snapshot != nullptr) {
      context.restored = snapshot->epoch;
      for (const auto& part : snapshot->floors) {
        const KeyGroupRange own{std::max(part.groups.first, context.key_groups.first),
                                std::min(part.groups.last, context.key_groups.last)};
        if (own.first <= own.last) context.floor.add(own, part.floor);
      }
      if (i == 0) *subtask.ledger = snapshot->ledger;
      state::SnapshotReader reader(*files_, "files");
      for (const auto& ref : snapshot->sections) {
        if (!ref.groups.overlaps(context.key_groups)) continue;
        auto section = reader.read(ref);
        ASSERT_TRUE(section.ok()) << section.status().to_string();
        parts.push_back(*section);
      }
    }
    require(subtask.op->open(context));
    if (!parts.empty()) require(after(subtask.op->restore(parts)));
    if (snapshot != nullptr) require(after(subtask.op->emit_held(held_)));
  }
  /// Nothing may follow of state that could not be read.
  Status after(Status status) const {
    return status.ok() && space_ != nullptr ? space_->intact() : std::move(status);
  }
  static void require(const Status& status) { ASSERT_TRUE(status.ok()) << status.to_string(); }
  void ok(Subtask& subtask, const Status& returned) {
    const Status status = after(returned);
    if (!status.ok()) last_failure_ = status;
    if (failures_expected_) return;
    ASSERT_TRUE(status.ok()) << status.to_string();
    if (subtasks_.size() == 1) {
      EXPECT_EQ(subtask.ledger->difference(), 0);
    }
    EXPECT_EQ(ledger().difference(), 0);
  }

  Make make_;
  std::vector<size_t> keys_;
  std::shared_ptr<MemoryFileSystem> files_;
  state::SpillSpace* space_;
  std::unique_ptr<obs::MemoryAccount> account_;
  std::vector<Subtask> subtasks_;
  std::unique_ptr<Collector> out_ = std::make_unique<Collector>(space_);
  Collector held_{space_};
  WallTime now_{0};
  int64_t epoch_ = 0;
  bool failures_expected_ = false;
  Status last_failure_;
};

}  // namespace strand::testing
