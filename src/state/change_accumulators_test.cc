#include "state/change_accumulators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "base/random.h"

namespace strand::state {
namespace {

using columnar::make_type;
using columnar::TypeKind;

/// n BIGINT, d DECIMAL(10, 2), t STRING, all of one number.
columnar::Batch row_of(std::optional<int64_t> value) {
  columnar::BatchBuilder builder(std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"n", make_type(TypeKind::kBigInt)},
                                   {"d", columnar::decimal_type(10, 2)},
                                   {"t", make_type(TypeKind::kString)}}));
  if (value) {
    builder.column(0).append(*value);
    builder.column(1).append(columnar::Int128{*value});
    builder.column(2).append_string("t" + std::to_string(*value));
  } else {
    for (size_t c = 0; c < 3; ++c) builder.column(c).append_null();
  }
  builder.end_row();
  return builder.finish();
}

struct Running {
  explicit Running(bool takes_back = true) : accumulators(specs(), takes_back) {}
  static std::vector<AccumulatorSpec> specs() {
    using Op = AccumulatorOp;
    const auto bigint = make_type(TypeKind::kBigInt);
    const auto decimal = columnar::decimal_type(10, 2);
    const auto text = make_type(TypeKind::kString);
    return {{Op::kCountStar, 0, nullptr, bigint},
            {Op::kMin, 0, bigint, bigint},
            {Op::kSum, 1, decimal, columnar::decimal_type(38, 2)},
            {Op::kMax, 2, text, text},
            {Op::kAvg, 0, bigint, bigint},
            {Op::kCount, 0, bigint, bigint}};
  }
  void add(std::optional<int64_t> value) { accumulators.add(row_of(value), 0, state); }
  void take_back(std::optional<int64_t> value) { accumulators.take_back(row_of(value), 0, state); }
  /// The same by what the row adds, without the row.
  void take_back_share(std::optional<int64_t> value) {
    std::string share;
    accumulators.append_share(row_of(value), 0, share);
    accumulators.take_back(share, state);
  }
  void add_share(std::optional<int64_t> value) {
    std::string share;
    accumulators.append_share(row_of(value), 0, share);
    accumulators.add(share, state);
  }
  /// COUNT(*), MIN(n), SUM(d), MAX(t), AVG(n), COUNT(n)
  std::string results() const {
    std::vector<columnar::Field> fields;
    for (const auto& spec : specs()) fields.push_back({"r", spec.result});
    columnar::BatchBuilder out(std::make_shared<const columnar::Schema>(std::move(fields)));
    accumulators.append_results(state, out, 0);
    out.end_row();
    return columnar::row_to_string(out.finish(), 0);
  }
  ChangeAccumulators accumulators;
  ChangeAccumulators::State state;
};

TEST(ChangeAccumulators, WithoutARowCountsAreZeroAndTheRestIsNull) {
  EXPECT_EQ(Running().results(), "+I[0, null, null, null, null, 0]");
}

TEST(ChangeAccumulators, ARowThatIsTakenBackLeavesNoTrace) {
  Running running;
  running.add(5);
  running.add(3);
  running.add(9);
  EXPECT_EQ(running.results(), "+I[3, 3, 0.17, t9, 5, 3]");
  running.take_back(3);
  EXPECT_EQ(running.results(), "+I[2, 5, 0.14, t9, 7, 2]");
  running.take_back(9);
  EXPECT_EQ(running.results(), "+I[1, 5, 0.05, t5, 5, 1]");
  running.take_back(5);
  EXPECT_EQ(running.results(), Running().results());
}

TEST(ChangeAccumulators, AnExtremeStaysWhileOneOfItsEqualsStays) {
  Running running;
  running.add(1);
  running.add(1);
  running.add(2);
  running.take_back(1);
  EXPECT_EQ(running.results(), "+I[2, 1, 0.03, t2, 1, 2]");
}

TEST(ChangeAccumulators, NullsCountAsRowsOnly) {
  Running running;
  running.add({});
  EXPECT_EQ(running.results(), "+I[1, null, null, null, null, 0]");
  running.take_back({});
  EXPECT_EQ(running.results(), Running().results());
}

TEST(ChangeAccumulators, AValueTakenBackBeforeItCameSettles) {
  Running running;
  running.add(4);
  running.take_back(9);
  running.add(9);
  EXPECT_EQ(running.results(), "+I[1, 4, 0.04, t4, 4, 1]");
}

TEST(ChangeAccumulators, WhatNeverTakesRowsBackKeepsOneValueOfAnExtreme) {
  Running running(/*takes_back=*/false);
  for (int64_t value = 0; value < 100; ++value) running.add(value % 10);
  EXPECT_EQ(running.results(), "+I[100, 0, 4.50, t9, 4, 100]");
  for (const KeptValues& kept : running.state.kept) EXPECT_EQ(kept.times.size(), 1u);
}

RC_GTEST_PROP(ChangeAccumulators, EqualTheSumOfTheRowsThatAreThereAlsoThroughBytes, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  Running running;
  std::vector<std::optional<int64_t>> there;
  for (int step = 0; step < 100; ++step) {
    if (there.empty() || random.below(3) != 0) {
      const auto value = random.below(5) == 0 ? std::nullopt : std::optional(random.between(0, 9));
      random.below(2) == 0 ? running.add(value) : running.add_share(value);
      there.push_back(value);
    } else {
      const auto gone = there.begin() + static_cast<std::ptrdiff_t>(random.below(there.size()));
      random.below(2) == 0 ? running.take_back(*gone) : running.take_back_share(*gone);
      there.erase(gone);
    }
    Running fresh;
    for (const auto& value : there) fresh.add(value);
    RC_ASSERT(running.results() == fresh.results());
    ByteWriter bytes;
    running.accumulators.encode(running.state, bytes);
    const std::string saved = bytes.take();
    ByteReader in(saved);
    RC_ASSERT(fresh.accumulators.decode(in, fresh.state).ok());
    RC_ASSERT(running.results() == fresh.results());
  }
}

}  // namespace
}  // namespace strand::state
