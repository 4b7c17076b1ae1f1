#include "engine/load.h"

#include "codec/record_decoder.h"
#include "engine/catalogs.h"
#include "engine/job_options.h"
#include "engine/profile.h"
#include "engine/reports/text.h"
#include "runtime/tables.h"

namespace strand::engine {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr uint64_t kJobBytesMax = 16 << 20;
constexpr const char* kProfileVariable = "STRANDLINE_PROFILE";

Result<std::pair<std::string, std::string>> split_assignment(const std::string& text,
                                                             const std::string& option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Status(ErrorCode::kBadUsage, option + " expects KEY=VALUE, found '" + text + "'")
        .hint("for example " + std::string(option == "--set" ? "--set parallelism.default=2"
                                                             : "--with clicks.path=/data/clicks"));
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<std::string> profiles_of(const JobArguments& arguments,
                                     const std::map<std::string, std::string>& environment) {
  std::vector<std::string> profiles = arguments.profiles;
  const auto first = environment.find(kProfileVariable);
  if (first != environment.end() && !first->second.empty()) profiles.insert(profiles.begin(), first->second);
  return profiles;
}

/// An error about something that a profile gives is one of the profile.
Status of_profile(Status error, const sql::SqlInput& input) {
  const auto begins_with = [&](const std::string& origin) {
    return !origin.starts_with("--") && error.where().starts_with(origin);
  };
  bool of_profile = false;
  for (const auto& [key, setting] : input.settings) of_profile = of_profile || begins_with(setting.origin);
  for (const sql::TableOverride& table : input.tables) of_profile = of_profile || begins_with(table.origin);
  if (!of_profile || error.code() == ErrorCode::kBadProfile) return error;
  return Status(ErrorCode::kBadProfile, error.message()).at(error.where()).hint(error.hint());
}

Result<std::string> read_job(env::FileSystem& files, const std::string& path) {
  STRAND_TRY(const env::FileInfo info, files.stat(path));
  if (info.size > kJobBytesMax) {
    return Status(ErrorCode::kLimitExceeded, "expected at most 16 MiB of SQL, found " +
                                                 reports::bytes_text(static_cast<int64_t>(info.size)))
        .at(path)
        .hint("a job file holds statements only; data belongs into the tables that it reads");
  }
  STRAND_TRY(std::string text, env::read_all(files, path, kJobBytesMax));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

Status apply_set(const JobArguments& arguments, sql::SqlInput& input) {
  for (const std::string& text : arguments.set) {
    STRAND_TRY(auto assignment, split_assignment(text, "--set"));
    input.settings[assignment.first] = {assignment.second, "--set"};
  }
  return Status();
}

Status apply_with(const JobArguments& arguments, sql::SqlInput& input) {
  for (const std::string& text : arguments.with) {
    STRAND_TRY(auto assignment, split_assignment(text, "--with"));
    const size_t dot = assignment.first.find('.');
    if (dot == std::string::npos || dot == 0) {
      return Status(ErrorCode::kBadUsage, "--with expects TABLE.KEY=VALUE, found '" + text + "'")
          .hint("for example --with clicks.path=/data/clicks");
    }
    sql::TableOverride table;
    table.table = assignment.first.substr(0, dot);
    table.options[assignment.first.substr(dot + 1)] = assignment.second;
    table.origin = "--with";
    input.tables.push_back(std::move(table));
  }
  return Status();
}

}  // namespace

Result<sql::CompiledJob> compile_job(sql::SqlInput input, const connect::Registry& registry, env::Env env) {
  const runtime::Tables tables(registry, {{}, "UTC", env});
  input.checks.read = [&tables](const plan::TableSpec& table) { return tables.check_read(table); };
  input.checks.metadata = [&tables](const plan::TableSpec& table) { return tables.metadata(table); };
  input.checks.written_metadata = [&tables](const plan::TableSpec& table) {
    return tables.written_metadata(table);
  };
  input.checks.shows_changes = [](const plan::TableSpec& table) {
    return codec::gives_changes(table.option("format"));
  };
  input.checks.rows = [](const plan::TableSpec& table) {
    if (table.option("connector") == "upsert-kafka") return sql::TableRows::kUpserts;
    return codec::gives_changes(table.option("format")) ? sql::TableRows::kChanges : sql::TableRows::kNew;
  };
  input.checks.looks_up = [&tables](const plan::TableSpec& table) { return tables.can_look_up(table); };
  input.checks.write = [&tables](const plan::SinkWrite& write) { return tables.check_write(write); };
  if (!input.read_catalog)
    input.read_catalog = [&](const std::string& path) { return read_catalog(*env.files, path); };
  STRAND_TRY(sql::CompiledJob job, sql::compile(input));
  STRAND_OK(check_plan(job.plan, registry, env));
  return job;
}

Status apply_arguments(const JobArguments& arguments, env::FileSystem& files,
                       const std::map<std::string, std::string>& environment, sql::SqlInput& input) {
  for (const std::string& profile : profiles_of(arguments, environment)) {
    STRAND_OK(apply_profile(profile, arguments.env_file, files, environment, input));
  }
  STRAND_OK(apply_set(arguments, input));
  return apply_with(arguments, input);
}

Result<sql::SqlInput> read_input(const JobArguments& arguments, env::FileSystem& files,
                                 const std::map<std::string, std::string>& environment) {
  sql::SqlInput input;
  input.file = arguments.file;
  STRAND_TRY(input.text, read_job(files, arguments.file));
  STRAND_OK(apply_arguments(arguments, files, environment, input));
  return input;
}

Result<sql::CompiledJob> load_job(const JobArguments& arguments, const connect::Registry& registry,
                                  env::Env env, const std::map<std::string, std::string>& environment) {
  STRAND_TRY(const sql::SqlInput input, read_input(arguments, *env.files, environment));
  Result<sql::CompiledJob> job = compile_job(input, registry, env);
  if (!job.ok()) return of_profile(std::move(job).status(), input);
  return job;
}

}  // namespace strand::engine
