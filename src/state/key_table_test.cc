#include "state/key_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/random.h"
#include "state/id_key.h"

namespace strand::state {
namespace {

int64_t& count(KeyTable& table, std::string_view key) {
  const std::vector<std::string_view> keys = {key};
  // Few bits, so that different keys meet in one slot and have equal tags.
  const std::vector<uint64_t> hashes = {hash64(key) & 0x3000000000000007ull};
  std::vector<char*> rows(1);
  table.find_or_add(hashes, keys, rows);
  return *reinterpret_cast<int64_t*>(rows[0]);
}

std::vector<std::string> keys_of(const KeyTable& table) {
  std::vector<std::string> keys;
  table.for_each([&](const char* row) { keys.emplace_back(KeyTable::key_of(row)); });
  return keys;
}

TEST(ShortKey, EveryLengthComesBack) {
  std::string text;
  for (size_t n = 0; n <= ShortKey::kMax; ++n, text += static_cast<char>('a' + n)) {
    const ShortKey key = short_key_of(text);
    const uint64_t bytes[2] = {key.a, key.b};
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes), key.b >> 56), text);
  }
}

TEST(KeyTable, KeysAreWalkedInTheOrderInWhichTheyCame) {
  StatePages pool;
  KeyTable table(pool, 8);
  for (const char* key : {"zebra", "ant", "mole", "ant", "a key that is longer than fifteen bytes"})
    ++count(table, key);
  EXPECT_THAT(keys_of(table),
              ::testing::ElementsAre("zebra", "ant", "mole", "a key that is longer than fifteen bytes"));
  EXPECT_EQ(count(table, "ant"), 2);
}

TEST(KeyTable, NullIsAKeyOfItsOwn) {
  StatePages pool;
  KeyTable table(pool, 8);
  ++count(table, {});
  count(table, "") += 5;
  EXPECT_EQ(count(table, {}), 1);
  EXPECT_EQ(count(table, ""), 5);
  std::vector<bool> nulls;
  table.for_each([&](const char* row) { nulls.push_back(KeyTable::key_of(row).data() == nullptr); });
  EXPECT_THAT(nulls, ::testing::ElementsAre(true, false));
}

TEST(KeyTable, AfterClearNothingIsThereAndPagesAreUsedAgain) {
  StatePages pool;
  KeyTable table(pool, 8);
  for (int i = 0; i < 5000; ++i) ++count(table, "key-" + std::to_string(i));
  const size_t bytes = pool.bytes();
  for (int round = 0; round < 10; ++round) {
    table.clear();
    EXPECT_EQ(table.size(), 0);
    for (int i = 0; i < 5000; ++i) EXPECT_EQ(++count(table, "key-" + std::to_string(i)), 1);
  }
  EXPECT_EQ(pool.bytes(), bytes);
}

RC_GTEST_PROP(KeyTable, CountsAsAMapDoes, ()) {
  StatePages pool;
  KeyTable table(pool, 8);
  std::map<std::string, int64_t> model;
  Random random(*rc::gen::arbitrary<uint64_t>());
  for (int step = 0; step < 2000; ++step) {
    const uint64_t n = random.below(300);
    const std::string key = n % 2 == 0 ? std::to_string(n) : std::string(n / 10, 'k') + std::to_string(n);
    RC_ASSERT(++count(table, key) == ++model[key]);
  }
  RC_ASSERT(table.size() == static_cast<int64_t>(model.size()));
}

}  // namespace
}  // namespace strand::state
