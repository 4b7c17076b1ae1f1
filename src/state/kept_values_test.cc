#include "state/kept_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "base/random.h"
#include "state/change_accumulators.h"

namespace strand::state {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using Op = AccumulatorOp;

const columnar::TypePtr kBigInt = make_type(TypeKind::kBigInt);
const columnar::TypePtr kDouble = make_type(TypeKind::kDouble);

/// n BIGINT, d DOUBLE of the same number, large BOOLEAN: above 2.
columnar::Batch kept_row(std::optional<int64_t> value) {
  columnar::BatchBuilder builder(std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{
      {"n", kBigInt}, {"d", kDouble}, {"large", make_type(TypeKind::kBoolean)}}));
  if (value) {
    builder.column(0).append(*value);
    builder.column(1).append(static_cast<double>(*value));
  } else {
    builder.column(0).append_null();
    builder.column(1).append_null();
  }
  builder.column(2).append_boolean(value && *value > 2);
  builder.end_row();
  return builder.finish();
}

AccumulatorSpec spec_of(Op op, columnar::TypePtr result = kBigInt, bool distinct = false) {
  return {op, 0, kBigInt, std::move(result), distinct};
}

struct KeptRows {
  explicit KeptRows(std::vector<AccumulatorSpec> list, bool takes_back = true)
      : specs(std::move(list)), accumulators(specs, takes_back) {}
  void add(std::optional<int64_t> value) { accumulators.add(kept_row(value), 0, state); }
  void take_back(std::optional<int64_t> value) { accumulators.take_back(kept_row(value), 0, state); }
  std::string results() const {
    std::vector<columnar::Field> fields;
    for (const auto& spec : specs) fields.push_back({"r", spec.result});
    columnar::BatchBuilder out(std::make_shared<const columnar::Schema>(std::move(fields)));
    accumulators.append_results(state, out, 0);
    out.end_row();
    return columnar::row_to_string(out.finish(), 0);
  }
  std::vector<AccumulatorSpec> specs;
  ChangeAccumulators accumulators;
  ChangeAccumulators::State state{};
};

TEST(KeptValues, DistinctValuesCountOnceUntilTheLastOfThemIsTakenBack) {
  KeptRows rows({spec_of(Op::kCount, kBigInt, true), spec_of(Op::kSum, kBigInt, true),
                 spec_of(Op::kAvg, kBigInt, true)});
  EXPECT_EQ(rows.results(), "+I[0, null, null]");
  for (const int64_t value : {4, 4, 8}) rows.add(value);
  rows.add({});
  EXPECT_EQ(rows.results(), "+I[2, 12, 6]");
  rows.take_back(4);
  EXPECT_EQ(rows.results(), "+I[2, 12, 6]");
  rows.take_back(4);
  EXPECT_EQ(rows.results(), "+I[1, 8, 8]");
}

TEST(KeptValues, FirstAndLastFollowTheOrderOfArrivalAndPassOverNulls) {
  KeptRows rows({spec_of(Op::kFirst), spec_of(Op::kLast)});
  rows.add({});
  EXPECT_EQ(rows.results(), "+I[null, null]");
  for (const int64_t value : {1, 2, 1, 3}) rows.add(value);
  rows.add({});
  EXPECT_EQ(rows.results(), "+I[1, 3]");
  rows.take_back(3);
  rows.take_back(1);
  EXPECT_EQ(rows.results(), "+I[2, 1]");
}

TEST(KeptValues, WhatNeverTakesRowsBackKeepsOneFirstAndOneLast) {
  KeptRows rows({spec_of(Op::kFirst), spec_of(Op::kLast)}, /*takes_back=*/false);
  for (int64_t value = 0; value < 100; ++value) rows.add(value);
  EXPECT_EQ(rows.results(), "+I[0, 99]");
  for (const KeptValues& kept : rows.state.kept) EXPECT_EQ(kept.list.size(), 1u);
}

TEST(KeptValues, ArraysKeepNullsWhereToldToAndRowsThatPassTheFilter) {
  AccumulatorSpec filtered = spec_of(Op::kArray, columnar::array_type(kBigInt));
  filtered.filter = 2;
  AccumulatorSpec all = spec_of(Op::kArray, columnar::array_type(kBigInt));
  all.nulls = true;
  KeptRows rows({filtered, all, spec_of(Op::kArray, columnar::array_type(kBigInt), true)});
  EXPECT_EQ(rows.results(), "+I[null, null, null]");
  for (const int64_t value : {3, 1, 3}) rows.add(value);
  rows.add({});
  EXPECT_EQ(rows.results(), "+I[[3, 3], [3, 1, 3, NULL], [3, 1]]");
  rows.take_back(3);
  EXPECT_EQ(rows.results(), "+I[[3], [1, 3, NULL], [3, 1]]");
}

TEST(KeptValues, AMultisetCountsItsElementsAndIsNeverNull) {
  KeptRows rows({spec_of(Op::kCollect, columnar::multiset_type(kBigInt, false))});
  EXPECT_EQ(rows.results(), "+I[{}]");
  for (const int64_t value : {1, 2, 1}) rows.add(value);
  EXPECT_EQ(rows.results(), "+I[{1=2, 2=1}]");
}

TEST(KeptValues, PercentilesLieBetweenTheValuesAroundThem) {
  AccumulatorSpec several{Op::kPercentile, 1, kDouble, columnar::array_type(kDouble)};
  several.fractions = {0, 0.5, 0.9, 1};
  AccumulatorSpec weighted{Op::kPercentile, 1, kDouble, kDouble};
  weighted.fractions = {0.5};
  weighted.weight = 0;
  KeptRows rows({several, weighted});
  EXPECT_EQ(rows.results(), "+I[null, null]");
  for (const int64_t value : {4, 1, 3, 2}) rows.add(value);
  EXPECT_EQ(rows.results(), "+I[[1.0, 2.5, 4.0, 4.0], 3.0]");
}

/// Results are those of the rows that are there, in their order, however states were written and merged.
RC_GTEST_PROP(KeptValues, EqualThoseOfTheRowsThatAreThere, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  const std::vector<AccumulatorSpec> specs = {spec_of(Op::kCount, kBigInt, true),
                                              spec_of(Op::kSum, kBigInt, true),
                                              spec_of(Op::kFirst),
                                              spec_of(Op::kLast),
                                              spec_of(Op::kMin),
                                              spec_of(Op::kArray, columnar::array_type(kBigInt)),
                                              spec_of(Op::kCollect, columnar::multiset_type(kBigInt, false))};
  KeptRows rows(specs);
  std::vector<std::optional<int64_t>> there;
  for (int step = 0; step < 60; ++step) {
    const auto value = random.below(5) == 0 ? std::nullopt : std::optional(random.between(0, 5));
    const auto gone = std::ranges::find(there, value);
    if (gone != there.end() && random.below(2) == 0) {
      rows.take_back(value);
      there.erase(gone);
    } else {
      rows.add(value);
      there.push_back(value);
    }
    ByteWriter bytes;
    rows.accumulators.encode(rows.state, bytes);
    rows.state = {};
    const std::string written = bytes.take();
    ByteReader in(written);
    RC_ASSERT(rows.accumulators.decode(in, rows.state).ok());
    KeptRows fresh(specs);
    KeptRows second(specs);
    const size_t half = random.below(there.size() + 1);
    for (size_t i = 0; i < there.size(); ++i) (i < half ? fresh : second).add(there[i]);
    fresh.accumulators.merge(second.state, fresh.state);
    RC_ASSERT(rows.results() == fresh.results());
  }
}

}  // namespace
}  // namespace strand::state
