#include "state/id_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace strand::state {
namespace {

std::string uuid(uint64_t n) {
  const uint64_t a = mix64(n * 2 + 1);
  const uint64_t b = mix64(n * 2 + 2);
  return uuid_text(a, b);
}

/// A table with rows given one at a time or as batches of texts.
class Ids {
 public:
  bool fresh(std::string_view key, EventTime expiry = EventTime::max(), EventTime judge = EventTime::min()) {
    const std::vector<std::string_view> keys = {key};
    return batch(keys, expiry, judge)[0] == 1;
  }
  std::vector<uint8_t> batch(const std::vector<std::string_view>& keys, EventTime expiry, EventTime judge) {
    const std::vector<uint16_t> groups(keys.size(), 5);
    const std::vector<EventTime> expiries(keys.size(), expiry);
    std::vector<uint8_t> fresh(keys.size());
    table.insert({keys, groups, expiries}, {judge, {}}, fresh);
    return fresh;
  }
  IdTable table;
};

TEST(IdKey, UuidTextIsItsSixteenBytesAndComesBack) {
  const std::string text = "0123abcd-ef45-6789-abcd-0123456789af";
  const IdKey key = make_id_key(text);
  EXPECT_TRUE(key.uuid);
  EXPECT_EQ(uuid_text(key.a, key.b), text);
}

TEST(IdKey, OnlyTheCanonicalTextCountsAsUuid) {
  const std::string text = "0123abcd-ef45-6789-abcd-0123456789af";
  for (size_t i = 0; i < text.size(); ++i) {
    for (int c = 0; c < 256; ++c) {
      std::string other = text;
      other[i] = static_cast<char>(c);
      const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
      EXPECT_EQ(make_id_key(other).uuid, dash ? c == '-' : digit) << other;
    }
  }
}

TEST(IdTable, AKeyIsNewOnce) {
  Ids ids;
  EXPECT_TRUE(ids.fresh("click-1"));
  EXPECT_FALSE(ids.fresh("click-1"));
  EXPECT_TRUE(ids.fresh("click-2"));
}

TEST(IdTable, CopiesInOneBatchAreSeen) {
  Ids ids;
  const auto fresh = ids.batch({"a", "b", "a", "a", "c", "b"}, EventTime::max(), EventTime::min());
  EXPECT_THAT(fresh, ::testing::ElementsAre(1, 1, 0, 0, 1, 0));
}

TEST(IdTable, AKeyIsGoneExactlyWhenTheJudgeReachesItsExpiry) {
  Ids ids;
  EXPECT_TRUE(ids.fresh("a", {1000}, {0}));
  EXPECT_FALSE(ids.fresh("a", {1000}, {999}));
  EXPECT_TRUE(ids.fresh("a", {2000}, {1000}));
  EXPECT_FALSE(ids.fresh("a", {2000}, {1999}));
}

TEST(IdTable, AKeyWithoutExpiryStaysUntilTheEndOfTime) {
  Ids ids;
  EXPECT_TRUE(ids.fresh("a", EventTime::max(), EventTime::min()));
  EXPECT_FALSE(ids.fresh("a", EventTime::max(), EventTime::max()));
}

TEST(IdTable, EachKeyGroupHasItsOwnJudge) {
  IdTable table;
  const std::vector<EventTime> judges = {{500}, {1000}};
  const std::vector<std::string_view> keys = {"a", "b", "a", "b"};
  const std::vector<uint16_t> groups = {0, 1, 0, 1};
  const std::vector<EventTime> expiries = {{800}, {800}, {800}, {1800}};
  std::vector<uint8_t> fresh(4);
  table.insert({keys, groups, expiries}, {{500}, judges}, fresh);
  EXPECT_THAT(fresh, ::testing::ElementsAre(1, 1, 0, 1));
}

// Texts that look alike: prefixes, zeros at the end, NULL, a UUID and its text in capitals.
TEST(IdTable, KeysAreComparedExactly) {
  const std::string zeros(20, '\0');
  const std::string long_text(5000, 'x');
  std::vector<std::string> texts = {"",
                                    std::string("\0", 1),
                                    "a",
                                    std::string("a\0", 2),
                                    "123456789012345",
                                    "1234567890123456",
                                    "12345678901234567",
                                    zeros,
                                    zeros.substr(1),
                                    "0123abcd-ef45-6789-abcd-0123456789af",
                                    "0123ABCD-EF45-6789-ABCD-0123456789AF",
                                    long_text,
                                    long_text + "y",
                                    long_text.substr(1) + "y"};
  Ids ids;
  EXPECT_TRUE(ids.fresh(std::string_view{}));
  for (const std::string& text : texts) EXPECT_TRUE(ids.fresh(text)) << text;
  for (const std::string& text : texts) EXPECT_FALSE(ids.fresh(text)) << text;
  EXPECT_FALSE(ids.fresh(std::string_view{}));
}

TEST(IdTable, RememberstAHundredThousandKeysOfEachKindThroughItsGrowth) {
  Ids ids;
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < 100'000; ++i) {
    texts.push_back(uuid(i));
    texts.push_back("id-" + std::to_string(i));
    texts.push_back("a-rather-long-click-id-" + std::to_string(i * 7919));
  }
  for (const std::string& text : texts) ASSERT_TRUE(ids.fresh(text)) << text;
  for (const std::string& text : texts) ASSERT_FALSE(ids.fresh(text)) << text;
  EXPECT_EQ(ids.table.size(), 300'000);
}

TEST(IdTable, RoomMadeAheadChangesNoAnswerAndIsEnough) {
  for (const size_t keys : {0, 1, 2'000, 3'000, 200'000}) {
    Ids ids;
    ids.table.reserve(keys);
    const int64_t room = ids.table.memory_bytes() - ids.table.log().bytes();
    for (uint64_t i = 0; i < keys; ++i) ASSERT_TRUE(ids.fresh(uuid(i)));
    for (uint64_t i = 0; i < keys; ++i) ASSERT_FALSE(ids.fresh(uuid(i)));
    EXPECT_EQ(ids.table.memory_bytes() - ids.table.log().bytes(), room) << keys;
    for (uint64_t i = keys; i < 2 * keys; ++i) ASSERT_TRUE(ids.fresh(uuid(i))) << "beyond the room";
  }
}

// Ids live for 10 s and 10,000 come each second: memory stays that of some 100,000 ids, for ever.
TEST(IdTable, MemoryFollowsTheLiveKeys) {
  Ids ids;
  for (int64_t second = 0; second < 400; ++second) {
    for (int64_t i = 0; i < 10'000; ++i) {
      const std::string key = uuid(static_cast<uint64_t>(second * 10'000 + i));
      ASSERT_TRUE(ids.fresh(key, {(second + 10) * 1000}, {second * 1000}));
    }
    ASSERT_LT(ids.table.size(), 215'000) << second;
    ASSERT_LT(ids.table.memory_bytes(), 48 * 100'000 + (2 << 20)) << second;
  }
}

// One key in a hundred lives for ever: it must not keep the others of its time in memory.
TEST(IdTable, AFewKeysThatStayDoNotKeepTheOthers) {
  Ids ids;
  const auto stays = [](int64_t i) { return i % 100 == 7; };
  for (int64_t i = 0; i < 2'000'000; ++i) {
    const EventTime expiry = stays(i) ? EventTime::max() : EventTime{i + 50'000};
    ASSERT_TRUE(ids.fresh(uuid(static_cast<uint64_t>(i)), expiry, {i}));
  }
  for (int64_t i = 7; i < 2'000'000; i += 100)
    ASSERT_FALSE(ids.fresh(uuid(static_cast<uint64_t>(i)), {3'000'000}, {2'000'000})) << i;
  EXPECT_LT(ids.table.size(), 200'000);
  EXPECT_LT(ids.table.memory_bytes(), 100 * 70'000);
}

TEST(IdTable, TakesAtMost48BytesPerUuidAndTheLengthPlus32OfATextAtAnySize) {
  for (const std::string prefix : {"", "session/2026-02-08/eu-central-1/"}) {
    Ids ids;
    size_t text_bytes = 0;
    for (uint64_t i = 0; i < 600'000; ++i) {
      const std::string key = prefix.empty() ? uuid(i) : prefix + std::to_string(i);
      text_bytes += key.size();
      ASSERT_TRUE(ids.fresh(key));
      if (i < 200'000 || i % 1000 != 0) continue;
      const auto limit = static_cast<int64_t>(prefix.empty() ? 48 * (i + 1) : text_bytes + 32 * (i + 1));
      // Beside the keys: a segment that is being rebuilt, and a slab that has just been begun.
      ASSERT_LE(ids.table.memory_bytes() - (4 << 20), limit) << i;
    }
  }
}

RC_GTEST_PROP(IdTable, EqualsAMapFromKeyToExpiry, ()) {
  Ids ids;
  std::map<std::string, int64_t> model;
  Random random(*rc::gen::arbitrary<uint64_t>());
  ids.table.reserve(random.below(20'000));
  const uint64_t space = 1 + random.below(5000);
  int64_t judge = -1000;
  for (int step = 0; step < 3000; ++step) {
    judge += static_cast<int64_t>(random.below(3));
    const uint64_t n = random.below(space);
    std::string key = n % 3 == 0   ? uuid(n)
                      : n % 3 == 1 ? std::to_string(n)
                                   : "a key of twenty bytes or so " + std::to_string(n);
    const int64_t expiry = judge + static_cast<int64_t>(random.below(500)) - 3;
    const auto found = model.find(key);
    const bool there = found != model.end() && found->second > judge;
    RC_ASSERT(ids.fresh(key, {expiry}, {judge}) == !there);
    if (!there) model[key] = expiry;
  }
}

}  // namespace
}  // namespace strand::state
