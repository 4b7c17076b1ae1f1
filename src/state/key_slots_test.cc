#include "state/key_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/hash.h"
#include "base/random.h"

namespace strand::state {
namespace {

using Slots = KeySlots<int64_t>;

TEST(KeySlots, NullAndTheEmptyKeyAreTwoKeys) {
  Slots slots;
  slots[slots.find_or_add(7, std::string_view())] = 1;
  slots[slots.find_or_add(7, "")] = 2;
  EXPECT_EQ(slots[slots.find(7, std::string_view())], 1);
  EXPECT_EQ(slots[slots.find(7, "")], 2);
  EXPECT_EQ(slots.size(), 2);
}

TEST(KeySlots, AKeyThatComesAgainBeginsAnew) {
  Slots slots;
  const Slots::Id id = slots.find_or_add(1, "a");
  slots[id] = 5;
  slots.erase(id);
  EXPECT_EQ(slots.find(1, "a"), Slots::kNone);
  EXPECT_EQ(slots[slots.find_or_add(1, "a")], 0);
}

RC_GTEST_PROP(KeySlots, HoldsWhatAMapHolds, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  Slots slots;
  std::map<std::string, int64_t> model;
  for (int step = 0; step < 2'000; ++step) {
    const std::string key = "key-" + std::to_string(random.below(200));
    const uint64_t hash = hash64(key) % 64;  // collisions
    const Slots::Id found = slots.find(hash, key);
    RC_ASSERT((found != Slots::kNone) == model.contains(key));
    if (random.below(3) != 0) {
      slots[slots.find_or_add(hash, key)] = step;
      model[key] = step;
    } else if (found != Slots::kNone) {
      slots.erase(found);
      model.erase(key);
    }
    RC_ASSERT(slots.size() == static_cast<int64_t>(model.size()));
  }
  std::map<std::string, int64_t> held;
  slots.for_each([&](Slots::Id id) { held[std::string(slots.key(id))] = slots[id]; });
  RC_ASSERT(held == model);
}

}  // namespace
}  // namespace strand::state
