// The flush protocol from the sink's side, rule by rule. Whoever includes it names the stores: `Backends`, in
// this namespace.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/store/writer_run.h"

namespace strand::sim {
namespace {

using columnar::RowKind;
using connect::table::FlushOptions;
using connect::table::test_record;
using connect::table::test_writer;
using testing::ElementsAre;
using testing::IsEmpty;

/// Remembers events.
struct Events final : obs::EventSink {
  void on_event(obs::Event event) override { all.push_back(std::move(event)); }
  std::vector<obs::Event> all;
};

template <class Backend>
class FlushSink : public testing::Test {
 protected:
  FlushSink() { EXPECT_TRUE(env_.files.make_dirs("/files").ok()); }

  /// A version that begins beside an older one, whose highest epoch is `elders`.
  WriterRun start_beside(const std::string& writer, std::vector<AttemptRecord> history, int64_t elders,
                         FlushOptions options) {
    flow::SinkStart start = sink_start(std::move(history));
    start.elders = Epoch{elders};
    return WriterRun(env_, test_writer(writer), start,
                     make_flush_sink(test_writer(writer), backend_.connect(), env_.env(), options));
  }
  WriterRun start(const std::string& writer, std::vector<AttemptRecord> history, FlushOptions options = {},
                  std::pair<int32_t, int32_t> subtask = {0, 1}, bool owns_rows = true) {
    table::WriterSpec spec = test_writer(writer);
    spec.owns_rows = owns_rows;
    options.events = &events_;
    auto sink = make_flush_sink(spec, backend_.connect(), env_.env(), options);
    return WriterRun(env_, spec, sink_start(std::move(history), subtask.first, subtask.second),
                     std::move(sink));
  }
  std::vector<std::string> dump() { return backend_.dump("ad_metrics", /*tags=*/true); }
  std::vector<std::string> values() { return backend_.dump("ad_metrics", /*tags=*/false); }

  static std::vector<AttemptRecord> first() { return {test_record(7, 1, {}, 0)}; }
  static std::vector<AttemptRecord> restored(int64_t epoch, int64_t highest) {
    return {test_record(7, 1, {}, 0), test_record(7, 2, epoch, highest)};
  }

