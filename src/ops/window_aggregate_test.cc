#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/random.h"
#include "ops/operators.h"
#include "tests/support/click_rows.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using expr::Aggregate;
using strand::testing::at;
using strand::testing::Click;
using strand::testing::click_batch;
using strand::testing::click_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// SELECT ad, window_start, window_end, window_time, COUNT(*), SUM(spend) ... TUMBLE 1 minute
WindowOptions per_minute() {
  WindowOptions options;
  options.input = click_schema();
  options.keys = {0};
  options.time_column = 1;
  options.size = Duration{60'000};
  const auto bigint = make_type(TypeKind::kBigInt);
  options.aggregates = {{Aggregate::Kind::kCountStar, 0, nullptr, make_type(TypeKind::kBigInt, false), "n"},
                        {Aggregate::Kind::kSum, 2, bigint, bigint, "spend"}};
  const auto local = columnar::timestamp_type(3, false, false);
  const auto instant = columnar::timestamp_type(3, true, false);
  std::vector<columnar::Field> window = {{"window_start", local}, {"window_end", local}};
  std::vector<columnar::Field> output = {(*click_schema())[0],
                                         window[0],
                                         window[1],
                                         {"window_time", instant},
                                         {"n", make_type(TypeKind::kBigInt, false)},
                                         {"spend", bigint}};
  std::vector<columnar::Field> late = click_schema()->fields();
  late.insert(late.end(), window.begin(), window.end());
  late.push_back({"judge", instant});
  late.push_back({"fully_late", make_type(TypeKind::kBoolean, false)});
  options.output = std::make_shared<const columnar::Schema>(output);
  options.late_output = std::make_shared<const columnar::Schema>(late);
  return options;
}

OperatorHarness job(const WindowOptions& options = per_minute(), int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_window_aggregate(options); }, {0}, parallelism);
}

std::string minute(const std::string& ad, const std::string& start, const std::string& end, int n,
                   int spend) {
  const std::string last = start + ":59.999";
  return "+I[" + ad + ", 2026-02-08 " + start + ":00.000, 2026-02-08 " + end + ":00.000, 2026-02-08 " + last +
         "Z, " + std::to_string(n) + ", " + std::to_string(spend) + "]";
}

TEST(WindowAggregate, AWindowIsEmittedWhenTimeReachesItsLastMillisecond) {
  auto op = job();
  op.batch(click_batch({{"a", at("12:03"), 5}, {"b", at("12:03:10"), 7}, {"a", at("12:03:59.999"), 1}}));
  op.watermark(at("12:03:59.998"));
  EXPECT_THAT(op.output(), IsEmpty());
  EXPECT_EQ(op.ledger().in_state(), 3);

  op.watermark(at("12:03:59.999"));
  EXPECT_THAT(op.output(),
              ElementsAre(minute("a", "12:03", "12:04", 2, 6), minute("b", "12:03", "12:04", 1, 7)));
  EXPECT_EQ(op.ledger().in_state(), 0);
  EXPECT_EQ(op.ledger()[obs::Entry::kCounted], 3);
  EXPECT_EQ(op.ledger()[obs::Entry::kOut], 2);
}

TEST(WindowAggregate, DueWindowsAreEmittedInTheirOrder) {
  auto op = job();
  op.batch(click_batch({{"a", at("12:05")}, {"a", at("12:03")}, {"a", at("12:04")}, {"a", at("12:09")}}));
  op.watermark(at("12:06"));
  EXPECT_THAT(op.output(),
              ElementsAre(minute("a", "12:03", "12:04", 1, 1), minute("a", "12:04", "12:05", 1, 1),
                          minute("a", "12:05", "12:06", 1, 1)));
}

TEST(WindowAggregate, ARowIsLateExactlyWhenItsWindowHasBeenClosed) {
  auto op = job();
  op.watermark(at("12:03:59.998"));
  op.batch(click_batch({{"a", at("12:03")}}));
  EXPECT_THAT(op.output(Port::kLate), IsEmpty());
  op.watermark(at("12:03:59.999"));
  op.batch(click_batch({{"b", at("12:04")}, {"a", at("12:03:30"), 9}}));
  EXPECT_THAT(op.output(Port::kLate),
              ElementsAre(::testing::AllOf(::testing::HasSubstr("+I[a, "), ::testing::HasSubstr(", 9, "),
                                           ::testing::HasSubstr("12:03:00.000"),
                                           ::testing::HasSubstr("12:03:59.999"))));
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], 1);
  EXPECT_EQ(op.ledger().in_state(), 1);
}

