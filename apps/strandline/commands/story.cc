#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>

#include "../command.h"
#include "ad-clicks/pipeline.h"
#include "api/build.h"
#include "base/text.h"
#include "sim/story/run.h"

namespace strand::app {

namespace {

using sim::StoryBranch;
using sim::StoryMoment;
using sim::StoryRun;

/// A branch of the story: what it changes in the input, the engine and the job.
struct Branch {
  const char* what;
  std::function<void(StoryBranch&, ad_clicks::Options&)> change;
};

void no_crash(StoryBranch& b) {
  b.crashes.clear();
  b.slow_sink = false;
}

const std::map<std::string, Branch>& branches() {
  static const std::map<std::string, Branch> all = {
      {"main", {"a crash, a replay, and tables that stay right", [](auto&, auto&) {}}},
      {"no-crash", {"the same clicks without the crash", [](auto& b, auto&) { no_crash(b); }}},
      {"no-flush",
       {"the replay without the flush: a click is counted twice",
        [](auto& b, auto&) { b.rules.f1 = false; }}},
      {"no-floor",
       {"the replay without floor and closed rows: a closed minute opens again",
        [](auto& b, auto&) { b.defences.t1_floor = b.rules.w4 = false; }}},
      {"no-idleness",
       {"a silent shard holds the job",
        [](auto& b, auto& job) {
          no_crash(b);
          job.idle_timeout.reset();
        }}},
      {"no-clamp",
       {"a phone whose clock says 2031 takes its shard away",
        [](auto& b, auto& job) {
          no_crash(b);
          sim::story_click(b.clicks, "c7").device = EventTime{*parse_utc("2031-01-01 00:00:00")};
          job.clamp = false;
        }}},
  };
  return all;
}

std::string watermark_of(const StoryMoment& moment, const std::string& shard) {
  const auto found = moment.shards.find(shard);
  if (found == moment.shards.end()) return "-";
  return found->second.idle ? "idle" : format_event_time(found->second.watermark);
}

/// The labels of the clicks that a shard has handed out between two instants.
std::string clicks_read(const StoryBranch& branch, const StoryMoment& before, const StoryMoment& now) {
  std::string out;
  for (const auto& [shard, view] : now.shards) {
    const auto earlier = before.shards.find(shard);
    int64_t n = earlier == before.shards.end() ? view.records : earlier->second.records;
    int64_t seen = 0;
    for (const auto& click : branch.clicks) {
      if (click.shard != shard || seen++ < n || seen > view.records) continue;
      out += (out.empty() ? "read " : " ") + click.label + " (" + shard + ")";
    }
  }
  return out;
}

std::string describe(const sim::StoryWrite& write) {
  using Kind = connect::table::Request::Kind;
  std::string out = write.table + " " + write.key;
  if (write.kind == Kind::kRemove) return out + " " + write.writer + " removed";
  for (size_t i = 0; i < write.columns.size(); ++i) {
    if (write.columns[i].find("spend") == std::string::npos) {
      out += " " + write.columns[i] + "=" + write.values[i].value_or("NULL");
    }
  }
  out += " [" + std::to_string(write.tag.epoch.value) + "]";
  if (write.kind == Kind::kRewrite) out += " brought back";
  return write.written() ? out : out + " REFUSED";
}

std::vector<std::string> what_happened(const StoryBranch& branch, const StoryRun& run,
                                       const StoryMoment& before, const StoryMoment& now) {
  std::vector<std::string> lines;
  const bool died = before.alive && !now.alive;
  if (died) lines.push_back("the worker dies");
  if (!before.alive && now.alive && run.restore() && now.at > branch.crashes.front()) {
    lines.push_back("checkpoint " + std::to_string(run.restore()->snapshot->epoch.value) + " restored");
  }
  if (now.alive && before.alive) {
    const std::string read = clicks_read(branch, before, now);
    if (!read.empty()) lines.push_back(read);
  }
  const auto in_instant = [&](WallTime at) { return at > before.at && at <= now.at; };
  if (now.checkpoints.under_way && now.checkpoints.under_way != before.checkpoints.under_way) {
    lines.push_back("barrier " + std::to_string(now.checkpoints.under_way->value));
  }
  for (const auto& event : run.events()) {
    if (!in_instant(event.at)) continue;
    if (event.name == "checkpoint")
      lines.push_back("checkpoint " + std::string(event.field("id")) + " " +
                      std::string(event.field("state")));
    if (event.name == "shard_idle") lines.push_back(std::string(event.field("shard")) + " is idle");
    if (event.name == "window_closed" && event.field("view") == "per_minute")
      lines.push_back("minute " + std::string(event.field("window")).substr(0, 5) + " closes");
  }
  for (const auto& row : run.exceptions()) {
    if (in_instant(row.at)) lines.push_back(row.click_id + " is " + row.verdict + ", judge " + row.judge);
  }
  for (const auto& write : run.writes()) {
    if (in_instant(write.at)) lines.push_back("  -> " + describe(write));
  }
  return lines;
}

void print_branch(const StoryBranch& branch, const StoryRun& run) {
  std::printf("%-13s %-13s %-13s %-13s %-13s %s\n", "time", "S1", "S2", "S3", "job", "what");
  const auto& moments = run.moments();
  for (size_t i = 1; i < moments.size(); ++i) {
    const StoryMoment& now = moments[i];
    const auto lines = what_happened(branch, run, moments[i - 1], now);
    const bool moved = now.alive && moments[i - 1].alive && now.watermark != moments[i - 1].watermark;
    if (lines.empty() && !moved) continue;
    std::printf("%-13s %-13s %-13s %-13s %-13s %s\n", format_utc_time(now.at.millis).c_str(),
                watermark_of(now, "S1").c_str(), watermark_of(now, "S2").c_str(),
                watermark_of(now, "S3").c_str(), now.alive ? format_event_time(now.watermark).c_str() : "-",
                lines.empty() ? "the watermark moves" : lines[0].c_str());
    for (size_t line = 1; line < lines.size(); ++line) std::printf("%69s %s\n", "", lines[line].c_str());
  }
  std::printf("\nad_metrics at the end:\n");
  for (const auto& [key, row] : moments.back().metrics) {
    std::printf("  %-12s", key.c_str());
    for (const auto& [column, value] : row) {
      if (column.find("spend") == std::string::npos)
        std::printf(" %s=%lld", column.c_str(), static_cast<long long>(value));
    }
    std::printf("\n");
  }
}

int tell(const std::string& name) {
  const auto found = branches().find(name);
  if (found == branches().end()) {
    Status status(ErrorCode::kBadUsage, "expected a branch of the story, found '" + name + "'");
    const auto near = nearest(name, [] {
      std::vector<std::string> names;
      for (const auto& [known, branch] : branches()) names.push_back(known);
      return names;
    }());
    return engine::report(
        std::move(status).hint(near ? "did you mean " + *near + "?" : "strandline story --help lists them"));
  }
  StoryBranch branch;
  ad_clicks::Options job;
  job.clicks = sim::story_tables("clicks");
  job.metrics = sim::story_tables("ad_metrics");
  job.running = sim::story_tables("ad_running");
  job.exceptions = sim::story_tables("exceptions");
  found->second.change(branch, job);
  auto plan = api::plan_of(ad_clicks::make(job));
  if (!plan.ok()) return engine::report(plan.status());
  const auto run = StoryRun::make(*plan, branch);
  if (!run.ok()) return engine::report(run.status());
  print_branch(branch, **run);
  return engine::kDone;
}

}  // namespace

void add_story(CLI::App& app, Context&, int& exit_code) {
  auto name = std::make_shared<std::string>("main");
  CLI::App* command = app.add_subcommand(
      "story", "Tell the reference story: a few clicks, a crash and a replay, instant by instant");
  command->add_option("--branch", *name, "What is changed")->capture_default_str();
  std::string footer = "Example: strandline story --branch no-floor\n\nBranches:\n";
  for (const auto& [known, branch] : branches()) footer += "  " + known + ": " + branch.what + "\n";
  command->footer(footer + "Nothing runs in real time and nothing is written.");
  command->callback([&exit_code, name] { exit_code = tell(*name); });
}

}  // namespace strand::app
