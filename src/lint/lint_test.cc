#include "lint/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lint/rules.h"

namespace strand::lint {
namespace {

using columnar::TypeKind;
using plan::Node;
using plan::NodePtr;
using testing::ElementsAre;
using testing::IsEmpty;

columnar::SchemaPtr schema_of(const std::vector<std::string>& names) {
  std::vector<columnar::Field> fields;
  for (const std::string& name : names) fields.push_back({name, columnar::timestamp_type(3, /*ltz=*/true)});
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

std::shared_ptr<Node> node_of(const std::string& id, plan::Detail detail, std::vector<plan::Input> inputs,
                              const std::vector<std::string>& columns) {
  auto node = std::make_shared<Node>();
  node->id = id;
  node->where = "job.sql:1:1";
  node->detail = std::move(detail);
  node->inputs = std::move(inputs);
  node->output = schema_of(columns);
  return node;
}

expr::ExprPtr time_column(size_t i) { return expr::column(i, columnar::timestamp_type(3, /*ltz=*/true)); }

/// A growing table (id, ts) with clamped event time and an idle timeout: nothing to find in it.
std::shared_ptr<Node> clean_scan() {
  plan::Scan scan;
  scan.table.name = "clicks";
  scan.table.options = {{"connector", "filesystem"}, {"source.monitor-interval", "1 s"}};
  const auto clamp = expr::call("LEAST", {time_column(1), time_column(2)}, columnar::timestamp_type(3, true));
  scan.project = {time_column(0), clamp};
  scan.watermark = plan::WatermarkSpec{.time_column = 1,
                                       .expression = time_column(1),
                                       .trail = Duration{5'001},
                                       .idle_timeout = Duration{30'000}};
  auto node = node_of("clicks/scan", std::move(scan), {}, {"id", "ts"});
  node->rowtime = 1;
  return node;
}

std::shared_ptr<Node> window_over(const NodePtr& input, int64_t minutes, const std::string& id) {
  plan::WindowAggregate window;
  window.keys = {0};
  window.time_column = *input->rowtime;
  window.size = Duration{minutes * 60'000};
  auto node = node_of(id, std::move(window), {{input, Port::kMain, {0}}},
                      {"id", "window_start", "window_end", "window_time"});
  node->side_outputs[Port::kLate] = schema_of({"id"});
  node->side_outputs[Port::kEarly] = node->output;
  node->rowtime = 3;
  return node;
}

std::shared_ptr<Node> deduplicate_over(const NodePtr& input, std::optional<plan::Retention> retention) {
  auto node =
      node_of("d/deduplicate", plan::Deduplicate{{0}, retention}, {{input, Port::kMain, {0}}}, {"id", "ts"});
  node->rowtime = 1;
  return node;
}

/// A table with a key that names window and id.
std::shared_ptr<Node> sink_over(const NodePtr& input, const std::string& table = "t",
                                Port port = Port::kMain) {
  plan::SinkWrite sink;
  sink.table.name = table;
  sink.table.options = {{"connector", "sqlite"}, {"path", "a.db"}, {"table-name", table}};
  sink.table.primary_key = {"id", "window_start"};
  sink.writer = "strand";
  sink.closed_rows = port == Port::kMain;
  auto node = node_of(table + "/sink", std::move(sink), {{input, port}}, {});
  node->output = nullptr;
  return node;
}

plan::Plan plan_of(std::vector<NodePtr> sinks) {
  return {
      .job = "job", .sinks = std::move(sinks), .settings = {{"strand.lag.max", {"10 min", "job.sql:1:1"}}}};
}

/// Without the note on late rows that nobody reads (L14), which most of these jobs get.
std::vector<std::string> rules_of(const plan::Plan& plan, const Facts& facts = {}) {
  std::vector<std::string> rules;
  for (const Finding& finding : lint(plan, facts)) {
    if (finding.rule != "L14") rules.push_back(finding.rule + " " + finding.node);
  }
  return rules;
}

/// What was measured of the table of `clean_scan`.
Facts measured(TableFacts table) {
  Facts facts;
  facts.tables["clicks"] = table;
  return facts;
}

std::shared_ptr<Node> group_over(const NodePtr& input, std::vector<size_t> keys,
                                 std::vector<expr::Aggregate> aggregates,
                                 const std::vector<std::string>& columns) {
  plan::GroupAggregate group;
  group.keys = std::move(keys);
  group.aggregates = std::move(aggregates);
  return node_of("g/group", std::move(group), {{input, Port::kMain, {0}}}, columns);
}

/// A table with a key, written by rows that change.
std::shared_ptr<Node> upsert_of(const NodePtr& input, std::vector<std::string> columns,
                                std::vector<std::string> key) {
  auto sink = sink_over(input);
  auto& detail = std::get<plan::SinkWrite>(sink->detail);
  detail.closed_rows = false;
  detail.columns = std::move(columns);
  detail.table.primary_key = std::move(key);
  return sink;
}

const Finding& only(const std::vector<Finding>& found, const std::string& rule) {
  static const Finding kNone;
  for (const Finding& finding : found) {
    if (finding.rule == rule) return finding;
  }
  return kNone;
}

TEST(Lint, FindsNothingInACleanJob) {
  EXPECT_THAT(rules_of(plan_of({sink_over(window_over(clean_scan(), 1, "m/window"))})), IsEmpty());
}

TEST(Lint, L01FlagsEventTimeThatIsNotClamped) {
  auto scan = clean_scan();
  std::get<plan::Scan>(scan->detail).project[1] = time_column(1);
  EXPECT_THAT(rules_of(plan_of({sink_over(window_over(scan, 1, "m/window"))})),
              ElementsAre("L01 clicks/scan"));
}

TEST(Lint, L01IsOnlyANoteWhileRecordsOfTheFutureMoveNoWatermark) {
  auto scan = clean_scan();
  std::get<plan::Scan>(scan->detail).project[1] = time_column(1);
  plan::Plan plan = plan_of({sink_over(window_over(scan, 1, "m/window"))});
  EXPECT_EQ(lint(plan)[0].severity, Severity::kNote);
  plan.settings["strand.future-skew.max"] = {"0 s", "--set"};
  EXPECT_EQ(lint(plan)[0].severity, Severity::kWarning);
}

TEST(Lint, L01FlagsAWindowOverAnotherTimeThanTheInputs) {
  auto window = window_over(clean_scan(), 1, "m/window");
  std::get<plan::WindowAggregate>(window->detail).time_column = 0;
  EXPECT_THAT(rules_of(plan_of({sink_over(window)})), ElementsAre("L01 m/window"));
}

TEST(Lint, L02FlagsATableWithoutIdleTimeoutUnlessItEnds) {
  auto scan = clean_scan();
  auto& detail = std::get<plan::Scan>(scan->detail);
  detail.watermark->idle_timeout.reset();
  EXPECT_THAT(rules_of(plan_of({sink_over(window_over(scan, 1, "m/window"))})),
              ElementsAre("L02 clicks/scan"));
  detail.table.options.erase("source.monitor-interval");
  EXPECT_THAT(rules_of(plan_of({sink_over(window_over(scan, 1, "m/window"))})), IsEmpty());
}

TEST(Lint, L03FlagsHoursBesideMinutesButNotAboveThem) {
  const NodePtr scan = clean_scan();
  const NodePtr minutes = window_over(scan, 1, "m/window");
  EXPECT_THAT(rules_of(plan_of({sink_over(minutes), sink_over(window_over(scan, 60, "h/window"), "u")})),
              ElementsAre("L03 h/window"));
  EXPECT_THAT(rules_of(plan_of({sink_over(minutes), sink_over(window_over(minutes, 60, "h/window"), "u")})),
              IsEmpty());
}

TEST(Lint, L04FlagsPartialSumsBesideTheSourceWhoseLateRowsAreRead) {
  auto window = window_over(clean_scan(), 1, "m/window");
  std::get<plan::WindowAggregate>(window->detail).pre_aggregate = Duration{0};
  auto late = sink_over(window, "late", Port::kLate);
  EXPECT_THAT(rules_of(plan_of({sink_over(window), late})), ElementsAre("L04 m/window"));
  EXPECT_THAT(rules_of(plan_of({sink_over(window)})), IsEmpty());

  const NodePtr dedup = deduplicate_over(clean_scan(), plan::Retention{1, Duration{3'600'000}});
  auto behind = window_over(dedup, 1, "m/window");
  std::get<plan::WindowAggregate>(behind->detail).pre_aggregate = Duration{0};
  EXPECT_THAT(rules_of(plan_of({sink_over(behind), sink_over(behind, "late", Port::kLate)})), IsEmpty());
}

TEST(Lint, L04SaysThatPartialSumsCannotBeHadWhereLateRowsAreRead) {
  const auto window = window_over(clean_scan(), 1, "m/window");
  plan::Plan plan = plan_of({sink_over(window), sink_over(window, "late", Port::kLate)});
  EXPECT_THAT(rules_of(plan), IsEmpty());
  plan.settings["table.optimizer.agg-phase-strategy"] = {"TWO_PHASE", "job.sql:1:1"};
  EXPECT_THAT(rules_of(plan), ElementsAre("L04 m/window"));
  plan.sinks.pop_back();
  EXPECT_THAT(rules_of(plan), IsEmpty());
}

TEST(Lint, L05FlagsADeduplicationWithoutRetentionOrWithAShortGuard) {
  const auto job = [](std::optional<plan::Retention> retention) {
    return plan_of({sink_over(window_over(deduplicate_over(clean_scan(), retention), 1, "m/window"))});
  };
  EXPECT_THAT(rules_of(job(std::nullopt)), ElementsAre("L05 d/deduplicate"));
  plan::Plan guarded = job(plan::Retention{1, Duration{7'200'000}});
  EXPECT_THAT(rules_of(guarded), IsEmpty());
  guarded.settings["table.exec.state.ttl"] = {"3 h", "job.sql:1:1"};
  EXPECT_THAT(rules_of(guarded), ElementsAre("L05 d/deduplicate"));
  guarded.settings["table.exec.state.ttl"] = {"26 h", "job.sql:1:1"};
  EXPECT_THAT(rules_of(guarded), IsEmpty());
  guarded.settings["strand.input-retention"] = {"24 h", "job.sql:1:1"};
  EXPECT_THAT(rules_of(guarded), IsEmpty()) << "2 h + 24 h";
  guarded.settings["strand.input-retention"] = {"25 h", "job.sql:1:1"};
  EXPECT_THAT(rules_of(guarded), ElementsAre("L05 d/deduplicate"));
}

TEST(Lint, L06FlagsATableWithoutKeyThatShowsWritesAtOnce) {
  auto sink = sink_over(window_over(clean_scan(), 1, "m/window"));
  auto& detail = std::get<plan::SinkWrite>(sink->detail);
  detail.table.primary_key.clear();
  EXPECT_THAT(rules_of(plan_of({sink})), ElementsAre("L06 t/sink"));
  detail.table.options["sink.mode"] = "transaction";
  EXPECT_THAT(rules_of(plan_of({sink})), IsEmpty());
}

TEST(Lint, L06FlagsUpdatesThatAreAppended) {
  auto group = node_of("g/group", plan::GroupAggregate{}, {{clean_scan(), Port::kMain, {0}}}, {"id"});
  auto sink = sink_over(group);
  auto& detail = std::get<plan::SinkWrite>(sink->detail);
  detail.closed_rows = false;
  EXPECT_THAT(rules_of(plan_of({sink})), IsEmpty());
  detail.table.options = {{"connector", "filesystem"}, {"path", "out"}};
  detail.table.primary_key.clear();
  EXPECT_THAT(rules_of(plan_of({sink})), ElementsAre("L06 t/sink"));
}

TEST(Lint, L07FlagsTwoTablesThatAreOneInTheStore) {
  const NodePtr window = window_over(clean_scan(), 1, "m/window");
  auto other = sink_over(window, "u");
  EXPECT_THAT(rules_of(plan_of({sink_over(window), other})), IsEmpty());
  std::get<plan::SinkWrite>(other->detail).table.options["table-name"] = "t";
  EXPECT_THAT(rules_of(plan_of({sink_over(window), other})), ElementsAre("L07 u/sink"));
}

TEST(Lint, L08FlagsWritesWithoutCheckpoints) {
  plan::Plan plan = plan_of({sink_over(window_over(clean_scan(), 1, "m/window"))});
  plan.settings["execution.checkpointing.interval"] = {"0 s", "job.sql:1:1"};
  EXPECT_THAT(rules_of(plan), ElementsAre("L08 t/sink"));
  plan.settings["execution.checkpointing.interval"] = {"1 s", "job.sql:1:1"};
  EXPECT_THAT(rules_of(plan), IsEmpty());
}

TEST(Lint, L10FlagsClosedRowsWhoseKeyDoesNotNameTheWindow) {
  auto sink = sink_over(window_over(clean_scan(), 1, "m/window"));
  std::get<plan::SinkWrite>(sink->detail).closed_rows = false;
  EXPECT_THAT(rules_of(plan_of({sink})), ElementsAre("L10 t/sink"));
}

TEST(Lint, L12FlagsRowsCalledClosedThatComeAgain) {
  const NodePtr window = window_over(clean_scan(), 1, "m/window");
  auto early = sink_over(window, "t", Port::kEarly);
  EXPECT_THAT(rules_of(plan_of({early})), IsEmpty());
  std::get<plan::SinkWrite>(early->detail).closed_rows = true;
  EXPECT_THAT(rules_of(plan_of({early})), ElementsAre("L12 t/sink"));
}

TEST(Lint, L13NotesProcessingTimeWhereNoTableHasToSayWhenItIsIdle) {
  auto scan = clean_scan();
  std::get<plan::Scan>(scan->detail).watermark->idle_timeout.reset();  // L02 elsewhere
  auto read = node_of("m/read-time", plan::ReadTime{1}, {{scan}}, {"id", "p"});
  read->rowtime = 1;
  const plan::Plan plan = plan_of({sink_over(window_over(read, 1, "m/window"))});
  EXPECT_THAT(rules_of(plan), ElementsAre("L13 m/read-time"));
  EXPECT_EQ(lint(plan)[0].severity, Severity::kNote);
  EXPECT_THAT(rules_of(plan_of({sink_over(window_over(clean_scan(), 1, "m/window"))})), IsEmpty());
}

TEST(Lint, L09ComparesTheTimesOfATransactionWithEachOther) {
  auto sink = sink_over(window_over(clean_scan(), 1, "m/window"));
  auto& options = std::get<plan::SinkWrite>(sink->detail).table.options;
  options = {{"connector", "kafka"}, {"sink.delivery-guarantee", "exactly-once"}};
  plan::Plan plan = plan_of({sink});
  plan.settings["execution.checkpointing.interval"] = {"30 s", "job.sql:1:1"};
  plan.settings["execution.checkpointing.timeout"] = {"600 s", "job.sql:1:1"};
  EXPECT_THAT(rules_of(plan), ElementsAre("L09 t/sink"))
      << "Flink's default of an hour is more than brokers allow";
  options["properties.transaction.timeout.ms"] = "600000";
  plan.sinks = {sink};
  EXPECT_THAT(only(lint(plan), "L09").message, testing::HasSubstr("680 s")) << "C08: 30 + 600 + 50 s";
  EXPECT_EQ(only(lint(plan), "L09").severity, Severity::kNote);
  options["properties.transaction.timeout.ms"] = "900000";
  EXPECT_THAT(rules_of(plan), IsEmpty());
  Facts facts;
  facts.broker_transaction_longest = Duration{700'000};
  EXPECT_EQ(only(lint(plan, facts), "L09").severity, Severity::kWarning);
  options["sink.delivery-guarantee"] = "at-least-once";
  EXPECT_THAT(rules_of(plan, facts), IsEmpty());
}

TEST(Lint, L14NotesLateRowsThatNobodyReads) {
  const auto window = window_over(clean_scan(), 1, "m/window");
  EXPECT_EQ(only(lint(plan_of({sink_over(window)})), "L14").node, "m/window");
  const plan::Plan read = plan_of({sink_over(window), sink_over(window, "late", Port::kLate)});
  EXPECT_EQ(only(lint(read), "L14").node, "");
  const plan::Plan hours =
      plan_of({sink_over(window_over(window, 60, "h/window")), sink_over(window, "late", Port::kLate)});
  EXPECT_EQ(only(lint(hours), "L14").node, "") << "rows of closed windows come in order";
}

TEST(Lint, L15FlagsAnIdleTimeoutBelowOrdinaryGapsOrThreeTicks) {
  auto scan = clean_scan();
  const auto job = [&] { return plan_of({sink_over(window_over(scan, 1, "m/window"))}); };
  EXPECT_THAT(rules_of(job(), measured({.longest_gap = Duration{29'000}})), IsEmpty());
  EXPECT_THAT(rules_of(job(), measured({.longest_gap = Duration{31'000}})), ElementsAre("L15 clicks/scan"));
  std::get<plan::Scan>(scan->detail).watermark->idle_timeout = Duration{500};
  EXPECT_THAT(rules_of(job()), ElementsAre("L15 clicks/scan"));
}

TEST(Lint, L16QuestionsARoundBoundThatWasNotMeasuredAndFlagsOneThatLosesRows) {
  auto scan = clean_scan();
  const auto job = [&] { return plan_of({sink_over(window_over(scan, 1, "m/window"))}); };
  std::get<plan::Scan>(scan->detail).watermark->trail = Duration{10'000};
  EXPECT_EQ(only(lint(job()), "L16").severity, Severity::kNote);
  EXPECT_THAT(rules_of(job(), measured({.lag_p999 = Duration{8'000}})), IsEmpty()) << "it was measured";
  const auto found = lint(job(), measured({.lag_p999 = Duration{95'000}}));
  EXPECT_EQ(only(found, "L16").severity, Severity::kWarning);
  EXPECT_THAT(only(found, "L16").message, testing::HasSubstr("95 s"));
}

TEST(Lint, L17NotesStateThatTheWallClockForgets) {
  const auto group = group_over(clean_scan(), {0}, {}, {"id"});
  const auto job = [&] { return plan_of({upsert_of(group, {"id"}, {"id"})}); };
  EXPECT_THAT(rules_of(job()), IsEmpty());
  std::get<plan::GroupAggregate>(group->detail).ttl = Duration{3'600'000};
  EXPECT_THAT(rules_of(job()), ElementsAre("L17 g/group"));
}

TEST(Lint, L18FlagsTheWallClockInAKeyAndLetsItStandBesideOne) {
  const auto now = expr::call("CURRENT_TIMESTAMP", {}, columnar::timestamp_type(3, true));
  const auto computed = node_of("p/project", plan::Project{{time_column(0), now}},
                                {{clean_scan(), Port::kMain, {}}}, {"id", "at"});
  EXPECT_THAT(rules_of(plan_of({upsert_of(computed, {"id", "at"}, {"id"})})), IsEmpty());
  EXPECT_THAT(rules_of(plan_of({upsert_of(computed, {"id", "at"}, {"id", "at"})})),
              ElementsAre("L18 t/sink"));
  const auto group = group_over(computed, {1}, {}, {"at"});
  EXPECT_THAT(rules_of(plan_of({upsert_of(group, {"at"}, {"at"})})),
              ElementsAre("L18 g/group", "L18 t/sink"));
}

TEST(Lint, L19WantsTheMarkOfAReplayInTheKey) {
  const auto scan = clean_scan();
  EXPECT_THAT(rules_of(plan_of({upsert_of(scan, {"id", "is_replay"}, {"id"})})), ElementsAre("L19 t/sink"));
  EXPECT_THAT(rules_of(plan_of({upsert_of(scan, {"id", "is_replay"}, {"id", "is_replay"})})), IsEmpty());
}

TEST(Lint, L20NotesAnIdleTimeoutThatNobodyWatches) {
  plan::Plan plan = plan_of({sink_over(window_over(clean_scan(), 1, "m/window"))});
  EXPECT_THAT(rules_of(plan), IsEmpty());
  plan.settings.erase("strand.lag.max");
  EXPECT_THAT(rules_of(plan), ElementsAre("L20 clicks/scan"));
}

TEST(Lint, L21NotesAJoinThatForgetsNothing) {
  auto scan = clean_scan();
  plan::RegularJoin join;
  join.on.keys = {std::vector<size_t>{0}, std::vector<size_t>{0}};
  const auto joined = node_of("j/join", join, {{scan, Port::kMain, {0}}, {scan, Port::kMain, {0}}},
                              {"id", "ts", "id2", "ts2"});
  const auto job = [&] { return plan_of({upsert_of(joined, {"id"}, {"id"})}); };
  EXPECT_THAT(rules_of(job()), ElementsAre("L21 j/join"));
  std::get<plan::RegularJoin>(joined->detail).ttl[0] = Duration{3'600'000};
  EXPECT_THAT(rules_of(job()), ElementsAre("L17 j/join"));
  std::get<plan::RegularJoin>(joined->detail).ttl[0].reset();
  std::get<plan::Scan>(scan->detail).table.options.erase("source.monitor-interval");
  EXPECT_THAT(rules_of(job()), IsEmpty()) << "the input ends";
}

TEST(Lint, L22SaysWhenATimerWouldDo) {
  const auto scan = clean_scan();
  EXPECT_THAT(rules_of(plan_of({sink_over(window_over(scan, 60, "h/window"))})), ElementsAre("L22 t/sink"));
  EXPECT_THAT(rules_of(plan_of({sink_over(window_over(scan, 1, "m/window"))})), IsEmpty());
}

TEST(Lint, L23FlagsEventTimesOfAnotherCentury) {
  const plan::Plan plan = plan_of({sink_over(window_over(clean_scan(), 1, "m/window"))});
  EXPECT_THAT(rules_of(plan, measured({.newest_millis = 1'770'545'660'000})), IsEmpty());
  const auto seconds = lint(plan, measured({.newest_millis = 1'770'545'660}));
  EXPECT_THAT(only(seconds, "L23").rewrite, testing::HasSubstr("seconds"));
  const auto micros = lint(plan, measured({.newest_millis = 1'770'545'660'000'000}));
  EXPECT_THAT(only(micros, "L23").rewrite, testing::HasSubstr("microseconds"));
}

TEST(Lint, L24NotesMoreReadersThanShards) {
  plan::Plan plan = plan_of({sink_over(window_over(clean_scan(), 1, "m/window"))});
  plan.settings["parallelism.default"] = {"4", "job.sql:1:1"};
  EXPECT_THAT(rules_of(plan, measured({.shards = 3})), ElementsAre("L24 clicks/scan"));
  EXPECT_THAT(rules_of(plan, measured({.shards = 4})), IsEmpty());
}

TEST(Lint, L25NotesDaysOfAFixedOffsetAndWeeksFromThursday) {
  const auto days = window_over(clean_scan(), 24 * 60, "d/window");
  auto& window = std::get<plan::WindowAggregate>(days->detail);
  const auto found = [&] { return only(lint(plan_of({sink_over(days)})), "L25").message; };
  EXPECT_EQ(found(), "");
  window.zone = "Europe/Berlin";
  EXPECT_EQ(found(), "");
  window.zone = "GMT+02:00";
  EXPECT_THAT(found(), testing::HasSubstr("which has no summer time"));
  window.zone = "UTC";
  window.size = Duration{7 * 86'400'000};
  EXPECT_THAT(found(), testing::HasSubstr("begin on a Thursday"));
  window.offset = Duration{4 * 86'400'000};
  EXPECT_EQ(found(), "");
}

TEST(Lint, L26FlagsFloatingPointKeysAndNotesMoney) {
  const auto typed = [](TypeKind key, TypeKind money) {
    auto scan = clean_scan();
    scan->output = std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{
        {"id", columnar::make_type(key)}, {"amount", columnar::make_type(money)}});
    expr::Aggregate sum;
    sum.kind = expr::Aggregate::Kind::kSum;
    sum.column = 1;
    sum.input = columnar::make_type(money);
    return plan_of({upsert_of(group_over(scan, {0}, {sum}, {"id", "sum"}), {"id"}, {"id"})});
  };
  EXPECT_THAT(rules_of(typed(TypeKind::kString, TypeKind::kBigInt)), IsEmpty());
  EXPECT_THAT(rules_of(typed(TypeKind::kDouble, TypeKind::kBigInt)), ElementsAre("L26 g/group"));
  const auto money = lint(typed(TypeKind::kString, TypeKind::kDouble));
  EXPECT_EQ(only(money, "L26").severity, Severity::kNote);
}

TEST(Lint, SaysWhereWhatFollowsAndWhatToWrite) {
  plan::Plan plan = plan_of({sink_over(window_over(clean_scan(), 1, "m/window"))});
  plan.settings["execution.checkpointing.interval"] = {"0 s", "job.sql:1:1"};
  EXPECT_EQ(lint(plan)[0].to_string(),
            "job.sql:1:1: warning STRAND-2108 there are no checkpoints, and t is written\n"
            "  every write carries the tag of the start: after a crash the whole table is flushed and read "
            "again from the beginning; "
            "rows that wait for a checkpoint never show\n"
            "  SET 'execution.checkpointing.interval' = '10 s'");
}

TEST(Lint, NumbersItsRulesByTheirNames) {
  for (const Rule& rule : all_rules()) EXPECT_EQ("L" + std::to_string(rule.number - 2000).substr(1), rule.id);
}

TEST(Lint, HasASectionForEveryRule) {
  std::ifstream file("docs/sql/lint.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const Rule& rule : all_rules()) {
    EXPECT_THAT(page.str(), testing::HasSubstr("## STRAND-" + std::to_string(rule.number) + " (" +
                                               std::string(rule.id) + ") " + std::string(rule.title)));
  }
}

}  // namespace
}  // namespace strand::lint
