#include "engine/recount.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/job_options.h"
#include "engine/reports/text.h"
#include "engine/running_job.h"
#include "plan/with_ends.h"

namespace strand::engine {

namespace {

bool is_sqlite(const plan::TableSpec& table) { return table.option("connector") == "sqlite"; }

std::string cell_text(const Cell& cell) { return cell ? *cell : "NULL"; }

}  // namespace

void read_to_present_end(plan::Scan& scan) {
  std::map<std::string, std::string>& options = scan.table.options;
  options.erase("source.monitor-interval");
  if (scan.table.option("connector") != "kafka") return;
  const std::string start = scan.table.option("scan.startup.mode");
  if (start.empty() || start == "group-offsets" || start == "latest-offset")
    options["scan.startup.mode"] = "earliest-offset";
  const std::string stop = scan.table.option("scan.bounded.mode");
  if (stop.empty() || stop == "unbounded") options["scan.bounded.mode"] = "latest-offset";
  options["properties.commit.offsets.on.checkpoint"] = "false";  // the group is the job's
}

plan::Plan recount_plan(const plan::Plan& plan) {
  return plan::with_ends(plan, read_to_present_end, [](plan::SinkWrite& write) {
    write.table.options = {{"connector", is_sqlite(write.table) ? kCollectConnector : "blackhole"}};
  });
}

Status run_to_end(const plan::Plan& plan, const connect::Registry& registry, const std::string& scratch_dir,
                  const Machine& machine, env::Env env) {
  plan::Plan bounded = plan::with_ends(plan, read_to_present_end, [](plan::SinkWrite&) {});
  STRAND_TRY(runtime::JobOptions options, job_options(bounded, JobFolder{scratch_dir}, machine));
  options.checkpoint_dir = JobFolder{scratch_dir}.checkpoints();
  options.savepoint_dir = JobFolder{scratch_dir}.savepoints();
  options.checkpoints.interval.reset();
  options.stream_time = false;
  runtime::RestartOptions restart;
  restart.strategy = runtime::RestartOptions::Strategy::kNone;
  RunningJob job(std::move(bounded), registry, std::move(options), restart, env, nullptr);
  const JobEnd end = job.run({runtime::RestoreChoice::Kind::kNone, {}});
  if (end.kind == JobEnd::Kind::kInputEnded) return Status();
  if (!end.error.ok()) return end.error;
  return Status(ErrorCode::kInternal, "expected the recount to reach the end of the input, found it stopped");
}

Result<std::shared_ptr<Collection>> recount(const plan::Plan& plan, const connect::Registry& registry,
                                            const std::string& scratch_dir, const Machine& machine,
                                            env::Env env) {
  auto collection = std::make_shared<Collection>();
  connect::Registry own = registry;
  add_collect_connector(own, collection);
  STRAND_OK(run_to_end(recount_plan(plan), own, scratch_dir, machine, env));
  return collection;
}

std::string collected_text(const std::map<std::string, CollectedTable>& tables) {
  std::string out;
  for (const auto& [name, table] : tables) {
    std::vector<std::string> columns;
    for (const auto& [key, row] : table.rows) {
      for (const auto& [column, cell] : row.values) {
        if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
      }
    }
    std::vector<std::string> header = table.key;
    header.insert(header.end(), columns.begin(), columns.end());
    header.emplace_back("");
    reports::TextTable text(header, table.key.size());
    for (const auto& [key, row] : table.rows) {
      std::vector<std::string> cells;
      for (const Cell& cell : key) cells.push_back(cell_text(cell));
      for (const std::string& column : columns) {
        const auto found = row.values.find(column);
        cells.push_back(found == row.values.end() ? "" : cell_text(found->second));
      }
      cells.push_back(row.copies > 1 ? std::to_string(row.copies) + " times" : "");
      text.add(std::move(cells));
    }
    out += name + "  " + reports::plural(static_cast<int64_t>(table.rows.size()), "row", "rows") + "\n" +
           text.text("  ");
  }
  return out;
}

std::string collected_json(const std::map<std::string, CollectedTable>& tables) {
  std::string out;
  for (const auto& [name, table] : tables) {
    for (const auto& [key, row] : table.rows) {
      nlohmann::ordered_json json;
      json["table"] = name;
      const auto put = [&](const std::string& column, const Cell& cell) {
        json[column] = cell ? nlohmann::ordered_json(*cell) : nlohmann::ordered_json(nullptr);
      };
      for (size_t i = 0; i < key.size(); ++i) put(table.key[i], key[i]);
      for (const auto& [column, cell] : row.values) put(column, cell);
      if (row.copies > 1) json["copies"] = row.copies;
      out += json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }
  }
  return out;
}

std::string diff_text(const DiffReport& report) {
  std::string out;
  for (const Difference& d : report.differences) {
    out += d.table + "  " + d.key + "  " + d.column + ": recount " + d.expected + ", table " + d.found + "\n";
  }
  if (report.rows > static_cast<int64_t>(report.differences.size())) out += "...\n";
  if (report.short_of_late > 0) {
    out += reports::plural(report.short_of_late, "row holds", "rows hold") +
           " less than the recount in tables that have no column for late rows\n";
  }
  out += reports::plural(report.compared, "row", "rows") + " compared\n";
  return out + reports::plural(report.rows, "differing row", "differing rows") + "\n";
}

}  // namespace strand::engine
