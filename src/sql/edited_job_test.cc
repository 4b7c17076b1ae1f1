// What an edit of a job file changes in its plan, and in what a snapshot must agree with.
#include "plan/ends.h"
#include "plan/plan_changes.h"
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using plan::fingerprint_differences;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kCounts =
    "CREATE VIEW m AS SELECT ad_id, window_start AS s, window_time AS wt, COUNT(*) AS c FROM "
    "TABLE(TUMBLE(TABLE clicks, "
    "DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end, window_time;\n";

std::string print_of(const std::string& sql) { return plan::fingerprint(plan_of(sql)); }

TEST(Fingerprint, StaysWhenAnUnrelatedPartOfTheFileIsEdited) {
  const std::string insert = "INSERT INTO sink SELECT ad_id, CAST(s AS STRING), c FROM m;\n";
  const plan::Plan before = plan_of(kCounts + insert);
  const plan::Plan after = plan_of(
      "SET 'execution.checkpointing.interval' = '1 s';\n-- a comment\nCREATE VIEW other AS SELECT n FROM "
      "clicks "
      "WHERE n > 3;\nSELECT n FROM other;\n" +
      kCounts + insert);
  EXPECT_THAT(fingerprint_differences(plan::fingerprint(before), plan::fingerprint(after)), IsEmpty());
}

TEST(Fingerprint, NamesTheOperatorWhoseStateNoLongerFits) {
  const std::string read = "SELECT ad_id, c FROM m";
  const std::string before = print_of(kCounts + read);
  std::string edited = kCounts;
  edited.replace(edited.find("'1' MINUTE"), 10, "'2' MINUTE");
  EXPECT_THAT(fingerprint_differences(before, print_of(edited + read)),
              ElementsAre("m/window: size_ms of the snapshot: 60000; of the plan: 120000"));
  EXPECT_THAT(fingerprint_differences(
                  before, plan::fingerprint(plan_of("SELECT ad_id AS ad_id, n AS c FROM clicks"))),
              ElementsAre("m/window: the snapshot holds state of it, the plan has no such operator"));
  EXPECT_THAT(fingerprint_differences("garbage", before),
              ElementsAre("the fingerprint of the snapshot cannot be read"));
}

// With a retention the state holds an instant beside each total.
TEST(Fingerprint, TellsAGroupByThatForgetsFromOneThatDoesNot) {
  const std::string rest = "ad_id, COUNT(*) FROM clicks GROUP BY ad_id";
  const std::string lasting = print_of("SELECT " + rest);
  const std::string by_event_time =
      print_of("SELECT /*+ STATE_RETENTION('clicks' = '3 h after ts') */ " + rest);
  const std::string by_clock = print_of("SELECT /*+ STATE_TTL('clicks' = '3 h') */ " + rest);
  EXPECT_THAT(
      fingerprint_differences(lasting, by_event_time),
      ElementsAre("print/group: keys are forgotten of the snapshot: nothing; of the plan: by event time"));
  EXPECT_THAT(
      fingerprint_differences(by_event_time, lasting),
      ElementsAre("print/group: keys are forgotten of the snapshot: by event time; of the plan: nothing"));
  EXPECT_THAT(fingerprint_differences(by_clock, lasting), ElementsAre(HasSubstr("keys are forgotten")));
  EXPECT_THAT(fingerprint_differences(by_clock, by_event_time), ElementsAre(HasSubstr("by the wall clock")));
  const std::string longer = print_of("SELECT /*+ STATE_RETENTION('clicks' = '5 h after ts') */ " + rest);
  EXPECT_THAT(fingerprint_differences(by_event_time, longer), IsEmpty());
}

TEST(Fingerprint, TellsWhatIsGoneFromTheFormOfAState) {
  const auto print = [](const std::string& order) {
    return print_of(
        "SELECT ad_id, n, ts FROM clicks QUALIFY ROW_NUMBER() OVER (PARTITION BY ad_id ORDER BY " + order +
        ") = 1");
  };
  EXPECT_THAT(
      fingerprint_differences(print("ts"), print("read_time")),
      testing::Contains(HasSubstr("time of the snapshot: ts TIMESTAMP_LTZ(3); of the plan: nothing")));
}

