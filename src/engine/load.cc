#include "engine/load.h"

#include "engine/profile.h"

namespace strand::engine {

namespace {

Result<std::pair<std::string, std::string>> split_assignment(const std::string& text,
                                                             const std::string& option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Status(ErrorCode::kBadUsage, option + " expects KEY=VALUE, found '" + text + "'");
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
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
      return Status(ErrorCode::kBadUsage, "--with expects TABLE.KEY=VALUE, found '" + text + "'");
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

Result<sql::CompiledJob> load_job(const JobArguments& arguments, env::FileSystem& files,
                                  const connect::Registry& registry,
                                  const std::map<std::string, std::string>& environment) {
  sql::SqlInput input;
  input.file = arguments.file;
  STRAND_TRY(input.text, env::read_all(files, arguments.file, 16 << 20));
  for (const std::string& profile : arguments.profiles) {
    STRAND_OK(apply_profile(profile, arguments.env_file, files, environment, input));
  }
  STRAND_OK(apply_set(arguments, input));
  STRAND_OK(apply_with(arguments, input));
  input.check_options = [&registry](const std::map<std::string, std::string>& options,
                                    bool as_sink) -> Status {
    auto found = registry.find(options, as_sink);
    return found.ok() ? Status() : found.status();
  };
  return sql::compile(input);
}

}  // namespace strand::engine
