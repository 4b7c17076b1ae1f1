#include "columnar/sort_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace strand::columnar {
namespace {

template <class T>
Batch column_of(const TypePtr& type, const std::vector<std::optional<T>>& values) {
  BatchBuilder builder(std::make_shared<const Schema>(std::vector<Field>{{"x", type}}));
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

/// The values ascend: so must their bytes, and the values must come back.
template <class T>
void expect_ascending(const TypePtr& type, const std::vector<std::optional<T>>& values) {
  const Batch batch = column_of<T>(type, values);
  ColumnBuilder back(type);
  std::string before;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    std::string bytes;
    append_ordered(batch.column(0), row, bytes);
    if (row > 0) {
      EXPECT_LT(before, bytes) << value_to_string(batch.column(0), row);
    }
    append_from_ordered(bytes, back);
    before = bytes;
  }
  const ColumnPtr read = back.finish();
  for (int64_t row = 0; row < batch.rows(); ++row)
    EXPECT_EQ(value_to_string(*read, row), value_to_string(batch.column(0), row));
}

TEST(SortKey, BytesOfValuesOrderAsTheValuesAndGiveThemBack) {
  expect_ascending<int8_t>(make_type(TypeKind::kTinyInt), {-128, -1, 0, 1, 127});
  expect_ascending<int16_t>(make_type(TypeKind::kSmallInt), {-32768, 0, 255, 256});
  expect_ascending<int32_t>(make_type(TypeKind::kInt), {INT32_MIN, -256, -1, 0, 70'000});
  expect_ascending<int64_t>(make_type(TypeKind::kBigInt), {INT64_MIN, -1, 0, 1, INT64_MAX});
  expect_ascending<Int128>(decimal_type(38, 2), {Int128{-1} << 100, -1, 0, 1, Int128{1} << 100});
  expect_ascending<double>(
      make_type(TypeKind::kDouble),
      {-std::numeric_limits<double>::infinity(), -1.5, -0.0, 0.0, 1e-300, 2.0,
       std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()});
  expect_ascending<float>(make_type(TypeKind::kFloat), {-3.5F, -0.5F, 0.0F, 0.25F, 7.0F});
  expect_ascending<std::string>(make_type(TypeKind::kString), {"", "a", "a ", "ab", "b", "\xC3\xA4"});
}

/// The keys of two rows (text, number) compared.
bool before(const std::pair<std::optional<std::string>, int64_t>& a,
            const std::pair<std::optional<std::string>, int64_t>& b, const std::vector<SortColumn>& order) {
  BatchBuilder builder(std::make_shared<const Schema>(
      std::vector<Field>{{"t", make_type(TypeKind::kString)}, {"n", make_type(TypeKind::kBigInt)}}));
  for (const auto& [text, number] : {a, b}) {
    if (text) {
      builder.column(0).append_string(*text);
    } else {
      builder.column(0).append_null();
    }
    builder.column(1).append(number);
    builder.end_row();
  }
  const Batch batch = builder.finish();
  std::string keys[2];
  for (int64_t row = 0; row < 2; ++row) append_sort_key(batch, order, row, keys[row]);
  return keys[0] < keys[1];
}

TEST(SortKey, OfSeveralColumnsTheFirstThatDiffersDecides) {
  const std::vector<SortColumn> ascending = {{0}, {1}};
  EXPECT_TRUE(before({"a", 9}, {"ab", 1}, ascending));
  EXPECT_TRUE(before({"a", 1}, {"a", 2}, ascending));
  EXPECT_TRUE(before({std::string("a\0", 2), 1}, {std::string("a\0b", 3), 0}, ascending));
  EXPECT_TRUE(before({"a", 9}, {std::string("a\0", 2), 0}, ascending));
}

TEST(SortKey, ADescendingColumnTurnsRoundAndTheOthersDoNot) {
  const std::vector<SortColumn> order = {{0, /*descending=*/true}, {1}};
  EXPECT_TRUE(before({"ab", 9}, {"a", 1}, order));
  EXPECT_TRUE(before({"b", 1}, {"a", 1}, order));
  EXPECT_TRUE(before({"a", 1}, {"a", 2}, order));
}

TEST(SortKey, NullsStandWhereTheColumnSaysWhateverItsDirection) {
  for (const bool descending : {false, true}) {
    EXPECT_TRUE(before({{}, 1}, {"a", 1}, {{0, descending, /*nulls_last=*/false}}));
    EXPECT_TRUE(before({"a", 1}, {{}, 1}, {{0, descending, /*nulls_last=*/true}}));
  }
}

}  // namespace
}  // namespace strand::columnar
