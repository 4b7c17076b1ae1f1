// Sources that wait for each other.
#include "tests/api/typed_jobs.h"

namespace strandline::testing {
namespace {

using strand::testing::JobRunner;

DataStream<Click> aligned(Job& job, const std::string& connector) {
  const Table table{connector,
                    {{"user", "STRING"}, {"spend", "BIGINT"}, {"ms", "BIGINT"}},
                    {{"connector", connector},
                     {"scan.watermark.alignment.group", "g"},
                     {"scan.watermark.alignment.max-drift", "10 s"},
                     {"scan.watermark.alignment.update-interval", "0 s"}}};
  return job
      .source(table, {col("user"), col("spend"), call("TO_TIMESTAMP_LTZ", {col("ms"), lit(3)}).as("at")},
              EventTime{"at", Millis(0)})
      .as<Click>();
}

// One source would be read to its end at once; it waits for the other, and nothing is lost.
TEST(Alignment, AFastSourceWaitsForASlowOneOfItsGroup) {
  JobRunner runner([] {
    Job job("job");
    const auto seconds = [](const Click& click) { return click.user + std::to_string(click.spend); };
    log(aligned(job, "script").map(seconds), "fast");
    log(aligned(job, "script2").map(seconds), "slow");
    return job;
  });
  std::vector<std::string> fast;
  std::vector<std::string> slow;
  for (int64_t i = 0; i < 20; ++i) {
    fast.push_back(click("f", i * 5, i));
    slow.push_back(click("s", i * 5, i));
  }
  runner.feed("script", fast);
  runner.feed("script2", slow);
  runner.hold_back("script2");
  runner.run_legs({{5'000, 1, strand::testing::Leg::End::kStop}});
  EXPECT_THAT(runner.rows("fast"), ::testing::ElementsAre("+I[f0]")) << "the other has said nothing yet";
  runner.let_go("script2");
  runner.run();
  EXPECT_EQ(runner.rows("fast").size(), 20U);
  EXPECT_EQ(runner.rows("slow").size(), 20U);
}

}  // namespace
}  // namespace strandline::testing
