#include "sim/world/judge_ad_clicks.h"

#include <algorithm>
#include <set>

#include "nlohmann/json.hpp"
#include "plan/with_ends.h"
#include "sim/world/simulation.h"

namespace strand::sim {

namespace {

constexpr const char* kExceptions = "/exceptions";
constexpr const char* kMetrics = "ad_metrics";
constexpr const char* kRunning = "ad_running";

/// Whether a job writes a column of a table.
bool writes(const plan::Plan& plan, const std::string& table, const std::string& column) {
  return std::any_of(plan.sinks.begin(), plan.sinks.end(), [&](const plan::NodePtr& sink) {
    const auto* write = std::get_if<plan::SinkWrite>(&sink->detail);
    return write != nullptr && write->table.name == table && std::ranges::count(write->columns, column) > 0;
  });
}

Status not_simulated(std::string message, const plan::TableSpec& table) {
  return Status(ErrorCode::kNotSimulated, std::move(message))
      .at(table.where)
      .hint("the simulator makes ad clicks and judges the tables of examples/ad-clicks/job.sql");
}

Status check_simulated(const plan::Plan& job) {
  static const std::set<std::string> kGenerated = {"click_id",      "ad_id",     "user_id",   "spend_micros",
                                                   "impression_ms", "device_ms", "arrival_ms"};
  const plan::TableSpec* table = nullptr;
  for (const plan::NodePtr& node : job.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr) continue;
    if (table != nullptr && table->name != scan->table.name) {
      return not_simulated(
          "expected a job that reads one table of clicks, found " + table->name + " and " + scan->table.name,
          scan->table);
    }
    table = &scan->table;
    for (const columnar::Field& field : table->schema->fields()) {
      if (kGenerated.contains(field.name)) continue;
      return not_simulated(
          "expected table " + table->name + " to have columns of a click, found " + field.name, *table);
    }
  }
  if (table != nullptr && writes(job, kMetrics, "fast_valid") && writes(job, kMetrics, "late_valid"))
    return Status();
  return not_simulated(
      "expected a job that writes fast_valid and late_valid of a table ad_metrics, found none",
      table == nullptr ? plan::TableSpec{} : *table);
}

int64_t number(const SimTables::Row& row, const std::string& column) {
  for (const auto& [writer, cell] : row.writers) {
    for (size_t i = 0; i < cell.columns.size(); ++i) {
      if (cell.columns[i] == column && cell.values[i]) return std::stoll(*cell.values[i]);
    }
  }
  return 0;
}

using ByHour = std::map<std::pair<std::string, std::string>, int64_t>;  // (ad, "yyyy-MM-dd HH")

class AdClicksJudge final : public Judge {
 public:
  AdClicksJudge(bool running, bool exceptions) : running_(running), exceptions_(exceptions) {}

  std::vector<std::string> differences(const ClickInput& input, const Tables& tables) const override {
    std::vector<std::string> out;
    const Recount truth = recount(input);
    const int64_t late = compare_tables(truth, tables.store, out);
    if (exceptions_) compare_exceptions(truth, late, tables.files, out);
    return out;
  }

 private:
  struct Found {
    ByHour minutes, hours, late, running;
  };
  static Found read(const SimTables& store) {
    Found found;
    const auto split = [](const std::string& name) {
      const size_t space = name.find(' ');
      return std::pair{name.substr(0, space), name.substr(space + 1)};
    };
    for (const auto& [key, row] : store.rows(kMetrics)) {
      const auto [ad, bucket] = split(row.name);
      const std::pair hour{ad, bucket.substr(1, 13)};
      (bucket[0] == 'M' ? found.minutes : found.hours)[hour] += number(row, "fast_valid");
      found.late[hour] += number(row, "late_valid");
    }
    for (const auto& [key, row] : store.rows(kRunning)) {
      const auto [ad, bucket] = split(row.name);
      found.running[{ad, bucket.substr(1, 13)}] += number(row, "total");
    }
    return found;
  }

