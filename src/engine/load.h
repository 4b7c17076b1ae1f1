// From a job file to a compiled job.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "connect/registry.h"
#include "env/env.h"
#include "sql/compile.h"

namespace strand::engine {

/// What the command line says about a job.
struct JobArguments {
  std::string file;
  std::vector<std::string> set;       // KEY=VALUE
  std::vector<std::string> with;      // TABLE.KEY=VALUE
  std::vector<std::string> profiles;  // YAML files, in this order, behind $STRANDLINE_PROFILE
  std::string env_file;
};

/// Reads the file, applies profiles and options (SQL < profiles in their order < --set, --with) and compiles.
/// Errors: kFileNotFound, kBadUsage, kBadProfile, those of sql::compile and those of check_plan.
Result<sql::CompiledJob> load_job(const JobArguments& arguments, const connect::Registry& registry,
                                  env::Env env, const std::map<std::string, std::string>& environment);

/// The same without compiling.
Result<sql::SqlInput> read_input(const JobArguments& arguments, env::FileSystem& files,
                                 const std::map<std::string, std::string>& environment);

/// Profiles and options, as settings and overrides of tables. Errors: kBadUsage, kBadProfile, kFileNotFound.
Status apply_arguments(const JobArguments& arguments, env::FileSystem& files,
                       const std::map<std::string, std::string>& environment, sql::SqlInput& input);

/// Compiles a text with the connectors of the registry, and asks of the plan what a start would.
Result<sql::CompiledJob> compile_job(sql::SqlInput input, const connect::Registry& registry, env::Env env);

}  // namespace strand::engine
