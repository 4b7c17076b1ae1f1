// HOP, CUMULATE and SESSION, by example and against a slow model that keeps every window of every row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/random.h"
#include "ops/late_rows.h"
#include "ops/operators.h"
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
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// SELECT ad, window_start, window_end, window_time, COUNT(*), SUM(spend), MIN(spend) …
WindowOptions windows(WindowKind kind, int64_t size, int64_t step = 0, int64_t offset = 0) {
  WindowOptions options;
  options.input = click_schema();
  options.keys = {0};
  options.time_column = 1;
  options.kind = kind;
  options.size = Duration{size};
  options.step = Duration{step};
  options.offset = Duration{offset};
  const auto bigint = make_type(TypeKind::kBigInt);
  const auto count = make_type(TypeKind::kBigInt, false);
  options.aggregates = {{Aggregate::Kind::kCountStar, 0, nullptr, count, "n"},
                        {Aggregate::Kind::kSum, 2, bigint, bigint, "spend"},
                        {Aggregate::Kind::kMin, 2, bigint, bigint, "least"}};
  const auto local = columnar::timestamp_type(3, false, false);
  const auto instant = columnar::timestamp_type(3, true, false);
  options.output =
      std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{(*click_schema())[0],
                                                                            {"window_start", local},
                                                                            {"window_end", local},
                                                                            {"window_time", instant},
                                                                            {"n", count},
                                                                            {"spend", bigint},
                                                                            {"least", bigint}});
  std::vector<columnar::Field> late = click_schema()->fields();
  late.insert(late.end(), {{"window_start", local},
                           {"window_end", local},
                           {"judge", instant},
                           {"fully_late", make_type(TypeKind::kBoolean, false)}});
  options.late_output = std::make_shared<const columnar::Schema>(late);
  return options;
}

OperatorHarness job(const WindowOptions& options, int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_window_aggregate(options); }, {0}, parallelism);
}

/// A row of milliseconds, so that examples stay small.
Click row(const std::string& ad, int64_t millis, int64_t spend = 1) { return {ad, {millis}, spend}; }

struct Total {
  int64_t n = 0;
  int64_t spend = 0;
  int64_t least = INT64_MAX;
  void add(const Total& other) {
    n += other.n;
    spend += other.spend;
    least = std::min(least, other.least);
  }
};

void append_ad(const std::optional<std::string>& ad, columnar::ColumnBuilder& out) {
  if (ad) {
    out.append_string(*ad);
  } else {
    out.append_null();
  }
}

std::string result(const std::optional<std::string>& ad, int64_t start, int64_t end, const Total& total) {
  columnar::BatchBuilder out(windows(WindowKind::kTumble, 1).output);
  append_ad(ad, out.column(0));
  append_timestamp(start, out.column(1));
  append_timestamp(end, out.column(2));
  append_timestamp(end - 1, out.column(3));
  out.column(4).append(total.n);
  out.column(5).append(total.spend);
  out.column(6).append(total.least);
  out.end_row();
  return columnar::row_to_string(out.finish(), 0);
}

std::string missed(const Click& click, int64_t start, int64_t end, EventTime judge, bool fully) {
  columnar::BatchBuilder out(windows(WindowKind::kTumble, 1).late_output);
  append_ad(click.ad, out.column(0));
  out.column(1).append(click.time.millis);
  out.column(2).append(click.spend);
  append_timestamp(start, out.column(3));
  append_timestamp(end, out.column(4));
  append_timestamp(judge.millis, out.column(5));
  out.column(6).append_boolean(fully);
  out.end_row();
  return columnar::row_to_string(out.finish(), 0);
}

TEST(Hop, ARowCountsInEachWindowThatHoldsIt) {
  auto op = job(windows(WindowKind::kHop, 10, 5));
  op.batch(click_batch({row("a", 3, 2), row("a", 7, 3)}));
  EXPECT_EQ(op.ledger().in_state(), 2);
  op.watermark({4});
  EXPECT_THAT(op.output(), ElementsAre(result("a", -5, 5, {1, 2, 2})));
  op.watermark({100});
  EXPECT_THAT(op.output(), ElementsAre(result("a", 0, 10, {2, 5, 2}), result("a", 5, 15, {1, 3, 3})));
  EXPECT_EQ(op.ledger().in_state(), 0);
  EXPECT_EQ(op.ledger()[obs::Entry::kCounted], 2);
}

