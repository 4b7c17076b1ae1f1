// Snapshots whose files are written while rows go on: they hold what was there at the barrier, also beyond
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/bytes.h"
#include "base/random.h"
#include "ops/changing_group.h"
#include "ops/interval_join.h"
#include "ops/keys.h"
#include "ops/operators.h"
#include "ops/over_aggregate.h"
#include "ops/regular_join.h"
#include "ops/rowtime_deduplicate.h"
#include "ops/temporal_join.h"
#include "ops/top_n.h"
#include "ops/window_join.h"
#include "state/key_table.h"
#include "state/spill/memory_spill.h"
#include "tests/support/click_rows.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using expr::Aggregate;
using expr::WindowKind;
using strand::testing::at;
using strand::testing::Click;
using strand::testing::click_batch;
using strand::testing::click_schema;
using strand::testing::HarnessSnapshot;
using strand::testing::OperatorHarness;

/// COUNT(*) and the largest and smallest text of a number.
std::vector<Aggregate> extremes() {
  const auto text = make_type(TypeKind::kString);
  return {{Aggregate::Kind::kCountStar, 0, nullptr, make_type(TypeKind::kBigInt, false), "n"},
          {Aggregate::Kind::kMax, 0, text, text, "largest"},
          {Aggregate::Kind::kMin, 0, text, text, "smallest"}};
}

std::vector<columnar::Field> output_of(std::vector<columnar::Field> fields) {
  for (const Aggregate& a : extremes()) fields.push_back({a.name, a.type});
  return fields;
}

