#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "window/assigner.h"
#include "window/evictor.h"
#include "window/session.h"

namespace strand::window {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Window> assign(AssignerOptions options, int64_t time) {
  Result<Assigner> assigner = Assigner::make(options);
  std::vector<Window> windows;
  EXPECT_TRUE(assigner.ok() && assigner->assign({EventTime{time}}, {0}, windows).ok());
  return windows;
}

TEST(Assigner, TumblingWindowsTileTimeAlsoBefore1970) {
  EXPECT_THAT(assign({.size = 10}, 9), ElementsAre(Window{0, 10}));
  EXPECT_THAT(assign({.size = 10}, 10), ElementsAre(Window{10, 20}));
  EXPECT_THAT(assign({.size = 10}, -1), ElementsAre(Window{-10, 0}));
  EXPECT_THAT(assign({.size = 10, .offset = 4}, 3), ElementsAre(Window{-6, 4}));
}

TEST(Assigner, SlidingWindowsOverlapOrLeaveGaps) {
  const auto kind = AssignerOptions::Kind::kSliding;
  EXPECT_THAT(assign({.kind = kind, .size = 10, .slide = 3}, 11),
              ElementsAre(Window{9, 19}, Window{6, 16}, Window{3, 13}));
  EXPECT_THAT(assign({.kind = kind, .size = 2, .slide = 5}, 4), IsEmpty());
}

RC_GTEST_PROP(Assigner, AnElementIsInEveryWindowThatItGets, ()) {
  const int64_t slide = *rc::gen::inRange<int64_t>(1, 50);
  const int64_t size = *rc::gen::inRange<int64_t>(1, 200);
  const int64_t offset = *rc::gen::inRange<int64_t>(1 - slide, slide);
  const int64_t time = *rc::gen::inRange<int64_t>(-1000, 1000);
  const auto windows =
      assign({.kind = AssignerOptions::Kind::kSliding, .size = size, .slide = slide, .offset = offset}, time);
  for (const Window w : windows) {
    RC_ASSERT(w.start <= time);
    RC_ASSERT(time < w.end);
    RC_ASSERT((w.start - offset) % slide == 0);
  }
  const int64_t least = size / slide;
  RC_ASSERT(std::ssize(windows) == least || std::ssize(windows) == least + 1);
}

TEST(Assigner, RefusesSizesThatMakeNoWindows) {
  EXPECT_EQ(Assigner::make({.size = 0}).status().code(), ErrorCode::kBadWindow);
  EXPECT_EQ(Assigner::make({.size = 10, .offset = -10}).status().code(), ErrorCode::kBadWindow);
  EXPECT_EQ(Assigner::make({.kind = AssignerOptions::Kind::kSession}).status().code(), ErrorCode::kBadWindow);
}

TEST(Assigner, AnElementWithoutEventTimeIsAnError) {
  Result<Assigner> assigner = Assigner::make({.size = 10});
  std::vector<Window> windows;
  EXPECT_EQ(assigner->assign({}, {0}, windows).code(), ErrorCode::kMissingEventTime);
}

TEST(MergingWindows, ANewWindowJoinsAllThatItTouches) {
  MergingWindows windows;
  std::vector<MergingWindows::Merge> merges;
  const auto note = [&](const MergingWindows::Merge& m) { merges.push_back(m); };
  windows.add({0, 10}, note);
  windows.add({20, 30}, note);
  EXPECT_THAT(merges, IsEmpty());
  EXPECT_EQ(windows.add({10, 20}, note), (Window{0, 30}));
  ASSERT_EQ(merges.size(), 1u);
  EXPECT_THAT(merges[0].merged, ElementsAre(Window{0, 10}, Window{20, 30}));
  EXPECT_EQ(merges[0].state, (Window{0, 10}));
  EXPECT_THAT(merges[0].merged_states, ElementsAre(Window{20, 30}));
  EXPECT_EQ(windows.state_of({0, 30}), (Window{0, 10}));
  EXPECT_FALSE(windows.state_of({20, 30}));
}

TEST(MergingWindows, AWindowInsideALiveOneChangesNothing) {
  MergingWindows windows;
  windows.add({0, 10}, [](const auto&) {});
  bool merged = false;
  EXPECT_EQ(windows.add({2, 9}, [&](const auto&) { merged = true; }), (Window{0, 10}));
  EXPECT_FALSE(merged);
}

RC_GTEST_PROP(MergingWindows, LiveWindowsNeverTouchAndCoverWhatWasAdded, ()) {
  MergingWindows windows;
  std::vector<Window> added;
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    const int64_t start = *rc::gen::inRange<int64_t>(0, 100);
    const Window window{start, start + *rc::gen::inRange<int64_t>(1, 20)};
    added.push_back(window);
    windows.add(window, [](const auto&) {});
  }
  const auto& live = windows.entries();
  for (size_t i = 1; i < live.size(); ++i) RC_ASSERT(live[i - 1].window.end < live[i].window.start);
  for (const Window w : added) {
    RC_ASSERT(std::any_of(live.begin(), live.end(),
                          [&](const auto& e) { return e.window.start <= w.start && w.end <= e.window.end; }));
  }
}

struct Timed {
  std::optional<EventTime> time;
  double number = 0;
  double measure() const { return number; }
};

std::vector<double> left(const EvictorOptions& options, std::vector<Timed> elements) {
  evict(options, elements);
  std::vector<double> numbers;
  for (const Timed& e : elements) numbers.push_back(e.number);
  return numbers;
}

TEST(Evictor, KeepsTheLastTheYoungestOrTheNearest) {
  const std::vector<Timed> elements{{EventTime{1}, 10}, {EventTime{9}, 20}, {EventTime{4}, 21}};
  EXPECT_THAT(left({.count = 2}, elements), ElementsAre(20, 21));
  EXPECT_THAT(left({.count = 0}, elements), IsEmpty());
  EXPECT_THAT(left({.kind = EvictorOptions::Kind::kTime, .window = {5}}, elements), ElementsAre(20));
  EXPECT_THAT(left({.kind = EvictorOptions::Kind::kDelta, .threshold = 11}, elements), ElementsAre(20, 21));
}

}  // namespace
}  // namespace strand::window
