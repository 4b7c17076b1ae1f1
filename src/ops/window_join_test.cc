#include "ops/window_join.h"

#include <gmock/gmock.h>

#include "ops/stored_rows.h"
#include "tests/support/operator_harness.h"

namespace strand::ops {
namespace {

using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Output = WindowJoinOptions::Output;

constexpr int kLeftSide = 0;
constexpr int kRightSide = 1;

SchemaPtr side_schema() {
  return std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"k", columnar::make_type(columnar::TypeKind::kInt)},
                                   {"x", columnar::make_type(columnar::TypeKind::kInt)},
                                   {"window_end", columnar::timestamp_type(3, false)}});
}

/// Rows (k INT, x INT, window_end TIMESTAMP(3)) of both sides on k.
WindowJoinOptions on_window(bool left_outer = false, bool right_outer = false, Output kind = Output::kPairs) {
  WindowJoinOptions options;
  const SchemaPtr schema = side_schema();
  options.sides[0] = {schema, {0}, 2, left_outer};
  options.sides[1] = {schema, {0}, 2, right_outer};
  options.kind = kind;
  std::vector<columnar::Field> both = schema->fields();
  for (const columnar::Field& field : schema->fields()) both.push_back(field);
  options.pairs = std::make_shared<const columnar::Schema>(std::move(both));
  options.output = kind == Output::kPairs ? options.pairs : side_schema();
  return options;
}

class WindowJoinOfRows : public ::testing::Test {
 protected:
  static OperatorHarness job(const WindowJoinOptions& options, int32_t parallelism = 1) {
    return OperatorHarness([options] { return make_window_join(options); }, {0}, parallelism);
  }
  static columnar::Batch row(std::optional<int32_t> key, int32_t x, int64_t window_end) {
    columnar::BatchBuilder builder(side_schema());
    key ? builder.column(0).append<int32_t>(*key) : builder.column(0).append_null();
    builder.column(1).append<int32_t>(x);
    builder.column(2).append<int64_t>(window_end);
    builder.end_row();
    return builder.finish();
  }
  static std::string pair(const std::string& left, const std::string& right) {
    return "+I[" + left + ", " + right + "]";
  }
  static std::string text(int key, int x, int second) {
    return std::to_string(key) + ", " + std::to_string(x) + ", 1970-01-01 00:00:" + std::to_string(second) +
           ".000";
  }
};

