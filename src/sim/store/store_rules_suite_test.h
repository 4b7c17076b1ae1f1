// What replay.md asks of a store, rule by rule. Whoever includes it names the stores: `Backends`, in this
// namespace.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connect/table/rows.h"
#include "connect/table/test_rows.h"

namespace strand::sim {

namespace table = connect::table;

namespace {

using connect::table::Answer;
using connect::table::Request;
using connect::table::test_record;
using connect::table::test_request;
using connect::table::test_tag;
using connect::table::test_writer;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kPut = Request::Kind::kPut;
constexpr auto kDelete = Request::Kind::kDelete;
constexpr auto kRewrite = Request::Kind::kRewrite;
constexpr auto kRemove = Request::Kind::kRemove;

/// One connection of one writer.
template <class Backend>
struct Connection {
  Connection(Backend& backend, const std::string& writer, int64_t generation, int64_t attempt,
             std::optional<int64_t> closed = {}, std::vector<AttemptRecord> history = {},
             bool owns_rows = true)
      : spec(test_writer(writer)), store(backend.connect()) {
    spec.owns_rows = owns_rows;
    claim.generation = {generation};
    claim.attempt = {attempt};
    if (closed) claim.closed_row = Epoch{*closed};
    claim.history = std::move(history);
    EXPECT_TRUE(store->open(spec).ok());
  }
  Connection& claimed() {
    const Status status = store->claim(claim);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return *this;
  }
  Answer apply(Request::Kind kind, const table::TestRow& row, table::WriteTag tag,
               std::optional<table::WriteTag> expected = {}) {
    const auto answers = store->apply({test_request(spec, kind, row, tag, expected)});
    EXPECT_TRUE(answers.ok()) << answers.status().to_string();
    return answers.ok() ? (*answers)[0] : Answer::kChanged;
  }
  /// `ad_7 H10` in the order of the listing's keys.
  std::vector<std::string> listed(int64_t low, int64_t high) {
    std::vector<std::string> names;
    const auto listing = store->list({low}, {high});
    EXPECT_TRUE(listing.ok());
    for (const auto& value : listing->values) {
      const auto keys = connect::table::decode_keys(spec.key, std::vector{value.key});
      names.push_back(std::string(keys->column(0).string(0)) + " " + std::string(keys->column(1).string(0)));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  table::WriterSpec spec;
  table::WriterClaim claim;
  std::unique_ptr<table::TableStore> store;
};

template <class Backend>
class StoreRules : public testing::Test {
 protected:
  Connection<Backend> writer(const std::string& name, int64_t generation, int64_t attempt,
                             std::optional<int64_t> closed = {}, std::vector<AttemptRecord> history = {}) {
    Connection<Backend> made(backend_, name, generation, attempt, closed, std::move(history));
    made.claimed();
    return made;
  }
  std::vector<std::string> dump() { return backend_.dump("ad_metrics", /*tags=*/true); }
  Backend backend_;
};

TYPED_TEST_SUITE(StoreRules, Backends);

TYPED_TEST(StoreRules, W1_AWriteSetsAbsoluteValuesAndItsTag) {
  auto late = this->writer("late", 7, 1);
  EXPECT_EQ(late.apply(kPut, {"ad_7", "H10", 1}, test_tag(7, 1, 40, 1)), Answer::kWritten);
  EXPECT_EQ(late.apply(kPut, {"ad_7", "H10", 2}, test_tag(7, 1, 41, 2)), Answer::kWritten);
  EXPECT_EQ(late.apply(kPut, {"ad_7", "H10", 2}, test_tag(7, 1, 41, 2)), Answer::kWritten);
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=2 [7.1.41]"));
}

TYPED_TEST(StoreRules, W1_NullIsAValue) {
  auto late = this->writer("late", 7, 1);
  late.apply(kPut, {"ad_7", "H10", 1}, test_tag(7, 1, 40, 1));
  late.apply(kPut, {"ad_7", "H10", std::nullopt}, test_tag(7, 1, 41, 2));
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=null [7.1.41]"));
}

TYPED_TEST(StoreRules, W1_TwoWritersOfOneRowKeepTheirOwnColumnsAndTags) {
  auto fast = this->writer("fast", 7, 1);
  auto late = this->writer("late", 7, 1);
  fast.apply(kPut, {"ad_7", "H10", 11}, test_tag(7, 1, 43, 1));
  late.apply(kPut, {"ad_7", "H10", 1}, test_tag(7, 1, 41, 1));
  EXPECT_THAT(this->dump(),
              ElementsAre("ad_7 H10: fast_valid=11 [7.1.43]", "ad_7 H10: late_valid=1 [7.1.41]"));
}

TYPED_TEST(StoreRules, W2_AHigherGenerationIsNotOverwritten) {
  Connection<TypeParam> v1(this->backend_, "fast", 7, 1);
  v1.claimed();
  Connection<TypeParam> v2(this->backend_, "fast", 8, 1);
  v2.claim.elders_run = true;
  v2.claimed();
  v2.apply(kPut, {"ad_7", "M10:20", 2}, test_tag(8, 1, 52, 1));
  EXPECT_EQ(v1.apply(kPut, {"ad_7", "M10:20", 3}, test_tag(7, 1, 53, 9)), Answer::kRefusedHigher);
  EXPECT_EQ(v1.apply(kDelete, {"ad_7", "M10:20", {}}, test_tag(7, 1, 53, 10)), Answer::kRefusedHigher);
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 M10:20: fast_valid=2 [8.1.52]"));
}

TYPED_TEST(StoreRules, W2_GenerationsOfOtherWritersRefuseNothing) {
  Connection<TypeParam> v1(this->backend_, "late", 7, 1);
  v1.claimed();
  Connection<TypeParam> v2(this->backend_, "fast", 8, 1);
  v2.claim.elders_run = true;
  v2.claimed();
  v2.apply(kPut, {"ad_7", "H10", 13}, test_tag(8, 1, 52, 1));
  EXPECT_EQ(v1.apply(kPut, {"ad_7", "H10", 1}, test_tag(7, 1, 53, 1)), Answer::kWritten);
}

TYPED_TEST(StoreRules, W2s_ACopyDoesNotUndoItsSuccessor) {
  auto late = this->writer("late", 7, 1);
  late.apply(kPut, {"ad_7", "H10", 1}, test_tag(7, 1, 41, 1));
  late.apply(kPut, {"ad_7", "H10", 2}, test_tag(7, 1, 41, 2));
  const Answer copy = late.apply(kPut, {"ad_7", "H10", 1}, test_tag(7, 1, 41, 1));
  if (TypeParam::kKeepsSequence) {
    EXPECT_EQ(copy, Answer::kRefusedOlder);
    EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=2 [7.1.41]"));
  } else {
    // A call to such a store has ended before the next one begins: what comes later is meant later.
    EXPECT_EQ(copy, Answer::kWritten);
    EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=1 [7.1.41]"));
  }
}

// F221, branch G: a minute row that was finished before the restored checkpoint is not written again.
TYPED_TEST(StoreRules, W4_AFinishedRowIsRefused) {
  auto before = this->writer("fast", 7, 1);
  before.apply(kPut, {"ad_9", "M10:14", 2}, test_tag(7, 1, 40, 1));
  auto after = this->writer("fast", 7, 2, 41, {test_record(7, 1, {}, 0), test_record(7, 2, 41, 42)});
  EXPECT_EQ(after.apply(kPut, {"ad_9", "M10:14", 3}, test_tag(7, 2, 41, 1)), Answer::kRefusedClosed);
  EXPECT_EQ(after.apply(kDelete, {"ad_9", "M10:14", {}}, test_tag(7, 2, 41, 2)), Answer::kRefusedClosed);
  EXPECT_EQ(after.apply(kPut, {"ad_9", "M10:15", 3}, test_tag(7, 2, 41, 3)), Answer::kWritten);
  EXPECT_THAT(this->dump(),
              ElementsAre("ad_9 M10:14: fast_valid=2 [7.1.40]", "ad_9 M10:15: fast_valid=3 [7.2.41]"));
}

TYPED_TEST(StoreRules, W4_AValueOfTheRestoredEpochOrLaterMayBeWritten) {
  auto before = this->writer("fast", 7, 1);
  before.apply(kPut, {"ad_9", "M10:14", 2}, test_tag(7, 1, 41, 1));
  auto after = this->writer("fast", 7, 2, 41, {test_record(7, 1, {}, 0), test_record(7, 2, 41, 42)});
  EXPECT_EQ(after.apply(kPut, {"ad_9", "M10:14", 3}, test_tag(7, 2, 41, 1)), Answer::kWritten);
}

// Epochs of two generations do not compare: what is mine, or dead, is never finished.
TYPED_TEST(StoreRules, W4d_AValueThatIsMineOrDeadMayBeWritten) {
  auto mine = this->writer("fast", 7, 3, 60,
                           {test_record(7, 1, {}, 0), test_record(7, 2, 41, 42), test_record(7, 3, 60, 61)});
  auto dead = this->writer("fast", 7, 3);
  dead.apply(kPut, {"ad_9", "M10:14", 2}, test_tag(7, 1, 50, 1));
  mine.apply(kPut, {"ad_9", "M10:15", 2}, test_tag(7, 3, 55, 1));
  dead.apply(kPut, {"ad_9", "M10:16", 2}, test_tag(7, 2, 50, 2));
  EXPECT_EQ(mine.apply(kPut, {"ad_9", "M10:14", 3}, test_tag(7, 3, 60, 2)), Answer::kWritten);
  EXPECT_EQ(mine.apply(kPut, {"ad_9", "M10:15", 3}, test_tag(7, 3, 60, 3)), Answer::kWritten);
  EXPECT_EQ(mine.apply(kPut, {"ad_9", "M10:16", 3}, test_tag(7, 3, 60, 4)), Answer::kRefusedClosed);
}

TYPED_TEST(StoreRules, W6_RequestsOfADeadAttemptFail) {
  auto dead = this->writer("late", 7, 1);
  auto live = this->writer("late", 7, 2);
  const auto refused =
      dead.store->apply({test_request(dead.spec, kPut, {"ad_7", "H10", 1}, test_tag(7, 1, 41, 1))});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), ErrorCode::kFenced);
  EXPECT_THAT(this->dump(), IsEmpty());
}

TYPED_TEST(StoreRules, W6_ADeadAttemptCannotClaimAgain) {
  this->writer("late", 7, 2);
  Connection<TypeParam> dead(this->backend_, "late", 7, 1);
  const Status status = dead.store->claim(dead.claim);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kFenced);
}

TYPED_TEST(StoreRules, W6_AGenerationThatHasStoppedWritesNothing) {
  auto v1 = this->writer("late", 7, 5);
  auto v2 = this->writer("late", 8, 1);
  const auto refused =
      v1.store->apply({test_request(v1.spec, kPut, {"ad_7", "H10", 1}, test_tag(7, 5, 41, 1))});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), ErrorCode::kFenced);
}

