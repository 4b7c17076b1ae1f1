// Random input in the simulator: the property of section 8 on more than one story.
#include <fstream>
#include <sstream>

#include "sim/world/judge_ad_clicks.h"
#include "sim/world/simulation.h"
#include "sql/compile.h"
#include "tests/story/story.h"

namespace strand::story {
namespace {

/// The job of the examples; with partial sums, or without.
Result<sim::SimulatedJob> job(bool partials) {
  std::ifstream file("examples/ad-clicks/job.sql");
  std::stringstream content;
  if (partials) {
    content << "SET 'table.exec.mini-batch.enabled' = 'true';\n"
               "SET 'table.exec.mini-batch.allow-latency' = '500 ms';\n";
  }
  content << file.rdbuf();
  sql::SqlInput input;
  input.text = content.str();
  input.file = "job.sql";
  const auto compiled = sql::compile(input);
  EXPECT_TRUE(compiled.ok()) << compiled.status().to_string();
  return sim::simulated_ad_clicks(compiled->plan);
}

/// What differs from a recount in 100 seeds; the first only, if that is enough.
std::vector<std::string> violations(const std::function<void(sim::SimulationOptions&)>& change,
                                    bool first_only) {
  static const Result<sim::SimulatedJob> jobs[] = {job(false), job(true)};
  for (const auto& each : jobs) EXPECT_TRUE(each.ok()) << each.status().to_string();
  std::vector<std::string> out;
  for (uint64_t seed = 1; seed <= 100 && !(first_only && !out.empty()); ++seed) {
    sim::SimulationOptions options;
    options.seed = seed;
    options.slow_sinks = 0;  // what is written late is seldom written before a crash
    options.input.disorder = Duration{static_cast<int64_t>(seed % 13) * 5'000};
    change(options);
    for (const auto& difference : sim::simulate(*jobs[seed % 2], options).differences)
      out.push_back(text(static_cast<int64_t>(seed)) + ": " + difference);
  }
  return out;
}

bool found(const std::function<void(sim::SimulationOptions&)>& change) {
  return !violations(change, true).empty();
}

TEST(RandomInput, F297_NothingDiffersFromTheRecount) {
  fact("F297", list_of(violations([](sim::SimulationOptions&) {}, false)));
}
TEST(RandomInput, F298_FindsWhatTheFlushIsFor) {
  fact("F298", text(found([](sim::SimulationOptions& o) { o.defences.rules.f1 = false; })));
}
TEST(RandomInput, F299_FindsWhatTheFloorIsFor) {
  fact("F299", text(found([](sim::SimulationOptions& o) { o.defences.runtime.t1_floor = false; })));
}
TEST(RandomInput, F300_FindsWhatTagsOfBarriersAreFor) {
  fact("F300", text(found([](sim::SimulationOptions& o) { o.defences.rules.w3 = false; })));
}
TEST(RandomInput, F301_FindsWhatTheEmptyBufferAtTheBarrierIsFor) {
  fact("F301", text(found([](sim::SimulationOptions& o) { o.defences.runtime.barrier_buffers = false; })));
}
TEST(RandomInput, F302_FindsWhatPartialsBeforeWatermarksAreFor) {
  fact("F302",
       text(found([](sim::SimulationOptions& o) { o.defences.runtime.partials_before_watermark = false; })));
}

}  // namespace
}  // namespace strand::story