std::vector<std::string> changes_between(const plan::Plan& before, const plan::Plan& now) {
  std::vector<std::string> changes;
  for (const plan::PlanChange& change : plan::plan_changes(before, now))
    changes.push_back(change.id + " " + change.label + ": " + change.before + " -> " + change.now);
  return changes;
}

TEST(PlanChanges, AreToldWhereTheyAreMade) {
  const std::string read = "SELECT ad_id, c FROM m WHERE c > ";
  EXPECT_THAT(changes_between(plan_of(kCounts + read + "1"), plan_of(kCounts + read + "1")), IsEmpty());
  EXPECT_THAT(changes_between(plan_of(kCounts + read + "1"), plan_of(kCounts + read + "2")),
              ElementsAre("print/filter condition: (c > 1) -> (c > 2)"));
}

TEST(PlanChanges, ASourceTellsItsWatermarkAndItsTableApart) {
  const std::string sql = "SELECT ad_id FROM clicks";
  const plan::Plan before = plan_of(sql);
  const plan::Plan now =
      plan_of("ALTER TABLE clicks MODIFY WATERMARK FOR ts AS ts - INTERVAL '9' SECOND; " + sql);
  const auto changes = plan::plan_changes(before, now);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].about, plan::PlanChange::About::kWatermark);
  EXPECT_THAT(changes[0].before, HasSubstr("5 s"));
  EXPECT_THAT(changes[0].now, HasSubstr("9 s"));
  const auto moved = plan::plan_changes(before, plan_of("ALTER TABLE clicks SET ('path' = 'other'); " + sql));
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].about, plan::PlanChange::About::kSource);
}

TEST(PlanChanges, ASinkTellsItsPlaceAndTheTypesOfItsColumns) {
  const std::string sql = "INSERT INTO sink SELECT ad_id, CAST(s AS STRING), c FROM m;";
  const plan::Plan before = plan_of(kCounts + sql);
  const plan::Plan now = plan_of("ALTER TABLE sink MODIFY (n DECIMAL(20, 0)); " + kCounts + sql);
  EXPECT_THAT(
      changes_between(before, now),
      testing::Contains(HasSubstr("columns: ad_id STRING NOT NULL, day STRING NOT NULL, n BIGINT -> ")));
}

// A snapshot fits whatever the ends are; who goes on from a checkpoint by itself looks at them.
TEST(Ends, AreTheWatermarksOfSourcesAndThePlacesAndKeysOfSinks) {
  const std::string tables =
      "CREATE TABLE e (k STRING, n BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
      "WITH "
      "('connector' = 'filesystem', 'path' = 'e', 'format' = 'json');\n"
      "CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'sqlite', "
      "'path' = 'o.db', "
      "'strand.busy-timeout' = '1 s');\nINSERT INTO o SELECT k, COUNT(*) FROM e GROUP BY k;";
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string text = tables;
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    return plan_of(text);
  };
  const std::string before = plan::fingerprint(edited("", ""));
  const auto differences = [&](const std::string& from, const std::string& to) {
    const plan::Plan now = edited(from, to);
    EXPECT_THAT(fingerprint_differences(before, plan::fingerprint(now)), IsEmpty()) << "the state fits";
    return plan::end_differences(before, now);
  };
  EXPECT_THAT(differences("", ""), IsEmpty());
  EXPECT_THAT(differences("'5' SECOND", "'9' SECOND"),
              ElementsAre(AllOf(HasSubstr("e/scan: watermark (ts - INTERVAL '+0 00:00:05.000'"),
                                HasSubstr("now watermark (ts"))));
  EXPECT_THAT(differences("'o.db'", "'p.db'"),
              ElementsAre("o.n/sink: table sqlite o.db o, key k; now table sqlite p.db o, key k"));
  EXPECT_THAT(differences("'1 s'", "'2 s'"), IsEmpty()) << "how it is written is no end";
  EXPECT_THAT(plan::end_differences("{\"version\": 3, \"nodes\": {}}", edited("'o.db'", "'p.db'")), IsEmpty())
      << "an older snapshot does not say";
}

}  // namespace
}  // namespace strand::sql