TYPED_TEST(StoreRules, F1_ListingFindsTheWritersValuesByEpoch) {
  auto late = this->writer("late", 7, 1);
  auto fast = this->writer("fast", 7, 1);
  for (int64_t epoch = 38; epoch <= 43; ++epoch) {
    late.apply(kPut, {"ad_" + std::to_string(epoch), "H10", 1}, test_tag(7, 1, epoch, epoch));
    fast.apply(kPut, {"ad_" + std::to_string(epoch), "M10:14", 1}, test_tag(7, 1, epoch, epoch));
  }
  EXPECT_THAT(late.listed(41, 42), ElementsAre("ad_41 H10", "ad_42 H10"));
  EXPECT_THAT(late.listed(44, 1000), IsEmpty());
  EXPECT_THAT(late.listed(0, 10'000'000), testing::SizeIs(6));
}

TYPED_TEST(StoreRules, F2_ARewriteSetsTheValueAndTheTagOfTheFlush) {
  auto dead = this->writer("late", 7, 1);
  dead.apply(kPut, {"ad_7", "H10", 3}, test_tag(7, 1, 41, 1));
  auto live = this->writer("late", 7, 2);
  EXPECT_EQ(live.apply(kRewrite, {"ad_7", "H10", 2}, test_tag(7, 2, 41),
                       test_tag(7, 1, 41, TypeParam::kKeepsSequence ? 1 : 0)),
            Answer::kWritten);
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=2 [7.2.41]"));
}

