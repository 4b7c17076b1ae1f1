#include "sim/world/any_job.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "connect/file/connector.h"
#include "plan/with_ends.h"
#include "sim/world/late_rows.h"
#include "sim/world/made_input.h"
#include "sim/world/sim_connector.h"
#include "sim/world/simulation.h"
#include "sim/world/table_kinds.h"
#include "sim/world/virtual_driver.h"

namespace strand::sim {

namespace {

constexpr size_t kShardsOfATable = 3;
constexpr double kCopies = 0.05;

std::string file_of(const std::string& table, size_t shard) {
  return click_files().at("path") + "/" + table + "/S" + std::to_string(shard + 1);
}

/// The job between files of the simulated machine and the simulated store. `bounded`: the files do not grow.
/// `idle`: shards that are silent are not waited for.
plan::Plan between_ends(const plan::Plan& job, bool given, bool bounded, const std::string& store,
                        bool idle) {
  return plan::with_ends(
      job,
      [&](plan::Scan& scan) {
        std::map<std::string, std::string> options = click_files();
        if (given) {  // in the table's own format
          for (const auto& [name, text] : scan.table.options) options.emplace(name, text);
          options["format"] = scan.table.option("format", "json");
        }
        if (bounded) options.erase("source.monitor-interval");
        options["path"] += "/" + scan.table.name;
        scan.table.options = std::move(options);
        if (scan.watermark) scan.watermark->idle_timeout = idle ? std::optional(kIdleTimeout) : std::nullopt;
      },
      [&](plan::SinkWrite& write) {
        write.table.options = {{"connector", write.table.primary_key.empty() ? "simlog" : store}};
      });
}

/// The columns by which the job removes copies.
std::vector<std::string> unique_columns(const plan::Plan& job) {
  std::vector<std::string> names;
  for (const plan::NodePtr& node : job.nodes()) {
    const auto* dedup = std::get_if<plan::Deduplicate>(&node->detail);
    if (dedup == nullptr || dedup->time_column) continue;
    for (const size_t key : dedup->keys) names.push_back(node->input(0)[key].name);
  }
  return names;
}

// ---- what comes in

/// Makes the lines of a run.
struct Maker {
  std::vector<MadeTable> tables;
  GivenInput given;
  bool late = false;  // rows come out of order, some far too late, and shards fall silent and come back

  ClickInput operator()(uint64_t seed, WallTime start, const ClickShape& shape) const {
    return given.empty() ? made(seed, start, shape) : read(start, shape);
  }

  ClickInput made(uint64_t seed, WallTime start, const ClickShape& shape) const {
    Random random(seed);
    ClickInput input = shards_of(std::vector(tables.size(), kShardsOfATable));
    std::map<size_t, std::string> newest;
    for (size_t i = 0; i < shape.rows; ++i) {
      const size_t table = random.below(tables.size());
      ClickLine line;
      line.at =
          start + Duration{static_cast<int64_t>(i) * shape.span.millis / static_cast<int64_t>(shape.rows) +
                           random.between(0, 300)};
      line.shard = table * kShardsOfATable + shard_of(random, i * 100 / shape.rows);
      std::string& last = newest[table];
      if (last.empty() || !random.chance(kCopies)) {
        const int64_t behind = late ? how_late(random, shape) : 0;
        last = tables[table].line(random, line.at.millis - behind, static_cast<int64_t>(i));
      }
      line.line = last;
      input.lines.push_back(std::move(line));
    }
    return input;
  }

  /// The lines of the folder at an even pace, in the order of event time.
  ClickInput read(WallTime start, const ClickShape& shape) const {
    std::vector<size_t> shards;
    for (const MadeTable& table : tables) shards.push_back(given.at(table.name()).size());
    ClickInput input = shards_of(shards);
    std::vector<std::pair<int64_t, ClickLine>> timed;
    size_t shard = 0;
    for (const MadeTable& table : tables) {
      for (const std::vector<std::string>& lines : given.at(table.name())) {
        const auto times = table.times(lines);
        for (size_t i = 0; i < lines.size(); ++i) {
          ClickLine line;
          line.shard = shard;
          line.line = lines[i];
          timed.emplace_back(times.ok() ? (*times)[i] : 0, std::move(line));
        }
        ++shard;
      }
    }
    std::ranges::stable_sort(timed, {}, [](const auto& entry) { return entry.first; });
    for (size_t i = 0; i < timed.size(); ++i) {
      timed[i].second.at =
          start + Duration{static_cast<int64_t>(i) * shape.span.millis / static_cast<int64_t>(timed.size())};
      input.lines.push_back(std::move(timed[i].second));
    }
    return input;
  }

