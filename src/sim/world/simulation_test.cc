// Which jobs the simulator runs. That it finds what it is for is proved by `strandline sim` itself, with its
// canaries.
#include "sim/world/judge_ad_clicks.h"

#include <gmock/gmock.h>

#include "sql/compile.h"

namespace strand::sim {
namespace {

using ::testing::HasSubstr;

Result<SimulatedJob> simulated(const std::string& clicks, const std::string& metrics,
                               const std::string& select) {
  sql::SqlInput input;
  input.file = "job.sql";
  input.text = "CREATE TABLE c (" + clicks +
               ") WITH ('connector' = 'filesystem', 'path' = 'c', 'format' = 'json');\n" + "CREATE TABLE " +
               metrics + ";\nINSERT INTO ad_metrics (k, fast_valid) " + select +
               " ON CONFLICT DO DEDUPLICATE;\nINSERT INTO ad_metrics (k, late_valid) " + select +
               " ON CONFLICT DO DEDUPLICATE;\n";
  STRAND_TRY(const auto compiled, sql::compile(input));
  return simulated_ad_clicks(compiled.plan);
}

constexpr const char* kMetricsTable =
    "ad_metrics (k STRING, fast_valid BIGINT, late_valid BIGINT, PRIMARY KEY (k) NOT ENFORCED)"
    " WITH ('connector' = 'sqlite', 'path' = 'm.db')";

TEST(SimulationPlan, PutsGeneratedClicksAndASimulatedStoreAtTheEndsOfTheJob) {
  const auto plan =
      simulated("ad_id STRING, spend_micros BIGINT", kMetricsTable, "SELECT ad_id, spend_micros FROM c");
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  for (const plan::NodePtr& sink : plan->plan.sinks) {
    EXPECT_EQ(std::get<plan::SinkWrite>(sink->detail).table.options.at("connector"), "simstore");
  }
  const auto& scan = std::get<plan::Scan>(plan->plan.nodes().front()->detail);
  EXPECT_EQ(scan.table.options.at("path"), "/clicks");
}

TEST(SimulationPlan, RefusesAColumnThatIsNotGenerated) {
  const auto plan = simulated("ad_id STRING, price BIGINT", kMetricsTable, "SELECT ad_id, price FROM c");
  ASSERT_EQ(plan.status().code(), ErrorCode::kNotSimulated);
  EXPECT_THAT(plan.status().to_string(), HasSubstr("STRAND-1011"));
  EXPECT_THAT(plan.status().to_string(),
              HasSubstr("expected table c to have columns of a click, found price"));
  EXPECT_THAT(plan.status().to_string(), HasSubstr("job.sql:1"));
}

TEST(SimulationPlan, RefusesAJobThatNoRecountOfClicksCanJudge) {
  sql::SqlInput input;
  input.file = "job.sql";
  input.text =
      "CREATE TABLE c (ad_id STRING) WITH ('connector' = 'filesystem', 'path' = 'c', 'format' = 'json');\n"
      "SELECT ad_id FROM c;\n";
  const auto compiled = sql::compile(input);
  ASSERT_TRUE(compiled.ok()) << compiled.status().to_string();
  EXPECT_THAT(simulated_ad_clicks(compiled->plan).status().to_string(),
              HasSubstr("writes fast_valid and late_valid"));
}

}  // namespace
}  // namespace strand::sim
