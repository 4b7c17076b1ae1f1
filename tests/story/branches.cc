// The branches of the story: what each changes in the input, the job or the engine.
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "ad-clicks/pipeline.h"
#include "api/build.h"
#include "sql/compile.h"
#include "tests/story/story.h"

namespace strand::story {

namespace {

using sim::StoryBranch;
using sim::StoryClick;

constexpr int64_t kYear2031 = 1'924'992'000'000;

/// A branch and the variation of the job that it needs.
struct Setup {
  StoryBranch branch;
  ad_clicks::Options job;
  bool sql = false;
  bool topic = false;  // closed minutes also go to a topic, exactly once; SQL only

  Setup() {
    job.clicks = sim::story_tables("clicks");
    job.metrics = sim::story_tables("ad_metrics");
    job.running = sim::story_tables("ad_running");
    job.exceptions = sim::story_tables("exceptions");
  }
  StoryClick& click(std::string_view label) { return sim::story_click(branch.clicks, label); }
  void read(std::string_view label, std::string_view at) { click(label).read = story_time(at); }
  void add(const char* label, const char* shard, const char* ad, const char* event, const char* read) {
    const EventTime time = story_event(event);
    branch.clicks.push_back({label, label, shard, ad, time - Duration{10'000}, time, story_time(read)});
  }
  /// Keeps the clicks read before `until`.
  void cut(std::string_view until) {
    std::erase_if(branch.clicks, [&](const StoryClick& c) { return c.read >= story_time(until); });
  }
};

using Change = std::function<void(Setup&)>;

void no_crash(Setup& s) {
  s.branch.crashes.clear();
  s.branch.slow_sink = false;
}
void slow_c41(Setup& s) {
  s.branch.snapshot_takes[story_time("10:15:00")] = Duration{20'500};
  s.branch.snapshot_takes[story_time("10:15:30")] = Duration{1'500};
}
void clock_of_2031(Setup& s) {
  no_crash(s);
  s.click("c7").device = EventTime{kYear2031};
}
/// Every shard has read up to an event time `at`, and nothing later.
void up_to(Setup& s, const char* at) {
  no_crash(s);
  s.cut("10:15:00");
  for (const char* shard : {"S1", "S2", "S3"})
    s.add((std::string("x") + shard).c_str(), shard, "ad_7", at, "10:15:05.1");
  s.branch.until = story_time("10:15:10");
}

/// Without idle timeout the third shard holds event time at 10:14:14.999, for ever.
void stands_still(Setup& s) {
  no_crash(s);
  s.job.idle_timeout.reset();
  s.cut("10:14:45");
  s.branch.until = story_time("10:21:00");
}
void with_lag_alarm(Setup& s) { s.branch.lag_alarm = {Duration{60'000}, Duration{300'000}}; }
/// Three late clicks of other ads at 10:15:30.0: each total is a write of 5 s.
void slow_writes(Setup& s) {
  no_crash(s);
  for (const char* ad : {"ad_1", "ad_2", "ad_3"}) s.add(ad, "S1", ad, "10:13:40", "10:15:30");
  s.branch.write_takes = Duration{5'000};
  s.branch.snapshot_takes[story_time("10:15:30")] = Duration{0};
}
/// Barrier 42 overtakes what waits for the sink.
void overtakes(Setup& s) {
  s.branch.slow_sink = false;
  s.branch.overtake_after = Duration{0};
}
/// It finds the sink with four late totals that are being written, and three more that wait for that.
void rows_in_flight(Setup& s) {
  overtakes(s);
  for (const char* ad : {"ad_11", "ad_12", "ad_13", "ad_14", "ad_1", "ad_2", "ad_3"})
    s.add(ad, "S1", ad, "10:13:40", "10:15:30");
  s.branch.write_takes = Duration{1'500};
}
void with_c17(Setup& s) {
  overtakes(s);
  s.add("c17", "S1", "ad_7", "10:13:45", "10:16:40");
}

/// The third shard is not idle yet: two source subtasks have two watermarks. A fourth shard, so that each of
/// four has one.
void rescaled(Setup& s, int32_t to) {
  s.add("x4", "S4", "ad_7", "10:14:50", "10:14:50.3");
  s.job.idle_timeout.reset();
  s.branch.parallelism = 2;
  s.branch.restart_parallelism = to;
}

/// Run to the end of input; who dies when is said by the test.
void any_instant(Setup& s) {
  s.branch.slow_sink = false;
  s.branch.until = story_time("10:18:40");
  s.branch.drain = true;
}
/// The whole input 14 minutes earlier, in event time: its first minute is the last of an hour.
void last_minute_of_the_hour(Setup& s) {
  for (StoryClick& click : s.branch.clicks) {
    click.impression = click.impression - Duration{840'000};
    click.device = click.device - Duration{840'000};
  }
}
/// Event time has come to `horizon` everywhere when a copy of c1 arrives. The story's bounds are lifted: the
/// clock of the wall is hours behind.
void copy_at(Setup& s, const char* horizon) {
  no_crash(s);
  s.job.clamp = false;
  s.cut("10:15:00");
  for (const char* shard : {"S1", "S2", "S3"}) {
    s.add((std::string("x") + shard).c_str(), shard, "ad_7", horizon, "10:15:05.1");
  }
  StoryClick copy = s.click("c1");
  copy.label = "c1'";
  copy.read = story_time("10:15:06");
  s.branch.clicks.push_back(copy);
  s.branch.until = story_time("10:15:10");
}
void with_topic(Setup& s) {
  s.sql = s.topic = true;
  s.branch.snapshot_takes.erase(story_time("10:17:00"));
  s.branch.until = story_time("10:17:35");
}
void slow_checkpoints(Setup& s) {
  any_instant(s);
  s.branch.snapshot_takes = {{story_time("10:12:30"), Duration{20'000}}};
}

const std::map<std::string, Change>& changes() {
  static const std::map<std::string, Change> all = {
      {"main", [](Setup&) {}},
      {"no crash", no_crash},
      {"end", [](Setup& s) { s.branch.drain = true; }},
      {"sql", [](Setup& s) { s.sql = true; }},
      {"sql end", [](Setup& s) { s.sql = s.branch.drain = true; }},
      {"recount",
       [](Setup& s) {
         no_crash(s);
         s.branch.stream_time = false;
         s.branch.drain = true;
       }},
      {"NF", [](Setup& s) { s.branch.rules.f1 = false; }},
      {"NI",
       [](Setup& s) {
         no_crash(s);
         s.job.idle_timeout.reset();
       }},
      {"CL clamped", clock_of_2031},
      {"CL",
       [](Setup& s) {
         clock_of_2031(s);
         s.job.clamp = false;
       }},
      {"device clock early",
       [](Setup& s) {
         no_crash(s);
         s.click("c7").device = story_event("10:14:40");
       }},
      {"P1", [](Setup& s) { s.read("c8", "10:15:06.9"); }},
      {"P1 without c11",
       [](Setup& s) {
         s.read("c8", "10:15:06.9");
         std::erase_if(s.branch.clicks, [](const StoryClick& c) { return c.label == "c11"; });
       }},
      {"P1 without rule 3",
       [](Setup& s) {
         no_crash(s);
         s.read("c8", "10:15:06.9");
         s.branch.defences.partials_before_watermark = false;
       }},
      {"R1x",
       [](Setup& s) {
         no_crash(s);
         s.branch.defences.partial_rows_judged = false;
       }},
      {"P2", [](Setup& s) { s.read("c7", "10:14:59.9"); }},
      {"P2 off",
       [](Setup& s) {
         s.read("c7", "10:14:59.9");
         s.branch.defences.barrier_buffers = false;
       }},
      {"P2 timer only",
       [](Setup& s) {
         s.read("c7", "10:14:59.9");
         s.branch.defences.barrier_buffers = s.branch.defences.partials_before_watermark = false;
       }},
      {"G", slow_c41},
      {"G last completed",
       [](Setup& s) {
         slow_c41(s);
         s.branch.rules.w3 = false;
       }},
      {"G last completed, rows open",
       [](Setup& s) {
         slow_c41(s);
         s.branch.rules.w3 = s.branch.rules.w4 = false;
       }},
      {"W", [](Setup& s) { s.branch.defences.t1_floor = false; }},
      {"W rows open",
       [](Setup& s) {
         s.branch.defences.t1_floor = false;
         s.branch.rules.w4 = false;
       }},
      {"W last minute of the hour, rows open",
       [](Setup& s) {
         last_minute_of_the_hour(s);
         s.branch.defences.t1_floor = s.branch.rules.w4 = false;
       }},
      {"last minute of the hour", last_minute_of_the_hour},
      {"copy before the horizon", [](Setup& s) { copy_at(s, "12:14:00"); }},
      {"copy at the horizon", [](Setup& s) { copy_at(s, "12:14:00.001"); }},
      {"any instant", any_instant},
      {"any instant, 20 s", slow_checkpoints},
      {"any instant, no flush",
       [](Setup& s) {
         any_instant(s);
         s.branch.rules.f1 = false;
       }},
      {"any instant, no floor",
       [](Setup& s) {
         any_instant(s);
         s.branch.defences.t1_floor = false;
       }},
      {"any instant, no floor, rows open",
       [](Setup& s) {
         any_instant(s);
         s.branch.defences.t1_floor = s.branch.rules.w4 = false;
       }},
      {"any instant, last completed",
       [](Setup& s) {
         slow_checkpoints(s);
         s.branch.rules.w3 = false;
       }},
      {"any instant, no rule 3",
       [](Setup& s) {
         any_instant(s);
         s.branch.defences.partials_before_watermark = false;
       }},
      {"x1", [](Setup& s) { s.add("x1", "S1", "ad_7", "10:13:59.5", "10:14:20.5"); }},
      {"up to 4.999", [](Setup& s) { up_to(s, "10:15:04.999"); }},
      {"up to 5.000", [](Setup& s) { up_to(s, "10:15:05"); }},
      {"c3 at 20.1", [](Setup& s) { s.read("c3", "10:14:20.1"); }},
      {"c3 at 20.2", [](Setup& s) { s.read("c3", "10:14:20.2"); }},
      {"c3 at 20.5", [](Setup& s) { s.read("c3", "10:14:20.5"); }},
      {"c15 on S2", [](Setup& s) { s.click("c15").shard = "S2"; }},
      {"c13 on S2", [](Setup& s) { s.click("c13").shard = "S2"; }},
      {"c3 at 20.4", [](Setup& s) { s.read("c3", "10:14:20.4"); }},
      {"c7 at 59.3", [](Setup& s) { s.read("c7", "10:14:59.3"); }},
      {"c10 at 6.8", [](Setup& s) { s.read("c10", "10:15:06.8"); }},
      {"c9 at 2.3", [](Setup& s) { s.read("c9", "10:15:02.3"); }},
      {"no buffer", [](Setup& s) { s.job.pre_aggregate.reset(); }},
      {"no crash until c51",
       [](Setup& s) {
         no_crash(s);
         s.branch.until = story_time("10:20:02");
       }},
      {"until c44", [](Setup& s) { s.branch.until = story_time("10:17:35"); }},
      {"K", with_topic},
      {"K no crash",
       [](Setup& s) {
         no_crash(s);
         with_topic(s);
       }},
      {"any instant, topic",
       [](Setup& s) {
         with_topic(s);
         any_instant(s);
       }},
      {"stands still",
       [](Setup& s) {
         stands_still(s);
         with_lag_alarm(s);
       }},
      {"lag alarm", with_lag_alarm},
      {"slow writes", slow_writes},
      {"U", overtakes},
      {"U in flight", rows_in_flight},
      {"U c17", with_c17},
      {"U c17 no floor, rows open",
       [](Setup& s) {
         with_c17(s);
         s.branch.defences.t1_floor = s.branch.rules.w4 = false;
       }},
      {"2 to 1", [](Setup& s) { rescaled(s, 1); }},
      {"2 to 4", [](Setup& s) { rescaled(s, 4); }},
      {"slow c43", [](Setup& s) { s.branch.snapshot_takes.erase(story_time("10:17:00")); }},
  };
  return all;
}

const char* const kTopic =
    "CREATE TABLE topic (ad_id STRING, bucket STRING, n BIGINT) WITH ('connector' = 'storytopic');\n"
    "INSERT INTO topic SELECT ad_id, 'M' || DATE_FORMAT(minute_start, 'yyyy-MM-dd HH:mm'), n FROM "
    "per_minute;\n";

Result<plan::Plan> sql_plan(bool topic) {
  std::ifstream file("examples/ad-clicks/job.sql");
  std::stringstream content;
  content << file.rdbuf();
  sql::SqlInput input;
  input.text = content.str() + (topic ? kTopic : "");
  input.file = "job.sql";
  for (const char* table : {"clicks", "ad_metrics", "ad_running", "exceptions"}) {
    sql::TableOverride out;
    out.table = table;
    for (const auto& [key, value] : sim::story_tables(table)) out.options[key] = value;
    if (std::string(table) == "clicks") out.options["scan.watermark.idle-timeout"] = "30 s";
    out.replaces_all = true;
    out.origin = "story";
    input.tables.push_back(std::move(out));
  }
  STRAND_TRY(auto compiled, sql::compile(input));
  return std::move(compiled.plan);
}

struct Told {
  plan::Plan plan;
  std::unique_ptr<StoryRun> run;
};

Setup setup_of(const std::string& name) {
  Setup setup;
  changes().at(name)(setup);
  return setup;
}

Result<Told> tell(const Setup& setup) {
  Told told;
  STRAND_TRY(told.plan, setup.sql ? sql_plan(setup.topic) : api::plan_of(ad_clicks::make(setup.job)));
  STRAND_TRY(told.run, StoryRun::make(told.plan, setup.branch));
  return told;
}

}  // namespace

const StoryRun& story(const std::string& branch, int32_t parallelism) {
  static std::map<std::pair<std::string, int32_t>, Result<Told>> told;
  const std::pair key(branch, parallelism > 0 ? parallelism : at_parallelism({}).parallelism);
  auto found = told.find(key);
  if (found == told.end()) {
    Setup setup = setup_of(branch);
    if (setup.branch.parallelism == 1) setup.branch.parallelism = key.second;
    found = told.emplace(key, tell(setup)).first;
  }
  if (!found->second.ok()) {
    throw std::runtime_error("branch " + branch + ": " + found->second.status().to_string());
  }
  return *found->second->run;
}

std::vector<std::string> violations(const std::string& branch, const std::vector<WallTime>& crashes) {
  Setup setup = setup_of(branch);
  setup.branch.crashes = crashes;
  setup.branch.note_every = Duration{5'000};
  // The last attempt has time to read everything again.
  setup.branch.until = std::max(setup.branch.until, crashes.back() + Duration{60'000});
  const auto told = tell(setup);
  if (!told.ok()) return {told.status().to_string()};
  const StoryMoment& end = told->run->moments().back();
  std::map<std::string, std::set<std::string>> recount;
  for (const StoryClick& click : setup.branch.clicks) recount[click.ad].insert(click.click_id);
  std::vector<std::string> out;
  std::set<std::string> committed;
  for (const auto& row : told->run->topic().committed) {
    if (!committed.insert(row.key).second) out.push_back(row.key + ": committed twice");
  }
  for (const auto& [ad, ids] : recount) {
    int64_t minutes = 0;
    for (const auto& [key, row] : end.metrics) {
      if (!key.starts_with(ad + " M")) continue;
      minutes += cell(end.metrics, key, "fast_valid").value_or(0);
      if (cell(end.running, key, "total") != cell(end.metrics, key, "fast_valid"))
        out.push_back(key + ": running total");
    }
    if (counted(end.metrics, ad) != static_cast<int64_t>(ids.size())) out.push_back(ad + ": recount");
    if (cell(end.metrics, ad + " H10", "fast_valid").value_or(0) != minutes) out.push_back(ad + ": hour row");
  }
  return out;
}

}  // namespace strand::story
