#include "engine/recount.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "../command.h"
#include "../scratch.h"
#include "base/text.h"
#include "connect/sqlite/flush_store.h"
#include "engine/finalize.h"
#include "engine/inspect_state.h"
#include "engine/job_options.h"
#include "engine/reports/text.h"

namespace strand::app {

namespace {

struct RecountArguments {
  engine::JobArguments job;
  bool diff = false;
  bool final = false;
  bool json = false;
  std::string final_after;  // empty: as long as the job accepts rows
};

int diff(const plan::Plan& plan, const engine::Collection& collection) {
  engine::DiffReport report;
  for (const engine::ComparedTable& table : engine::compared_tables(plan)) {
    const auto found = connect::sqlite::read_table(table.path, table.table_name);
    if (!found.ok()) return engine::report(found.status());
    const auto counted = collection.tables().find(table.name);
    engine::CollectedTable none;
    none.key = table.key.empty() ? found->columns : table.key;
    engine::compare(table, *found, counted == collection.tables().end() ? none : counted->second, report);
  }
  print(engine::diff_text(report));
  return report.rows == 0 ? engine::kDone : engine::kAnswerIsNo;
}

Result<std::shared_ptr<engine::Collection>> count(Context& context, const plan::Plan& plan) {
  const Scratch scratch(context.real.files, context.environment, "recount");
  STRAND_OK(scratch.made());
  return engine::recount(plan, context.registry, scratch.path(), engine::this_machine(), context.real.env());
}

/// A table with hours, and its writer `final`.
struct FinalTable {
  engine::ComparedTable table;
  engine::FinalWriter writer;
};

Result<std::vector<FinalTable>> open_final_tables(const plan::Plan& plan,
                                                  const engine::FoundManifest& snapshot,
                                                  const engine::Horizon& horizon) {
  std::vector<FinalTable> out;
  for (engine::ComparedTable& table : engine::compared_tables(plan)) {
    if (table.late_of.empty() || table.key.empty()) continue;
    STRAND_TRY(const auto found, connect::sqlite::read_table(table.path, table.table_name, true));
    STRAND_TRY(auto spec, engine::final_writer(plan, table));
    STRAND_TRY(auto writer, engine::FinalWriter::open(std::move(spec), snapshot.manifest,
                                                      connect::sqlite::make_flush_store({table.path})));
    engine::CollectedTable nothing_yet;
    nothing_yet.key = table.key;
    STRAND_OK(writer.mark_dirty(engine::reconcile(table, found, nothing_yet, horizon), found));
    out.push_back({std::move(table), std::move(writer)});
  }
  if (!out.empty()) return out;
  return Status(ErrorCode::kBadUsage,
                "expected a SQLite table with a column F_X and its part late_X, found none")
      .hint("--final writes final_X into hours (H2026-02-08 10) of such tables; --diff compares any table");
}

Result<engine::Horizon> horizon_of(const plan::Plan& plan, const engine::FoundManifest& snapshot,
                                   const std::string& after) {
  engine::Horizon out;
  out.reached = engine::reached(snapshot.manifest);
  STRAND_TRY(out.after, after.empty() ? engine::accepted_after(plan) : parse_duration(after));
  STRAND_TRY(out.zone, expr::Zone::load(plan.setting("table.local-time-zone", "UTC")));
  return out;
}

Status write_final(Context& context, const plan::Plan& plan, const RecountArguments& arguments) {
  const engine::JobFolder folder = engine::job_folder(state_root(context), plan.job);
  STRAND_TRY(const auto options, engine::job_options(plan, folder, engine::this_machine()));
  STRAND_TRY(const auto snapshot, engine::find_manifest(context.real.files, options.checkpoint_dir));
  STRAND_TRY(const engine::Horizon horizon, horizon_of(plan, snapshot, arguments.final_after));
  STRAND_OK(context.real.files.make_dirs(folder.run()));
  STRAND_TRY(const auto lock,
             context.real.files.lock(folder.run() + "/recount.lock", "pid " + std::to_string(getpid())));
  STRAND_TRY(std::vector<FinalTable> tables, open_final_tables(plan, snapshot, horizon));
  STRAND_TRY(const auto collection, count(context, plan));
  for (FinalTable& final : tables) {
    const engine::ComparedTable& table = final.table;
    STRAND_TRY(const auto found, connect::sqlite::read_table(table.path, table.table_name, true));
    engine::CollectedTable counted;
    counted.key = table.key;
    const auto at = collection->tables().find(table.name);
    const auto hours =
        engine::reconcile(table, found, at == collection->tables().end() ? counted : at->second, horizon);
    STRAND_TRY(const int64_t written, final.writer.write(hours));
    const int64_t refused = std::ranges::count_if(hours, &engine::Hour::to_write) - written;
    final.writer.close();
    if (arguments.json) {
      print(engine::reconciled_json(table, hours));
      continue;
    }
    print(table.name + "  event time " +
          (horizon.reached == EventTime::min() ? "none yet" : format_utc(horizon.reached.millis)) + " at " +
          std::string(checkpoint::kind_name(snapshot.manifest.kind)) + " " +
          std::to_string(snapshot.manifest.epoch.value) + "; an hour is closed " +
          engine::reports::span_text(horizon.after) + " after its end\n" +
          engine::reconciled_text(table, hours) +
          engine::reports::plural(written, "final row", "final rows") + " written" +
          (refused > 0 ? ", " + std::to_string(refused) + " refused: a newer generation of the job has them"
                       : std::string()) +
          "\n");
  }
  if (!arguments.json)
    print(
        "A: counted by the job, not by the recount; B: by the recount only: not counted yet in open hours,"
        " else lost or refused as stale\n");
  return Status();
}

int recount(Context& context, const RecountArguments& arguments) {
  const auto compiled = load(context, arguments.job);
  if (!compiled.ok()) return report_load(compiled.status());
  if (arguments.final) {
    const Status written = write_final(context, compiled->plan, arguments);
    return written.ok() ? static_cast<int>(engine::kDone) : engine::report(written);
  }
  const auto collection = count(context, compiled->plan);
  if (!collection.ok()) {
    engine::report(collection.status());
    return engine::kFailed;
  }
  if (arguments.diff) return diff(compiled->plan, **collection);
  const auto& tables = (*collection)->tables();
  print(arguments.json ? engine::collected_json(tables) : engine::collected_text(tables));
  return engine::kDone;
}

}  // namespace

void add_recount(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<RecountArguments>();
  CLI::App* command =
      app.add_subcommand("recount", "Count the present input anew, nothing late, and compare");
  add_job_options(*command, arguments->job);
  command->add_flag("--diff", arguments->diff,
                    "Compare with the SQLite tables: F_X + late_X = recount, H rows = sum of their M rows");
  CLI::Option* final =
      command
          ->add_flag("--final", arguments->final,
                     "Write final_X into the SQLite tables for hours that can no longer change,"
                     " and show final = fast + late - A + B")
          ->excludes("--diff");
  command
      ->add_option("--final-after", arguments->final_after,
                   "How long behind its end rows of an hour are accepted, such as '2 h' (default: as long as"
                   " the job keeps ids for deduplication)")
      ->needs(final);
  command->add_flag("--json", arguments->json, "One JSON object a row")->excludes("--diff");
  command->footer(
      "Example: strandline stop ad-clicks --drain && strandline recount job.sql --diff\n"
      "         strandline recount job.sql --final   # beside the running job, every hour\n"
      "Rows of windows that are still open are not in the tables yet: stop the job with --drain first.");
  command->callback([&context, &exit_code, arguments] { exit_code = recount(context, *arguments); });
}

}  // namespace strand::app
