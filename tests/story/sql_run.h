// Runs of jobs of their own, on input of their own.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "tests/story/story.h"

namespace strand::story {

/// Clicks of one shard after the other, and how they are read. No crash, and snapshots that take no time.
class Clicks {
 public:
  Clicks();
  /// Events and reads as "10:14:20.4"; the click's id is its label.
  Clicks& add(const std::string& shard, const std::string& ad, const std::string& event,
              const std::string& read);
  /// The first click once more, read so long after it.
  Clicks& copy(Duration after);

  sim::StoryBranch branch;
};

/// Compiles; a job that cannot be compiled or run fails the test.
plan::Plan plan_of(const std::string& sql);

/// Its tables are `clicks` (clicks_table) and such whose connector is `storystore`, `storylog` or
/// `storytopic`.
class SqlRun {
 public:
  SqlRun(const std::string& sql, const sim::StoryBranch& branch);
  const StoryRun& operator*() const { return *run_; }
  const StoryRun* operator->() const { return run_.get(); }

 private:
  plan::Plan plan_;
  std::unique_ptr<StoryRun> run_;
};

/// What `make` makes (a pointer to a run), once for each parallelism of the tests.
template <class Make>
const StoryRun& made_once(const Make& make) {
  static std::map<int32_t, decltype(make())> runs;
  auto& run = runs[at_parallelism({}).parallelism];
  if (!run) run = make();
  return **run;
}

/// CREATE TABLE clicks, with event time `ts`, its bound as in the DataStream API, `read_time`, and `more`
/// options.
std::string clicks_table(const std::string& bound = "'5.001' SECOND", const std::string& more = "");
/// CREATE TABLE of a table whose rows are set by key; `columns` with PRIMARY KEY.
std::string set_table(const std::string& name, const std::string& columns);

/// Writes (not of the flush) whose key begins with `key`.
std::vector<StoryWrite> rows_of(const StoryRun& run, const std::string& key);
/// The last value that was written to the column; 0 if none was.
int64_t last_value(const StoryRun& run, const std::string& key, const std::string& column);

}  // namespace strand::story
