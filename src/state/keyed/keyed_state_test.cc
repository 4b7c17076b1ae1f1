#include "state/keyed/keyed_state.h"

#include <gmock/gmock.h>

#include <thread>

#include "state/keyed/key_group.h"
#include "state/keyed/states.h"

namespace strand::state {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr KeyGroupRange kAll{0, 127};

TEST(KeyedState, EveryKeyAndNamespaceHasItsOwnValue) {
  KeyedState state(kAll);
  auto value = *ValueState<int64_t>::open(state, "v");
  state.set_key(1, "a");
  value.set(1);
  value.set(2, {10, 20});
  state.set_key(1, "b");
  EXPECT_FALSE(value.get());
  state.set_key(1, "a");
  EXPECT_EQ(value.get(), 1);
  EXPECT_EQ(value.get({10, 20}), 2);
  value.clear();
  EXPECT_FALSE(value.get());
  EXPECT_EQ(state.entries(), 1);
}

// A rescale: two new subtasks load what one old subtask saved, and one loads what two saved.
TEST(KeyedState, KeysAndTimersGoWithTheirKeyGroup) {
  KeyedState old(kAll);
  auto value = *ValueState<int64_t>::open(old, "v");
  for (int32_t group = 0; group < 128; ++group) {
    old.set_key(group, "key-" + std::to_string(group));
    value.set(group);
    old.timers(TimeDomain::kEvent).set(old.at({}), 1'000 - group);
  }
  KeyedState low({0, 63});
  KeyedState high({64, 127});
  for (KeyedState* half : {&low, &high}) {
    ASSERT_TRUE(half->load(old.save()).ok());
    EXPECT_EQ(half->entries(), 64);
    EXPECT_EQ(half->timers(TimeDomain::kEvent).size(), 64);
  }
  EXPECT_EQ(high.timers(TimeDomain::kEvent).pop_due(5'000)->key.key, "key-127");

  KeyedState whole(kAll);
  auto restored = *ValueState<int64_t>::open(whole, "v");
  ASSERT_TRUE(whole.load(low.save()).ok());
  ASSERT_TRUE(whole.load(high.save()).ok());
  EXPECT_EQ(whole.timers(TimeDomain::kEvent).size(), 127);
  whole.set_key(77, "key-77");
  EXPECT_EQ(restored.get(), 77);
}

// The values of a key group that a snapshot still reads are copied before they change.
TEST(KeyedState, AFrozenStateStaysAsItWasWhileItIsWrittenElsewhere) {
  KeyedState state(kAll);
  auto value = *ValueState<int64_t>::open(state, "v");
  auto list = *ListState<int64_t>::open(state, "l");
  for (int32_t group = 0; group < 64; ++group) {
    for (const char* key : {"a", "b", "c"}) {
      state.set_key(group, key);
      value.set(group);
      list.add(group);
      state.timers(TimeDomain::kEvent).set(state.at({}), group);
    }
  }
  const std::string before = state.save();
  const auto frozen = state.freeze();
  std::string written;
  std::thread writer([&] { written = frozen->encode(); });
  for (int32_t group = 0; group < 64; ++group) {
    state.set_key(group, "a");
    value.set(-1);
    list.add(-1);
    state.set_key(group, "b");
    value.clear();
    state.timers(TimeDomain::kEvent).erase(state.at({}), group);
    state.set_key(group, "d");
    value.set(-1);
  }
  writer.join();
  EXPECT_EQ(written, before);
  EXPECT_NE(state.save(), before);
  EXPECT_EQ(state.entries(), 64 * 6);
}

TEST(KeyedState, AStateThatNobodyHasOpenedYetIsKept) {
  KeyedState old(kAll);
  old.set_key(3, "a");
  (*ListState<int64_t>::open(old, "l")).add_all({1, 2});
  KeyedState between(kAll);
  ASSERT_TRUE(between.load(old.save()).ok());
  KeyedState restored(kAll);
  ASSERT_TRUE(restored.load(between.save()).ok());
  auto list = ListState<int64_t>::open(restored, "l");
  ASSERT_TRUE(list.ok());
  restored.set_key(3, "a");
  EXPECT_THAT((*list).get(), ElementsAre(1, 2));
}

TEST(KeyedState, AStateOfAnotherTypeIsRefusedByName) {
  KeyedState old(kAll);
  old.set_key(3, "a");
  (*ValueState<int64_t>::open(old, "v")).set(1);
  KeyedState restored(kAll);
  ASSERT_TRUE(restored.load(old.save()).ok());
  const auto text = ValueState<std::string>::open(restored, "v");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), ErrorCode::kStateMismatch);
  EXPECT_THAT(text.status().message(), ::testing::HasSubstr("`v` holds int64"));
}

TEST(KeyedState, DamagedBytesAreAnErrorAtEveryLength) {
  KeyedState old(kAll);
  old.set_key(3, "a");
  (*MapState<std::string, int64_t>::open(old, "m")).put("x", 1);
  old.timers(TimeDomain::kProcessing).set(old.at({}), 5);
  const std::string bytes = old.save();
  for (size_t length = 0; length < bytes.size(); ++length) {
    KeyedState restored(kAll);
    auto map = MapState<std::string, int64_t>::open(restored, "m");
    EXPECT_EQ(restored.load(bytes.substr(0, length)).code(), ErrorCode::kCheckpointUnreadable) << length;
  }
}

TEST(Timers, FireInOrderOnceEachAndCanBeTakenBack) {
  Timers timers;
  const StateKeyView a{1, "a", {}};
  const StateKeyView b{2, "b", {}};
  timers.set(b, 20);
  timers.set(a, 10);
  timers.set(a, 10);
  timers.set(a, 30);
  timers.erase(b, 20);
  timers.erase(b, 99);
  EXPECT_EQ(timers.pop_due(25)->time, 10);
  EXPECT_FALSE(timers.pop_due(25));
  timers.set(b, 5);  // in the past: next
  EXPECT_EQ(timers.pop_due(40)->time, 5);
  EXPECT_EQ(timers.pop_due(40)->time, 30);
  EXPECT_EQ(timers.size(), 0);
}

class TimeToLive : public ::testing::Test {
 protected:
  TimeToLive() { state_.set_key(1, "a"); }
  void at(int64_t millis) { state_.set_now({millis}); }
  KeyedState state_{kAll};
};

TEST_F(TimeToLive, AValueEndsExactlyItsLifeAfterItWasWritten) {
  auto value = *ValueState<int64_t>::open(state_, "v", Ttl{.life = {10}});
  at(5);
  value.set(1);
  at(14);
  EXPECT_EQ(value.get(), 1);
  at(15);
  EXPECT_FALSE(value.get());
  EXPECT_EQ(state_.entries(), 0);
}

TEST_F(TimeToLive, AReadMayRenewAndAnExpiredValueMayBeSeenOnce) {
  auto renewed = *ValueState<int64_t>::open(state_, "renewed", Ttl{.life = {10}, .renew_on_read = true});
  auto visible = *ValueState<int64_t>::open(state_, "visible", Ttl{.life = {10}, .return_expired = true});
  renewed.set(1);
  visible.set(2);
  at(9);
  EXPECT_EQ(renewed.get(), 1);
  at(18);
  EXPECT_EQ(renewed.get(), 1);
  EXPECT_EQ(visible.get(), 2);
  EXPECT_FALSE(visible.get());
}

TEST_F(TimeToLive, ListElementsAndMapEntriesEndOneByOne) {
  auto list = *ListState<int64_t>::open(state_, "l", Ttl{.life = {10}});
  auto map = *MapState<std::string, int64_t>::open(state_, "m", Ttl{.life = {10}});
  list.add(1);
  map.put("x", 1);
  at(5);
  list.add(2);
  map.put("y", 2);
  at(10);
  EXPECT_THAT(list.get(), ElementsAre(2));
  EXPECT_THAT(map.entries(), ElementsAre(Pair("y", 2)));
  at(15);
  EXPECT_FALSE(map.empty());  // nobody has looked yet
  EXPECT_THAT(map.entries(), IsEmpty());
  EXPECT_TRUE(map.empty());
}

TEST_F(TimeToLive, ASnapshotMayLeaveOutWhatHasExpired) {
  auto value = *ValueState<int64_t>::open(state_, "v", Ttl{.life = {10}, .drop_in_snapshot = true});
  value.set(1);
  at(10);
  KeyedState restored(kAll);
  ASSERT_TRUE(restored.load(state_.save()).ok());
  EXPECT_EQ(restored.entries(), 0);
  EXPECT_EQ(state_.entries(), 1);
}

TEST(KeyGroup, IsThatOfFlink) {
  EXPECT_EQ(java_hash::of_string("ad_7"), 2988827);
  EXPECT_EQ(java_hash::of_string("campaign_1"), -1318254398);
  EXPECT_EQ(java_hash::of_string("\xF0\x9F\x98\x80"), 1772899);  // one code point, two UTF-16 units
  EXPECT_EQ(java_hash::of_long(1'700'000'000'000), -807048821);
  EXPECT_EQ(stream_key_group(java_hash::of_string("d_5"), 128), 73);
}

}  // namespace
}  // namespace strand::state
