#include "columnar/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "columnar/random_column_test.h"

namespace strand::columnar {
namespace {

using ::testing::ElementsAre;

SchemaPtr ad_schema() {
  return std::make_shared<Schema>(
      std::vector<Field>{{"ad", make_type(TypeKind::kString)}, {"clicks", make_type(TypeKind::kBigInt)}});
}

Batch ads(int64_t n) {
  BatchBuilder builder(ad_schema());
  for (int64_t i = 0; i < n; ++i) {
    builder.column(0).append_string("ad_" + std::to_string(i));
    if (i % 5 == 4) {
      builder.column(1).append_null();
    } else {
      builder.column(1).append(i);
    }
    builder.end_row();
  }
  return builder.finish();
}

TEST(BatchBuilder, GivesTheRowsInOrderAndIsEmptyAfterwards) {
  BatchBuilder builder(ad_schema());
  builder.column(0).append_string("ad_7");
  builder.column(1).append(int64_t{6});
  builder.end_row();
  builder.column(0).append_null();
  builder.column(1).append(int64_t{-1});
  builder.end_row(RowKind::kDelete);

  EXPECT_THAT(texts(builder.finish()), ElementsAre("+I[ad_7, 6]", "-D[null, -1]"));
  EXPECT_EQ(builder.rows(), 0);
  EXPECT_THAT(texts(builder.finish()), ElementsAre());
}

TEST(BatchBuilder, GrowsThroughEverySizeUpToTheLargestBatch) {
  const Batch batch = ads(Batch::kMaxRows);
  for (int64_t row = 0; row < batch.rows(); ++row) {
    ASSERT_EQ(batch.column(0).string(row), "ad_" + std::to_string(row));
    ASSERT_EQ(batch.column(1).is_null(row), row % 5 == 4);
    ASSERT_EQ(batch.column(1).values<int64_t>()[row], row % 5 == 4 ? 0 : row);
  }
}

TEST(BatchBuilder, ABuilderThatIsUsedAgainLeavesTheFirstBatchAlone) {
  BatchBuilder builder(ad_schema());
  std::vector<Batch> batches;
  for (int64_t i = 0; i < 3; ++i) {
    builder.column(0).append_string(std::to_string(i));
    builder.column(1).append(i);
    builder.end_row();
    batches.push_back(builder.finish());
  }
  EXPECT_THAT(texts(concat(batches)), ElementsAre("+I[0, 0]", "+I[1, 1]", "+I[2, 2]"));
}

TEST(ColumnBuilder, TakesBackTheLastRowsNestedAndUnfinishedOnesToo) {
  ColumnBuilder builder(map_type(make_type(TypeKind::kString), array_type(make_type(TypeKind::kInt))));
  for (const int32_t value : {1, 2, 3}) {
    builder.child(0).append_string("k");
    builder.child(1).child(0).append(value);
    builder.child(1).close_nested();
    builder.close_nested();
  }
  builder.append_null();
  builder.child(0).append_string("unfinished");
  builder.truncate(1);
  builder.child(0).append_string("z");
  builder.child(1).append_null();
  builder.close_nested();

  const ColumnPtr column = builder.finish();
  ASSERT_EQ(column->length(), 2);
  EXPECT_EQ(value_to_string(*column, 0), "{k=[1]}");
  EXPECT_EQ(value_to_string(*column, 1), "{z=NULL}");
}

TEST(Batch, ASelectionHidesRowsUntilTheyAreCopiedAway) {
  const Batch all = ads(6);
  const Batch some = all.with_selection(std::make_shared<Selection>(Selection{1, 4}));

  EXPECT_EQ(some.rows(), 2);
  EXPECT_EQ(some.physical_rows(), 6);
  EXPECT_THAT(texts(some), ElementsAre("+I[ad_1, 1]", "+I[ad_4, null]"));
  EXPECT_EQ(some.compact().physical_rows(), 2);
  EXPECT_THAT(texts(some.compact()), ElementsAre("+I[ad_1, 1]", "+I[ad_4, null]"));
  EXPECT_THAT(texts(some.slice(1, 1)), ElementsAre("+I[ad_4, null]"));
}

TEST(Batch, ASliceSharesTheBuffersOfTheWhole) {
  const Batch all = ads(100);
  const Batch part = all.slice(7, 9);
  EXPECT_EQ(part.column(1).values<int64_t>(), all.column(1).values<int64_t>() + 7);
  EXPECT_THAT(texts(part.slice(2, 2)), ElementsAre("+I[ad_9, null]", "+I[ad_10, 10]"));
}

TEST(Column, NullsOfEveryTypeAreThereToBeRead) {
  const TypePtr row = row_type({{"a", array_type(make_type(TypeKind::kInt))}, {"d", decimal_type(10, 2)}});
  const ColumnPtr column = Column::nulls(row, 5);
  EXPECT_EQ(value_to_string(*column, 4), "null");
  EXPECT_EQ(value_to_string(*column->child(0), 4), "null");
  EXPECT_EQ(gather(*column, std::vector<uint32_t>{4, 0})->length(), 2);
}

TEST(Buffer, MayBeReadSixtyFourBytesBehindItsEndAndIsAligned) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{64}, size_t{65}, size_t{40'000}, size_t{9} << 20}) {
    const auto buffer = Buffer::allocate(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0U) << size;
    std::memset(buffer->mutable_data(), 1, size + 64);
    EXPECT_EQ(buffer->size(), size);
    EXPECT_GE(buffer->capacity(), size);
  }
}

RC_GTEST_PROP(Gather, GivesTheNamedRows, ()) {
  const Batch batch = random_batch(random_schema());
  const auto end = static_cast<uint32_t>(batch.rows());
  std::vector<uint32_t> rows;
  if (end > 0) rows = *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange(0U, end));
  const ColumnPtr column = gather(batch.column(0), rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    RC_ASSERT(value_to_string(*column, static_cast<int64_t>(i)) == value_to_string(batch.column(0), rows[i]));
  }
}

RC_GTEST_PROP(Concat, OfThePartsIsTheWhole, ()) {
  const SchemaPtr schema = random_schema();
  std::vector<Batch> parts;
  std::vector<std::string> expected;
  const int n = *rc::gen::inRange(1, 4);
  for (int i = 0; i < n; ++i) {
    parts.push_back(random_batch(schema));
    for (const std::string& text : texts(parts.back())) expected.push_back(text);
  }
  const Batch whole = concat(parts);
  RC_ASSERT(texts(whole) == expected);
  // Cutting anywhere and joining again changes nothing.
  const int64_t cut = *rc::gen::inRange<int64_t>(0, whole.rows() + 1);
  RC_ASSERT(texts(concat({whole.slice(0, cut), whole.slice(cut, whole.rows() - cut)})) == expected);
}

RC_GTEST_PROP(AppendRow, CopiesARowWithItsKind, ()) {
  const Batch batch = random_batch(random_schema());
  BatchBuilder builder(batch.schema());
  batch.for_each_row([&](int64_t row) { builder.append_row(batch, row); });
  RC_ASSERT(texts(builder.finish()) == texts(batch));
}

}  // namespace
}  // namespace strand::columnar
