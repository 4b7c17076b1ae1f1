#include "ops/session_rows.h"

#include <gmock/gmock.h>

#include "ops/timed_rows_test.h"
#include "tests/support/operator_harness.h"

namespace strand::ops {
namespace {

using strand::testing::OperatorHarness;
using strand::testing::second_text;
using strand::testing::timed_batch;
using strand::testing::timed_schema;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Sessions of 5 s.
OperatorHarness sessions(int32_t parallelism = 1) {
  SessionRowsOptions options;
  options.input = timed_schema();
  options.keys = {0};
  options.time_column = 2;
  options.gap = Duration{5'000};
  const columnar::TypePtr time = columnar::timestamp_type(3, false, false);
  options.output = timed_schema({{"window_start", time}, {"window_end", time}, {"window_time", time}});
  return OperatorHarness([options] { return make_session_rows(options); }, {0}, parallelism);
}
std::string in_session(const std::string& key, int value, int second, int start, int end) {
  const std::string last =
      "1970-01-01 00:00:" + std::string(end <= 10 ? "0" : "") + std::to_string(end - 1) + ".999";
  return "+I[" + key + ", " + std::to_string(value) + ", " + second_text(second) + ", " + second_text(start) +
         ", " + second_text(end) + ", " + last + "]";
}

TEST(SessionRows, ComeWithTheirSessionWhenItHasEnded) {
  auto op = sessions();
  op.batch(timed_batch({{"a", 1, 1'000}, {"a", 2, 3'000}, {"a", 3, 20'000}, {"b", 4, 2'000}}));
  op.watermark(EventTime{6'998});
  EXPECT_THAT(op.output(), IsEmpty());
  op.watermark(EventTime{7'999});
  EXPECT_THAT(op.output(), ElementsAre(in_session("b", 4, 2, 2, 7), in_session("a", 1, 1, 1, 8),
                                       in_session("a", 2, 3, 1, 8)));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(), ElementsAre(in_session("a", 3, 20, 20, 25)));
  EXPECT_EQ(op.op().state_rows(), 0);
}

TEST(SessionRows, ARowBetweenTwoSessionsMakesThemOne) {
  auto op = sessions();
  op.batch(timed_batch({{"a", 1, 1'000}, {"a", 2, 9'000}, {"a", 3, 5'000}}));
  op.watermark(EventTime{13'999});
  EXPECT_THAT(op.output(), ElementsAre(in_session("a", 1, 1, 1, 14), in_session("a", 2, 9, 1, 14),
                                       in_session("a", 3, 5, 1, 14)));
}

TEST(SessionRows, ARowThatTouchesAnOpenSessionIsNeverLateOthersAreJudgedByTheirOwn) {
  auto op = sessions();
  op.batch(timed_batch({{"a", 1, 8'000}}));
  op.watermark(EventTime{10'000});
  op.batch(timed_batch({{"a", 2, 4'000}, {"b", 3, 4'000}}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre("+I[b, 3, " + second_text(4) + "]"));
  op.watermark(EventTime{12'999});
  EXPECT_THAT(op.output(), ElementsAre(in_session("a", 1, 8, 4, 13), in_session("a", 2, 4, 4, 13)));
}

TEST(SessionRows, OpenSessionsGoOnAfterARestoreAndTheFloorJudges) {
  auto op = sessions();
  op.batch(timed_batch({{"a", 1, 8'000}, {"b", 2, 9'000}, {"c", 3, 9'000}}));
  op.watermark(EventTime{10'000});
  const auto snapshot = op.snapshot();
  for (const int32_t parallelism : {3, 1}) {
    op.restore(snapshot, parallelism);
    op.batch(timed_batch({{"a", 4, 12'000}, {"d", 5, 5'000}}));
    EXPECT_THAT(op.output(Port::kLate), ElementsAre("+I[d, 5, " + second_text(5) + "]"));
    op.watermark(EventTime{16'999});
    EXPECT_THAT(op.output(),
                ::testing::UnorderedElementsAre(in_session("b", 2, 9, 9, 14), in_session("c", 3, 9, 9, 14),
                                                in_session("a", 1, 8, 8, 17), in_session("a", 4, 12, 8, 17)));
  }
}

}  // namespace
}  // namespace strand::ops