  SimEnv env_{1, WallTime{1'000'000}};
  Events events_;
  Backend backend_;
};

TYPED_TEST_SUITE(FlushSink, Backends);

// F211, F212: at 10:15:07.2 41, after the next barrier 42; after a restore of 41 it begins with 41 again.
TYPED_TEST(FlushSink, W3_TheTagIsTheLastBarrierPassed) {
  auto run = this->start("late", this->first());
  run.begin().write({{"ad_1", "H10", 1}});
  run.barrier(41);
  run.write({{"ad_2", "H10", 1}});
  run.committed(40).write({{"ad_3", "H10", 1}});
  EXPECT_THAT(this->dump(), ElementsAre("ad_1 H10: late_valid=1 [7.1.0]", "ad_2 H10: late_valid=1 [7.1.41]",
                                        "ad_3 H10: late_valid=1 [7.1.41]"));
  auto again = this->start("late", this->restored(41, 42));
  again.begin().write({{"ad_4", "H10", 1}});
  EXPECT_THAT(this->dump(), ElementsAre("ad_1 H10: late_valid=1 [7.1.0]", "ad_4 H10: late_valid=1 [7.2.41]"));
}

TYPED_TEST(FlushSink, W4_ARefusalIsCountedReportedAndNotRepeated) {
  FlushOptions closed;
  closed.closed_rows = true;
  auto run = this->start("fast", this->first(), closed);
  run.begin().barrier(39);
  run.write({{"ad_7", "M10:13", 6}});
  auto again = this->start("fast", this->restored(41, 42), closed);
  again.begin().write({{"ad_7", "M10:13", 1}, {"ad_9", "M10:14", 3}});
  EXPECT_TRUE(again.status.ok());
  EXPECT_EQ(again.counts().refused, 1);
  EXPECT_EQ(again.counts().written, 1);
  EXPECT_EQ(again.counts().pending, 0);
  EXPECT_THAT(this->values(), ElementsAre("ad_7 M10:13: fast_valid=6", "ad_9 M10:14: fast_valid=3"));
  ASSERT_FALSE(this->events_.all.empty());
  const obs::Event& alarm = this->events_.all.back();
  EXPECT_EQ(alarm.code, static_cast<int>(ErrorCode::kClosedRow));
  EXPECT_EQ(alarm.fields[2], std::pair(std::string("key"), std::string("entity=ad_7, bucket=M10:13")));
}

TYPED_TEST(FlushSink, W5_ABarrierPassesOnlyAfterTheAcknowledgements) {
  auto run = this->start("late", this->first());
  run.begin().send({{"ad_7", "H10", 1}});
  EXPECT_FALSE(run.drained());
  EXPECT_EQ(run.counts().pending, 1);
  run.settle();
  EXPECT_TRUE(run.drained());
  EXPECT_EQ(run.counts().pending, 0);
  EXPECT_EQ(run.counts().written, 1);
}

TYPED_TEST(FlushSink, W5_TheLastOfSeveralUpdatesOfAKeyStays) {
  FlushOptions small;
  small.batch_rows = 3;
  auto run = this->start("late", this->first(), small);
  run.begin();
  for (int64_t i = 1; i <= 20; ++i) run.send({{"ad_7", "H10", i}, {"ad_9", "H10", 2 * i}});
  run.settle();
  EXPECT_THAT(this->values(), ElementsAre("ad_7 H10: late_valid=20", "ad_9 H10: late_valid=40"));
  EXPECT_EQ(run.counts().written, 40);
}

TYPED_TEST(FlushSink, UpdateBeforeChangesNothingAndDeleteRemoves) {
  auto run = this->start("late", this->first());
  run.begin().write({{"ad_7", "H10", 1}, {"ad_9", "H10", 1}});
  run.write({{"ad_7", "H10", 1, RowKind::kUpdateBefore},
             {"ad_7", "H10", 2, RowKind::kUpdateAfter},
             {"ad_9", "H10", 1, RowKind::kDelete}});
  EXPECT_THAT(this->values(), ElementsAre("ad_7 H10: late_valid=2"));
  run.write({{"ad_7", "H10", 2, RowKind::kDelete}, {"ad_7", "H10", 3}});
  EXPECT_THAT(this->values(), ElementsAre("ad_7 H10: late_valid=3"));
}

TYPED_TEST(FlushSink, W6_ADeadAttemptStops) {
  auto dead = this->start("late", this->first());
  dead.begin();
  auto live = this->start("late", this->restored(0, 1));
  live.begin();
  dead.write({{"ad_7", "H10", 1}});
  ASSERT_FALSE(dead.status.ok());
  EXPECT_EQ(dead.status.code(), ErrorCode::kFenced);
  EXPECT_THAT(this->dump(), IsEmpty());
}

TYPED_TEST(FlushSink, F1_WhatWasWrittenSinceTheRestoredEpochIsRemoved) {
  auto run = this->start("late", this->first());
  run.begin().write({{"ad_1", "H10", 1}});
  run.barrier(40);
  run.write({{"ad_2", "H10", 1}});
  run.barrier(41);
  run.write({{"ad_3", "H10", 1}});
  run.barrier(42);
  run.write({{"ad_4", "H10", 1}});
  auto again = this->start("late", this->restored(41, 42));
  again.begin();
  EXPECT_THAT(this->values(), ElementsAre("ad_1 H10: late_valid=1", "ad_2 H10: late_valid=1"));
  EXPECT_EQ(again.counts().flushed_keys, 2);
  EXPECT_EQ(again.counts().flushed_removed, 2);
}

TYPED_TEST(FlushSink, F1_ASecondRestoreOfAnOlderEpochVisitsEverythingAbove) {
  auto run = this->start("late", this->first());
  run.begin().barrier(40);
  run.write({{"ad_1", "H10", 1}});
  auto history = this->restored(40, 40);
  auto second = this->start("late", history);
  second.begin().barrier(41);
  second.write({{"ad_2", "H10", 1}});
  second.barrier(42);
  history.push_back(test_record(7, 3, 40, 42));
  this->start("late", history).begin();
  EXPECT_THAT(this->dump(), IsEmpty());
}

TYPED_TEST(FlushSink, F1_AStartAnewUndoesEverythingTheJobHasWritten) {
  auto run = this->start("late", this->first());
  run.begin().barrier(5);
  run.write({{"ad_1", "H10", 1}});
  this->start("late", {test_record(7, 1, {}, 0), test_record(8, 1, {}, 5)}).begin();
  EXPECT_THAT(this->dump(), IsEmpty());
}

TYPED_TEST(FlushSink, F2_HeldValuesAreRewrittenWithTheRestoredEpoch) {
  auto run = this->start("late", this->first());
  run.begin().barrier(41);
  run.write({{"ad_7", "H10", 3}, {"ad_9", "H10", 1}});
  auto again = this->start("late", this->restored(41, 42));
  again.hold({{"ad_7", "H10", 2}, {"ad_8", "H10", 5}}).begin();
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=2 [7.2.41]"));
  EXPECT_EQ(again.counts().flushed_rewritten, 1);
  EXPECT_EQ(again.counts().flushed_removed, 1);
}

// F205: written from state at or before the checkpoint, so it cannot be ahead of it.
TYPED_TEST(FlushSink, F2_AValueBelowTheRestoredEpochIsNotTouched) {
  auto run = this->start("late", this->first());
  run.begin().barrier(40);
  run.write({{"ad_7", "H10", 2}});
  this->start("late", this->restored(41, 42)).hold({{"ad_7", "H10", 2}}).begin();
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=2 [7.1.40]"));
}

TYPED_TEST(FlushSink, F2_AValueDeletedSinceTheRestoredEpochComesBack) {
  auto run = this->start("late", this->first());
  run.begin().barrier(40);
  run.write({{"ad_7", "H10", 2}});
  run.barrier(41);
  run.write({{"ad_7", "H10", 2, RowKind::kDelete}});
  EXPECT_THAT(this->values(), IsEmpty());
  this->start("late", this->restored(41, 42)).hold({{"ad_7", "H10", 2}}).begin();
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=2 [7.2.41]"));
}

// F203: fast_* and late_* go, the recount's final_* stays.
TYPED_TEST(FlushSink, F3_AFlushLeavesTheColumnsOfOtherWriters) {
  for (const char* writer : {"fast", "late", "final"}) {
    auto run = this->start(writer, this->first());
    run.begin().barrier(41);
    run.write({{"ad_7", "H10", 61}});
  }
  this->start("fast", this->restored(41, 42)).begin();
  this->start("late", this->restored(41, 42)).begin();
  EXPECT_THAT(this->values(), ElementsAre("ad_7 H10: final_valid=61"));
}

// F201, F202: totals go back to what state holds; those it lacks, written since, are deleted; older ones
// stay.
TYPED_TEST(FlushSink, F4_RunningTotalsAreBroughtBack) {
  auto run = this->start("fast", this->first());
  run.begin().barrier(40);
  run.write({{"ad_7", "M10:13", 6}});
  run.barrier(41);
  run.write({{"ad_7", "M10:14", 5}, {"ad_7", "M10:15", 2}});
  this->start("fast", this->restored(41, 42)).hold({{"ad_7", "M10:14", 4}}).begin();
  EXPECT_THAT(this->values(), ElementsAre("ad_7 M10:13: fast_valid=6", "ad_7 M10:14: fast_valid=4"));
}

TYPED_TEST(FlushSink, F5_TheFlushCanBeRepeated) {
  auto run = this->start("late", this->first());
  run.begin().barrier(41);
  run.write({{"ad_7", "H10", 3}, {"ad_9", "H10", 1}});
  auto history = this->restored(41, 42);
  this->start("late", history).hold({{"ad_7", "H10", 2}}).begin();
  history.push_back(test_record(7, 3, 41, 42));
  this->start("late", history).hold({{"ad_7", "H10", 2}}).begin();
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=2 [7.3.41]"));
}

TYPED_TEST(FlushSink, F6_TheFlushKeepsToItsRateAndHoldsOutput) {
  auto run = this->start("late", this->first());
  run.begin().barrier(41);
  std::vector<table::TestRow> rows;
  for (int64_t i = 0; i < 100; ++i) rows.push_back({"ad_" + std::to_string(i), "H10", i});
  run.write(rows);
  FlushOptions slow;
  slow.batch_rows = 10;
  slow.flush_rows_per_second = 20;
  auto again = this->start("late", this->restored(41, 42), slow);
  EXPECT_TRUE(again.sink().held_end().ok());
  EXPECT_TRUE(*again.sink().busy());
  again.settle();
  EXPECT_FALSE(*again.sink().busy());
  EXPECT_GE(again.counts().flush_millis, 4'500);
  EXPECT_EQ(again.counts().flushed_removed, 100);
}

TYPED_TEST(FlushSink, EachSubtaskFlushesTheKeysThatItOwns) {
  auto run = this->start("late", this->first());
  run.begin().barrier(41);
  std::vector<table::TestRow> rows;
  for (int64_t i = 0; i < 60; ++i) rows.push_back({"ad_" + std::to_string(i), "H10", i});
  run.write(rows);
  int64_t flushed = 0;
  for (int32_t subtask = 0; subtask < 3; ++subtask) {
    auto part = this->start("late", this->restored(41, 42), {}, {subtask, 3});
    part.begin();
    EXPECT_GT(part.counts().flushed_removed, 0);
    flushed += part.counts().flushed_removed;
  }
  EXPECT_EQ(flushed, 60);
  EXPECT_THAT(this->dump(), IsEmpty());
}

TYPED_TEST(FlushSink, AHeldRowOfAnotherSubtaskIsAFault) {
  std::vector<table::TestRow> rows;
  for (int64_t i = 0; i < 60; ++i) rows.push_back({"ad_" + std::to_string(i), "H10", i});
  auto part = this->start("late", this->restored(41, 42), {}, {0, 3});
  part.hold(rows).begin();
  ASSERT_FALSE(part.status.ok());
  EXPECT_EQ(part.status.code(), ErrorCode::kInternal);
}

TYPED_TEST(FlushSink, AKeyWithoutValueIsABadRow) {
  auto spec = test_writer("late");
  auto run = this->start("late", this->first());
  run.begin();
  columnar::BatchBuilder builder(row_schema(spec));
  builder.column(0).append_null();
  builder.column(1).append_string("H10");
  builder.column(2).append(int64_t{1});
  builder.end_row();
  const Status status = run.sink().write(builder.finish(), {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kBadRow);
}

// Snapshot W4 (F198-F200): event 18 of the story undoes exactly what the first run decided after c41. The
// hour items stay, without late_*; the finished minute 10:13 is untouched; running totals fall back to the
// restored counts.
TYPED_TEST(FlushSink, Story_TheFlushOfEvent18) {
  FlushOptions closed;
  closed.closed_rows = true;
  constexpr bool kAddsToOthers = false;
  {
    auto fast = this->start("fast", this->first(), closed);
    fast.begin().barrier(39);
    fast.write({{"ad_7", "M10:13", 6}});
    fast.barrier(40);
    fast.barrier(41);
    fast.write({{"ad_7", "M10:14", 5}, {"ad_9", "M10:14", 2}});
    auto late = this->start("late", this->first(), {}, {0, 1}, kAddsToOthers);
    late.begin().barrier(41);
    late.write({{"ad_7", "H10", 1}, {"ad_9", "H10", 1}});
  }
  auto fast = this->start("fast", this->restored(41, 42), closed);
  auto late = this->start("late", this->restored(41, 42), {}, {0, 1}, kAddsToOthers);
  fast.begin();
  late.begin();
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 M10:13: fast_valid=6 [7.1.39]"));
  EXPECT_EQ(fast.counts().flushed_removed, 2);
  EXPECT_EQ(late.counts().flushed_removed, 2);
  // W5 (F234-F237): the replay decides c12 on time.
  late.write({{"ad_7", "H10", 1}});
  fast.barrier(43);
  fast.write({{"ad_7", "M10:14", 5}, {"ad_9", "M10:14", 3}});
  EXPECT_THAT(this->dump(),
              ElementsAre("ad_7 H10: late_valid=1 [7.2.41]", "ad_7 M10:13: fast_valid=6 [7.1.39]",
                          "ad_7 M10:14: fast_valid=5 [7.2.43]", "ad_9 M10:14: fast_valid=3 [7.2.43]"));
  EXPECT_EQ(fast.counts().refused + late.counts().refused, 0);
}

// Branch B (F257-F263): v2's flush removes what v1 wrote since the savepoint; both write on, and v1 cannot
// overwrite v2. When v1 has ended, what only v1 wrote goes, and what it wrote before the savepoint stays.
TYPED_TEST(FlushSink, B1_TheSweepTakesAwayWhatOnlyTheOlderVersionWrote) {
  FlushOptions closed;
  closed.closed_rows = true;
  auto v1 = this->start("fast", this->first(), closed);
  v1.begin().barrier(50);
  v1.write({{"ad_7", "M10:18", 4}});
  v1.barrier(51);
  v1.write({{"ad_7", "M10:19", 1}});
  auto v2 = this->start_beside("fast", {test_record(7, 1, {}, 0), test_record(8, 1, 51, 51)}, /*elders=*/52,
                               closed);
  EXPECT_TRUE(v2.counts().sweep_due);
  v2.begin();
  EXPECT_THAT(this->values(), ElementsAre("ad_7 M10:18: fast_valid=4"));
  v1.barrier(52);
  v1.write({{"ad_7", "M10:20", 3}});
  v2.barrier(52);
  v2.write({{"ad_7", "M10:20", 2}, {"ad_7", "M10:21", 5}});
  v1.write({{"ad_7", "M10:21", 7}});
  EXPECT_EQ(v1.counts().overtaken, 1);
  EXPECT_THAT(this->dump(),
              ElementsAre("ad_7 M10:18: fast_valid=4 [7.1.50]", "ad_7 M10:20: fast_valid=2 [8.1.52]",
                          "ad_7 M10:21: fast_valid=5 [8.1.52]"));
  v1.barrier(53);
  v1.write({{"ad_9", "M10:20", 1}});
  v2.barrier(53);
  v2.committed(53);
  EXPECT_THAT(this->values(), testing::Contains("ad_9 M10:20: fast_valid=1")) << "v1 goes on";
  EXPECT_TRUE(v2.counts().sweep_due);
  EXPECT_TRUE(v2.sink().elders_ended(Epoch{53}).ok());
  v2.committed(54);
  EXPECT_FALSE(v2.counts().sweep_due);
  EXPECT_THAT(this->dump(),
              ElementsAre("ad_7 M10:18: fast_valid=4 [7.1.50]", "ad_7 M10:20: fast_valid=2 [8.1.52]",
                          "ad_7 M10:21: fast_valid=5 [8.1.52]"));
  v1.write({{"ad_9", "M10:22", 1}});
  EXPECT_EQ(v1.status.code(), ErrorCode::kFenced) << "its attempt row is closed";
}

// A crash of v2 in between changes nothing: its next start knows v1's highest epoch, and flushes.
TYPED_TEST(FlushSink, B1_ARestartBesideAnOlderVersionFlushesWhatThatWroteMeanwhile) {
  auto v1 = this->start("late", this->first());
  v1.begin().barrier(51);
  this->start_beside("late", {test_record(7, 1, {}, 0), test_record(8, 1, 51, 51)}, 51, {}).begin();
  v1.barrier(60);
  v1.write({{"ad_9", "H10", 1}});
  auto again = this->start_beside(
      "late", {test_record(7, 1, {}, 0), test_record(8, 1, 51, 51), test_record(8, 2, 51, 52)}, 60, {});
  again.begin();
  EXPECT_THAT(this->values(), ElementsAre());
}

}  // namespace
}  // namespace strand::sim