TEST_F(WindowJoinOfRows, ComeWhenEventTimeReachesTheLastMillisecondOfTheWindow) {
  OperatorHarness join = job(on_window());
  join.batch(row(1, 10, 20'000), kLeftSide);
  join.batch(row(1, 11, 10'000), kLeftSide);
  join.batch(row(1, 12, 10'000), kRightSide);
  join.batch(row(1, 13, 20'000), kRightSide);
  join.batch(row(2, 14, 10'000), kRightSide);
  join.watermark(EventTime{9'998});
  EXPECT_THAT(join.output(), IsEmpty());
  join.watermark(EventTime{9'999});
  EXPECT_THAT(join.output(), ElementsAre(pair(text(1, 11, 10), text(1, 12, 10))));
  join.watermark(EventTime::max());
  EXPECT_THAT(join.output(), ElementsAre(pair(text(1, 10, 20), text(1, 13, 20))));
  EXPECT_EQ(join.op().state_rows(), 0);
  EXPECT_EQ(join.memory_used(), join.op().state_bytes());
}

TEST_F(WindowJoinOfRows, RowsWithoutPartnerComeOutOfAnOuterSide) {
  OperatorHarness join = job(on_window(true, true));
  join.batch(row(1, 10, 10'000), kLeftSide);
  join.batch(row(2, 11, 10'000), kRightSide);
  join.batch(row(std::nullopt, 12, 10'000), kLeftSide);
  join.batch(row(std::nullopt, 13, 10'000), kRightSide);
  join.watermark(EventTime{9'999});
  EXPECT_THAT(join.output(),
              UnorderedElementsAre(pair(text(1, 10, 10), "null, null, null"),
                                   pair("null, null, null", text(2, 11, 10)),
                                   pair("null, 12, 1970-01-01 00:00:10.000", "null, null, null"),
                                   pair("null, null, null", "null, 13, 1970-01-01 00:00:10.000")));
}

TEST_F(WindowJoinOfRows, ASemiJoinGivesLeftRowsWithAPartnerAndAnAntiJoinTheOthers) {
  for (const Output kind : {Output::kSemi, Output::kAnti}) {
    OperatorHarness join = job(on_window(false, false, kind));
    join.batch(row(1, 10, 10'000), kLeftSide);
    join.batch(row(2, 11, 10'000), kLeftSide);
    join.batch(row(1, 12, 10'000), kRightSide);
    join.batch(row(1, 13, 10'000), kRightSide);
    join.watermark(EventTime{9'999});
    EXPECT_THAT(join.output(),
                ElementsAre("+I[" + (kind == Output::kSemi ? text(1, 10, 10) : text(2, 11, 10)) + "]"));
  }
}

TEST_F(WindowJoinOfRows, ARowOfAClosedWindowIsLateOnItsSide) {
  OperatorHarness join = job(on_window(true));
  join.watermark(EventTime{9'999});
  join.batch(row(1, 10, 10'000), kLeftSide);
  join.batch(row(1, 11, 10'000), kRightSide);
  EXPECT_THAT(join.output(Port::kLate), ElementsAre("+I[" + text(1, 10, 10) + "]"));
  EXPECT_THAT(join.output(Port::kLateRight), ElementsAre("+I[" + text(1, 11, 10) + "]"));
  join.watermark(EventTime{19'999});
  EXPECT_THAT(join.output(), IsEmpty());
  EXPECT_EQ(join.ledger()[obs::Entry::kLate], 2);
}

TEST_F(WindowJoinOfRows, AClosedWindowStaysClosedAndAnOpenOneGoesOnAfterARestore) {
  OperatorHarness join = job(on_window());
  for (int32_t key = 0; key < 30; ++key) join.batch(row(key, 1, 20'000), kLeftSide);
  join.watermark(EventTime{9'999});
  const auto snapshot = join.snapshot();
  for (const int32_t parallelism : {3, 1, 2}) {
    join.restore(snapshot, parallelism);
    join.batch(row(7, 2, 10'000), kLeftSide);
    EXPECT_THAT(join.output(Port::kLate), ElementsAre("+I[" + text(7, 2, 10) + "]"));
    for (int32_t key = 0; key < 30; ++key) join.batch(row(key, 3, 20'000), kRightSide);
    join.watermark(EventTime{19'999});
    EXPECT_EQ(join.output().size(), 30u);
  }
}

// However often it is restored: as the order of their arrival was.
TEST_F(WindowJoinOfRows, ComeInTheSameOrderAfterARestore) {
  OperatorHarness join = job(on_window(true, true));
  OperatorHarness restored = job(on_window(true, true));
  for (OperatorHarness* each : {&join, &restored}) {
    for (int32_t x = 0; x < 40; ++x) {
      each->batch(row(x * 7 % 5, x, x % 3 == 0 ? 10'000 : 20'000), x % 2);
      if (x % 11 == 10) each->watermark(EventTime{9'999});
      if (each == &restored && x % 4 == 0) each->restore(each->snapshot(), 1);
    }
    each->watermark(EventTime::max());
  }
  EXPECT_EQ(restored.output(), join.output());
}

TEST_F(WindowJoinOfRows, AreReadFromSnapshotsOfTheEarlierForm) {
  OperatorHarness join = job(on_window());
  state::SnapshotBuilder builder(Epoch{1}, {0, 127});
  builder.set_operator("op");
  for (const int side : {kLeftSide, kRightSide}) {
    StoredRowsWriter rows(side_schema());
    rows.row(row(1, 10 + side, 20'000), 0);
    builder.add(side == kLeftSide ? "left" : "right", 1, rows.take());
  }
  auto sections = builder.write(*join.files(), "files");
  ASSERT_TRUE(sections.ok());
  obs::Ledger ledger;
  ledger.add(obs::Entry::kIn, 2);
  join.restore({Epoch{1}, *sections, {}, ledger}, 1);
  join.watermark(EventTime{19'999});
  EXPECT_THAT(join.output(), ElementsAre(pair(text(1, 10, 20), text(1, 11, 20))));
}

}  // namespace
}  // namespace strand::ops
