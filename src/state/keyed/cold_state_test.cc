// Keyed state that has no room in memory: what functions see of it is what they would see on the heap.
#include "state/keyed/cold_state.h"

#include <gmock/gmock.h>

#include <array>
#include <random>

#include "state/keyed/states.h"
#include "state/spill/memory_spill.h"
#include "tests/support/memory_file_system.h"

namespace strand::state {
namespace {

using strand::testing::MemoryFileSystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr KeyGroupRange kAll{0, 127};

enum class Backend { kHeap, kCold };

/// The state of one subtask with one state of each kind, and its snapshots.
class Subtask {
 public:
  explicit Subtask(Backend backend, KeyGroupRange own = kAll, std::optional<Ttl> ttl = {}, int64_t memory = 0)
      : space_(make_memory_space(memory)), state_(own), own_(own) {
    if (backend == Backend::kCold) state_.spill_to(*space_);
    value_ = *ValueState<int64_t>::open(state_, "v", ttl);
    list_ = *ListState<int64_t>::open(state_, "l", ttl);
    map_ = *MapState<std::string, int64_t>::open(state_, "m", ttl);
  }
  void key(const std::string& key) { state_.set_key(static_cast<int32_t>(key.back()) % 128, key); }
  KeyedState& state() { return state_; }
  ValueState<int64_t>& value() { return *value_; }
  ListState<int64_t>& list() { return *list_; }
  MapState<std::string, int64_t>& map() { return *map_; }
  void end_batch() { ASSERT_TRUE(state_.make_room().ok()); }

