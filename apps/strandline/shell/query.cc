#include "query.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "../scratch.h"
#include "engine/hand_over.h"
#include "engine/job_options.h"
#include "engine/run_command.h"
#include "engine/running_job.h"
#include "interrupt.h"
#include "plan/with_ends.h"

namespace strand::app::shell {

namespace {

constexpr const char* kConnector = "strandline-shell";  // not one that a statement can use
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr int kLooksPerRefresh = 10;

Result<runtime::JobOptions> query_options(const plan::Plan& plan, const std::string& dir) {
  const engine::JobFolder folder{dir};
  STRAND_TRY(runtime::JobOptions options, engine::job_options(plan, folder, engine::this_machine()));
  options.checkpoint_dir = folder.checkpoints();
  options.savepoint_dir = folder.savepoints();
  options.checkpoints.interval.reset();
  return options;
}

bool may_change(const plan::Plan& plan) {
  for (const plan::NodePtr& node : plan.nodes()) {
    if (plan::makes_changes(node->detail) || std::holds_alternative<plan::RegularJoin>(node->detail))
      return true;
    for (const plan::Input& input : node->inputs) {
      if (input.port == Port::kEarly) return true;
    }
  }
  return false;
}

/// Runs the job on a thread of its own, so that this one can look at Ctrl-C and draw.
Status run_job(engine::RunningJob& job, Output& output) {
  const Interrupts interrupts{SIGINT, SIGTERM};
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  engine::JobEnd end;
  std::thread runs([&] {
    engine::JobEnd how = job.run({runtime::RestoreChoice::Kind::kNone, {}});
    const std::lock_guard lock(mutex);
    end = std::move(how);
    ended = true;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  for (int looks = 1; !changed.wait_for(lock, kLook, [&] { return ended; }); ++looks) {
    if (Interrupts::take()) job.abandon();
    if (looks % kLooksPerRefresh == 0) output.refresh();
  }
  lock.unlock();
  runs.join();
  return end.error;
}

}  // namespace

Status run_query(Context& context, const plan::Plan& plan, const OutputOptions& options) {
  columnar::SchemaPtr schema;
  plan::Plan query = plan::with_ends(
      plan, [](plan::Scan&) {},
      [&](plan::SinkWrite& write) {
        schema = write.table.schema;
        write.table.options = {{"connector", kConnector}};
      });
  STRAND_TRY(const std::shared_ptr<Output> output, make_output(options, schema, may_change(plan)));
  connect::Registry registry = context.registry;
  connect::Connector connector;
  connector.sink = [output](const connect::TableContext&) -> Result<std::unique_ptr<flow::Sink>> {
    return engine::make_hand_over_sink([output](const flow::Batch& rows) { return output->take(rows); });
  };
  registry.add(kConnector, std::move(connector));
  const Scratch folder(context.real.files, context.environment, "sql");
  STRAND_OK(folder.made());
  STRAND_TRY(runtime::JobOptions job_options, query_options(plan, folder.path()));
  runtime::RestartOptions restart;
  restart.strategy = runtime::RestartOptions::Strategy::kNone;
  Status ended;
  {
    engine::RunningJob job(std::move(query), registry, std::move(job_options), restart, context.real.env(),
                           nullptr);
    ended = run_job(job, *output);
  }
  if (ended.ok()) output->end();
  return ended;
}

engine::Exit run_insert(Context& context, sql::CompiledJob job) {
  engine::RunCommand command;
  command.state = context.state;
  command.environment = context.environment;
  command.ui.off = true;
  command.warnings = std::move(job.warnings);
  command.notes = std::move(job.notes);
  return engine::run_plan(std::move(job.plan), command, context.registry, context.real.env());
}

}  // namespace strand::app::shell
