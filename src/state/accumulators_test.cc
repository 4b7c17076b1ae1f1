#include "state/accumulators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace strand::state {
namespace {

using columnar::Int128;
using columnar::make_type;
using columnar::TypeKind;
using columnar::TypePtr;
using ::testing::ElementsAre;

template <class T>
using Values = std::vector<std::optional<T>>;

template <class T>
columnar::Batch column_of(const TypePtr& type, const Values<T>& values) {
  columnar::BatchBuilder builder(
      std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{{"x", type}}));
  for (const auto& value : values) {
    if (!value) {
      builder.column(0).append_null();
    } else if constexpr (std::is_same_v<T, std::string>) {
      builder.column(0).append_string(*value);
    } else {
      builder.column(0).append(*value);
    }
    builder.end_row();
  }
  return builder.finish();
}

/// The results of all aggregates over one column: directly, and once more from two halves that travel as
/// partials, and through bytes. All must agree.
template <class T>
std::vector<std::string> results(const TypePtr& type, const TypePtr& average, const Values<T>& values) {
  using Op = AccumulatorOp;
  const auto bigint = make_type(TypeKind::kBigInt);
  const TypePtr sum = type->kind == TypeKind::kDecimal ? columnar::decimal_type(38, type->scale) : type;
  std::vector<AccumulatorSpec> specs = {{Op::kCountStar, 0, nullptr, bigint}, {Op::kCount, 0, type, bigint}};
  specs.push_back({Op::kMin, 0, type, type});
  specs.push_back({Op::kMax, 0, type, type});
  if (average != nullptr) {
    specs.push_back({Op::kSum, 0, type, sum});
    specs.push_back({Op::kAvg, 0, type, average});
  }
  const Accumulators accumulators(specs);
  StatePages pool;
  ByteArena arena(pool);
  const columnar::Batch batch = column_of(type, values);
  const auto run = [&](uint32_t from, uint32_t to) {
    std::vector<char> row(accumulators.bytes());
    std::vector<uint32_t> rows;
    for (uint32_t i = from; i < to; ++i) rows.push_back(i);
    const std::vector<char*> accs(rows.size(), row.data());
    accumulators.update(batch, rows, accs, arena);
    return row;
  };
  const auto print = [&](const std::vector<char>& row) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < specs.size(); ++i) {
      columnar::ColumnBuilder out(specs[i].result);
      accumulators.append_result(i, row.data(), out);
      texts.push_back(columnar::value_to_string(*out.finish(), 0));
    }
    return texts;
  };
  const auto n = static_cast<uint32_t>(values.size());
  const auto whole = run(0, n);

  std::vector<columnar::Field> fields;
  for (const TypePtr& partial : accumulators.partial_types()) fields.push_back({"p", partial});
  columnar::BatchBuilder partials(std::make_shared<const columnar::Schema>(fields));
  std::vector<columnar::ColumnBuilder*> columns;
  for (size_t i = 0; i < fields.size(); ++i) columns.push_back(&partials.column(i));
  for (const auto& half : {run(0, n / 2), run(n / 2, n)}) {
    accumulators.append_partial(half.data(), columns);
    partials.end_row();
  }
  std::vector<char> merged(accumulators.bytes());
  const std::vector<uint32_t> both = {0, 1};
  const std::vector<char*> into(2, merged.data());
  accumulators.merge(partials.finish(), 0, both, into, arena);
  EXPECT_EQ(print(merged), print(whole));

  ByteWriter bytes;
  accumulators.encode(whole.data(), *pool.freeze(), bytes);
  const std::string encoded = bytes.take();
  ByteReader in(encoded);
  std::vector<char> decoded(accumulators.bytes());
  EXPECT_TRUE(accumulators.decode(in, decoded.data(), arena).ok());
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_TRUE(accumulators.equal(whole.data(), decoded.data()));
  return print(whole);
}

TEST(Accumulators, PassOverNulls) {
  const auto type = make_type(TypeKind::kInt);
  EXPECT_THAT(results<int32_t>(type, type, {5, std::nullopt, -2, std::nullopt}),
              ElementsAre("4", "2", "-2", "5", "3", "1"));
}

TEST(Accumulators, WithoutAValueAllButCountsAreNull) {
  const auto type = make_type(TypeKind::kBigInt);
  EXPECT_THAT(results<int64_t>(type, type, {std::nullopt, std::nullopt}),
              ElementsAre("2", "0", "null", "null", "null", "null"));
}

TEST(Accumulators, SumsOfIntegersWrapAndAveragesTruncate) {
  const auto tiny = make_type(TypeKind::kTinyInt);
  EXPECT_THAT(results<int8_t>(tiny, tiny, {int8_t{100}, int8_t{100}, int8_t{-1}}),
              ElementsAre("3", "3", "-1", "100", "-57", "66"));
  const auto type = make_type(TypeKind::kBigInt);
  EXPECT_EQ(results<int64_t>(type, type, {INT64_MAX, 1})[4], std::to_string(INT64_MIN));
  EXPECT_EQ(results<int64_t>(type, type, {-3, -4})[5], "-3");
}

TEST(Accumulators, DoublesKeepTheirType) {
  const auto type = make_type(TypeKind::kDouble);
  EXPECT_THAT(results<double>(type, type, {0.5, 2.0}), ElementsAre("2", "2", "0.5", "2.0", "2.5", "1.25"));
}

TEST(Accumulators, DecimalsAverageWithMoreDigitsRoundedHalfUp) {
  const auto type = columnar::decimal_type(10, 2);
  const auto average = columnar::decimal_type(38, 6);
  EXPECT_THAT(results<Int128>(type, average, {Int128{100}, Int128{100}, Int128{-500}, std::nullopt}),
              ElementsAre("4", "3", "-5.00", "1.00", "-3.00", "-1.000000"));
  EXPECT_EQ(results<Int128>(type, average, {Int128{1}, Int128{1}, Int128{0}})[5], "0.006667");
}

TEST(Accumulators, ADecimalSumBeyond38DigitsIsNull) {
  const auto type = columnar::decimal_type(38, 0);
  Int128 large = 9;
  for (int i = 0; i < 37; ++i) large *= 10;
  EXPECT_EQ(results<Int128>(type, type, {large, large, Int128{0} - large, Int128{1}})[4], "null");
}

TEST(Accumulators, StringsAreComparedByBytes) {
  const auto type = make_type(TypeKind::kString);
  EXPECT_THAT(
      results<std::string>(type, nullptr,
                           {"mole", std::nullopt, "a rather long text, longer than others", "zebra", ""}),
      ElementsAre("5", "4", "", "zebra"));
}

}  // namespace
}  // namespace strand::state
