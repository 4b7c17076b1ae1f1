// What the tests of the story share: the runs, the expected values, and the texts that both are compared as.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "sim/story/run.h"

namespace strand::story {

using sim::story_event;
using sim::story_millis;
using sim::story_time;
using sim::StoryMoment;
using sim::StoryRun;
using sim::StoryTable;
using sim::StoryWrite;

/// The run of a branch, made once. `main`, `no crash`, `NF`, ...: branches.cc. A run that fails fails the
/// test. Parallelism 0: that of the branch, or of the test (run_at).
const StoryRun& story(const std::string& branch, int32_t parallelism = 0);

/// What differs from a recount at the end of input when the worker dies at these instants.
std::vector<std::string> violations(const std::string& branch, const std::vector<WallTime>& crashes);

/// data/facts.json and, with words for values, data/seeds.json: id -> what it says, what is expected.
struct Fact {
  std::string what;
  std::string expected;
};
const std::map<std::string, Fact>& facts();

/// The fact must say `found`.
void fact(const std::string& id, const std::string& found);
/// Facts that share a reason.
struct Reasoned {
  const char* reason;
  const char* ids;  // with spaces between
};
/// Each id with its reason.
std::map<std::string, std::string> by_id(std::span<const Reasoned> groups);
/// Facts that are not read at parallelism 1, 2 and 4 -> why.
std::map<std::string, std::string> told_once();
/// Facts that no test reads from a run yet -> what they wait for.
std::map<std::string, std::string> not_built();

// Texts as in the facts.
std::string text(WallTime time);
std::string text(EventTime time);
inline std::string text(const std::string& value) { return value; }
inline std::string text(const char* value) { return value; }
inline std::string text(bool value) { return value ? "True" : "False"; }
inline std::string text(int64_t value) { return std::to_string(value); }
inline std::string text(int value) { return std::to_string(value); }
inline std::string text(size_t value) { return std::to_string(value); }
template <class T>
std::string text(const std::optional<T>& value) {
  return value ? text(*value) : "None";
}

std::string joined(const std::vector<std::string>& parts, const char* open, const char* close);
template <class... T>
std::string tuple(const T&... parts) {
  return joined({text(parts)...}, "(", ")");
}
template <class... T>
std::string list(const T&... parts) {
  return joined({text(parts)...}, "[", "]");
}
inline std::string list_of(const std::vector<std::string>& parts) { return joined(parts, "[", "]"); }
inline std::string set_of(const std::set<std::string>& parts) {
  return joined({parts.begin(), parts.end()}, "{", "}");
}
std::string dict(const std::map<std::string, int64_t>& entries);

// Questions to a run.
/// "10:14:24.999", "idle" or "none".
std::string shard(const StoryMoment& moment, const std::string& shard);
/// "{S1: ..., S2: ..., S3: ...}"
std::string shards(const StoryMoment& moment);
std::optional<int64_t> cell(const StoryTable& table, const std::string& key, const std::string& column);
/// (value, tag) of a writer's column: "(5, 41)".
std::string valid(const StoryTable& table, const std::string& key, const std::string& writer = "fast");
/// Writes (not those of the flush) of `key` in ad_metrics or ad_running from an instant on and before
/// another.
std::vector<StoryWrite> writes(const StoryRun& run, const std::string& table, const std::string& key,
                               const std::string& from = "10:12:30", const std::string& before = "10:30:00");
/// The first such write. Requires one.
StoryWrite first_write(const StoryRun& run, const std::string& key, const std::string& from = "10:12:30");
/// When the running total of `key` first was written with this value.
std::string early(const StoryRun& run, const std::string& key, int64_t value,
                  const std::string& from = "10:12:30");
/// Verdicts of one click, in the order in which they came: "(late, 10:14:52.999)".
std::vector<std::string> verdicts(const StoryRun& run, const std::string& click);
/// Minutes of the table, their sum and the late total per ad: what has been counted.
int64_t counted(const StoryTable& table, const std::string& ad);
/// The minutes and late totals of the end, tags included: equal for equal ends.
std::string end_of(const StoryRun& run);
/// The first instant from `from` on at which S is idle.
std::string idle_from(const StoryRun& run, const std::string& shard, const std::string& from = "10:12:30");
/// The only floor of the minutes in a checkpoint.
std::string floor_of(const StoryRun& run, int64_t epoch);

/// Runs everything that says nothing else (StoryBranch::parallelism is 1) by so many subtasks, until the next
/// call.
void run_at(int32_t parallelism);
sim::StoryBranch at_parallelism(sim::StoryBranch branch);

/// Tests that run by 1, 2 and 4 subtasks.
class AtParallelism : public ::testing::TestWithParam<int32_t> {
 protected:
  AtParallelism() { run_at(GetParam()); }
  ~AtParallelism() override { run_at(1); }
};

/// The main line.
class Main : public AtParallelism {
 protected:
  static const StoryRun& run() { return story("main"); }
};

// The branches, what is tried at their edges, and jobs of their own.
using A = AtParallelism;
using Boundary = AtParallelism;
using CL = AtParallelism;
using End = AtParallelism;
using FreeChoices = AtParallelism;
using G = AtParallelism;
using Guard = AtParallelism;
using K = AtParallelism;
using Lag = AtParallelism;
using Later = AtParallelism;
using NF = AtParallelism;
using NI = AtParallelism;
using NoCrash = AtParallelism;
using P1 = AtParallelism;
using P2 = AtParallelism;
using Payments = AtParallelism;
using ProcessingTime = AtParallelism;
using R1x = AtParallelism;
using Recount = AtParallelism;
using Seeds = AtParallelism;
using Session = AtParallelism;
using SecondWindow = AtParallelism;
using Sliding = AtParallelism;
using SlowWrites = AtParallelism;
using Sql = AtParallelism;
using U = AtParallelism;
using W = AtParallelism;
using X = AtParallelism;

}  // namespace strand::story
