// That the second sweep of a store without fences is due survives every crash (replay.md F7d).
#include <gtest/gtest.h>

#include "checkpoint/store.h"
#include "connect/registry.h"
#include "runtime/attempt.h"
#include "sim/world/script_source.h"
#include "sim/world/sim_connector.h"
#include "sim/world/virtual_driver.h"
#include "sql/compile.h"

namespace strand::sim {
namespace {

constexpr const char* kCounts = R"sql(
CREATE TABLE clicks (ad STRING) WITH ('connector' = 'script');
CREATE TABLE counts (ad STRING, n BIGINT, PRIMARY KEY (ad) NOT ENFORCED) WITH ('connector' = 'simstore');
INSERT INTO counts SELECT ad, COUNT(*) FROM clicks GROUP BY ad;
)sql";

class Sweep : public ::testing::Test {
 protected:
  explicit Sweep() {
    script_->add_shard("S1");
    registry_.add("script", script_connector(script_));
    registry_.add("simstore", simstore_connector(&store_, {}));
    sql::SqlInput input;
    input.file = "job.sql";
    input.text = kCounts;
    auto compiled = sql::compile(input);
    EXPECT_TRUE(compiled.ok()) << compiled.status().to_string();
    if (compiled.ok()) plan_ = compiled->plan;
  }

  /// One attempt lives so long and dies; the marks "swept" of all attempts afterwards.
  std::vector<bool> live(Duration length) {
    runtime::JobOptions options;
    options.job = "job";
    options.checkpoint_dir = "/state/checkpoints";
    options.savepoint_dir = "/state/savepoints";
    options.checkpoints.interval = Duration{10'000};
    {
      auto attempt = runtime::JobAttempt::start(plan_, registry_, options, {}, world_.env(), nullptr);
      EXPECT_TRUE(attempt.ok()) << attempt.status().to_string();
      if (!attempt.ok()) return {};
      VirtualDriver driver(world_, **attempt);
      EXPECT_TRUE(driver.run_until(world_.clock.now() + length).ok());
    }
    world_.crash();
    store_.crash();
    const auto store =
        checkpoint::Store::open(world_.files, options.checkpoint_dir, options.savepoint_dir, "job");
    EXPECT_TRUE(store.ok());
    std::vector<bool> swept;
    for (const AttemptRecord& record : store->attempts()) swept.push_back(record.swept);
    return swept;
  }

  SimEnv world_{1, WallTime{1'770'544'800'000}};
  SimStore store_{{/*attempt_rows=*/false, {}}};
  std::shared_ptr<Script> script_ = std::make_shared<Script>();
  connect::Registry registry_;
  plan::Plan plan_;
};

TEST_F(Sweep, F7d_IsDueUntilACheckpointBehindTheLongestLifeOfARequest) {
  EXPECT_EQ(live(Duration{15'000}), std::vector<bool>({false}));
  EXPECT_EQ(live(Duration{15'000}), std::vector<bool>({false, false}));
  EXPECT_EQ(live(Duration{kRequestLife.millis + 15'000}), std::vector<bool>({true, true, true}));
}

}  // namespace
}  // namespace strand::sim
