#include "ops/temporal_join.h"

#include <gmock/gmock.h>

#include "base/bytes.h"
#include "ops/row_bytes.h"
#include "ops/timed_rows_test.h"
#include "state/key_table.h"
#include "tests/support/operator_harness.h"

namespace strand::ops {
namespace {

using columnar::RowKind;
using strand::testing::OperatorHarness;
using strand::testing::second_text;
using strand::testing::timed_batch;
using strand::testing::timed_schema;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int kRows = 0;
constexpr int kVersions = 1;

/// Rows and versions (k, v, ts) on k.
OperatorHarness joined(bool outer = false, ExprPtr condition = nullptr, int32_t parallelism = 1) {
  TemporalJoinOptions options;
  for (auto& side : options.sides) side = {timed_schema(), {0}, 2};
  options.outer = outer;
  options.condition = std::move(condition);
  options.pairs = options.output = timed_schema(timed_schema()->fields());
  return OperatorHarness([options] { return make_temporal_join(options); }, {0}, parallelism);
}
std::string found(const std::string& key, int value, int second, int version, int since,
                  const std::string& kind = "+I") {
  return kind + "[" + key + ", " + std::to_string(value) + ", " + second_text(second) + ", " + key + ", " +
         std::to_string(version) + ", " + second_text(since) + "]";
}
std::string alone(const std::string& key, int value, int second) {
  return "+I[" + key + ", " + std::to_string(value) + ", " + second_text(second) + ", null, null, null]";
}

TEST(TemporalJoin, ARowMeetsTheVersionOfItsTimeOnceEventTimeHasReachedIt) {
  auto op = joined();
  op.batch(timed_batch({{"eur", 2, 1'000}, {"eur", 5, 4'000, RowKind::kUpdateAfter}}), kVersions);
  op.batch(timed_batch({{"eur", 10, 3'000}, {"eur", 11, 4'000}, {"gbp", 12, 3'000}}), kRows);
  op.watermark(EventTime{2'999});
  EXPECT_THAT(op.output(), IsEmpty());
  op.watermark(EventTime{4'000});
  EXPECT_THAT(op.output(), ElementsAre(found("eur", 10, 3, 2, 1), found("eur", 11, 4, 5, 4)));
}

TEST(TemporalJoin, AnEndedVersionIsNoneAndTheOldRowOfAnUpdateSaysNothing) {
  auto op = joined(/*outer=*/true);
  op.batch(timed_batch({{"eur", 2, 1'000},
                        {"eur", 2, 1'000, RowKind::kUpdateBefore},
                        {"eur", 3, 4'000, RowKind::kUpdateAfter},
                        {"eur", 3, 6'000, RowKind::kDelete}}),
           kVersions);
  op.batch(timed_batch({{"eur", 10, 3'000}, {"eur", 11, 6'000}, {std::nullopt, 12, 6'000}}), kRows);
  op.watermark(EventTime{6'000});
  EXPECT_THAT(op.output(), ElementsAre(found("eur", 10, 3, 2, 1), alone("eur", 11, 6),
                                       "+I[null, 12, " + second_text(6) + ", null, null, null]"));
}

TEST(TemporalJoin, RowsKeepTheirKinds) {
  auto op = joined();
  op.batch(timed_batch({{"eur", 2, 1'000}}), kVersions);
  op.batch(timed_batch({{"eur", 10, 2'000}, {"eur", 10, 3'000, RowKind::kUpdateBefore}}), kRows);
  op.watermark(EventTime{3'000});
  EXPECT_THAT(op.output(), ElementsAre(found("eur", 10, 2, 2, 1), found("eur", 10, 3, 2, 1, "-U")));
}

TEST(TemporalJoin, OfTheVersionsThatEventTimeHasReachedTheNewestIsKept) {
  auto op = joined(/*outer=*/true);
  op.batch(
      timed_batch(
          {{"eur", 2, 1'000}, {"eur", 5, 5'000}, {"usd", 1, 2'000}, {"usd", 1, 3'000, RowKind::kDelete}}),
      kVersions);
  EXPECT_EQ(op.op().state_rows(), 4);
  op.watermark(EventTime{9'000});
  EXPECT_EQ(op.op().state_rows(), 1);
  op.batch(timed_batch({{"eur", 10, 3'000}, {"eur", 11, 6'000}}), kRows);
  EXPECT_THAT(op.output(), IsEmpty());
  op.watermark(EventTime{9'500});
  EXPECT_THAT(op.output(), ElementsAre(alone("eur", 10, 3), found("eur", 11, 6, 5, 5)));
}

TEST(TemporalJoin, AConditionMayRefuseTheVersion) {
  const auto number = [](size_t column) {
    return expr::column(column, columnar::make_type(columnar::TypeKind::kBigInt));
  };
  const auto greater = expr::resolve_call(">", {number(1), number(4)});
  ASSERT_TRUE(greater.ok());
  auto op = joined(/*outer=*/true, *greater);
  op.batch(timed_batch({{"eur", 2, 1'000}}), kVersions);
  op.batch(timed_batch({{"eur", 1, 2'000}, {"eur", 3, 2'000}, {"usd", 4, 2'000}}), kRows);
  op.watermark(EventTime{2'000});
  EXPECT_THAT(op.output(), ElementsAre(alone("eur", 1, 2), found("eur", 3, 2, 2, 1), alone("usd", 4, 2)));
}

TEST(TemporalJoin, WaitingRowsAndVersionsGoOnAfterARestoreAndLateRowsNeedNoNewEventTime) {
  auto op = joined(/*outer=*/true);
  op.batch(timed_batch({{"eur", 2, 1'000}, {"eur", 5, 5'000}, {"usd", 7, 8'000}}), kVersions);
  op.batch(timed_batch({{"usd", 10, 9'000}, {"usd", 11, 7'000, RowKind::kDelete}}), kRows);
  op.watermark(EventTime{6'000});
  const auto snapshot = op.snapshot();
  for (const int32_t parallelism : {3, 1}) {
    op.restore(snapshot, parallelism);
    op.batch(timed_batch({{"eur", 12, 5'500}}), kRows);
    op.watermark(EventTime{1'000});
    EXPECT_THAT(op.output(), ElementsAre(found("eur", 12, 5, 5, 5).replace(32, 3, "500")));
    op.watermark(EventTime{9'000});
    EXPECT_THAT(op.output(), ElementsAre("-D[usd, 11, " + second_text(7) + ", null, null, null]",
                                         found("usd", 10, 9, 7, 8)));
  }
}

// Before versions lay in a log, a snapshot held all of them in one section.
TEST(TemporalJoin, VersionsOfAnEarlierFormAreRead) {
  auto op = joined();
  const columnar::Batch batch = timed_batch({{"eur", 2, 1'000}, {"usd", 7, 2'000}, {"usd", 7, 3'000}});
  std::vector<uint64_t> hashes;
  columnar::hash_rows(batch, std::vector<size_t>{0}, hashes);
  ByteWriter bytes;
  for (uint32_t row = 0; row < 3; ++row) {
    state::KeyTable::encode_key(hashes[row], row == 0 ? "eur" : "usd", bytes);
    bytes.put(int64_t{1'000} * (row + 1));
    bytes.put(static_cast<uint8_t>(row == 2 ? 1 : 0));  // deleted
    bytes.put_string(RowBytes(3).encode(batch, row));
  }
  state::SnapshotBuilder builder(Epoch{1}, {0, 127});
  builder.set_operator("op");
  builder.add("versions", 1, bytes.take());
  auto sections = builder.write(*op.files(), "files");
  ASSERT_TRUE(sections.ok());
  op.restore({Epoch{1}, *sections, {}, {}}, 2);
  op.batch(timed_batch({{"eur", 10, 3'000}, {"usd", 11, 2'000}, {"usd", 12, 3'000}}), kRows);
  op.watermark(EventTime{4'000});
  EXPECT_THAT(op.output(), UnorderedElementsAre(found("eur", 10, 3, 2, 1), found("usd", 11, 2, 7, 2)));
}

TEST(TemporalJoin, AVersionThatIsToldAgainReplacesTheOneOfItsTime) {
  auto op = joined();
  op.batch(timed_batch({{"eur", 2, 1'000}, {"eur", 3, 1'000, RowKind::kUpdateAfter}}), kVersions);
  op.restore(op.snapshot(), 1);
  op.batch(timed_batch({{"eur", 4, 1'000, RowKind::kUpdateAfter}, {"eur", 5, 2'000}}), kVersions);
  op.batch(timed_batch({{"eur", 10, 1'500}}), kRows);
  op.watermark(EventTime{3'000});
  EXPECT_THAT(op.output(), ElementsAre(found("eur", 10, 1, 4, 1).replace(32, 3, "500")));
}

}  // namespace
}  // namespace strand::ops