TEST(Hop, ASizeThatIsNoMultipleOfTheSlideIsCutIntoSlicesOfBoth) {
  auto op = job(windows(WindowKind::kHop, 10, 4));
  op.batch(click_batch({row("a", 1), row("a", 5), row("a", 9)}));
  op.watermark({100});
  EXPECT_THAT(op.output(), ElementsAre(result("a", -8, 2, {1, 1, 1}), result("a", -4, 6, {2, 2, 1}),
                                       result("a", 0, 10, {3, 3, 1}), result("a", 4, 14, {2, 2, 1}),
                                       result("a", 8, 18, {1, 1, 1})));
}

TEST(Hop, ALateRowCountsInTheWindowsThatAreOpenAndTellsWhichItMissed) {
  auto op = job(windows(WindowKind::kHop, 10, 5));
  op.watermark({4});
  op.batch(click_batch({row("a", 2)}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(missed(row("a", 2), -5, 5, {4}, false)));
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], 0);
  op.watermark({9});
  EXPECT_THAT(op.output(), ElementsAre(result("a", 0, 10, {1, 1, 1})));
  op.batch(click_batch({row("a", 2)}));
  EXPECT_THAT(op.output(Port::kLate),
              ElementsAre(missed(row("a", 2), -5, 5, {9}, true), missed(row("a", 2), 0, 10, {9}, true)));
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], 1);
}

TEST(Cumulate, TotalsGrowStepByStep) {
  auto op = job(windows(WindowKind::kCumulate, 15, 5));
  op.batch(click_batch({row("a", 7, 2), row("a", 12, 3), row("b", 1)}));
  op.watermark({100});
  EXPECT_THAT(op.output(), ElementsAre(result("b", 0, 5, {1, 1, 1}), result("b", 0, 10, {1, 1, 1}),
                                       result("a", 0, 10, {1, 2, 2}), result("b", 0, 15, {1, 1, 1}),
                                       result("a", 0, 15, {2, 5, 2})));
  EXPECT_EQ(op.ledger().in_state(), 0);
}

TEST(Cumulate, ALateRowCountsFromTheNextStepOn) {
  auto op = job(windows(WindowKind::kCumulate, 15, 5));
  op.batch(click_batch({row("a", 3)}));
  op.watermark({4});
  op.batch(click_batch({row("a", 1)}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(missed(row("a", 1), 0, 5, {4}, false)));
  op.watermark({14});
  EXPECT_THAT(op.output(), ElementsAre(result("a", 0, 5, {1, 1, 1}), result("a", 0, 10, {2, 2, 1}),
                                       result("a", 0, 15, {2, 2, 1})));
  op.batch(click_batch({row("a", 3)}));
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], 1);
}

// A rescale brings key groups together whose subtasks had come to different times.
TEST(Floor, AWindowIsNotEmittedAgainForTheKeysWhoseSubtaskHadEmittedIt) {
  for (const WindowKind kind : {WindowKind::kHop, WindowKind::kCumulate}) {
    auto op = job(windows(kind, 20, 10), 2);
    std::vector<Click> clicks;
    for (int i = 0; i < 64; ++i) clicks.push_back(row("ad-" + std::to_string(i), 5));
    op.batch(click_batch(clicks));
    op.watermark_of(0, {9});
    const size_t first = op.output().size();
    EXPECT_GT(first, 0u);
    op.restore(op.snapshot(), 1);
    op.watermark({9});
    EXPECT_EQ(op.output().size(), 64 - first);
    op.watermark({19});
    EXPECT_EQ(op.output().size(), 64u);
  }
}

TEST(Session, RowsExactlyOneGapApartBelongTogether) {
  auto op = job(windows(WindowKind::kSession, 10));
  op.batch(click_batch({row("a", 0, 1), row("a", 10, 2), row("a", 21, 4), row("b", 5, 8)}));
  EXPECT_EQ(op.ledger().in_state(), 4);
  op.watermark({19});
  EXPECT_THAT(op.output(), ElementsAre(result("b", 5, 15, {1, 8, 8}), result("a", 0, 20, {2, 3, 1})));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(), ElementsAre(result("a", 21, 31, {1, 4, 4})));
  EXPECT_EQ(op.ledger().in_state(), 0);
}

TEST(Session, ARowBetweenTwoSessionsMakesThemOne) {
  auto op = job(windows(WindowKind::kSession, 10));
  op.batch(click_batch({row("a", 40, 1), row("a", 0, 2), row("a", 20, 4), row("a", 21, 8), row("a", 10, 16),
                        row("a", 30, 32), row("a", 60, 64)}));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(), ElementsAre(result("a", 0, 50, {6, 63, 1}), result("a", 60, 70, {1, 64, 64})));
}

