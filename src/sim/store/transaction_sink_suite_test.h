// The transaction protocol, rule by rule. Whoever includes it names the stores: `Backends`, in this
// namespace.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connect/table/epoch_rows.h"
#include "sim/store/writer_run.h"

namespace strand::sim {
namespace {

using connect::table::test_record;
using testing::ElementsAre;
using testing::IsEmpty;

/// A table without key: every row that is written stays, so a row too many or too few shows.
table::WriterSpec topic() {
  table::WriterSpec spec = connect::table::test_writer("fast");
  spec.table = "topic";
  spec.values = row_schema(spec);
  spec.key = std::make_shared<columnar::Schema>();
  spec.table_schema = spec.values;
  return spec;
}

template <class Backend>
class TransactionSink : public testing::Test {
 protected:
  TransactionSink() { EXPECT_TRUE(env_.files.make_dirs("/files").ok()); }
  WriterRun start(std::vector<AttemptRecord> history, std::vector<state::Section> state = {},
                  std::pair<int32_t, int32_t> subtask = {0, 1}) {
    auto sink = make_transaction_sink(topic(), backend_.connect_transactions(), env_.env(), {});
    flow::SinkStart start = sink_start(std::move(history), subtask.first, subtask.second);
    start.state = std::move(state);
    WriterRun run(env_, topic(), start, std::move(sink));
    run.begin();
    return run;
  }
  std::vector<std::string> rows() { return backend_.added("topic"); }
  static std::vector<AttemptRecord> first() { return {test_record(7, 1, {}, 0)}; }
  static std::vector<AttemptRecord> restored(int64_t epoch, int64_t highest) {
    return {test_record(7, 1, {}, 0), test_record(7, 2, epoch, highest)};
  }
  SimEnv env_{1, WallTime{1'000'000}};
  Backend backend_;
};

TYPED_TEST_SUITE(TransactionSink, Backends);

// F223: rows written before barrier 40 show when c40 is complete, not before.
TYPED_TEST(TransactionSink, X1c_RowsShowWhenTheirCheckpointIsComplete) {
  auto run = this->start(this->first());
  run.send({{"ad_7", "M10:13", 6}}).settle();
  run.barrier(40);
  run.send({{"ad_7", "M10:14", 5}}).settle();
  EXPECT_THAT(this->rows(), IsEmpty());
  run.committed(40);
  EXPECT_THAT(this->rows(), ElementsAre("+I[ad_7, M10:13, 6]"));
  EXPECT_EQ(run.counts().written, 1);
  EXPECT_EQ(run.counts().pending, 1);
}

TYPED_TEST(TransactionSink, X1_ACommitOfADeadAttemptIsRefused) {
  auto dead = this->start(this->first());
  dead.send({{"ad_7", "M10:13", 6}}).barrier(40);
  auto live = this->start(this->restored(39, 40));
  dead.committed(40);
  ASSERT_FALSE(dead.status.ok());
  EXPECT_EQ(dead.status.code(), ErrorCode::kFenced);
  EXPECT_THAT(this->rows(), IsEmpty());
}

TYPED_TEST(TransactionSink, X1m_ARepeatedCommitAddsNothing) {
  auto store = this->backend_.connect_transactions();
  ASSERT_TRUE(store->open(topic()).ok());
  ASSERT_TRUE(store->claim({{7}, {1}}).ok());
  table::Commit commit{
      {0, {7}, {1}, {40}},
      {std::make_shared<const columnar::Batch>(test_batch(topic(), {{"ad_7", "M10:13", 6}}))}};
  EXPECT_EQ(*store->commit(commit), table::CommitOutcome::kCommitted);
  EXPECT_EQ(*store->commit(commit), table::CommitOutcome::kHad);
  EXPECT_THAT(this->rows(), ElementsAre("+I[ad_7, M10:13, 6]"));
}

TYPED_TEST(TransactionSink, X2_UncommittedRowsOfEveryEpochAreInEveryCheckpoint) {
  auto run = this->start(this->first());
  run.send({{"ad_7", "M10:13", 6}}).barrier(40);
  run.send({{"ad_7", "M10:14", 5}});
  const auto state = run.barrier(41);
  this->start(this->restored(41, 41), state);
  EXPECT_THAT(this->rows(), ElementsAre("+I[ad_7, M10:13, 6]", "+I[ad_7, M10:14, 5]"));
}

TYPED_TEST(TransactionSink, X2_CommittedRowsAreInNoLaterCheckpoint) {
  auto run = this->start(this->first());
  run.send({{"ad_7", "M10:13", 6}}).barrier(40);
  run.committed(40);
  EXPECT_THAT(run.barrier(41), IsEmpty());
}

// F222-F225, branch K: the rows of an epoch that never completed are given up, and the replay's show once.
TYPED_TEST(TransactionSink, X3_RowsOfAnEpochThatWasNotCompletedAreGivenUp) {
  auto run = this->start(this->first());
  run.send({{"ad_7", "M10:13", 6}});
  const auto state = run.barrier(41);
  run.committed(41);
  run.send({{"ad_7", "M10:14", 5}, {"ad_9", "M10:14", 2}}).barrier(42);
  auto again = this->start(this->restored(41, 42), state);
  again.send({{"ad_7", "M10:14", 5}, {"ad_9", "M10:14", 3}}).barrier(43);
  again.barrier(44);
  again.committed(44);
  EXPECT_THAT(this->rows(), ElementsAre("+I[ad_7, M10:13, 6]", "+I[ad_7, M10:14, 5]", "+I[ad_9, M10:14, 3]"));
}

TYPED_TEST(TransactionSink, X3_AStoreAheadOfTheJobIsRefused) {
  auto run = this->start(this->first());
  run.send({{"ad_7", "M10:13", 6}});
  const auto state = run.barrier(40);
  run.committed(40);
  run.send({{"ad_7", "M10:14", 5}}).barrier(41);
  run.committed(41);
  auto again = this->start(this->restored(40, 41), state);
  ASSERT_FALSE(again.status.ok());
  EXPECT_EQ(again.status.code(), ErrorCode::kSinkAhead);
  EXPECT_THAT(again.status.hint(), testing::HasSubstr("checkpoint 41"));
}

// Only a store that can be asked before it is claimed tells.
using AskedTransactionSink = TransactionSink<Asked>;
TEST_F(AskedTransactionSink, B2_APlaceWithCommitsOfAnotherVersionIsRefused) {
  auto run = this->start(this->first());
  run.send({{"ad_7", "M10:13", 6}}).barrier(40);
  run.committed(40);
  flow::SinkStart newer = sink_start({test_record(7, 1, {}, 0), test_record(8, 1, 40, 40)});
  const auto check = [&] {
    return make_transaction_sink(topic(), this->backend_.connect_transactions(), this->env_.env(), {})
        ->check(newer);
  };
  EXPECT_TRUE(check().ok()) << "it takes the place of the older one";
  newer.elders = Epoch{40};
  const Status beside = check();
  EXPECT_EQ(beside.code(), ErrorCode::kSinkAhead);
  EXPECT_THAT(beside.hint(), testing::HasSubstr("--with topic.path="));
  auto taken = this->start({test_record(7, 1, {}, 0), test_record(8, 1, 40, 40)});
  taken.send({{"ad_7", "M10:14", 5}}).barrier(41);
  taken.committed(41);
  newer.restored = Epoch{41};
  EXPECT_TRUE(check().ok()) << "its own commits";
}

TYPED_TEST(TransactionSink, X3a_MarkersOfSubtasksThatAreNoMoreCount) {
  auto second = this->start(this->first(), {}, {1, 2});
  second.send({{"ad_9", "M10:14", 3}}).barrier(41);
  second.committed(41);
  auto alone = this->start(this->restored(40, 41), {}, {0, 1});
  ASSERT_FALSE(alone.status.ok());
  EXPECT_EQ(alone.status.code(), ErrorCode::kSinkAhead);
}

TYPED_TEST(TransactionSink, X3e_OnlyEpochsAboveTheMarkerAreSentAgain) {
  auto run = this->start(this->first());
  run.send({{"ad_7", "M10:13", 6}}).barrier(40);
  run.send({{"ad_7", "M10:14", 5}});
  const auto state = run.barrier(41);
  run.committed(40);
  EXPECT_THAT(this->rows(), ElementsAre("+I[ad_7, M10:13, 6]"));
  this->start(this->restored(41, 41), state);
  EXPECT_THAT(this->rows(), ElementsAre("+I[ad_7, M10:13, 6]", "+I[ad_7, M10:14, 5]"));
}

TYPED_TEST(TransactionSink, X3_ARescaleSendsEverySubtasksRowsOnce) {
  std::vector<state::Section> state;
  for (int32_t subtask = 0; subtask < 3; ++subtask) {
    auto run = this->start(this->first(), {}, {subtask, 3});
    run.send({{"ad_" + std::to_string(subtask), "M10:14", subtask}});
    for (const auto& section : run.barrier(41)) state.push_back(section);
  }
  for (int32_t subtask = 0; subtask < 2; ++subtask) this->start(this->restored(41, 41), state, {subtask, 2});
  EXPECT_THAT(this->rows(), testing::UnorderedElementsAre("+I[ad_0, M10:14, 0]", "+I[ad_1, M10:14, 1]",
                                                          "+I[ad_2, M10:14, 2]"));
}

TYPED_TEST(TransactionSink, TheEndCommitsWhatTheLastCheckpointHolds) {
  auto run = this->start(this->first());
  run.send({{"ad_7", "M10:13", 6}}).barrier(40);
  EXPECT_FALSE(*run.sink().close());
  run.settle();
  EXPECT_TRUE(*run.sink().close());
  EXPECT_THAT(this->rows(), ElementsAre("+I[ad_7, M10:13, 6]"));
}

}  // namespace
}  // namespace strand::sim