  /// Per ad and hour: closed minutes + late total = recount, and the hour row is the sum of its minutes.
  /// Returns how many clicks were late.
  int64_t compare_tables(const Recount& truth, const SimTables& store, std::vector<std::string>& out) const {
    Found found = read(store);
    int64_t late = 0;
    for (const auto& [hour, total] : truth.hours) {
      const std::string name = hour.first + " " + hour.second + ": ";
      const auto expect = [&](const std::string& what, int64_t is, const std::string& of, int64_t should) {
        if (is == should) return;
        out.push_back(name + what + " " + std::to_string(is) + ", " + of + " " + std::to_string(should));
      };
      late += found.late[hour];
      expect("minutes + late", found.minutes[hour] + found.late[hour], "recount", total.clicks);
      expect("hour row", found.hours[hour], "its minutes", found.minutes[hour]);
      if (running_) expect("running totals", found.running[hour], "closed minutes", found.minutes[hour]);
      found.minutes.erase(hour);
    }
    for (const auto& [hour, count] : found.minutes)
      out.push_back(hour.first + " " + hour.second + ": rows that the recount lacks");
    return late;
  }

  /// Adds up the verdicts of the files in a folder.
  static void read_exceptions(SimFileSystem& disk, const std::string& folder,
                              std::map<std::string, int64_t>& verdicts) {
    const auto files = disk.list(folder);
    if (!files.ok()) return;
    for (const auto& file : *files) {
      if (file.is_dir || file.name[0] == '.' || file.name[0] == '_') continue;
      const auto text = env::read_all(disk, folder + "/" + file.name);
      if (!text.ok()) continue;
      for (size_t from = 0; from < text->size();) {
        const size_t end = text->find('\n', from);
        const std::string line = text->substr(from, end - from);
        from = end == std::string::npos ? text->size() : end + 1;
        const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
        ++verdicts[row.is_object() ? row.value("verdict", "none") : "unreadable"];
      }
    }
  }

  /// Each copy, late click and bad line is in the log of exceptions once.
  static void compare_exceptions(const Recount& truth, int64_t late, SimFileSystem& disk,
                                 std::vector<std::string>& out) {
    std::map<std::string, int64_t> verdicts;
    for (const std::string& folder : {std::string(kExceptions), std::string(kTakenFiles)})
      read_exceptions(disk, folder, verdicts);
    const auto expect = [&](const std::string& verdict, int64_t expected) {
      if (verdicts[verdict] == expected) return;
      out.push_back("exceptions: " + std::to_string(verdicts[verdict]) + " " + verdict + ", expected " +
                    std::to_string(expected));
    };
    expect("duplicate", truth.copies);
    expect("bad", truth.bad);
    expect("late", late);
    expect("stale", 0);
    expect("unreadable", 0);
  }

  bool running_;
  bool exceptions_;
};

}  // namespace

Result<SimulatedJob> simulated_ad_clicks(const plan::Plan& job) {
  STRAND_OK(check_simulated(job));
  SimulatedJob out;
  out.name = job.job;
  out.file_folder = kExceptions;
  out.judge = std::make_shared<AdClicksJudge>(writes(job, kRunning, "total"),
                                              writes(job, kExceptions + 1, "verdict"));
  out.plan = plan::with_ends(
      job,
      [](plan::Scan& scan) {
        scan.table.options = click_files();
        if (scan.watermark && scan.watermark->idle_timeout) scan.watermark->idle_timeout = kIdleTimeout;
      },
      [](plan::SinkWrite& write) {
        const bool judged = write.table.name == kMetrics || write.table.name == kRunning;
        write.table.options =
            judged ? std::map<std::string, std::string>{{"connector", "simstore"}}
                   : std::map<std::string, std::string>{
                         {"connector", "filesystem"}, {"path", "/" + write.table.name}, {"format", "json"}};
      });
  return out;
}

}  // namespace strand::sim