TEST(Session, ALateRowIsOnTimeWhereItTouchesAnOpenSession) {
  auto op = job(windows(WindowKind::kSession, 10));
  op.batch(click_batch({row("a", 20)}));
  op.watermark({22});
  op.batch(click_batch({row("a", 12), row("a", 5), row("b", 5)}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(missed(row("b", 5), 5, 15, {22}, true)));
  op.watermark({40});
  EXPECT_THAT(op.output(), ElementsAre(result("a", 5, 30, {3, 3, 1})));
}

TEST(Session, KeysWithoutSessionsGiveTheirMemoryBack) {
  auto op = job(windows(WindowKind::kSession, 10));
  int64_t most = 0;
  for (int64_t batch = 0; batch < 200; ++batch) {
    std::vector<Click> clicks;
    for (int64_t i = 0; i < 1000; ++i)
      clicks.push_back(row("ad-" + std::to_string(batch * 1000 + i), batch * 100));
    op.batch(click_batch(clicks));
    op.watermark({batch * 100 + 50});
    if (batch == 20) most = op.memory_used();
  }
  EXPECT_EQ(op.op().state_rows(), 0);
  EXPECT_LE(op.memory_used(), 2 * most);
}

WindowOptions with_early(WindowOptions options) {
  options.early_delay = Duration{1000};
  return options;
}

TEST(EarlyFiring, EachOpenWindowOfHopTellsItsTotal) {
  auto op = job(with_early(windows(WindowKind::kHop, 10, 5)));
  op.watermark({4});
  op.batch(click_batch({row("a", 3)}));
  op.batch(click_batch({row("a", 7)}));
  EXPECT_EQ(op.ledger().in_state(), 2);
  op.clock(WallTime{1000});
  EXPECT_THAT(op.output(Port::kEarly),
              ElementsAre(result("a", 0, 10, {2, 2, 1}), result("a", 5, 15, {1, 1, 1})));
  op.batch(click_batch({row("a", 12)}));
  op.restore(op.snapshot(), 1);
  EXPECT_THAT(op.held(Port::kEarly),
              ElementsAre(result("a", 0, 10, {2, 2, 1}), result("a", 5, 15, {1, 1, 1})));
  op.watermark({14});
  EXPECT_THAT(op.output(Port::kEarly), ElementsAre(result("a", 5, 15, {2, 2, 1})));
  EXPECT_THAT(op.output(), ElementsAre(result("a", 0, 10, {2, 2, 1}), result("a", 5, 15, {2, 2, 1})));
}

/// Keeps every window of every row.
class Model {
 public:
  explicit Model(WindowOptions options) : options_(std::move(options)) {}

  void add(const Click& click) {
    if (options_.kind == WindowKind::kSession) return add_to_session(click);
    const auto all = windows_of(click.time.millis);
    const bool fully = all.back().second - 1 <= watermark_.millis;
    for (const auto& [start, end] : all) {
      if (end - 1 <= watermark_.millis) {
        late.push_back(missed(click, start, end, watermark_, fully));
      } else {
        open_[{end, start, click.ad}].add(of(click));
      }
    }
    lost += fully;
  }
  void advance(EventTime watermark) {
    watermark_ = watermark;
    while (!open_.empty() && std::get<0>(open_.begin()->first) - 1 <= watermark.millis) {
      const auto& [end, start, ad] = open_.begin()->first;
      out.push_back(result(ad, start, end, open_.begin()->second));
      open_.erase(open_.begin());
    }
  }
  std::vector<std::string> out;
  std::vector<std::string> late;
  int64_t lost = 0;

 private:
  using Key = std::tuple<int64_t, int64_t, std::optional<std::string>>;
  static Total of(const Click& click) { return {1, click.spend, click.spend}; }

  std::vector<std::pair<int64_t, int64_t>> windows_of(int64_t time) const {
    const int64_t size = options_.size.millis;
    const int64_t step = options_.kind == WindowKind::kTumble ? size : options_.step.millis;
    std::vector<std::pair<int64_t, int64_t>> found;
    for (int64_t start = time - size; start <= time; ++start) {
      const bool hop = options_.kind != WindowKind::kCumulate;
      if ((start - options_.offset.millis) % (hop ? step : size) != 0) continue;
      for (int64_t end = start + (hop ? size : step); end <= start + size; end += step) {
        if (time < end) found.emplace_back(start, end);
      }
    }
    return found;
  }
  void add_to_session(const Click& click) {
    int64_t start = click.time.millis;
    int64_t end = start + options_.size.millis;
    Total total = of(click);
    for (auto at = open_.begin(); at != open_.end();) {
      const auto [e, s, ad] = at->first;
      const bool touches =
          ad == click.ad && s <= click.time.millis + options_.size.millis && click.time.millis <= e;
      if (touches) {
        start = std::min(start, s);
        end = std::max(end, e);
        total.add(at->second);
      }
      at = touches ? open_.erase(at) : std::next(at);
    }
    if (end - 1 <= watermark_.millis) {
      late.push_back(missed(click, start, end, watermark_, true));
      ++lost;
    } else {
      open_[{end, start, click.ad}] = total;
    }
  }

  WindowOptions options_;
  EventTime watermark_ = EventTime::min();
  std::map<Key, Total> open_;
};

WindowOptions any_windows(Random& random) {
  const int64_t step = random.between(1, 8);
  const int64_t offset = random.between(-3, 3);
  switch (random.below(4)) {
    case 0:
      return windows(WindowKind::kTumble, step + 3, 0, offset);
    case 1:
      return windows(WindowKind::kHop, step + random.between(3, 20), step, offset);
    case 2:
      return windows(WindowKind::kCumulate, step * random.between(4, 6), step, offset);
    default:
      return windows(WindowKind::kSession, step);
  }
}

std::vector<Click> any_rows(Random& random, int64_t now) {
  std::vector<Click> clicks;
  const uint64_t n = random.below(8);
  for (uint64_t i = 0; i < n; ++i) {
    Click click =
        row("ad-" + std::to_string(random.below(6)), now + random.between(-40, 30), random.between(-5, 5));
    if (random.below(12) == 0) click.ad.reset();
    clicks.push_back(click);
  }
  return clicks;
}

void expect_same(std::vector<std::string> found, std::vector<std::string>& expected) {
  std::ranges::sort(found);
  std::ranges::sort(expected);
  RC_ASSERT(found == expected);
  expected.clear();
}

RC_GTEST_PROP(WindowKinds, GiveWhatTheModelGivesWhereverTheyAreRestored, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  WindowOptions options = any_windows(random);
  Model model(options);
  if (options.kind != WindowKind::kSession && random.below(3) == 0) options = with_early(options);
  // Where rows may be taken back, each window has groups of its own.
  if (!options.early_delay) options.changes = random.below(2) == 0;
  auto op = job(options);
  int64_t now = -100;
  for (int step = 0; step < 60; ++step) {
    if (const auto clicks = any_rows(random, now); !clicks.empty()) {
      op.batch(click_batch(clicks));
      for (const Click& click : clicks) model.add(click);
    }
    if (random.below(3) == 0) {
      now += random.between(0, 25);
      op.watermark({now});
      model.advance({now});
    }
    if (random.below(5) == 0) op.clock(WallTime{step * 1000});
    expect_same(op.output(), model.out);
    expect_same(op.output(Port::kLate), model.late);
    RC_ASSERT(op.ledger()[obs::Entry::kLate] == model.lost);
    if (random.below(4) == 0) op.restore(op.snapshot(), static_cast<int32_t>(1 + random.below(3)));
  }
  op.watermark(EventTime::max());
  model.advance(EventTime::max());
  expect_same(op.output(), model.out);
  RC_ASSERT(op.ledger().in_state() == 0);
  RC_ASSERT(op.op().state_rows() == 0);
}

RC_GTEST_PROP(PreAggregate, GivesWhatHopAndCumulateGiveAlone, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  WindowOptions options = any_windows(random);
  RC_PRE(options.kind != WindowKind::kSession);
  if (random.below(3) == 0) options = with_early(options);
  auto alone = job(options);
  OperatorHarness partials([&] { return make_pre_aggregate(options, Duration{500}); }, {});
  OperatorHarness behind(
      [&] {
        WindowOptions second = options;
        second.partial_input = true;
        return make_window_aggregate(second);
      },
      {0});
  int64_t now = -100;
  for (int step = 0; step < 40; ++step) {
    if (const auto clicks = any_rows(random, now); !clicks.empty()) {
      alone.batch(click_batch(clicks));
      partials.batch(click_batch(clicks));
    }
    if (random.below(3) != 0) continue;
    now += random.between(0, 25);
    alone.watermark({now});
    partials.watermark({now});
    for (const auto& batch : partials.batches()) behind.batch(batch);
    behind.watermark({now});
    auto expected = alone.output();
    expect_same(behind.output(), expected);
    RC_ASSERT(alone.ledger()[obs::Entry::kLate] == partials.ledger()[obs::Entry::kLate]);
    RC_ASSERT(behind.ledger()[obs::Entry::kLate] == 0);
  }
}

}  // namespace
}  // namespace strand::ops
