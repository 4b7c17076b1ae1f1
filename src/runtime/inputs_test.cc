#include "runtime/inputs.h"

#include <gmock/gmock.h>

namespace strand::runtime {
namespace {

using ::testing::ElementsAre;

flow::Rows row(int64_t value) {
  const auto schema = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"n", columnar::make_type(columnar::TypeKind::kBigInt, false)}});
  columnar::BatchBuilder builder(schema);
  builder.column(0).append(value);
  builder.end_row();
  return {builder.finish(), false};
}
int64_t value(const columnar::Batch& batch) { return batch.column(0).values<int64_t>()[0]; }

/// Two channels whose held rows are over, with barriers that overtake from 100 on.
class OvertakenInputs : public ::testing::Test {
 protected:
  OvertakenInputs() {
    inputs_.let_overtake();
    a_.push(flow::HeldEnd{});
    b_.push(flow::HeldEnd{});
    while (inputs_.next()) {
    }
  }
  static flow::Barrier barrier(int64_t epoch) {
    return {Epoch{epoch}, flow::BarrierKind::kCheckpoint, WallTime{100}};
  }
  /// The rows that can be read.
  std::vector<int64_t> read() {
    std::vector<int64_t> values;
    while (auto next = inputs_.next()) {
      if (const auto* rows = std::get_if<flow::Rows>(&next->element)) values.push_back(value(rows->batch));
    }
    return values;
  }
  std::vector<std::vector<int64_t>> recorded() {
    std::vector<std::vector<int64_t>> values;
    for (const auto& channel : inputs_.take_recorded()) {
      values.emplace_back();
      for (const auto& rows : channel) values.back().push_back(value(rows));
    }
    return values;
  }

  flow::Channel a_{nullptr};
  flow::Channel b_{nullptr};
  Inputs inputs_{{&a_, &b_}};
};

TEST_F(OvertakenInputs, WhatIsInFrontOfEachBarrierIsRecordedAndReadAllTheSame) {
  a_.push(row(1));
  a_.push(barrier(1));
  a_.push(row(2));
  b_.push(row(10));
  EXPECT_EQ(inputs_.overtaking(WallTime{99}), std::nullopt);
  EXPECT_EQ(inputs_.overtakes_at(), WallTime{100});
  ASSERT_TRUE(inputs_.overtaking(WallTime{100}).has_value());
  EXPECT_EQ(inputs_.overtaking(WallTime{100}), std::nullopt) << "once for each epoch";
  EXPECT_TRUE(inputs_.recording());
  EXPECT_THAT(read(), ::testing::UnorderedElementsAre(1, 2, 10));
  b_.push(row(20));
  b_.push(barrier(1));
  b_.push(row(30));
  EXPECT_FALSE(inputs_.recording());
  EXPECT_THAT(recorded(), ElementsAre(ElementsAre(1), ElementsAre(10, 20)));
  EXPECT_THAT(read(), ElementsAre(20, 30));
  EXPECT_EQ(inputs_.overtakes_at(), WallTime::never());
}

// Aligned for a while: what a channel sends behind its barrier is held back, and not recorded.
TEST_F(OvertakenInputs, AnAlignmentThatTakesTooLongIsGivenUp) {
  a_.push(barrier(1));
  a_.push(row(2));
  b_.push(row(10));
  EXPECT_THAT(read(), ElementsAre(10));
  EXPECT_EQ(inputs_.aligning(), Epoch{1});
  EXPECT_EQ(inputs_.overtaking(WallTime{99}), std::nullopt);
  ASSERT_TRUE(inputs_.overtaking(WallTime{100}).has_value());
  EXPECT_THAT(read(), ElementsAre(2)) << "nothing is held back any more";
  b_.push(row(20));
  EXPECT_THAT(read(), ElementsAre(20));
  b_.push(barrier(1));
  EXPECT_FALSE(inputs_.recording());
  EXPECT_THAT(recorded(), ElementsAre(ElementsAre(), ElementsAre(20)));
}

TEST_F(OvertakenInputs, ABarrierThatIsReadInTimeIsAligned) {
  a_.push(row(1));
  a_.push(barrier(1));
  b_.push(barrier(1));
  ASSERT_TRUE(inputs_.next().has_value());
  auto next = inputs_.next();
  ASSERT_TRUE(next.has_value());
  EXPECT_TRUE(std::holds_alternative<flow::Barrier>(next->element));
  inputs_.release();
  EXPECT_FALSE(inputs_.recording());
  EXPECT_EQ(inputs_.overtaking(WallTime{100}), std::nullopt);
}

TEST_F(OvertakenInputs, WhatWasGivenUpIsForgotten) {
  a_.push(row(1));
  a_.push(barrier(1));
  ASSERT_TRUE(inputs_.overtaking(WallTime{100}).has_value());
  inputs_.abort(Epoch{1});
  EXPECT_FALSE(inputs_.recording());
  EXPECT_THAT(recorded(), ElementsAre(ElementsAre(), ElementsAre()));
  b_.push(barrier(1));
  EXPECT_EQ(inputs_.overtaking(WallTime{100}), std::nullopt);
  b_.push(row(10));
  b_.push(barrier(2));
  EXPECT_EQ(inputs_.overtaking(WallTime{100})->epoch, Epoch{2});
  EXPECT_TRUE(inputs_.recording());
  EXPECT_THAT(read(), ::testing::UnorderedElementsAre(1, 10));
  a_.push(barrier(2));
  EXPECT_FALSE(inputs_.recording());
  EXPECT_THAT(recorded(), ElementsAre(ElementsAre(1), ElementsAre(10))) << "the 1 had not been read";
}

// Held rows tell a sink what restored state holds: it must have heard all before its first snapshot.
TEST(Inputs, HeldRowsAreNotOvertaken) {
  flow::Channel channel{nullptr};
  Inputs inputs({&channel});
  inputs.let_overtake();
  channel.push(flow::HeldEnd{});
  channel.push(row(1));
  channel.push(flow::Barrier{Epoch{1}, flow::BarrierKind::kCheckpoint, WallTime{0}});
  EXPECT_EQ(inputs.overtaking(WallTime{0}), std::nullopt);
  ASSERT_TRUE(inputs.next().has_value());
  EXPECT_TRUE(inputs.overtaking(WallTime{0}).has_value());
}

TEST(Inputs, NothingIsOvertakenWhereRowsCouldNotBePutBack) {
  flow::Channel channel{nullptr};
  Inputs inputs({&channel});
  channel.push(flow::HeldEnd{});
  channel.push(flow::Barrier{Epoch{1}, flow::BarrierKind::kCheckpoint, WallTime{0}});
  ASSERT_TRUE(inputs.next().has_value());
  EXPECT_EQ(inputs.overtaking(WallTime{0}), std::nullopt);
}

}  // namespace
}  // namespace strand::runtime