TYPED_TEST(StoreRules, F3_RemovalLeavesOtherWritersColumns) {
  auto fast = this->writer("fast", 7, 1);
  auto final_writer = this->writer("final", 7, 1);
  fast.apply(kPut, {"ad_7", "M10:14", 5}, test_tag(7, 1, 41, 1));
  fast.apply(kPut, {"ad_9", "M10:14", 5}, test_tag(7, 1, 41, 2));
  final_writer.apply(kPut, {"ad_7", "M10:14", 5}, test_tag(7, 1, 39, 1));
  auto flush = this->writer("fast", 7, 2);
  for (const char* ad : {"ad_7", "ad_9"}) {
    const auto listing = flush.store->list({41}, {42});
    ASSERT_TRUE(listing.ok());
    for (const auto& value : listing->values) {
      const auto request =
          test_request(flush.spec, kRemove, {ad, "M10:14", {}}, test_tag(7, 2, 41), value.tag);
      if (request.key == value.key) {
        EXPECT_TRUE(flush.store->apply({request}).ok());
      }
    }
  }
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 M10:14: final_valid=5 [7.1.39]"));
}

TYPED_TEST(StoreRules, F3c_AFlushRequestIsACompareAndSet) {
  auto late = this->writer("late", 7, 2);
  late.apply(kPut, {"ad_7", "H10", 4}, test_tag(7, 2, 41, 1));
  EXPECT_EQ(late.apply(kRemove, {"ad_7", "H10", {}}, test_tag(7, 2, 41), test_tag(7, 1, 41, 1)),
            Answer::kChanged);
  EXPECT_EQ(late.apply(kRewrite, {"ad_7", "H10", 9}, test_tag(7, 2, 41), test_tag(7, 1, 41, 1)),
            Answer::kChanged);
  EXPECT_EQ(late.apply(kRewrite, {"ad_7", "H10", 9}, test_tag(7, 2, 41)), Answer::kChanged);
  EXPECT_EQ(late.apply(kRewrite, {"ad_8", "H10", 9}, test_tag(7, 2, 41), test_tag(7, 1, 41, 1)),
            Answer::kChanged);
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: late_valid=4 [7.2.41]"));
}