  std::vector<SectionRef> snapshot(MemoryFileSystem& files, int64_t epoch, bool lost = false) {
    SnapshotBuilder out(Epoch{epoch}, own_);
    out.set_operator("op");
    EXPECT_TRUE(state_.snapshot(out).ok());
    auto refs = out.write(files, "d");
    EXPECT_TRUE(refs.ok());
    if (!lost) state_.written(Epoch{epoch}, *refs);
    return *refs;
  }
  Status restored(MemoryFileSystem& files, const std::vector<SectionRef>& refs) {
    SnapshotReader reader(files, "d");
    std::vector<Section> parts;
    for (const SectionRef& ref : refs) parts.push_back(*reader.read(ref));
    return state_.restore(parts);
  }
  void restore(MemoryFileSystem& files, const std::vector<SectionRef>& refs) {
    const Status status = restored(files, refs);
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  /// All that functions can see.
  std::vector<std::string> all() {
    std::vector<std::string> seen;
    value_->for_each_key([&](const std::string& each, std::optional<int64_t> value) {
      std::string text = each + " " + std::to_string(value.value_or(-1));
      for (const int64_t element : list_->get()) text += " +" + std::to_string(element);
      for (const auto& [name, number] : map_->entries()) text += " " + name + "=" + std::to_string(number);
      seen.push_back(text);
    });
    return seen;
  }

 private:
  std::unique_ptr<SpillSpace> space_;
  KeyedState state_;
  KeyGroupRange own_;
  std::optional<ValueState<int64_t>> value_;
  std::optional<ListState<int64_t>> list_;
  std::optional<MapState<std::string, int64_t>> map_;
};

TEST(ColdState, WhatWasHandedOverComesBackWhenItIsAskedFor) {
  Subtask task(Backend::kCold);
  for (const char* key : {"a", "b"}) {
    task.key(key);
    task.value().set(1);
    task.value().set(2, {10, 20});
    task.list().add_all({3, 4});
    task.map().put("x", 5);
  }
  task.end_batch();
  EXPECT_EQ(task.state().bytes(), 0);
  EXPECT_EQ(task.state().entries(), 8);
  task.key("b");
  EXPECT_EQ(task.value().get(), 1);
  EXPECT_EQ(task.value().get({10, 20}), 2);
  EXPECT_THAT(task.list().get(), ElementsAre(3, 4));
  EXPECT_THAT(task.map().entries(), ElementsAre(Pair("x", 5)));
  EXPECT_EQ(task.state().entries(), 8);
  EXPECT_GT(task.state().bytes(), 0);
}

TEST(ColdState, WhatWasClearedDoesNotComeBack) {
  MemoryFileSystem files;
  Subtask task(Backend::kCold);
  task.key("a");
  task.value().set(1);
  task.end_batch();
  const auto before = task.snapshot(files, 1);
  task.key("a");
  task.value().clear();
  EXPECT_FALSE(task.value().get());
  const auto cleared = task.snapshot(files, 2);
  EXPECT_FALSE(task.value().get());
  task.end_batch();
  task.key("a");
  EXPECT_FALSE(task.value().get());
  EXPECT_EQ(task.state().entries(), 0);
  for (const Backend backend : {Backend::kHeap, Backend::kCold}) {
    Subtask of_before(backend);
    of_before.restore(files, before);
    EXPECT_THAT(of_before.all(), ElementsAre("a 1"));
    Subtask of_cleared(backend);
    of_cleared.restore(files, cleared);
    EXPECT_THAT(of_cleared.all(), IsEmpty());
    EXPECT_EQ(of_cleared.state().entries(), 0);
  }
}

TEST(ColdState, AValueThatIsMadeAnewAfterItWasClearedIsTheNewOne) {
  Subtask task(Backend::kCold);
  task.key("a");
  task.list().add_all({1, 2});
  task.end_batch();
  task.key("a");
  task.list().set({});
  task.list().add(3);
  task.end_batch();
  task.key("a");
  EXPECT_THAT(task.list().get(), ElementsAre(3));
}

TEST(ColdState, KeysWithZeroBytesAndNegativeNamespacesAreKept) {
  Subtask task(Backend::kCold);
  const std::string keys[] = {std::string("\0a", 2), std::string("a\0", 2), "a", std::string("a\0\1", 3), ""};
  for (const std::string& key : keys) {
    task.state().set_key(1, key);
    task.value().set(static_cast<int64_t>(key.size()));
    task.value().set(-1, {INT64_MIN, -1});
  }
  task.end_batch();
  for (const std::string& key : keys) {
    task.state().set_key(1, key);
    EXPECT_EQ(task.value().get(), static_cast<int64_t>(key.size()));
    EXPECT_EQ(task.value().get({INT64_MIN, -1}), -1);
  }
}

// Memory is counted as values grow, so that a few keys with much state are handed over, too.
TEST(ColdState, AListThatGrowsIsHandedOver) {
  Subtask task(Backend::kCold, kAll, {}, 30'000);
  task.key("a");
  for (int i = 0; i < 5'000; ++i) {
    task.key("a");
    task.list().add(i);
    task.end_batch();
    ASSERT_LT(task.state().bytes(), 100'000);
  }
  EXPECT_EQ(task.list().get().size(), 5'000u);
}

TEST(ColdState, AKeyThatIsKnownBeforeIsNotAskedForAgain) {
  Subtask task(Backend::kCold);
  task.key("a");
  task.value().set(1);
  task.end_batch();
  const int32_t group = static_cast<int32_t>('a');
  const std::vector<StateKeyView> coming = {{group, "a", {}}, {group, "b", {}}, {group, "a", {}}};
  ASSERT_TRUE(task.state().bring_back(coming).ok());
  EXPECT_GT(task.state().bytes(), 0);
  EXPECT_EQ(task.state().entries(), 1);
  task.key("a");
  EXPECT_EQ(task.value().get(), 1);
}

// The same random calls on the heap and with a store that everything goes to after each batch; then a
// snapshot of each, restored on both, by one and by two subtasks.
TEST(ColdState, DoesWhatTheHeapDoes) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    MemoryFileSystem files;
    Subtask heap(Backend::kHeap);
    Subtask cold(Backend::kCold, kAll, {}, seed % 2 == 0 ? 0 : 20'000);
    std::vector<SectionRef> of_heap;
    std::vector<SectionRef> of_cold;
    for (int64_t batch = 1; batch <= 30; ++batch) {
      for (int call = 0; call < 10; ++call) {
        const std::string key = "k" + std::to_string(random() % 40);
        const auto what = random() % 6;
        const auto number = static_cast<int64_t>(random() % 100);
        for (Subtask* task : {&heap, &cold}) {
          task->key(key);
          if (what < 2) task->value().set(number);
          if (what == 2) task->list().add(number);
          if (what == 3) task->map().put("n" + std::to_string(number % 3), number);
          if (what == 4) task->value().clear();
          if (what == 5) task->map().remove("n1");
        }
      }
      cold.end_batch();
      ASSERT_EQ(cold.state().entries(), heap.state().entries()) << seed;
      if (batch % 3 != 0) continue;
      of_heap = heap.snapshot(files, 2 * batch);
      of_cold = cold.snapshot(files, 2 * batch + 1, /*lost=*/batch % 2 == 0);
    }
    const auto expected = heap.all();
    EXPECT_EQ(cold.all(), expected) << seed;
    for (const auto& refs : {of_heap, of_cold}) {
      for (const Backend backend : {Backend::kHeap, Backend::kCold}) {
        Subtask whole(backend);
        whole.restore(files, refs);
        EXPECT_EQ(whole.all(), expected) << seed;
        EXPECT_EQ(whole.state().entries(), heap.state().entries());
        std::vector<std::string> halves;
        for (const KeyGroupRange own : {KeyGroupRange{0, 63}, KeyGroupRange{64, 127}}) {
          Subtask half(backend, own);
          half.restore(files, refs);
          const auto part = half.all();
          halves.insert(halves.end(), part.begin(), part.end());
        }
        EXPECT_EQ(halves, expected) << seed;
      }
    }
  }
}

TEST(ColdState, ValuesThatHadExpiredAtASnapshotAreNotInIt) {
  const Ttl ttl{.life = Duration{100}, .return_expired = true, .drop_in_snapshot = true};
  for (const Backend from : {Backend::kHeap, Backend::kCold}) {
    MemoryFileSystem files;
    Subtask task(from, kAll, ttl);
    task.key("a");
    task.list().add(1);
    task.value().set(1);
    task.state().set_now(WallTime{50});
    task.list().add(2);
    task.key("b");
    task.value().set(2);
    task.end_batch();
    task.state().set_now(WallTime{100});
    const auto refs = task.snapshot(files, 1);
    for (const Backend to : {Backend::kHeap, Backend::kCold}) {
      Subtask restored(to, kAll, ttl);
      restored.restore(files, refs);
      EXPECT_EQ(restored.state().entries(), 2);
      restored.state().set_now(WallTime{1'000});  // what had not expired then has now
      restored.key("a");
      EXPECT_THAT(restored.list().get(), ElementsAre(2));
      EXPECT_FALSE(restored.value().get());
      restored.key("b");
      EXPECT_EQ(restored.value().get(), 2);
    }
  }
}

// What is left of a value has expired, but an older one that was handed over holds an entry that has not: it
// was removed since.
TEST(ColdState, AnEntryThatWasRemovedDoesNotComeBackWithAValueThatHasExpired) {
  const Ttl ttl{.life = Duration{60}, .drop_in_snapshot = true};
  MemoryFileSystem files;
  Subtask task(Backend::kCold, kAll, ttl);
  task.key("a");
  task.map().put("old", 1);
  task.state().set_now(WallTime{50});
  task.map().put("removed", 2);
  task.end_batch();
  task.state().set_now(WallTime{55});
  task.key("a");
  task.map().remove("removed");
  task.state().set_now(WallTime{65});
  auto refs = task.snapshot(files, 1);
  for (const Backend backend : {Backend::kHeap, Backend::kCold, Backend::kHeap}) {
    Subtask restored(backend, kAll, ttl);
    restored.state().set_now(WallTime{65});
    restored.restore(files, refs);
    restored.key("a");
    EXPECT_THAT(restored.map().entries(), IsEmpty());
    EXPECT_EQ(restored.state().entries(), 0);
    if (backend == Backend::kCold) refs = restored.snapshot(files, 2);
  }
}

TEST(ColdState, AStateThatNobodyOpensIsKeptAndChangesItsTypeWhenSomebodyDoes) {
  const std::string five("\5\0\0\0", 4);
  const std::string wide("\5\0\0\0\0\0\0\0", 8);
  MemoryFileSystem files;
  std::vector<SectionRef> refs;
  {
    Subtask task(Backend::kCold);
    auto old = *ValueState<std::string>::open(task.state(), "old", {}, "int32");
    task.key("a");
    old.set(five);
    task.end_batch();
    old.set(five, {1, 2});
    refs = task.snapshot(files, 1);
  }
  for (const Backend backend : {Backend::kHeap, Backend::kCold}) {
    std::vector<SectionRef> again;
    {
      Subtask between(backend);
      between.restore(files, refs);
      EXPECT_EQ(between.state().entries(), 2);
      again = between.snapshot(files, 2);
    }
    Subtask wider(backend);
    wider.restore(files, again);
    auto opened = ValueState<std::string>::open(wider.state(), "old", {}, "int64");
    ASSERT_TRUE(opened.ok());
    wider.key("a");
    EXPECT_EQ(opened->get(), wide);
    EXPECT_EQ(opened->get({1, 2}), wide);
    Subtask other(backend);
    other.restore(files, again);
    EXPECT_EQ(ValueState<std::string>::open(other.state(), "old", {}, "string").status().code(),
              ErrorCode::kStateMismatch);
  }
}

// Two subtasks of which one has opened the state with its new type, and the other not yet.
TEST(ColdState, PartsOfASnapshotThatHoldDifferentTypesAreCarriedOverEach) {
  const std::string five("\5\0\0\0", 4);
  const std::string wide("\5\0\0\0\0\0\0\0", 8);
  for (const Backend from : {Backend::kHeap, Backend::kCold}) {
    MemoryFileSystem files;
    std::vector<SectionRef> refs;
    for (const bool widened : {false, true}) {
      Subtask half(from, widened ? KeyGroupRange{64, 127} : KeyGroupRange{0, 63});
      auto value = *ValueState<std::string>::open(half.state(), "n", {}, widened ? "int64" : "int32");
      for (const char* key : widened ? std::array{"a", "b"} : std::array{"1", "2"}) {
        half.key(key);
        value.set(widened ? wide : five);
        if (key[0] == 'a' || key[0] == '1') half.end_batch();
      }
      const auto part = half.snapshot(files, widened ? 2 : 1);
      refs.insert(refs.end(), part.begin(), part.end());
    }
    for (const Backend to : {Backend::kHeap, Backend::kCold}) {
      Subtask whole(to);
      auto value = *ValueState<std::string>::open(whole.state(), "n", {}, "int64");
      whole.restore(files, refs);
      for (const char* key : {"1", "2", "a", "b"}) {
        whole.key(key);
        EXPECT_EQ(value.get(), wide) << key;
      }
      // One that nobody opens has no place for two types.
      Subtask other(to);
      const Status refused = other.restored(files, refs);
      EXPECT_EQ(refused.code(), ErrorCode::kStateMismatch);
      EXPECT_THAT(refused.message(), ::testing::HasSubstr("`n` holds int32 in one part of the snapshot"));
    }
  }
}

// On the heap, what was handed over lies behind what was in memory; the store takes keys that ascend.
TEST(ColdState, AStateThatNobodyOpensGoesFromTheStoreToTheHeapAndBack) {
  MemoryFileSystem files;
  std::vector<SectionRef> refs;
  {
    Subtask task(Backend::kCold);
    auto old = *ValueState<int64_t>::open(task.state(), "old");
    task.key("a");
    old.set(1);
    task.end_batch();
    task.key("b");
    old.set(2);
    refs = task.snapshot(files, 1);
  }
  int64_t epoch = 1;
  for (const Backend backend : {Backend::kHeap, Backend::kCold, Backend::kHeap, Backend::kCold}) {
    Subtask between(backend);
    between.restore(files, refs);
    EXPECT_EQ(between.state().entries(), 2);
    refs = between.snapshot(files, ++epoch);
  }
  Subtask task(Backend::kCold);
  task.restore(files, refs);
  auto old = *ValueState<int64_t>::open(task.state(), "old");
  task.key("a");
  EXPECT_EQ(old.get(), 1);
  task.key("b");
  EXPECT_EQ(old.get(), 2);
}

// Sections of the old type must not be read as the new one after another restore.
TEST(ColdState, AChangeOfTypeIsWrittenAnewBeforeTheNextOne) {
  const std::string bytes("\5\0\0\0\0\0\0\0", 8);
  MemoryFileSystem files;
  std::vector<SectionRef> refs;
  int64_t epoch = 0;
  for (const char* type : {"int16", "int32", "int64", "int64"}) {
    Subtask task(Backend::kCold);
    auto value = *ValueState<std::string>::open(task.state(), "n", {}, type);
    if (epoch != 0) task.restore(files, refs);
    task.key("a");
    const size_t width = static_cast<size_t>(type[3] == '1' ? 2 : type[3] == '3' ? 4 : 8);
    if (epoch == 0) value.set(bytes.substr(0, width));
    EXPECT_EQ(value.get(), bytes.substr(0, width)) << type;
    if (epoch == 0) task.end_batch();
    refs = task.snapshot(files, ++epoch);
  }
}

}  // namespace
}  // namespace strand::state
