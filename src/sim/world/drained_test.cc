// A job that goes on from a snapshot in which event time had ended (replay.md T5).
#include <gmock/gmock.h>

#include "connect/registry.h"
#include "sim/world/script_source.h"
#include "sim/world/sim_connector.h"
#include "sim/world/virtual_driver.h"
#include "sql/compile.h"

namespace strand::sim {
namespace {

using ::testing::ElementsAre;

constexpr const char* kJob = R"sql(
CREATE TABLE clicks (
  ad STRING, id STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'script');
CREATE TABLE minutes (ad STRING, w STRING, n BIGINT, PRIMARY KEY (ad, w) NOT ENFORCED) WITH ('connector' = 'simstore');
CREATE TABLE hours (ad STRING, w STRING, n BIGINT, PRIMARY KEY (ad, w) NOT ENFORCED) WITH ('connector' = 'simstore');
CREATE TABLE late (ad STRING, n BIGINT, PRIMARY KEY (ad) NOT ENFORCED) WITH ('connector' = 'simstore');
-- Rows are accepted for a quarter of an hour: less than what the hours have closed at a drain is ahead.
CREATE VIEW accepted AS SELECT * FROM clicks
  WHERE CURRENT_WATERMARK(ts) IS NULL OR CURRENT_WATERMARK(ts) < ts + INTERVAL '15' MINUTE;
CREATE VIEW firsts AS
  SELECT /*+ STATE_RETENTION('accepted' = '15 min after ts') */ ad, id, ts FROM accepted
  QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY PROCTIME()) = 1;
CREATE VIEW per_minute AS
  SELECT ad, window_start AS s, window_time AS t, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE firsts, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY ad, window_start, window_end, window_time;
EXECUTE STATEMENT SET BEGIN
INSERT INTO minutes SELECT ad, DATE_FORMAT(s, 'HH:mm'), n FROM per_minute;
INSERT INTO hours SELECT ad, DATE_FORMAT(window_start, 'HH'), SUM(n)
  FROM TABLE(TUMBLE(TABLE per_minute, DESCRIPTOR(t), INTERVAL '1' HOUR)) GROUP BY ad, window_start, window_end;
INSERT INTO late SELECT ad, COUNT(*) FROM per_minute$late GROUP BY ad;
END;)sql";

class SmallJob : public ::testing::Test {
 protected:
  explicit SmallJob(const std::string& sql) {
    sql::SqlInput input;
    input.file = "job.sql";
    input.text = sql;
    auto compiled = sql::compile(input);
    EXPECT_TRUE(compiled.ok()) << compiled.status().to_string();
    if (compiled.ok()) plan_ = compiled->plan;
    script_->add_shard("S1");
    registry_.add("script", script_connector(script_));
    registry_.add("simstore", simstore_connector(&store_, {}));
  }

  /// A click at 10:`minute`, read now.
  void click(const std::string& ad, const std::string& id, int64_t minute, int64_t second = 0) {
    const int64_t ms = kTen.millis + (minute * 60 + second) * 1000;
    script_->add("S1", world_.clock.now(),
                 R"({"ad":")" + ad + R"(","id":")" + id + R"(","ms":)" + std::to_string(ms) + "}");
  }

