#include "tests/fuzz/seeds.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace strand::fuzz {

namespace {

constexpr size_t kExpressionsOfACase = 12;  // else they would outnumber the queries

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A case file: `%% name` opens a section.
void add_case(const std::string& text, std::vector<std::string>& seeds) {
  std::string declarations;
  std::string query;
  std::string table;
  std::vector<std::string> expressions;
  std::string section;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("%% ")) {
      section = line.substr(3);
      if (section.starts_with("eval ")) table = section.substr(5);
    } else if (section == "setup") {
      declarations += line + "\n";
    } else if (section == "query") {
      query += line + "\n";
    } else if (section.starts_with("eval") && line.starts_with("> ")) {
      expressions.push_back(line.substr(2));
    }
  }
  if (!query.empty()) seeds.push_back(declarations + query);
  const size_t step = std::max<size_t>(1, expressions.size() / kExpressionsOfACase);
  for (size_t i = 0; i < expressions.size(); i += step) {
    seeds.push_back(declarations + "SELECT " + expressions[i] + (table.empty() ? "" : " FROM " + table));
  }
}

}  // namespace

std::vector<std::string> sql_seeds(const std::string& root) {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"examples", "tests/sql", "tests/conformance/sql"}) {
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator at(std::filesystem::path(root) / folder, error), end;
         !error && at != end; at.increment(error)) {
      const auto extension = at->path().extension();
      if (extension == ".sql" || extension == ".case") paths.push_back(at->path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    if (path.extension() == ".sql") {
      seeds.push_back(content(path));
    } else {
      add_case(content(path), seeds);
    }
  }
  return seeds;
}

}  // namespace strand::fuzz