TYPED_TEST(StoreRules, ADeletionRemovesTheWritersColumnsAndIsRemembered) {
  auto late = this->writer("late", 7, 1);
  auto fast = this->writer("fast", 7, 1);
  late.apply(kPut, {"ad_7", "H10", 4}, test_tag(7, 1, 41, 1));
  late.apply(kPut, {"ad_9", "H10", 4}, test_tag(7, 1, 41, 2));
  fast.apply(kPut, {"ad_7", "H10", 4}, test_tag(7, 1, 41, 1));
  EXPECT_FALSE(late.store->list({40}, {40})->deletes);
  EXPECT_EQ(late.apply(kDelete, {"ad_7", "H10", {}}, test_tag(7, 1, 42, 3)), Answer::kWritten);
  EXPECT_EQ(late.apply(kDelete, {"ad_9", "H10", {}}, test_tag(7, 1, 42, 4)), Answer::kWritten);
  EXPECT_EQ(late.apply(kDelete, {"ad_1", "H10", {}}, test_tag(7, 1, 42, 5)), Answer::kWritten);
  EXPECT_THAT(this->dump(), ElementsAre("ad_7 H10: fast_valid=4 [7.1.41]"));
  const auto since = late.store->list({42}, {42});
  EXPECT_TRUE(since->deletes);
  EXPECT_EQ(since->values.size(), TypeParam::kKeepsSequence ? 2u : 0u);
  EXPECT_FALSE(late.store->list({43}, {43})->deletes);
  EXPECT_FALSE(fast.store->list({42}, {42})->deletes);
}

TYPED_TEST(StoreRules, ABatchIsAppliedAsAWholeOrNotAtAll) {
  auto dead = this->writer("late", 7, 1);
  auto live = this->writer("late", 7, 2);
  std::vector<Request> requests;
  for (int64_t i = 0; i < 100; ++i) {
    requests.push_back(
        test_request(dead.spec, kPut, {"ad_" + std::to_string(i), "H10", i}, test_tag(7, 1, 41, i)));
  }
  EXPECT_FALSE(dead.store->apply(requests).ok());
  EXPECT_THAT(this->dump(), IsEmpty());
}

TYPED_TEST(StoreRules, AWriterBelongsToOneJob) {
  this->writer("late", 7, 1);
  auto other = this->backend_.connect();
  const Status status = other->open(test_writer("late", "another-job"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kWriterTaken);
  EXPECT_TRUE(this->backend_.connect()->open(test_writer("final", "another-job")).ok());
}

}  // namespace
}  // namespace strand::sim
