#include "engine/profile.h"

#include <yaml-cpp/yaml.h>

#include "base/text.h"

namespace strand::engine {

namespace {

std::string place(const std::string& file, const YAML::Node& node) {
  return file + ":" + std::to_string(node.Mark().line + 1) + ":" + std::to_string(node.Mark().column + 1);
}

/// NAME=VALUE lines; '#' starts a comment line. Errors show no text of the file: it may be a secret.
Result<std::map<std::string, std::string>> parse_env_file(const std::string& file, const std::string& text) {
  std::map<std::string, std::string> out;
  size_t from = 0;
  int number = 0;
  while (from < text.size()) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::string line = text.substr(from, end - from);
    from = end + 1;
    ++number;
    const size_t equals = line.find('=');
    if (line.empty() || line[0] == '#') continue;
    if (equals == std::string::npos || equals == 0) {
      return Status(ErrorCode::kBadProfile, "expected NAME=VALUE, found a line without")
          .at(file + ":" + std::to_string(number) + ":1")
          .hint("each line is NAME=VALUE; a comment begins with '#'");
    }
    out[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return out;
}

/// Flattens nested maps to dotted keys.
void flatten(const YAML::Node& node, const std::string& prefix,
             std::vector<std::pair<std::string, YAML::Node>>& out) {
  for (const auto& entry : node) {
    const std::string key = prefix + entry.first.as<std::string>();
    if (entry.second.IsMap()) {
      flatten(entry.second, key + ".", out);
    } else {
      out.emplace_back(key, entry.second);
    }
  }
}

class ProfileReader {
 public:
  ProfileReader(const std::string& file, std::map<std::string, std::string> variables, sql::SqlInput& input)
      : file_(file), variables_(std::move(variables)), input_(input) {}

  Status read(const YAML::Node& root) {
    if (root.IsNull()) return Status();
    if (!root.IsMap()) return bad(root, "a profile is a map with 'set' and 'tables'");
    for (const auto& entry : root) {
      const auto key = entry.first.as<std::string>();
      if (key == "set") {
        STRAND_OK(read_set(entry.second));
      } else if (key == "tables") {
        STRAND_OK(read_tables(entry.second));
      } else {
        return bad(entry.first, "expected 'set' or 'tables', found '" + key + "'");
      }
    }
    return Status();
  }

 private:
  Status bad(const YAML::Node& node, std::string message) const {
    return Status(ErrorCode::kBadProfile, std::move(message))
        .at(place(file_, node))
        .hint(
            "a profile looks so:\n    set:\n      parallelism.default: 2\n    tables:\n      clicks:\n"
            "        path: /data/clicks");
  }
  Result<std::string> value(const YAML::Node& node) const {
    if (!node.IsScalar()) return bad(node, "expected a single value");
    auto text = substitute(node.Scalar(), variables_);
    if (text.ok()) return text;
    return std::move(text).status().at(place(file_, node));
  }
  Status read_set(const YAML::Node& node) {
    std::vector<std::pair<std::string, YAML::Node>> settings;
    if (!node.IsMap()) return bad(node, "'set' is a map from settings to values");
    flatten(node, "", settings);
    for (const auto& [key, setting] : settings) {
      STRAND_TRY(std::string text, value(setting));
      input_.settings[key] = {std::move(text), place(file_, setting)};
    }
    return Status();
  }
  Status read_tables(const YAML::Node& node) {
    if (!node.IsMap()) return bad(node, "'tables' is a map from table names to options");
    for (const auto& entry : node) {
      sql::TableOverride table;
      table.table = entry.first.as<std::string>();
      table.origin = place(file_, entry.first);
      std::vector<std::pair<std::string, YAML::Node>> options;
      if (!entry.second.IsMap()) {
        return bad(entry.second, "'" + table.table + "' is a map from options to values");
      }
      flatten(entry.second, "", options);
      for (const auto& [key, option] : options) {
        if (option.IsNull()) {
          table.options[key] = std::nullopt;
          continue;
        }
        STRAND_TRY(std::string text, value(option));
        if (key == "watermark") {
          table.watermark = std::move(text);
          continue;
        }
        if (key == "connector") table.replaces_all = true;
        table.options[key] = std::move(text);
      }
      input_.tables.push_back(std::move(table));
    }
    return Status();
  }

  const std::string& file_;
  std::map<std::string, std::string> variables_;
  sql::SqlInput& input_;
};

}  // namespace

Result<std::string> substitute(const std::string& text, const std::map<std::string, std::string>& variables) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "$${") == 0) {
      out += "${";
      i += 2;
    } else if (text.compare(i, 2, "${") == 0) {
      const size_t end = text.find('}', i);
      if (end == std::string::npos)
        return Status(ErrorCode::kBadProfile, "expected '}' behind '${' in '" + text + "'");
      const std::string name = text.substr(i + 2, end - i - 2);
      const auto found = variables.find(name);
      if (found == variables.end()) {
        return Status(ErrorCode::kBadProfile, "the variable " + name + " has no value")
            .hint("set it in the environment or in --env-file, or write $${ for a plain ${");
      }
      out += found->second;
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

Status apply_profile(const std::string& file, const std::string& env_file, env::FileSystem& files,
                     const std::map<std::string, std::string>& environment, sql::SqlInput& input) {
  std::map<std::string, std::string> variables = environment;
  if (!env_file.empty()) {
    STRAND_TRY(const std::string text, env::read_all(files, env_file, 1 << 20));
    STRAND_TRY(const auto given, parse_env_file(env_file, text));
    for (const auto& [name, value] : given) variables[name] = value;
  }
  STRAND_TRY(const std::string text, env::read_all(files, file, 1 << 20));
  try {
    return ProfileReader(file, std::move(variables), input).read(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return Status(ErrorCode::kBadProfile, "expected YAML, found something else: " + error.msg)
        .at(file + ":" + std::to_string(error.mark.line + 1) + ":" + std::to_string(error.mark.column + 1))
        .hint("a profile is a map with 'set' and 'tables'");
  }
}

}  // namespace strand::engine
