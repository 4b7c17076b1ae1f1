#include "time/floor.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace strand::time {
namespace {

using ::testing::ElementsAre;
using Part = Floor::Part;

TEST(Floor, NothingRestoredMeansNothingClosed) {
  const Floor floor;
  EXPECT_EQ(floor.of(0), EventTime::min());
  EXPECT_EQ(floor.lowest(), EventTime::min());
  EXPECT_THAT(floor.at_barrier({0, 127}, {50}), ElementsAre(Part{{0, 127}, {50}}));
}

// replay.md T2: the minimum over the old subtasks would open again what the faster one had closed.
TEST(Floor, EachKeyGroupKeepsTheFloorOfItsOldOwner) {
  Floor floor;
  floor.add({64, 127}, {200});
  floor.add({0, 63}, {100});
  EXPECT_EQ(floor.of(63), EventTime{100});
  EXPECT_EQ(floor.of(64), EventTime{200});
  EXPECT_EQ(floor.of(128), EventTime::min());
  EXPECT_EQ(floor.lowest(), EventTime{100});
  EXPECT_EQ(floor.highest(), EventTime{200});
}

TEST(Floor, AGroupToldTwiceKeepsTheLowerValue) {
  Floor floor;
  floor.add({0, 9}, {100});
  floor.add({5, 14}, {50});
  EXPECT_EQ(floor.of(4), EventTime{100});
  EXPECT_EQ(floor.of(5), EventTime{50});
  EXPECT_EQ(floor.of(14), EventTime{50});
}

// replay.md T1: after a second restore before the watermark has caught up, the first floor must still hold.
TEST(Floor, ABarrierSavesTheHigherOfFloorAndWatermarkPerGroup) {
  Floor floor;
  floor.add({0, 63}, {100});
  floor.add({64, 127}, {200});
  EXPECT_THAT(floor.at_barrier({40, 80}, {150}), ElementsAre(Part{{40, 63}, {150}}, Part{{64, 80}, {200}}));
  EXPECT_THAT(floor.at_barrier({0, 127}, {300}), ElementsAre(Part{{0, 127}, {300}}));
}

RC_GTEST_PROP(Floor, AgreesWithAnArrayOfGroups, ()) {
  std::vector<std::optional<int64_t>> groups(32);
  Floor floor;
  const int parts = *rc::gen::inRange(0, 6);
  for (int i = 0; i < parts; ++i) {
    const int32_t first = *rc::gen::inRange(0, 32);
    const int32_t last = *rc::gen::inRange(first, 32);
    const int64_t value = *rc::gen::inRange(0, 4);
    floor.add({first, last}, {value});
    for (auto g = static_cast<size_t>(first); g <= static_cast<size_t>(last); ++g) {
      groups[g] = groups[g] ? std::min(*groups[g], value) : value;
    }
  }
  const auto saved = floor.at_barrier({0, 31}, {2});
  for (int32_t g = 0; g < 32; ++g) {
    const auto told = groups[static_cast<size_t>(g)];
    const EventTime expected = told ? EventTime{*told} : EventTime::min();
    RC_ASSERT(floor.of(g) == expected);
    const auto part =
        std::find_if(saved.begin(), saved.end(), [g](const Part& p) { return p.groups.contains(g); });
    RC_ASSERT(part != saved.end());
    RC_ASSERT(part->floor == std::max(expected, EventTime{2}));
  }
}

}  // namespace
}  // namespace strand::time
