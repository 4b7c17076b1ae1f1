// strandline::run: a C++ job as a program.
#include <cstdio>
#include <cstdlib>

#include "api/batch.h"
#include "api/build.h"
#include "engine/hand_over.h"
#include "engine/run_command.h"
#include "env/real.h"
#include "strandline/job.h"

namespace strandline {

namespace {

strand::Status thrown_by(const std::string& name, const std::string& what) {
  return strand::Status(strand::ErrorCode::kInternal,
                        "the function of the program that takes '" + name + "' has thrown" + what)
      .hint("catch it in that function; rows since the last checkpoint come again when the job goes on");
}

strand::Status hand_to(const std::string& name, const TakeBatch& take, const strand::flow::Batch& rows) {
  try {
    take(strand::api::batch_of(rows));
  } catch (const std::exception& thrown) {
    return thrown_by(name, std::string(": ") + thrown.what());
  } catch (...) {  // what is no std::exception says nothing about itself
    return thrown_by(name, "");
  }
  return strand::Status();
}

void add_take_connector(strand::connect::Registry& registry, const std::map<std::string, TakeBatch>& takers) {
  strand::connect::Connector connector;
  connector.sink =
      [takers](
          const strand::connect::TableContext& table) -> strand::Result<std::unique_ptr<strand::flow::Sink>> {
    return strand::engine::make_hand_over_sink(
        [name = table.table, take = takers.at(table.table)](const strand::flow::Batch& rows) {
          return hand_to(name, take, rows);
        });
  };
  registry.add(strand::api::kTakeConnector, std::move(connector));
}

}  // namespace

int run(Job& job, int argc, char** argv) {
  using namespace strand;
  engine::RunCommand command;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) {
      std::fprintf(stderr, "%s expects a value\n", option.c_str());
      return 2;
    }
    const std::string value = argv[i + 1];
    const size_t equals = value.find('=');
    if (option == "--state") {
      command.state = value;
    } else if (option == "--from") {
      command.from = value;
    } else if (option == "--set" && equals != std::string::npos) {
      job.set(value.substr(0, equals), value.substr(equals + 1));
    } else {
      std::fprintf(stderr,
                   "unknown option %s; known: --state DIR, --from latest|none|PATH, --set KEY=VALUE\n",
                   option.c_str());
      return 2;
    }
  }
  auto plan = api::plan_of(job);
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", plan.status().to_string().c_str());
    return 1;
  }
  env::RealEnv real;
  connect::Registry registry;
  connect::add_builtin_connectors(registry);
  add_take_connector(registry, api::takers_of(job));
  if (const Status fits = engine::check_plan(*plan, registry, real.env()); !fits.ok()) {
    return engine::report(fits);
  }
  for (const char* name : {"STRANDLINE_STATE", "STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"}) {
    if (const char* set = std::getenv(name)) command.environment[name] = set;
  }
  return engine::run_plan(*std::move(plan), command, registry, real.env());
}

}  // namespace strandline