TEST(WindowAggregate, WindowsTileTimeBefore1970AndBehindAnOffset) {
  WindowOptions options = per_minute();
  options.offset = Duration{10'000};
  auto op = job(options);
  op.batch(click_batch({{"a", {-1}}, {"a", {-50'000}}, {"a", {-50'001}}, {"a", {10'000}}}));
  op.watermark(EventTime::max());
  const auto rows = op.output();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0], ::testing::HasSubstr("1969-12-31 23:58:10.000, 1969-12-31 23:59:10.000"));
  EXPECT_THAT(rows[1],
              ::testing::AllOf(::testing::HasSubstr("1969-12-31 23:59:10.000, 1970-01-01 00:00:10.000"),
                               ::testing::HasSubstr(", 2, 2]")));
}

TEST(WindowAggregate, WindowsOfAnInstantLieInTheZone) {
  WindowOptions options = per_minute();
  options.zone = "+05:30";
  options.size = Duration{24 * 3'600'000};
  auto op = job(options);
  op.batch(click_batch({{"a", at("18:29")}, {"a", at("18:30")}}));
  op.watermark(at("18:29:59.998"));
  EXPECT_THAT(op.output(), IsEmpty());
  op.watermark(at("18:29:59.999"));
  EXPECT_THAT(op.output(),
              ElementsAre(::testing::HasSubstr("2026-02-08 00:00:00.000, 2026-02-09 00:00:00.000")));
}

TEST(WindowAggregate, ARowWithoutTimeFailsTheJob) {
  auto op = job();
  op.expect_failures();
  columnar::BatchBuilder builder(click_schema());
  builder.column(0).append_string("a");
  builder.column(1).append_null();
  builder.column(2).append(int64_t{1});
  builder.end_row();
  op.batch(builder.finish());
  ASSERT_FALSE(op.last_failure().ok());
  EXPECT_EQ(op.last_failure().code(), ErrorCode::kMissingEventTime);
}

TEST(WindowAggregate, BatchesHaveAtMost4096Rows) {
  auto op = job();
  std::vector<Click> clicks;
  for (int i = 0; i < 10'000; ++i) clicks.push_back({"ad-" + std::to_string(i), at("12:03")});
  op.batch(click_batch(clicks));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.batch_sizes(), ElementsAre(4096, 4096, 1808));
}

TEST(WindowAggregate, TakesAtMost64BytesPerKeyAndOpenWindow) {
  WindowOptions options = per_minute();
  options.aggregates.resize(1);
  auto op = job(options);
  const int64_t before = op.memory_used();
  for (int64_t batch = 1; batch <= 60; ++batch) {
    std::vector<Click> clicks;
    for (int64_t i = 0; i < 5000; ++i)
      clicks.push_back({"ad_" + std::to_string(batch * 5000 + i), at("12:03")});
    op.batch(click_batch(clicks));
    // Beside the keys: a slab that has just been begun.
    ASSERT_LE(op.memory_used() - before - (2 << 20), batch * 5000 * 64) << batch;
  }
}

WindowOptions with_early() {
  WindowOptions options = per_minute();
  options.early_delay = Duration{1000};
  return options;
}

TEST(EarlyFiring, ChangedTotalsComeAtWholeMultiplesOfTheDelayAndTheLastChangeAtTheClose) {
  auto op = job(with_early());
  op.clock(WallTime{10'300});
  EXPECT_EQ(op.next_wakeup(), WallTime::never());
  op.batch(click_batch({{"a", at("12:03")}, {"b", at("12:03")}}));
  EXPECT_EQ(op.next_wakeup(), WallTime{11'000});
  op.clock(WallTime{11'000});
  EXPECT_THAT(op.output(Port::kEarly),
              ElementsAre(minute("a", "12:03", "12:04", 1, 1), minute("b", "12:03", "12:04", 1, 1)));
  EXPECT_EQ(op.next_wakeup(), WallTime::never());

  op.batch(click_batch({{"a", at("12:03")}}));
  op.clock(WallTime{12'000});
  EXPECT_THAT(op.output(Port::kEarly), ElementsAre(minute("a", "12:03", "12:04", 2, 2)));

  op.batch(click_batch({{"b", at("12:03"), 4}}));
  op.watermark(at("12:04"));
  EXPECT_THAT(op.output(Port::kEarly), ElementsAre(minute("b", "12:03", "12:04", 2, 5)));
  EXPECT_THAT(op.output(),
              ElementsAre(minute("a", "12:03", "12:04", 2, 2), minute("b", "12:03", "12:04", 2, 5)));
}

TEST(EarlyFiring, ARestoreTellsExactlyWhatWasLastEmittedOfOpenWindows) {
  auto op = job(with_early());
  op.batch(click_batch({{"a", at("12:03")}, {"b", at("12:04")}}));
  op.clock(WallTime{1000});
  op.batch(click_batch({{"a", at("12:03")}, {"c", at("12:03")}}));
  const auto saved = op.snapshot();
  op.output(Port::kEarly);

  op.restore(saved, 2);
  EXPECT_THAT(op.held(Port::kEarly),
              UnorderedElementsAre(minute("a", "12:03", "12:04", 1, 1), minute("b", "12:04", "12:05", 1, 1)));
  EXPECT_THAT(op.held(Port::kMain), IsEmpty());
  op.clock(WallTime{2000});
  EXPECT_THAT(op.output(Port::kEarly),
              UnorderedElementsAre(minute("a", "12:03", "12:04", 2, 2), minute("c", "12:03", "12:04", 1, 1)));
}

TEST(EarlyFiring, MayBeAddedOrTakenAwayBetweenTwoRuns) {
  WindowOptions options = per_minute();
  OperatorHarness op([&options] { return make_window_aggregate(options); }, {0});
  op.batch(click_batch({{"a", at("12:03")}}));
  options = with_early();
  op.restore(op.snapshot(), 1);
  EXPECT_THAT(op.held(Port::kEarly), IsEmpty());
  op.batch(click_batch({{"a", at("12:03")}}));
  op.clock(WallTime{1000});
  EXPECT_THAT(op.output(Port::kEarly), ElementsAre(minute("a", "12:03", "12:04", 2, 2)));

  options = per_minute();
  op.restore(op.snapshot(), 1);
  op.batch(click_batch({{"a", at("12:03")}}));
  op.watermark(at("12:04"));
  EXPECT_THAT(op.output(), ElementsAre(minute("a", "12:03", "12:04", 3, 3)));
}

// T1 to T3: what one subtask had closed stays closed for its keys, and only for them.
TEST(Floor, ARestoredJobJudgesEachKeyByTheSubtaskThatOwnedIt) {
  auto op = job(per_minute(), 2);
  op.watermark_of(0, at("12:10"));
  op.watermark_of(1, at("12:05"));
  const auto saved = op.snapshot();
  op.restore(saved, 1);
  std::vector<Click> clicks;
  int64_t of_first = 0;
  for (int i = 0; i < 64; ++i) clicks.push_back({"ad-" + std::to_string(i), at("12:07")});
  const auto batch = click_batch(clicks);
  std::vector<uint64_t> hashes;
  const std::vector<size_t> keys = {0};
  columnar::hash_rows(batch, keys, hashes);
  for (const uint64_t hash : hashes) of_first += columnar::key_group(hash, 128) < 64 ? 1 : 0;
  op.batch(batch);
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], of_first);
  EXPECT_EQ(op.ledger().in_state(), 64 - of_first);
}

TEST(Floor, TheFloorOutlivesASecondRestoreBeforeAnyWatermark) {
  auto op = job();
  op.watermark(at("12:10"));
  op.restore(op.snapshot(), 1);
  op.restore(op.snapshot(), 1);
  op.batch(click_batch({{"a", at("12:07")}, {"a", at("12:10")}}));
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], 1);
}

/// Partials in front of the window operator, as two operators in one job.
struct TwoPhases {
  explicit TwoPhases(Duration max_wait, const WindowOptions& options = per_minute())
      : partials([options, max_wait] { return make_pre_aggregate(options, max_wait); }, {}),
        windows(
            [options] {
              WindowOptions second = options;
              second.partial_input = true;
              return make_window_aggregate(second);
            },
            {0}) {}
  OperatorHarness partials;
  OperatorHarness windows;
};

TEST(PreAggregate, PartialsWaitForTheWatermarkTheBarrierOrTheirTime) {
  TwoPhases job(Duration{500});
  job.partials.batch(click_batch({{"a", at("12:03"), 2}, {"a", at("12:03"), 3}, {"b", at("12:04")}}));
  EXPECT_THAT(job.partials.output(), IsEmpty());
  EXPECT_EQ(job.partials.ledger().in_state(), 3);
  job.partials.watermark(at("12:00"));
  EXPECT_EQ(job.partials.output().size(), 2u);
  EXPECT_EQ(job.partials.ledger().in_state(), 0);

  job.partials.batch(click_batch({{"a", at("12:03")}}));
  job.partials.before_barrier();
  EXPECT_EQ(job.partials.output().size(), 1u);

  job.partials.batch(click_batch({{"a", at("12:03")}}));
  EXPECT_EQ(job.partials.next_wakeup(), WallTime{500});
  job.partials.clock(WallTime{500});
  EXPECT_EQ(job.partials.output().size(), 1u);
}

TEST(PreAggregate, LatenessIsJudgedPerRowBeforeAnyPartial) {
  TwoPhases job(Duration{500});
  job.partials.watermark(at("12:04"));
  job.partials.batch(click_batch({{"a", at("12:03")}, {"a", at("12:04")}}));
  EXPECT_EQ(job.partials.output(Port::kLate).size(), 1u);
  EXPECT_EQ(job.partials.ledger()[obs::Entry::kLate], 1);
  EXPECT_EQ(job.partials.ledger().in_state(), 1);
}

// Whether partial sums are made in front of a window follows from the parallelism, so its state must not.
TEST(PreAggregate, AWindowsStateFitsWithAndWithoutPartialsInFront) {
  const auto partial = std::make_shared<bool>(true);
  OperatorHarness windows(
      [partial] {
        WindowOptions options = with_early();
        options.partial_input = *partial;
        return make_window_aggregate(options);
      },
      {0});
  OperatorHarness sums([] { return make_pre_aggregate(with_early(), Duration{0}); }, {});
  const auto through_sums = [&](const std::vector<Click>& clicks) {
    sums.batch(click_batch(clicks));
    for (const auto& batch : sums.batches()) windows.batch(batch);
  };
  through_sums({{"a", at("12:03"), 5}, {"a", at("12:03"), 6}, {"b", at("12:04"), 7}});
  windows.clock(WallTime{1000});

  *partial = false;
  windows.restore(windows.snapshot(), 1);
  EXPECT_THAT(windows.held(Port::kEarly),
              ElementsAre(minute("a", "12:03", "12:04", 2, 11), minute("b", "12:04", "12:05", 1, 7)));
  windows.batch(click_batch({{"a", at("12:03"), 1}, {"b", at("12:04"), 1}, {"c", at("12:04"), 1}}));

  *partial = true;
  windows.restore(windows.snapshot(), 2);
  through_sums({{"b", at("12:04"), 2}, {"b", at("12:04"), 2}});
  windows.watermark(at("12:05"));
  EXPECT_THAT(windows.output(),
              UnorderedElementsAre(minute("a", "12:03", "12:04", 3, 12), minute("b", "12:04", "12:05", 4, 12),
                                   minute("c", "12:04", "12:05", 1, 1)));
  EXPECT_EQ(windows.ledger()[obs::Entry::kCounted], 6);  // two partials, three rows, one partial
  EXPECT_EQ(windows.ledger().in_state(), 0);
}

/// Random rows of a few keys and minutes around a watermark that moves on.
struct History {
  explicit History(uint64_t seed) : random(seed) {}
  std::vector<Click> rows() {
    std::vector<Click> clicks;
    const uint64_t n = random.below(6);
    for (uint64_t i = 0; i < n; ++i) {
      Click click{"ad-" + std::to_string(random.below(9)),
                  {now + random.between(-150'000, 100'000)},
                  random.between(-5, 5)};
      if (random.below(12) == 0) click.ad.reset();
      clicks.push_back(click);
    }
    return clicks;
  }
  void move() { now += random.between(0, 70'000); }
  Random random;
  int64_t now = -200'000;
};

// The parallelism decides whether rows or partials come in, and may change at a restore.
TEST(PreAggregate, StateFitsWithAndWithoutPartials) {
  bool partial_input = false;
  OperatorHarness windows(
      [&] {
        WindowOptions options = per_minute();
        options.partial_input = partial_input;
        return make_window_aggregate(options);
      },
      {0});
  TwoPhases two(Duration{0});
  windows.batch(click_batch({{"a", at("12:03"), 2}, {"b", at("12:03"), 3}}));
  partial_input = true;
  windows.restore(windows.snapshot(), 2);
  two.partials.batch(click_batch({{"a", at("12:03"), 5}}));
  for (const auto& batch : two.partials.batches()) windows.batch(batch);
  partial_input = false;
  windows.restore(windows.snapshot(), 1);
  windows.batch(click_batch({{"b", at("12:03"), 1}}));
  windows.watermark(at("12:04"));
  EXPECT_THAT(windows.output(),
              UnorderedElementsAre(minute("a", "12:03", "12:04", 2, 7), minute("b", "12:03", "12:04", 2, 4)));
}

// Snapshots are taken and restored at random, at parallelism 1 to 3: what comes out is what a run without
// them gives.
RC_GTEST_PROP(WindowAggregate, ARestoreAtAnyStepAndParallelismChangesNothing, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  History history(seed);
  auto straight = job();
  auto broken = job();
  std::vector<std::string> expected;
  std::vector<std::string> found;
  for (int step = 0; step < 60; ++step) {
    if (const auto clicks = history.rows(); !clicks.empty()) {
      straight.batch(click_batch(clicks));
      broken.batch(click_batch(clicks));
    }
    if (history.random.below(3) == 0) {
      history.move();
      straight.watermark({history.now});
      broken.watermark({history.now});
    }
    for (const Port port : {Port::kMain, Port::kLate}) {
      for (auto& row : straight.output(port)) expected.push_back(std::move(row));
      for (auto& row : broken.output(port)) found.push_back(std::move(row));
    }
    if (history.random.below(4) == 0) {
      broken.restore(broken.snapshot(), static_cast<int32_t>(1 + history.random.below(3)));
    }
  }
  std::ranges::sort(expected);
  std::ranges::sort(found);
  RC_ASSERT(expected == found);
  RC_ASSERT(straight.ledger() == broken.ledger());
}

RC_GTEST_PROP(PreAggregate, GivesWhatTheWindowOperatorGivesAlone, ()) {
  History history(*rc::gen::arbitrary<uint64_t>());
  auto alone = job();
  TwoPhases two(Duration{*rc::gen::element(0, 500)});
  for (int step = 0; step < 40; ++step) {
    const auto clicks = history.rows();
    if (clicks.empty()) continue;
    alone.batch(click_batch(clicks));
    two.partials.batch(click_batch(clicks));
    for (const auto& batch : two.partials.batches()) two.windows.batch(batch);
    if (history.random.below(3) != 0) continue;
    history.move();
    for (OperatorHarness* op : {&alone, &two.partials}) op->watermark({history.now});
    for (const auto& batch : two.partials.batches()) two.windows.batch(batch);
    two.windows.watermark({history.now});
    auto a = alone.output();
    auto b = two.windows.output();
    std::ranges::sort(a);
    std::ranges::sort(b);
    RC_ASSERT(a == b);
    RC_ASSERT(alone.output(Port::kLate) == two.partials.output(Port::kLate));
    RC_ASSERT(two.windows.ledger()[obs::Entry::kLate] == 0);
  }
}

}  // namespace
}  // namespace strand::ops
