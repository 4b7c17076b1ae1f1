// What has expired goes without being read: in memory as other keys are worked on, from the store as its
// files are merged.
#include <gtest/gtest.h>

#include "state/keyed/states.h"
#include "state/spill/memory_spill.h"

namespace strand::state {
namespace {

constexpr Ttl kTenMillis{.life = Duration{10}, .clean_up = true, .entries_per_clock_reading = 1};

class CleanUp : public ::testing::Test {
 protected:
  void key(const std::string& key) { state_.set_key(static_cast<int32_t>(key.back()) % 128, key); }
  void end_batch() { ASSERT_TRUE(state_.make_room().ok()); }
  /// Batches of one element each, of a key without state.
  void batches(int n) {
    for (int i = 0; i < n; ++i) {
      key("other");
      end_batch();
    }
  }

  KeyedState state_{KeyGroupRange{0, 127}};
};

TEST_F(CleanUp, ValuesInMemoryGoAsOtherKeysAreWorkedOn) {
  auto value = *ValueState<int64_t>::open(state_, "v", kTenMillis);
  for (int i = 0; i < 1'000; ++i) {
    key(std::to_string(i));
    value.set(i);
  }
  end_batch();
  state_.set_now(WallTime{9});
  batches(2'000);
  EXPECT_EQ(state_.entries(), 1'000) << "none has expired";
  key("7");
  value.set(7);
  state_.set_now(WallTime{10});
  batches(100);
  EXPECT_GT(state_.entries(), 500) << "a batch of one element pays for a few";
  batches(2'000);
  EXPECT_EQ(state_.entries(), 1);
  key("7");
  EXPECT_EQ(value.get(), 7) << "was written again";
}

TEST_F(CleanUp, ListsAndMapsGoWithTheLastOfTheirElements) {
  auto list = *ListState<int64_t>::open(state_, "l", kTenMillis);
  auto map = *MapState<std::string, int64_t>::open(state_, "m", kTenMillis);
  key("a");
  list.add(1);
  map.put("x", 1);
  state_.set_now(WallTime{5});
  list.add(2);
  map.put("y", 2);
  state_.set_now(WallTime{14});
  batches(100);
  EXPECT_EQ(state_.entries(), 2);
  state_.set_now(WallTime{15});
  batches(100);
  EXPECT_EQ(state_.entries(), 0);
}

TEST_F(CleanUp, NothingGoesThatWasNotAskedTo) {
  auto value = *ValueState<int64_t>::open(state_, "v", Ttl{.life = Duration{10}, .return_expired = true});
  auto kept = *ValueState<int64_t>::open(state_, "kept");
  key("a");
  value.set(1);
  kept.set(2);
  state_.set_now(WallTime{1'000});
  batches(1'000);
  key("a");
  EXPECT_EQ(value.get(), 1) << "returned, because it was still there";
  EXPECT_EQ(kept.get(), 2);
}

/// Bytes in the store when 300 values have expired there and other rows are handed over.
int64_t left_in_the_store(std::optional<Ttl> ttl, int64_t now) {
  const auto space = make_memory_space(0);
  KeyedState state(KeyGroupRange{0, 127});
  state.spill_to(*space);
  auto value = *ValueState<std::string>::open(state, "v", ttl);
  const auto set = [&](const std::string& key) {
    state.set_key(static_cast<int32_t>(key.back()) % 128, key);
    value.set(std::string(100, 'x'));
  };
  for (int i = 0; i < 300; ++i) set(std::to_string(i));
  EXPECT_TRUE(state.make_room().ok());
  state.set_now(WallTime{now});
  set("last");
  EXPECT_TRUE(state.make_room().ok());
  state.set_key('7' % 128, "7");
  EXPECT_EQ(value.get().has_value(), !ttl || now < 10);
  state.set_key('t' % 128, "last");
  EXPECT_TRUE(value.get().has_value());
  return space->disk().state;
}

TEST_F(CleanUp, ValuesInTheStoreGoWhenItIsMerged) {
  const int64_t all = left_in_the_store({}, 10);
  EXPECT_EQ(left_in_the_store(Ttl{.life = Duration{10}}, 10), all) << "not asked to";
  EXPECT_EQ(left_in_the_store(kTenMillis, 9), all) << "none has expired";
  EXPECT_LT(left_in_the_store(kTenMillis, 10), all - 30'000) << "what the next snapshot writes stays";
}

}  // namespace
}  // namespace strand::state
