#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/hash.h"
#include "columnar/key_parts.h"
#include "columnar/random_column_test.h"

namespace strand::columnar {
namespace {

const std::vector<size_t> kFirst = {0};
const std::vector<size_t> kBoth = {0, 1};

std::string key_of(const Batch& batch, int64_t row, std::span<const size_t> columns = kBoth) {
  std::string key;
  encode_key(batch, columns, row, key);
  return key;
}

Batch column_batch(const TypePtr& type, const ColumnPtr& column) {
  return Batch(std::make_shared<Schema>(std::vector<Field>{{"k", type}}), {column}, column->length());
}

RC_GTEST_PROP(Key, DecodesToTheValuesItWasMadeOf, ()) {
  const Batch batch = random_batch(random_schema());
  BatchBuilder builder(batch.schema());
  const std::vector<ColumnBuilder*> columns = {&builder.column(0), &builder.column(1)};
  batch.for_each_row([&](int64_t row) {
    decode_key(key_of(batch, row), columns);
    builder.end_row(batch.kind(row));
  });
  RC_ASSERT(texts(builder.finish()) == texts(batch));
}

RC_GTEST_PROP(Key, SomeOfItsValuesAreReadAloneAndTheOthersPassedOver, ()) {
  const Batch batch = random_batch(random_schema());
  BatchBuilder builder(batch.schema());
  const KeyPart first{builder.column(0).type().get(), nullptr};
  const KeyPart second{builder.column(1).type().get(), &builder.column(1)};
  batch.for_each_row([&](int64_t row) {
    const std::string key = key_of(batch, row);
    const size_t size = decode_key_parts(key + "what follows", std::array{first, second});
    RC_ASSERT(size == key.size());
    builder.column(0).append_from(batch.column(0), row);
    builder.end_row(batch.kind(row));
  });
  RC_ASSERT(texts(builder.finish()) == texts(batch));
}

// The values of random_batch print alike exactly when they are alike, so their text is the oracle.
RC_GTEST_PROP(Key, IsEqualExactlyWhenTheValuesAre, ()) {
  const Batch batch = random_batch(random_schema());
  for (int64_t a = 0; a < batch.rows(); ++a) {
    for (int64_t b = 0; b < a; ++b) {
      const bool same = value_to_string(batch.column(0), a) == value_to_string(batch.column(0), b) &&
                        value_to_string(batch.column(1), a) == value_to_string(batch.column(1), b) &&
                        batch.column(0).is_null(a) == batch.column(0).is_null(b) &&
                        batch.column(1).is_null(a) == batch.column(1).is_null(b);
      RC_ASSERT((key_of(batch, a) == key_of(batch, b)) == same);
    }
  }
}

RC_GTEST_PROP(Hash, FollowsFromTheValuesAndNotFromWhereTheyLie, ()) {
  const Batch batch = random_batch(random_schema());
  std::vector<uint64_t> hashes;
  hash_rows(batch, kBoth, hashes);
  for (int64_t row = 0; row < batch.rows(); ++row) {
    BatchBuilder builder(batch.schema());
    builder.append_row(batch, row);
    std::vector<uint64_t> alone;
    hash_rows(builder.finish(), kBoth, alone);
    RC_ASSERT(alone[0] == hashes[static_cast<size_t>(row)]);
  }
}

// State files hold these values: a change here is a change of the state format.
TEST(Hash, IsFrozen) {
  ColumnBuilder ids(make_type(TypeKind::kString));
  ids.append_string("");
  ids.append_string("ad_7");
  ids.append_null();
  std::vector<uint64_t> hashes;
  hash_rows(column_batch(ids.type(), ids.finish()), kFirst, hashes);
  EXPECT_THAT(hashes, testing::ElementsAre(hash64(""), hash64("ad_7"), 0x7C3A9E15D2B48F61ull));

  ColumnBuilder numbers(make_type(TypeKind::kInt));
  numbers.append(int32_t{-7});
  hash_rows(column_batch(numbers.type(), numbers.finish()), kFirst, hashes);
  EXPECT_THAT(hashes, testing::ElementsAre(mix64(static_cast<uint64_t>(int64_t{-7}))));
}

TEST(Hash, IsThatOfTheRowWhateverElseTheBatchHolds) {
  ColumnBuilder ids(make_type(TypeKind::kString));
  for (const char* id : {"a", "b", "c"}) ids.append_string(id);
  const Batch batch = column_batch(ids.type(), ids.finish());
  std::vector<uint64_t> all;
  std::vector<uint64_t> some;
  hash_rows(batch, kFirst, all);
  hash_rows(batch.with_selection(std::make_shared<const Selection>(Selection{0, 2})), kFirst, some);
  EXPECT_EQ(some[0], all[0]);
  EXPECT_EQ(some[2], all[2]);
}

TEST(Hash, SpreadsConsecutiveNumbersOverAllKeyGroups) {
  ColumnBuilder numbers(make_type(TypeKind::kBigInt));
  for (int64_t i = 0; i < 4096; ++i) numbers.append(i);
  std::vector<uint64_t> hashes;
  hash_rows(column_batch(numbers.type(), numbers.finish()), kFirst, hashes);
  std::vector<int> rows(128);
  for (const uint64_t hash : hashes) ++rows[static_cast<size_t>(key_group(hash, 128))];
  EXPECT_THAT(rows, testing::Each(testing::AllOf(testing::Gt(10), testing::Lt(70))));  // 32 expected
}

TEST(Key, TakesAllNaNsForOneAndKeepsNullApartFromEveryValue) {
  ColumnBuilder doubles(make_type(TypeKind::kDouble));
  doubles.append(std::nan("1"));
  doubles.append(-std::nan("2"));
  doubles.append_null();
  doubles.append(0.0);
  const Batch batch = column_batch(doubles.type(), doubles.finish());
  std::vector<uint64_t> hashes;
  hash_rows(batch, kFirst, hashes);
  EXPECT_EQ(key_of(batch, 0, kFirst), key_of(batch, 1, kFirst));
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(key_of(batch, 2, kFirst), key_of(batch, 3, kFirst));
  EXPECT_NE(hashes[2], hashes[3]);
}

}  // namespace
}  // namespace strand::columnar
