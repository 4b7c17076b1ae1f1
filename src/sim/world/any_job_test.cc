// Jobs that nobody has written a recount for.
#include "sim/world/any_job.h"

#include <gmock/gmock.h>

#include "sim/world/late_rows.h"
#include "sim/world/simulation.h"
#include "sql/compile.h"

namespace strand::sim {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOrders = R"sql(
CREATE TABLE orders (id BIGINT, shop STRING, price DECIMAL(6, 1), paid BOOLEAN, t TIMESTAMP(3),
  WATERMARK FOR t AS t) WITH ('connector' = 'filesystem', 'path' = 'orders', 'format' = 'json');
CREATE TABLE visits (shop STRING, ms BIGINT, weight DOUBLE, ts AS TO_TIMESTAMP_LTZ(ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'filesystem', 'path' = 'visits', 'format' = 'json');
CREATE TABLE turnover (shop STRING, s STRING, n BIGINT, total DECIMAL(20, 1), PRIMARY KEY (shop, s) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = 'x.db');
CREATE TABLE busy (shop STRING, n BIGINT, weight DOUBLE, PRIMARY KEY (shop) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = 'x.db');
CREATE TABLE paid_orders (id BIGINT, shop STRING) WITH ('connector' = 'filesystem', 'path' = 'paid', 'format' = 'json');
INSERT INTO turnover SELECT shop, CAST(window_start AS STRING), COUNT(*), SUM(price)
  FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(t), INTERVAL '10' SECOND)) GROUP BY shop, window_start, window_end;
INSERT INTO busy SELECT o.shop, o.n, v.weight FROM (SELECT shop, COUNT(*) AS n FROM orders GROUP BY shop) o
  JOIN (SELECT shop, SUM(weight) AS weight FROM visits GROUP BY shop) v ON o.shop = v.shop;
INSERT INTO paid_orders SELECT id, shop FROM orders WHERE paid;
)sql";

Result<SimulatedJob> job_of(const std::string& sql, GivenInput given = {}, bool parallel = false) {
  sql::SqlInput input;
  input.file = "job.sql";
  input.text = sql;
  STRAND_TRY(const auto compiled, sql::compile(input));
  return any_job(compiled.plan, std::move(given), parallel);
}

std::vector<std::string> differences(const SimulatedJob& job, uint64_t seeds, const Defences& defences = {}) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SimulationOptions options;
    options.seed = seed;
    options.defences = defences;
    const SimulationResult result = simulate(job, options);
    if (!result.differences.empty()) return result.differences;
  }
  return {};
}

TEST(AnyJob, EqualsItsRecountWhateverHappens) {
  for (const bool parallel : {false, true}) {
    const auto job = job_of(kOrders, {}, parallel);
    ASSERT_TRUE(job.ok()) << job.status().to_string();
    EXPECT_THAT(differences(*job, 15), ::testing::IsEmpty());
  }
}

TEST(AnyJob, DiffersWithoutADefence) {
  const auto job = job_of(kOrders);
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  Defences values;
  values.rules.w1 = false;
  EXPECT_FALSE(differences(*job, 20, values).empty());
  Defences markers;
  markers.rules.x1m = markers.rules.x3e = false;
  EXPECT_FALSE(differences(*job, 40, markers).empty());
}

plan::Plan plan_of(const std::string& sql) {
  sql::SqlInput input;
  input.file = "job.sql";
  input.text = sql;
  auto compiled = sql::compile(input);
  EXPECT_TRUE(compiled.ok()) << compiled.status().to_string();
  return compiled.ok() ? compiled->plan : plan::Plan();
}

// Turnover loses exactly the orders that its window has called late: whoever opens a closed window again
// gives other rows.
TEST(AnyJob, LosesExactlyTheRowsThatItsWindowsCallLate) {
  EXPECT_THAT(judged_windows(plan_of(kOrders)), ::testing::SizeIs(1));
  const auto job = job_of(kOrders);
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  Defences floor;
  floor.runtime.t1_floor = false;
  EXPECT_FALSE(differences(*job, 40, floor).empty());
}

TEST(AnyJob, IsGivenNoLateRowsWhereTheyCannotBeTakenOutAgain) {
  const auto windows = [](const std::string& window, const std::string& more = "") {
    return judged_windows(plan_of(
        "CREATE TABLE c (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');\n"
        "CREATE VIEW v AS SELECT k, window_start, window_end, COUNT(*) AS n FROM TABLE(" +
        window +
        ") GROUP BY k, window_start, window_end;\n"
        "SELECT k, n FROM v;\n" +
        more));
  };
  const std::string tumble = "TUMBLE(TABLE c, DESCRIPTOR(ts), INTERVAL '1' MINUTE)";
  EXPECT_THAT(windows(tumble), ::testing::ElementsAre("v/window"));
  EXPECT_THAT(windows(tumble, "SELECT k FROM v$late;"), ::testing::IsEmpty()) << "it reads them itself";
  EXPECT_THAT(windows("HOP(TABLE c, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"),
              ::testing::IsEmpty())
      << "a row may be late for one of its windows";
}

// The lines lie out of order: they are read in the order of event time, so that none is late.
TEST(AnyJob, ReadsTheLinesThatItIsGivenInTheOrderOfEventTime) {
  const std::string sql =
      "CREATE TABLE c (k STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts)"
      " WITH ('connector' = 'filesystem', 'path' = 'c', 'format' = 'csv');\n"
      "CREATE TABLE w (k STRING, s STRING, n BIGINT, PRIMARY KEY (k, s) NOT ENFORCED)"
      " WITH ('connector' = 'sqlite', 'path' = 'x.db');\n"
      "INSERT INTO w SELECT k, CAST(window_start AS STRING), COUNT(*)"
      " FROM TABLE(TUMBLE(TABLE c, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY k, window_start, "
      "window_end;\n";
  GivenInput given;
  auto& shards = given["c"];
  shards.resize(2);
  for (int64_t i = 0; i < 100; ++i)
    shards[static_cast<size_t>(i % 2)].push_back("a," +
                                                 std::to_string(1'770'545'600'000 + (99 - i) * 10'000));
  const auto job = job_of(sql, given);
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  EXPECT_THAT(differences(*job, 10), ::testing::IsEmpty());
}

TEST(AnyJob, IsRefusedWhereNothingCanBeComparedOrMade) {
  const std::string table =
      "CREATE TABLE c (k ARRAY<STRING> NOT NULL) WITH ('connector' = 'filesystem', 'path' = 'c',"
      " 'format' = 'json');\n";
  const auto job = job_of(table + "SELECT k FROM c;");
  ASSERT_EQ(job.status().code(), ErrorCode::kNotSimulated);
  EXPECT_THAT(job.status().to_string(), HasSubstr("STRAND-1011"));
  EXPECT_THAT(job.status().to_string(), HasSubstr("found k of type ARRAY<STRING> NOT NULL"));
  EXPECT_THAT(job.status().to_string(), HasSubstr("job.sql:1"));
}

}  // namespace
}  // namespace strand::sim
