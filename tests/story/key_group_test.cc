// Branch Q: which subtask owns a key of the C++ API, and how keys move to another parallelism.
#include "state/keyed/key_group.h"

#include <algorithm>

#include "engine/job_options.h"
#include "tests/story/typed_job.h"

namespace strand::story {
namespace {

using strandline::Millis;

const TypedRun::Build kMinutes = [](strandline::Job& job) {
  count_into_metrics(distinct_clicks(job, false)
                         .key_by(&TypedClick::ad_id)
                         .window(strandline::TumblingEventTimeWindows::of(Millis{60'000})));
};

/// Two clicks of one ad at 10:13, one more behind a restart at 10:14:25 if there is one.
std::unique_ptr<TypedRun> clicks_of(const std::string& ad, int32_t parallelism, int32_t then = 0) {
  Clicks clicks;
  clicks.add("S1", ad, "10:13:05", "10:13:05.3").add("S1", ad, "10:13:06", "10:13:06.3");
  clicks.branch.parallelism = parallelism;
  clicks.branch.until = story_time("10:13:32");
  if (then > 0) {
    clicks.add("S1", ad, "10:13:07", "10:14:25.3");
    clicks.branch.crashes = {story_time("10:13:35")};
    clicks.branch.restart_parallelism = then;
    clicks.branch.until = story_time("10:14:32");
  }
  return std::make_unique<TypedRun>(kMinutes, clicks.branch);
}

/// The only subtask of the windows that has had rows since an instant. -1: none or several.
int64_t owner(const StoryRun& run, const std::string& since) {
  auto rows = run.moments().back().rows_in.at("per_minute");
  const auto& before = run.at(since).rows_in.at("per_minute");
  for (size_t i = 0; i < rows.size(); ++i) rows[i] -= before[i];
  if (std::ranges::count_if(rows, [](int64_t n) { return n > 0; }) != 1) return -1;
  return std::ranges::find_if(rows, [](int64_t n) { return n > 0; }) - rows.begin();
}
int64_t owner(const std::string& ad, int32_t parallelism) {
  return owner(**clicks_of(ad, parallelism), "10:13:00");
}

/// Ranges of the subtasks, as the last checkpoint says.
std::vector<KeyGroupRange> ranges(const StoryRun& run) {
  auto found = run.checkpoints().rbegin()->second.groups.at("per_minute");
  std::ranges::sort(found, {}, &KeyGroupRange::first);
  return found;
}
std::string ranges_text(const std::vector<KeyGroupRange>& ranges) {
  std::vector<std::string> out;
  for (const KeyGroupRange& range : ranges) out.push_back(tuple(range.first, range.last));
  return list_of(out);
}

TEST(Q, F243_F244_AKeysGroupIsTheSubtaskWhereThereIsOneForEach) {
  const auto of = [](const std::string& ad) {
    const int32_t hash = state::java_hash::of_string(ad);
    return tuple(hash, state::murmur_mix(hash), owner(ad, 128));
  };
  fact("F243", of("ad_7"));
  fact("F244", of("ad_9"));
}

TEST(Q, F245_F246_OwnersOfBothAds) {
  fact("F245", tuple(owner("ad_7", 2), owner("ad_9", 2)));
  fact("F246", tuple(owner("ad_7", 4), owner("ad_9", 4)));
}

TEST(Q, F247_F248_F249_RangesOfTheSubtasks) {
  fact("F247", ranges_text(ranges(**clicks_of("ad_7", 2))));
  fact("F248", ranges_text(ranges(**clicks_of("ad_7", 4))));
  const auto three = ranges(**clicks_of("ad_7", 3));
  bool agree = true;
  for (int32_t group = 0; group < 128; ++group)
    agree = agree && three[static_cast<size_t>(owner_of(group, 3, 128))].contains(group);
  fact("F249", tuple(ranges_text(three), agree));
}

TEST(Q, F250_TheMaximumParallelismFollowsFromTheParallelism) {
  std::vector<std::string> highest;
  for (const char* parallelism : {"1", "85", "86", "100", "1000", "30000"}) {
    plan::Plan plan;
    plan.settings["parallelism.default"] = {parallelism, "job.sql:1:1"};
    const auto options = engine::job_options(plan, {"/job"}, {1, int64_t{1} << 30});
    ASSERT_TRUE(options.ok()) << options.status().to_string();
    highest.push_back(text(options->max_parallelism));
  }
  fact("F250", list_of(highest));
}

TEST(Q, F252_KeysMoveAndEveryGroupHasOneOwner) {
  const auto seven = clicks_of("ad_7", 2, 4);
  const auto nine = clicks_of("ad_9", 2, 4);
  bool once = true;
  for (const auto& all : {ranges(**clicks_of("ad_7", 2)), ranges(**seven)}) {
    for (int32_t group = 0; group < 128; ++group)
      once = once && std::ranges::count_if(
                         all, [&](const KeyGroupRange& range) { return range.contains(group); }) == 1;
  }
  EXPECT_EQ((**seven).checkpoints().rbegin()->second.groups.at("per_minute").size(), 4U);
  fact("F252", tuple(once, tuple(owner("ad_7", 2), owner(**seven, "10:14:25"), owner("ad_9", 2),
                                 owner(**nine, "10:14:25"))));
}

}  // namespace
}  // namespace strand::story