 private:
  /// From a third to two thirds of the run (`done`: percent) the last shard is silent.
  size_t shard_of(Random& random, size_t done) const {
    const bool silent = late && done >= 33 && done < 67;
    return random.below(silent ? kShardsOfATable - 1 : kShardsOfATable);
  }
  static int64_t how_late(Random& random, const ClickShape& shape) {
    return random.chance(shape.late) ? random.between(60'000, 180'000)
                                     : random.between(0, shape.disorder.millis);
  }
  ClickInput shards_of(const std::vector<size_t>& shards) const {
    ClickInput input;
    input.all_from_the_start = true;
    for (size_t t = 0; t < tables.size(); ++t) {
      for (size_t s = 0; s < shards[t]; ++s) input.files.push_back(file_of(tables[t].name(), s));
    }
    input.shards = input.files.size();
    return input;
  }
};

// ---- what must come out

/// Rows of all tables as text: those with a key by it, the others with how often they are there.
TableRows found_in(const SimTables& store, const plan::Plan& job) {
  TableRows out;
  for (const plan::NodePtr& sink : job.sinks) {
    const auto& write = std::get<plan::SinkWrite>(sink->detail);
    const std::string& table = write.table.name;
    if (write.provisional) continue;
    for (const auto& [key, row] : store.rows(table)) {
      const auto cell = row.writers.find(write.writer);
      if (cell == row.writers.end() || cell->second.gone) continue;
      std::string& text = out[table + " " + row.name + " (" + write.writer + ")"];
      for (const auto& value : cell->second.values)
        text += (text.empty() ? "" : ", ") + value.value_or("NULL");
    }
    std::map<std::string, int64_t> times;
    for (const std::string& row : store.added(table)) times[row.substr(2)] += row[0] == '+' ? 1 : -1;
    for (const auto& [row, n] : times) {
      if (n != 0) out[table + " " + row] = std::to_string(n) + " times";
    }
  }
  return out;
}

class AnyJudge final : public Judge {
 public:
  AnyJudge(plan::Plan job, plan::Plan bounded, std::vector<std::string> windows)
      : job_(std::move(job)), bounded_(std::move(bounded)), windows_(std::move(windows)) {}

  std::vector<std::string> differences(const ClickInput& input, const Tables& tables) const override {
    SimStore store;
    const auto late = std::make_shared<LateRows>(logged_late_rows(tables.store, windows_));
    if (Status status = recount(without_rows(bounded_, late), input, store); !status.ok())
      return {"the recount fails: " + status.to_string()};
    auto differing = differing_rows(found_in(store.tables(), job_), found_in(tables.store, job_));
    for (const auto& [window, rows] : *late) {
      for (const auto& [row, times] : rows)
        differing.push_back(window + " calls late what it was not given: " + row);
    }
    return differing;
  }

 private:
  /// One undisturbed life over the whole input.
  static Status recount(const plan::Plan& bounded, const ClickInput& input, SimStore& store) {
    SimEnv world(1, input.lines.empty() ? WallTime{0} : input.lines.front().at);
    connect::Registry registry;
    connect::file::add_file_connector(registry);
    registry.add("simstore", simstore_connector(&store, {}));
    registry.add("simlog", simlog_connector(&store, {}));
    std::vector<std::string> texts(input.files.size());
    for (const ClickLine& line : input.lines) texts[line.shard] += line.line + "\n";
    for (size_t i = 0; i < texts.size(); ++i) {
      STRAND_OK(world.files.make_dirs(input.files[i].substr(0, input.files[i].rfind('/'))));
      STRAND_TRY(const auto file, world.files.create(input.files[i]));
      STRAND_OK(file->append(texts[i]));
      STRAND_OK(file->close());
    }
    runtime::JobOptions options;
    options.job = bounded.job;
    options.checkpoint_dir = "/recount/checkpoints";
    options.savepoint_dir = "/recount/savepoints";
    options.stream_time = false;
    STRAND_TRY(const auto attempt,
               runtime::JobAttempt::start(bounded, registry, options,
                                          {runtime::RestoreChoice::Kind::kNone, {}}, world.env(), nullptr));
    VirtualDriver driver(world, *attempt);
    STRAND_OK(driver.run_until(world.clock.now() + Duration{3'600'000}));
    return attempt->finished() ? Status() : Status(ErrorCode::kInternal, "it does not come to its end");
  }

  plan::Plan job_;
  plan::Plan bounded_;
  std::vector<std::string> windows_;  // whose late rows are known
};

Status not_comparable(const std::string& expected) {
  return Status(ErrorCode::kNotSimulated, "expected a job that " + expected + ", found none")
      .hint("kill `strandline run` and compare with `strandline recount --diff`");
}

}  // namespace

Result<SimulatedJob> any_job(const plan::Plan& job, GivenInput given, bool parallel) {
  Maker maker;
  const std::vector<std::string> unique = unique_columns(job);
  std::set<std::string> names;
  for (const plan::NodePtr& node : job.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr || !names.insert(scan->table.name).second) continue;
    plan::Scan read = *scan;
    if (!given.empty() && !given.contains(scan->table.name)) given[scan->table.name];
    STRAND_TRY(auto table, MadeTable::of(read, unique));
    maker.tables.push_back(std::move(table));
  }
  if (maker.tables.empty()) return not_comparable("reads a table");
  const bool compared = std::ranges::any_of(job.sinks, [](const plan::NodePtr& sink) {
    return !std::get<plan::SinkWrite>(sink->detail).provisional;
  });
  if (!compared) return not_comparable("writes a table whose rows are final");
  SimulatedJob out;
  out.name = job.job;
  const std::vector<std::string> windows = given.empty() ? judged_windows(job) : std::vector<std::string>();
  maker.late = !windows.empty();
  const auto between = [&](bool bounded, const char* store) {
    return between_ends(job, !given.empty(), bounded, store, /*idle=*/maker.late);
  };
  out.plan = between(/*bounded=*/false, parallel ? "simshared" : "simstore");
  out.judge = std::make_shared<AnyJudge>(out.plan, between(/*bounded=*/true, "simstore"), windows);
  add_late_logs(out.plan, windows);
  maker.given = std::move(given);
  out.make_input = std::move(maker);
  out.drains = false;
  // Logs commit, and refuse an older savepoint.
  out.goes_back = windows.empty() && std::ranges::none_of(job.sinks, [](const plan::NodePtr& sink) {
                    return std::get<plan::SinkWrite>(sink->detail).table.primary_key.empty();
                  });
  return out;
}

}  // namespace strand::sim