WindowOptions windows(WindowKind kind, bool early) {
  WindowOptions options;
  options.input = click_schema();
  options.keys = {2};
  options.time_column = 1;
  options.kind = kind;
  options.size = Duration{60'000};
  options.step = Duration{kind == WindowKind::kTumble || kind == WindowKind::kSession ? 0 : 20'000};
  if (early) options.early_delay = Duration{1000};
  options.aggregates = extremes();
  const auto time = columnar::timestamp_type(3, false, false);
  options.output = std::make_shared<const columnar::Schema>(
      output_of({(*click_schema())[2], {"window_start", time}, {"window_end", time}, {"window_time", time}}));
  return options;
}

OperatorHarness::Make window_job(WindowKind kind, bool early = false) {
  return [=] { return make_window_aggregate(windows(kind, early)); };
}

/// How many different texts there are of a number in each window.
WindowOptions distinct_windows() {
  WindowOptions options = windows(WindowKind::kHop, false);
  const auto text = make_type(TypeKind::kString);
  options.aggregates.push_back(
      {Aggregate::Kind::kCount, 0, text, make_type(TypeKind::kBigInt), "texts", true});
  std::vector<columnar::Field> fields = options.output->fields();
  fields.push_back({"texts", make_type(TypeKind::kBigInt)});
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return options;
}
Result<OperatorPtr> distinct_texts_of_windows() { return make_window_aggregate(distinct_windows()); }

Result<OperatorPtr> totals() {
  GroupOptions options;
  options.input = click_schema();
  options.keys = {2};
  options.aggregates = extremes();
  options.output = std::make_shared<const columnar::Schema>(output_of({(*click_schema())[2]}));
  options.retention_column = 1;
  options.retention_after = Duration{120'000};
  return make_group_aggregate(options);
}

/// How many different texts there are of a number, and all of them.
Result<OperatorPtr> distinct_texts() {
  const auto text = make_type(TypeKind::kString);
  GroupOptions options;
  options.input = click_schema();
  options.keys = {2};
  options.aggregates = extremes();
  options.aggregates.push_back(
      {Aggregate::Kind::kCount, 0, text, make_type(TypeKind::kBigInt), "texts", true});
  options.aggregates.push_back(
      {Aggregate::Kind::kCollect, 0, text, columnar::multiset_type(text), "all", false});
  std::vector<columnar::Field> fields = {(*click_schema())[2]};
  for (const Aggregate& a : options.aggregates) fields.push_back({a.name, a.type});
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return make_group_aggregate(options);
}

OperatorHarness::Make interval_job(IntervalJoinOptions::Rules rules) {
  IntervalJoinOptions options;
  options.rules = rules;
  options.lower = Duration{-40'000};
  options.upper = Duration{60'000};
  std::vector<columnar::Field> fields;
  for (auto& side : options.sides) {
    side.schema = click_schema();
    side.keys = {2};
    side.time_column = 1;
    fields.insert(fields.end(), side.schema->fields().begin(), side.schema->fields().end());
  }
  options.sides[0].outer = rules == IntervalJoinOptions::Rules::kSql;
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return [options] { return make_interval_join(options); };
}

OperatorHarness::Make regular_job(bool outer) {
  RegularJoinOptions options;
  std::vector<columnar::Field> fields;
  for (auto& side : options.sides) {
    side = {click_schema(), {2}, outer};
    fields.insert(fields.end(), side.schema->fields().begin(), side.schema->fields().end());
  }
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return [options] { return make_regular_join(options); };
}

/// Rows of the same number at the same time, which is the end of their window.
OperatorHarness::Make window_join_job(bool outer) {
  WindowJoinOptions options;
  std::vector<columnar::Field> fields;
  for (auto& side : options.sides) {
    side = {click_schema(), {2}, 1, outer};
    fields.insert(fields.end(), side.schema->fields().begin(), side.schema->fields().end());
  }
  options.pairs = options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return [options] { return make_window_join(options); };
}

/// Each row with the newest text of its number.
Result<OperatorPtr> versions() {
  TemporalJoinOptions options;
  std::vector<columnar::Field> fields;
  for (auto& side : options.sides) {
    side = {click_schema(), {2}, 1};
    fields.insert(fields.end(), side.schema->fields().begin(), side.schema->fields().end());
  }
  options.outer = true;
  options.pairs = options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return make_temporal_join(options);
}

/// Each row with how many of its number there were before.
Result<OperatorPtr> counted_so_far() {
  OverOptions options;
  options.input = click_schema();
  options.keys = {2};
  options.time_column = 1;
  options.aggregates = {extremes()[0]};
  std::vector<columnar::Field> fields = click_schema()->fields();
  fields.push_back({"n", options.aggregates[0].type});
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return make_over_aggregate(options);
}

/// The two highest texts of each number.
Result<OperatorPtr> ranks() {
  TopNOptions options;
  options.input = options.output = click_schema();
  options.keys = {2};
  options.order = {{0, /*descending=*/true}};
  options.to = 2;
  return make_top_n(options);
}

/// The last row of each number, or the first when its time has come.
OperatorHarness::Make row_of_each(bool first) {
  RowtimeDeduplicateOptions options;
  options.input = click_schema();
  options.keys = {2};
  options.time_column = 1;
  options.wait = first;
  options.last = !first;
  options.retention_column = 1;
  options.retention_after = Duration{120'000};
  return [options] { return make_rowtime_deduplicate(options); };
}

/// Rows that come at random, with texts that grow, move and outgrow a page. Coarse: many of one number at one
/// time.
class Story {
 public:
  explicit Story(uint64_t seed, int inputs = 1, bool coarse = false)
      : random_(seed), inputs_(static_cast<uint64_t>(inputs)), coarse_(coarse) {}
  void go_on(OperatorHarness& a, OperatorHarness& b, int steps) {
    for (int step = 0; step < steps; ++step) {
      std::vector<Click> clicks;
      for (uint64_t i = random_.below(100); i > 0; --i) clicks.push_back(click());
      const columnar::Batch batch = click_batch(clicks);
      const auto input = static_cast<int>(random_.below(inputs_));
      for (OperatorHarness* op : {&a, &b}) {
        if (!clicks.empty()) op->batch(batch, input);
        op->watermark(EventTime{now_.millis - 30'000});
        op->clock(WallTime{now_.millis});
      }
      now_ = now_ + Duration{static_cast<int64_t>(random_.below(20'000))};
    }
  }

 private:
  Click click() {
    std::string text = std::to_string(random_.below(1000));
    if (random_.below(10) == 0) text.resize(random_.below(50), 'x');
    if (random_.below(200) == 0) text.resize(random_.below(9000), 'y');
    const int64_t time = now_.millis - static_cast<int64_t>(random_.below(60'000));
    const auto number = static_cast<int64_t>(random_.below(2000));
    if (coarse_) return {text, EventTime{time - time % 20'000}, number % 50};
    return {text, EventTime{time}, number};
  }
  Random random_;
  uint64_t inputs_;
  bool coarse_;
  EventTime now_ = at("12:00");
};

/// What a restored operator tells and emits to its end.
std::multiset<std::string> end_of(const OperatorHarness::Make& make, const OperatorHarness& of,
                                  const HarnessSnapshot& snapshot, int inputs,
                                  state::SpillSpace* space = nullptr) {
  OperatorHarness op(make, {2}, 1, of.files(), space);
  op.restore(snapshot, 2);
  std::multiset<std::string> rows;
  const auto take = [&rows](const std::vector<std::string>& some) { rows.insert(some.begin(), some.end()); };
  take(op.held());
  take(op.held(Port::kEarly));
  if (inputs == 2) op.batch(click_batch({{"partner", at("12:01"), 7}, {"partner", at("12:02"), 8}}), 1);
  op.watermark(EventTime::max());
  take(op.output());
  return rows;
}

std::multiset<std::string> rows_of(OperatorHarness& op) {
  const auto rows = op.output();
  return {rows.begin(), rows.end()};
}

/// One operator writes its snapshots at once, another much later; some are lost. With a `space`, the later
/// one's state lies there, and either kind of state goes on from its snapshots.
void check_late_files(const OperatorHarness::Make& make, int inputs = 1, state::SpillSpace* space = nullptr,
                      bool coarse = false) {
  OperatorHarness at_once(make, {2}, 2);
  OperatorHarness later(make, {2}, 2, std::make_shared<strand::testing::MemoryFileSystem>(), space);
  Story story(*rc::gen::arbitrary<uint64_t>(), inputs, coarse);
  Random random(*rc::gen::arbitrary<uint64_t>());
  for (int snapshot = 0; snapshot < 3; ++snapshot) {
    story.go_on(at_once, later, static_cast<int>(random.below(6)));
    const bool lost = random.below(4) == 0;
    const HarnessSnapshot right = at_once.snapshot(lost);
    auto started = later.start_snapshot();
    story.go_on(at_once, later, static_cast<int>(random.below(6)));
    const HarnessSnapshot late = later.finish(std::move(started), lost);
    RC_ASSERT(rows_of(later) == rows_of(at_once));
    const auto end = end_of(make, at_once, right, inputs);
    RC_ASSERT(end_of(make, later, late, inputs) == end);
    if (space != nullptr) RC_ASSERT(end_of(make, later, late, inputs, space) == end);
  }
}

RC_GTEST_PROP(FrozenState, TumblingWindows, ()) { check_late_files(window_job(WindowKind::kTumble)); }
RC_GTEST_PROP(FrozenState, WindowsWithEarlyTotals, ()) {
  check_late_files(window_job(WindowKind::kTumble, true));
}
RC_GTEST_PROP(FrozenState, HoppingWindows, ()) { check_late_files(window_job(WindowKind::kHop)); }
RC_GTEST_PROP(FrozenState, CumulatingWindows, ()) { check_late_files(window_job(WindowKind::kCumulate)); }
RC_GTEST_PROP(FrozenState, DistinctValuesOfWindows, ()) { check_late_files(distinct_texts_of_windows); }
RC_GTEST_PROP(FrozenState, Sessions, ()) { check_late_files(window_job(WindowKind::kSession)); }
RC_GTEST_PROP(FrozenState, RunningTotals, ()) { check_late_files(totals); }

RC_GTEST_PROP(FrozenState, IntervalJoinsOfSql, ()) {
  check_late_files(interval_job(IntervalJoinOptions::Rules::kSql), 2);
}
RC_GTEST_PROP(FrozenState, IntervalJoinsOfStreams, ()) {
  check_late_files(interval_job(IntervalJoinOptions::Rules::kStream), 2);
}

RC_GTEST_PROP(FrozenState, RegularJoins, ()) { check_late_files(regular_job(false), 2); }
RC_GTEST_PROP(FrozenState, WindowJoins, ()) {
  check_late_files(window_join_job(true), 2, nullptr, /*coarse=*/true);
}
RC_GTEST_PROP(FrozenState, ValuesOfGroups, ()) { check_late_files(distinct_texts); }
RC_GTEST_PROP(FrozenState, Ranks, ()) { check_late_files(ranks); }
RC_GTEST_PROP(FrozenState, TheLastRowOfEachKey, ()) { check_late_files(row_of_each(false)); }
RC_GTEST_PROP(FrozenState, TheFirstRowOfEachKey, ()) { check_late_files(row_of_each(true)); }
RC_GTEST_PROP(FrozenState, RowsThatWait, ()) { check_late_files(counted_so_far); }
RC_GTEST_PROP(FrozenState, Versions, ()) { check_late_files(versions, 2); }
RC_GTEST_PROP(FrozenState, OuterRegularJoins, ()) { check_late_files(regular_job(true), 2); }

/// Nothing stays in memory for longer than a batch.
void check_beyond_memory(const OperatorHarness::Make& make, int inputs = 1, bool coarse = false) {
  const auto space = state::make_memory_space(0);
  check_late_files(make, inputs, space.get(), coarse);
}
RC_GTEST_PROP(BeyondMemory, TumblingWindows, ()) { check_beyond_memory(window_job(WindowKind::kTumble)); }
RC_GTEST_PROP(BeyondMemory, HoppingWindows, ()) { check_beyond_memory(window_job(WindowKind::kHop)); }
RC_GTEST_PROP(BeyondMemory, CumulatingWindows, ()) { check_beyond_memory(window_job(WindowKind::kCumulate)); }
RC_GTEST_PROP(BeyondMemory, DistinctValuesOfWindows, ()) { check_beyond_memory(distinct_texts_of_windows); }
RC_GTEST_PROP(BeyondMemory, Sessions, ()) { check_beyond_memory(window_job(WindowKind::kSession)); }
RC_GTEST_PROP(BeyondMemory, RunningTotals, ()) { check_beyond_memory(totals); }
RC_GTEST_PROP(BeyondMemory, WindowsWithEarlyTotalsStayInMemory, ()) {
  check_beyond_memory(window_job(WindowKind::kTumble, true));
}

RC_GTEST_PROP(BeyondMemory, IntervalJoinsOfSql, ()) {
  check_beyond_memory(interval_job(IntervalJoinOptions::Rules::kSql), 2);
}
RC_GTEST_PROP(BeyondMemory, IntervalJoinsOfStreams, ()) {
  check_beyond_memory(interval_job(IntervalJoinOptions::Rules::kStream), 2);
}
RC_GTEST_PROP(BeyondMemory, RegularJoins, ()) { check_beyond_memory(regular_job(false), 2); }
RC_GTEST_PROP(BeyondMemory, OuterRegularJoins, ()) { check_beyond_memory(regular_job(true), 2); }
RC_GTEST_PROP(BeyondMemory, WindowJoins, ()) { check_beyond_memory(window_join_job(false), 2, true); }
RC_GTEST_PROP(BeyondMemory, OuterWindowJoins, ()) { check_beyond_memory(window_join_job(true), 2, true); }
RC_GTEST_PROP(BeyondMemory, Versions, ()) { check_beyond_memory(versions, 2); }
RC_GTEST_PROP(BeyondMemory, ValuesOfGroups, ()) { check_beyond_memory(distinct_texts); }
RC_GTEST_PROP(BeyondMemory, Ranks, ()) { check_beyond_memory(ranks); }
RC_GTEST_PROP(BeyondMemory, TheLastRowOfEachKey, ()) { check_beyond_memory(row_of_each(false)); }
RC_GTEST_PROP(BeyondMemory, TheFirstRowOfEachKey, ()) { check_beyond_memory(row_of_each(true)); }

std::set<std::string> files_of(const HarnessSnapshot& snapshot) {
  std::set<std::string> files;
  for (const auto& ref : snapshot.sections) files.insert(ref.file);
  return files;
}

/// A row of each of many keys: enough for a file.
columnar::Batch many_keys(const std::string& time) {
  std::vector<Click> clicks;
  for (int64_t key = 0; key < 2000; ++key) clicks.push_back({"a", at(time), key});
  return click_batch(clicks);
}

TEST(FrozenState, AWindowThatNoRowHasReachedIsNotWrittenAgain) {
  OperatorHarness op(window_job(WindowKind::kTumble), {2});
  op.batch(many_keys("12:00"));
  const auto first = op.snapshot();
  EXPECT_EQ(files_of(first).size(), 2u);  // the window, and what is small
  op.batch(many_keys("12:01"));
  const auto second = op.snapshot();
  op.batch(click_batch({{"b", at("12:00"), 7}}));
  const auto third = op.snapshot();

  const auto shared = [](const HarnessSnapshot& a, const HarnessSnapshot& b) {
    std::set<std::string> both;
    std::ranges::set_intersection(files_of(a), files_of(b), std::inserter(both, both.end()));
    return both.size();
  };
  EXPECT_EQ(shared(first, second), 1u);  // 12:00
  EXPECT_EQ(shared(second, third), 1u);  // 12:01
  EXPECT_EQ(shared(first, third), 0u);
  op.restore(third, 1);
  op.watermark(EventTime::max());
  EXPECT_EQ(op.output().size(), 4000u);
}

// Runs are written to a snapshot once and then referred to, and go with their window.
TEST(BeyondMemory, ARunIsInOneFileWhileItsWindowIsOpen) {
  const auto space = state::make_memory_space(0);
  OperatorHarness op(window_job(WindowKind::kTumble), {2}, 1,
                     std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  op.batch(many_keys("12:00"));
  const auto first = op.snapshot();
  op.batch(many_keys("12:00"));
  op.batch(many_keys("12:01"));
  const auto second = op.snapshot();
  std::set<std::string> shared;
  std::ranges::set_intersection(files_of(first), files_of(second), std::inserter(shared, shared.end()));
  EXPECT_EQ(shared.size(), 1u);
  EXPECT_EQ(op.op().state_rows(), 6000);
  EXPECT_TRUE(op.op().spills());

  op.watermark(at("12:01"));
  EXPECT_EQ(op.output().size(), 2000u);
  EXPECT_EQ(op.op().state_rows(), 2000);
  for (const std::string& file : files_of(op.snapshot())) EXPECT_FALSE(files_of(first).contains(file));
}

/// One session of each of many keys, which end one after the other, not in the order of keys.
void add_sessions(OperatorHarness& op, int64_t keys) {
  for (int64_t from = 0; from < keys; from += 1000) {
    std::vector<Click> clicks;
    for (int64_t key = from; key < from + 1000; ++key)
      clicks.push_back({"a", EventTime{at("12:00").millis + key * 7919 % keys}, key});
    op.batch(click_batch(clicks));
  }
}

// They come back some thousands at a time, and are told in the order of their ends all the same.
TEST(BeyondMemory, SessionsEndInTheOrderOfTheirTime) {
  constexpr int64_t kKeys = 20'000;
  const auto space = state::make_memory_space(0);
  OperatorHarness cold(window_job(WindowKind::kSession), {2}, 1,
                       std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  OperatorHarness heap(window_job(WindowKind::kSession), {2});
  for (OperatorHarness* op : {&cold, &heap}) {
    add_sessions(*op, kKeys);
    EXPECT_EQ(op->op().state_rows(), kKeys);
    op->watermark(EventTime{at("12:01").millis + 9'000});
  }
  const auto some = heap.output();
  EXPECT_EQ(some.size(), 9'002u);  // a session of a row at t ends at t + 1 min - 1 ms
  EXPECT_EQ(cold.output(), some);
  // A key whose session has ended begins anew, one whose session goes on does not.
  for (OperatorHarness* op : {&cold, &heap}) {
    op->batch(click_batch({{"b", at("12:01:30"), 0}, {"b", EventTime{at("12:01").millis + 15'000}, 7}}));
    EXPECT_EQ(op->op().state_rows(), kKeys - 9'002 + 1);
    op->watermark(EventTime::max());
    EXPECT_EQ(op->op().state_rows(), 0);
  }
  EXPECT_EQ(cold.output(), heap.output());
}

TEST(BeyondMemory, SessionsStayNearTheShareOfTheTable) {
  constexpr int64_t kKeys = 200'000;
  const auto space = state::make_memory_space(1 << 20);
  OperatorHarness op(window_job(WindowKind::kSession), {2}, 1,
                     std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  add_sessions(op, kKeys);
  EXPECT_LT(op.memory_used(), 4 << 20);
  op.watermark(EventTime::max());
  EXPECT_EQ(op.output().size(), static_cast<size_t>(kKeys));
  EXPECT_LT(op.memory_used(), 4 << 20);
}

// A window of many times its share of memory.
TEST(BeyondMemory, MemoryStaysNearTheShareOfTheTable) {
  constexpr int64_t kKeys = 200'000;
  const auto space = state::make_memory_space(1 << 20);
  OperatorHarness op(window_job(WindowKind::kHop), {2}, 1,
                     std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  int64_t most = 0;
  for (int64_t key = 0; key < kKeys; key += 1000) {
    std::vector<Click> clicks;
    for (int64_t i = 0; i < 1000; ++i) clicks.push_back({"a", at("12:00"), key + i});
    op.batch(click_batch(clicks));
    most = std::max(most, op.memory_used());
  }
  op.watermark(at("12:00:20"));
  EXPECT_EQ(op.output().size(), static_cast<size_t>(kKeys));
  EXPECT_LT(std::max(most, op.memory_used()), 4 << 20);
}

constexpr int64_t kWideShare = int64_t{4} << 20;
constexpr int64_t kWideKeys = 20'000;
const std::string kWideText(2000, 'x');

/// Rows of many times its share of memory on the left; returns the most memory that it had.
int64_t add_wide_rows(OperatorHarness& op) {
  EXPECT_TRUE(op.op().spills());
  int64_t most = 0;
  for (int64_t key = 0; key < kWideKeys; key += 200) {
    std::vector<Click> clicks;
    for (int64_t i = 0; i < 200; ++i)
      clicks.push_back({kWideText + std::to_string(key + i), at("12:00"), key + i});
    op.batch(click_batch(clicks));
    most = std::max(most, op.memory_used());
  }
  return most;
}

/// A join that answers at once, also after a restore.
void check_wide_rows(const OperatorHarness::Make& make) {
  const auto space = state::make_memory_space(kWideShare);
  OperatorHarness op(make, {2}, 1, std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  int64_t most = add_wide_rows(op);
  EXPECT_GT(space->disk().state, 9 * kWideShare);
  for (const bool restored : {false, true}) {
    Random random(1);
    for (int i = 0; i < 1000; ++i) {
      const auto key = static_cast<int64_t>(random.below(kWideKeys));
      op.batch(click_batch({{"partner", at("12:00"), key}}), 1);
      const auto found = op.output();
      ASSERT_FALSE(found.empty());
      ASSERT_THAT(found[0], ::testing::HasSubstr(kWideText + std::to_string(key) + ","));
      most = std::max(most, op.memory_used());
    }
    EXPECT_LT(most, kWideShare * 5 / 4);
    const auto snapshot = op.snapshot();
    if (!restored) op.restore(snapshot, 1);
    most = op.memory_used();
  }
}
TEST(BeyondMemory, WideRowsOfAJoinStayNearTheShareOfTheTable) { check_wide_rows(regular_job(false)); }
TEST(BeyondMemory, WideRowsOfAWindowJoinStayNearTheShareOfTheTable) {
  const auto space = state::make_memory_space(kWideShare);
  OperatorHarness op(window_join_job(false), {2}, 1, std::make_shared<strand::testing::MemoryFileSystem>(),
                     space.get());
  int64_t most = add_wide_rows(op);
  EXPECT_GT(space->disk().state, 9 * kWideShare);
  op.restore(op.snapshot(), 1);
  for (int64_t key = 0; key < kWideKeys; key += 100)
    op.batch(click_batch({{"partner", at("12:00"), key}}), 1);
  op.watermark(at("12:00"));
  const auto found = op.output();
  ASSERT_EQ(found.size(), 200u);
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_THAT(found[i], ::testing::HasSubstr(kWideText + std::to_string(100 * i) + ","));
  EXPECT_LT(std::max(most, op.memory_used()), kWideShare * 5 / 4);
}
TEST(BeyondMemory, WideRowsOfAnIntervalJoinStayNearTheShareOfTheTable) {
  check_wide_rows(interval_job(IntervalJoinOptions::Rules::kStream));
}

// Before values lay in a log, a window was written with them.
TEST(FrozenState, ValuesOfWindowsOfAnEarlierFormAreRead) {
  const WindowOptions options = distinct_windows();
  const columnar::Batch batch = click_batch({{"a", at("12:00"), 7}, {"b", at("12:00"), 7}});
  GroupResults results(options.aggregates, *options.output, options.keys.size() + 3, false);
  ChangingGroup group;
  for (uint32_t row = 0; row < 2; ++row) results.change(batch, row, /*back=*/false, group);
  Keys keys(options.input, options.keys);
  keys.read(batch, std::vector<uint32_t>{0, 1});
  ByteWriter bytes;
  bytes.put(at("12:01").millis);
  state::KeyTable::encode_key(keys.hashes()[0], keys.keys()[0], bytes);
  results.encode(group, bytes);
  bytes.put(int64_t{2});
  bytes.put(uint8_t{0});
  OperatorHarness op(distinct_texts_of_windows, {2});
  state::SnapshotBuilder builder(Epoch{1}, {0, 127});
  builder.set_operator("op");
  builder.add("windows", 1, bytes.take());
  auto sections = builder.write(*op.files(), "files");
  ASSERT_TRUE(sections.ok());
  obs::Ledger ledger;
  ledger.add(obs::Entry::kIn, 2);
  op.restore({Epoch{1}, *sections, {}, ledger}, 1);
  op.batch(click_batch({{"b", at("12:00"), 7}, {"c", at("12:00:30"), 7}}));
  op.watermark(at("12:01"));
  const auto rows = op.output();
  ASSERT_FALSE(rows.empty());
  EXPECT_THAT(rows.back(), ::testing::HasSubstr("4, c, a, 3]"));
}

TEST(FrozenState, WhatALostSnapshotHoldsIsWrittenAgain) {
  OperatorHarness op(window_job(WindowKind::kTumble), {2});
  op.batch(many_keys("12:00"));
  const auto lost = op.snapshot(/*lost=*/true);
  const auto next = op.snapshot();
  for (const std::string& file : files_of(next)) EXPECT_FALSE(files_of(lost).contains(file));
}

}  // namespace
}  // namespace strand::ops
