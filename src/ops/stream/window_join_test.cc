#include "ops/stream/window_join.h"

#include <gmock/gmock.h>

namespace strand::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Seen : public StreamOutput {
 public:
  void record(Record record) override { seen_.push_back(record.payload); }
  void late(const Record& record) override { seen_.push_back("late " + without_side(record).payload); }
  std::vector<std::string> take() { return std::exchange(seen_, {}); }

 private:
  std::vector<std::string> seen_;
};

Status tell_pair(const Firing& firing, const Record& left, const Record& right) {
  firing.emit(0, left.payload + "-" + right.payload);
  return {};
}

Status tell_sizes(const Firing& firing, const std::vector<Record>& left, const std::vector<Record>& right) {
  firing.emit(0, std::to_string(left.size()) + "/" + std::to_string(right.size()));
  return {};
}

/// Windows of ten milliseconds.
class WindowJoin : public ::testing::Test {
 protected:
  void make(CoGroupFunction function) {
    StreamWindowOptions options;
    options.assigner.size = 10;
    options.late_output = true;
    op_ = *StreamWindowOperator::make(window_join_options(std::move(options), std::move(function), {}));
    ASSERT_TRUE(op_->open().ok());
  }
  void row(JoinSide side, int64_t time, const std::string& payload) {
    EXPECT_TRUE(op_->process(1, 0, of_side(side, {"key", 0, payload, EventTime{time}}), out_).ok());
  }
  std::vector<std::string> watermark(int64_t time) {
    EXPECT_TRUE(op_->advance({time}, out_).ok());
    return out_.take();
  }
  std::unique_ptr<StreamWindowOperator> op_;
  Seen out_;
};

TEST_F(WindowJoin, PairsEachLeftElementWithEachRightOneOfItsWindow) {
  make(each_pair(tell_pair));
  row(JoinSide::kRight, 1, "x");
  row(JoinSide::kLeft, 2, "a");
  row(JoinSide::kLeft, 3, "b");
  row(JoinSide::kRight, 9, "y");
  row(JoinSide::kRight, 10, "next");
  EXPECT_THAT(watermark(9), ElementsAre("a-x", "a-y", "b-x", "b-y"));
  EXPECT_THAT(watermark(19), IsEmpty());
}

TEST_F(WindowJoin, ACoGroupSeesAWindowWithOneEmptySide) {
  make(tell_sizes);
  row(JoinSide::kLeft, 2, "a");
  EXPECT_THAT(watermark(9), ElementsAre("1/0"));
}

TEST_F(WindowJoin, ALateElementGoesAsideWhicheverSideItComesFrom) {
  make(tell_sizes);
  watermark(9);
  row(JoinSide::kRight, 3, "x");
  EXPECT_THAT(out_.take(), ElementsAre("late x"));
}

}  // namespace
}  // namespace strand::ops
