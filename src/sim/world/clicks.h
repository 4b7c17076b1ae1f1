// Small random inputs for the ad-click job, and what must come out: a recount that shares no code with the
// engine.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"

namespace strand::sim {

/// One line of a shard file and when it is appended.
struct ClickLine {
  WallTime at;
  size_t shard = 0;
  std::string line;
  bool bad = false;
  std::string click_id;
  std::string ad;
  int64_t event_millis = 0;
  int64_t spend = 0;
};

struct ClickInput {
  size_t shards = 3;
  bool all_from_the_start = false;  // no shard comes while the job runs
  std::vector<ClickLine> lines;     // in the order of `at`
  std::vector<std::string> files;   // where each shard stands; empty: S1.jsonl, S2.jsonl ... of the clicks
};

struct ClickShape {
  size_t shards = 3;
  size_t rows = 220;
  int ads = 5;
  Duration span{150'000};  // from the first click to the last
  Duration disorder{4'000};
  double duplicates = 0.05;
  double late = 0.04;  // by 1 to 3 minutes
  double bad = 0.01;
  double silent_shard = 0.3;   // chance that one shard stops half way
  Duration grain{1};           // event times are multiples of it
  bool one_at_a_time = false;  // no two clicks of an ad have one event time
  double edges = 0.1;          // event times in the last millisecond of a second, where windows end
  double future = 0.01;        // phones whose clock is years ahead
};
/// No row that any order of reading makes late: nothing is old, copied, bad or ahead of its time.
ClickShape punctual(ClickShape shape);

/// Follows from the seed alone.
ClickInput make_clicks(uint64_t seed, WallTime start, const ClickShape& shape);

/// What the recount says: per ad and hour, distinct clicks and their spend; how many copies and bad lines
/// there are.
struct Recount {
  struct Total {
    int64_t clicks = 0;
    int64_t spend = 0;
  };
  std::map<std::pair<std::string, std::string>, Total> hours;      // (ad, "yyyy-MM-dd HH")
  std::map<std::pair<std::string, std::string>, int64_t> minutes;  // (ad, "yyyy-MM-dd HH:mm")
  int64_t records = 0;
  int64_t distinct = 0;
  int64_t copies = 0;
  int64_t bad = 0;
};
Recount recount(const ClickInput& input);

}  // namespace strand::sim