  /// One attempt reads everything and is stopped with drain.
  void run_and_drain(int32_t parallelism) {
    runtime::JobOptions options;
    options.job = "job";
    options.checkpoint_dir = "/state/checkpoints";
    options.savepoint_dir = "/state/savepoints";
    options.parallelism = parallelism;
    options.checkpoints.interval = Duration{10'000};
    options.defences = defences_;
    auto attempt = runtime::JobAttempt::start(plan_, registry_, options, {}, world_.env(), nullptr);
    ASSERT_TRUE(attempt.ok()) << attempt.status().to_string();
    VirtualDriver driver(world_, **attempt);
    ASSERT_TRUE(driver.run_until(world_.clock.now() + Duration{25'000}).ok());
    Status stopped(ErrorCode::kInternal, "not answered");
    (*attempt)->ask_savepoint(true, true, [&](Status status, std::string) { stopped = std::move(status); });
    ASSERT_TRUE(driver.run_until(world_.clock.now() + Duration{5'000}).ok());
    ASSERT_TRUE(stopped.ok()) << stopped.to_string();
    ASSERT_TRUE((*attempt)->finished());
  }

  static constexpr EventTime kTen{1'770'544'800'000};  // 2026-02-08 10:00
  SimEnv world_{1, WallTime{kTen.millis}};
  SimStore store_;
  std::shared_ptr<Script> script_ = std::make_shared<Script>();
  connect::Registry registry_;
  plan::Plan plan_;
  runtime::Defences defences_;
};

class Drained : public SmallJob {
 protected:
  Drained() : SmallJob(kJob) {}
};

/// The rows of one part are summed up before the exchange.
class DrainedWithPartials : public SmallJob {
 protected:
  DrainedWithPartials()
      : SmallJob(
            "SET 'table.exec.mini-batch.enabled' = 'true';\n"
            "SET 'table.exec.mini-batch.allow-latency' = '500 ms';\n" +
            std::string(kJob)) {}
};

TEST_F(Drained, ClosedMinutesAndHoursStayAndWhatComesLaterIsLateOrCounted) {
  click("a", "1", 15, 30);
  click("a", "2", 15, 40);
  run_and_drain(2);
  EXPECT_THAT(store_.dump("minutes"), ElementsAre("a 10:15: n=2"));
  EXPECT_THAT(store_.dump("hours"), ElementsAre("a 10: n=2"));

  click("a", "3", 16, 10);  // the minute was open, its hour is closed
  click("a", "1", 16, 20);  // a copy: the id is not forgotten at the end of time
  click("b", "4", 17, 0);   // a key whose minutes and hours were never closed
  click("a", "5", 61, 0);   // the next hour
  run_and_drain(1);
  EXPECT_THAT(store_.dump("minutes"), ElementsAre("a 10:15: n=2", "a 11:01: n=1"));
  EXPECT_THAT(store_.dump("hours"), ElementsAre("a 10: n=2", "a 11: n=1"));
  EXPECT_THAT(store_.dump("late"), ElementsAre("a: n=1", "b: n=1"));
}

TEST_F(DrainedWithPartials, NoPartialSumReachesAMinuteThatIsClosed) {
  click("a", "1", 15, 30);
  click("b", "2", 17, 30);
  run_and_drain(2);
  click("a", "3", 16, 10);
  click("b", "4", 17, 40);
  run_and_drain(3);
  EXPECT_THAT(store_.dump("minutes"), ElementsAre("a 10:15: n=1", "b 10:17: n=1"));
  EXPECT_THAT(store_.dump("hours"), ElementsAre("a 10: n=1", "b 10: n=1"));
  EXPECT_THAT(store_.dump("late"), ElementsAre("a: n=1", "b: n=1"));
}

// What the two halves of the rule are for.
TEST_F(Drained, AFloorAtTheEndOfTimeWouldRefuseEveryRow) {
  defences_.t5_end_is_no_floor = false;
  click("a", "1", 15, 30);
  run_and_drain(1);
  click("a", "2", 61, 0);
  run_and_drain(1);
  EXPECT_THAT(store_.dump("minutes"), ElementsAre("a 10:15: n=1"));
  EXPECT_THAT(store_.dump("late"), ElementsAre());
}

TEST_F(Drained, AMinuteOpenedInsideAClosedHourWouldBeMissingThere) {
  defences_.t5_closed_below = false;
  click("a", "1", 15, 30);
  run_and_drain(1);
  click("a", "2", 16, 10);
  run_and_drain(1);
  EXPECT_THAT(store_.dump("minutes"), ElementsAre("a 10:15: n=1", "a 10:16: n=1"));
  EXPECT_THAT(store_.dump("hours"), ElementsAre("a 10: n=1"));
}

/// One window over all clicks, whose rows go to tables that several subtasks may write.
class GlobalWindow : public SmallJob {
 protected:
  GlobalWindow()
      : SmallJob(R"sql(
CREATE TABLE clicks (
  ad STRING, id STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'script');
CREATE TABLE minutes (w STRING, n BIGINT, PRIMARY KEY (w) NOT ENFORCED) WITH ('connector' = 'simshared');
CREATE TABLE log (w STRING, n BIGINT) WITH ('connector' = 'simlog');
CREATE VIEW per_minute AS SELECT window_start AS s, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
EXECUTE STATEMENT SET BEGIN
INSERT INTO minutes SELECT DATE_FORMAT(s, 'HH:mm'), n FROM per_minute;
INSERT INTO log SELECT DATE_FORMAT(s, 'HH:mm'), n FROM per_minute;
END;)sql") {
    registry_.add("simshared", simstore_connector(&store_, {}, /*parallel=*/true));
    registry_.add("simlog", simlog_connector(&store_, {}));
  }
};

// A subtask that gets no rows would get no barrier either, and no checkpoint would be complete.
TEST_F(GlobalWindow, EverySubtaskBehindItSeesTheBarrier) {
  click("a", "1", 15);
  click("b", "2", 15);
  run_and_drain(4);
  EXPECT_THAT(store_.dump("minutes"), ElementsAre("10:15: n=2"));
  EXPECT_THAT(store_.tables().added("log"), ElementsAre("+I[10:15, 2]"));
}

}  // namespace
}  // namespace strand::sim
