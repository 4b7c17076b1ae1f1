#include "ops/stream/window_operator.h"

#include <gmock/gmock.h>

namespace strand::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Writes results as `key start sum` and late elements as `late key time`.
class Seen : public StreamOutput {
 public:
  void record(Record record) override { seen_.push_back(record.payload); }
  void late(const Record& record) override {
    seen_.push_back("late " + record.key + " " + std::to_string(record.time->millis));
  }
  std::vector<std::string> take() { return std::exchange(seen_, {}); }

 private:
  std::vector<std::string> seen_;
};

std::unique_ptr<WindowContents> sums() {
  return std::make_unique<FoldContents<int64_t>>(FoldContents<int64_t>::Functions{
      .first = [](const Record& r) { return r.value; },
      .add = [](const int64_t& sum, const Record& r) { return sum + r.value; },
      .merge = [](const int64_t& a, const int64_t& b) { return a + b; },
      .result =
          [](const Firing& firing, const int64_t& sum) {
            firing.emit(sum, firing.key() + " " + std::to_string(firing.facts().window->start) + " " +
                                 std::to_string(sum));
            return Status();
          }});
}

class Windows : public ::testing::Test {
 protected:
  void make(StreamWindowOptions options) {
    options.assigner.size = 10;
    options.contents = sums();
    options.late_output = true;
    op_ = *StreamWindowOperator::make(std::move(options));
    ASSERT_TRUE(op_->open().ok());
  }
  std::vector<std::string> row(const std::string& key, int64_t time, int64_t value = 1, int32_t group = 0) {
    EXPECT_TRUE(op_->process(1, group, {key, value, "", EventTime{time}}, out_).ok());
    return out_.take();
  }
  std::vector<std::string> watermark(int64_t time) {
    EXPECT_TRUE(op_->advance({time}, out_).ok());
    return out_.take();
  }
  bool nothing_left() const {
    const auto& state = op_->keyed_state();
    return state.entries() == 0 && state.timers(state::TimeDomain::kEvent).size() == 0 &&
           state.timers(state::TimeDomain::kProcessing).size() == 0;
  }
  std::unique_ptr<StreamWindowOperator> op_;
  Seen out_;
};

TEST_F(Windows, LateElementsCorrectTheResultUntilTheGraceEnds) {
  make({.allowed_lateness = {5}});
  EXPECT_THAT(row("a", 3), IsEmpty());
  EXPECT_THAT(watermark(9), ElementsAre("a 0 1"));
  EXPECT_THAT(row("a", 4), ElementsAre("a 0 2"));
  EXPECT_THAT(watermark(14), IsEmpty());
  EXPECT_TRUE(nothing_left());
  EXPECT_THAT(row("a", 5), ElementsAre("late a 5"));
}

// replay.md T1-T3: what readers have seen closed stays closed, also before the first watermark after a
// restore.
TEST_F(Windows, ARestoredJobDoesNotOpenAWindowAgain) {
  make({});
  row("a", 12);
  watermark(9);
  const std::string saved = op_->save();
  StreamWindowOptions restored;
  restored.floor.add({0, 63}, {9});
  make(std::move(restored));
  ASSERT_TRUE(op_->load(saved).ok());
  EXPECT_THAT(row("a", 3), ElementsAre("late a 3"));
  EXPECT_THAT(row("b", 3, 1, /*group=*/64), IsEmpty());  // this group's floor is not known: it is on time
  EXPECT_THAT(row("a", 13), IsEmpty());
  EXPECT_THAT(watermark(19), ElementsAre("b 0 1", "a 10 2"));
  EXPECT_TRUE(nothing_left());
}

// A trigger that looked at the watermark alone would wait for a timer that fires a second time.
TEST_F(Windows, ALateElementCorrectsTheResultAtOnceAlsoAfterARestore) {
  make({.allowed_lateness = {5}});
  row("a", 3);
  watermark(9);
  const std::string saved = op_->save();
  StreamWindowOptions restored;
  restored.allowed_lateness = {5};
  restored.floor.add({0, 127}, {9});
  make(std::move(restored));
  ASSERT_TRUE(op_->load(saved).ok());
  EXPECT_THAT(row("a", 4), ElementsAre("a 0 2"));
  EXPECT_THAT(watermark(14), IsEmpty());
  EXPECT_TRUE(nothing_left());
}

TEST_F(Windows, FlinkForgetsTheFloor) {
  StreamWindowOptions options;
  options.floor.add({0, 127}, {9});
  options.flink_restore = true;
  make(std::move(options));
  EXPECT_THAT(row("a", 3), IsEmpty());
  EXPECT_THAT(watermark(9), ElementsAre("a 0 1"));
}

TEST_F(Windows, SessionsGrowTogetherAndLeaveNothing) {
  make({.assigner = {.kind = window::AssignerOptions::Kind::kSession, .gap = 10}});
  row("a", 0);
  row("a", 20, 2);
  row("a", 10, 4);
  EXPECT_THAT(watermark(29), ElementsAre("a 0 7"));
  EXPECT_TRUE(nothing_left());
}

// An element alone makes the window that two others had grown to.
TEST_F(Windows, ASessionKeepsItsContentsWhereFlinkLosesThem) {
  const auto options = [] {
    StreamWindowOptions made;
    made.assigner = {.kind = window::AssignerOptions::Kind::kSession, .own_gaps = true};
    made.gap_of = [](const Record& r) { return r.value; };
    return made;
  };
  for (const bool flink : {false, true}) {
    StreamWindowOptions made = options();
    made.flink_sessions = flink;
    make(std::move(made));
    row("a", 5, 5);
    row("a", 0, 6);
    row("a", 0, 10);
    EXPECT_THAT(watermark(9), ElementsAre(flink ? "a 0 10" : "a 0 21"));
  }
}

TEST_F(Windows, ProcessingTimeTimersFireWithTheClock) {
  make({.assigner = {.event_time = false},
        .trigger = window::purging_trigger(window::processing_time_trigger())});
  op_->set_clock({3});
  row("a", 1'000);
  ASSERT_TRUE(op_->advance_clock({8}, out_).ok());
  EXPECT_THAT(out_.take(), IsEmpty());
  ASSERT_TRUE(op_->advance_clock({9}, out_).ok());
  EXPECT_THAT(out_.take(), ElementsAre("a 0 1"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(Windows, ADeltaTriggerCannotServeSessions) {
  StreamWindowOptions options;
  options.assigner = {.kind = window::AssignerOptions::Kind::kSession, .gap = 10};
  options.trigger = window::delta_trigger(5);
  options.contents = sums();
  EXPECT_EQ(StreamWindowOperator::make(std::move(options)).status().code(), ErrorCode::kBadWindow);
}

}  // namespace
}  // namespace strand::ops
