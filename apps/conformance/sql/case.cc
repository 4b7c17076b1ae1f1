#include "conformance/sql/case.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/text.h"
#include "conformance/corpus.h"

namespace strand::conformance::sql {
namespace {

constexpr std::string_view kSuffix = ".case";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// `{libraries}` of a case is where libraries of functions were built, beside this program.
std::string with_libraries(std::string text) {
  static constexpr std::string_view kPlace = "{libraries}";
  std::error_code error;
  const auto folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "lib";
  for (size_t at = 0; (at = text.find(kPlace, at)) != std::string::npos;) {
    text.replace(at, kPlace.size(), folder.string());
  }
  return text;
}

Case parse_case(const std::string& topic, const std::string& name, const std::string& text) {
  Case parsed{topic, name, {}, {}};
  for (const std::string& line : lines_of(with_libraries(text))) {
    if (line.starts_with("%% ")) {
      std::vector<std::string> words = words_of(line.substr(3));
      const std::string section = words.empty() ? "" : words[0];
      if (!words.empty()) words.erase(words.begin());
      parsed.sections.push_back({section, std::move(words), {}});
    } else if (!parsed.sections.empty()) {
      parsed.sections.back().lines.push_back(line);
    } else if (const size_t colon = line.find(": "); line.starts_with("# ") && colon != std::string::npos) {
      parsed.header[line.substr(2, colon - 2)] = line.substr(colon + 2);
    }
  }
  for (Section& section : parsed.sections) {
    while (!section.lines.empty() && section.lines.back().empty()) section.lines.pop_back();
  }
  return parsed;
}

}  // namespace

std::string Section::text() const {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::string Case::option(const std::string& key, const std::string& otherwise) const {
  const auto found = header.find(key);
  return found == header.end() ? otherwise : found->second;
}

std::string Case::text(const std::string& section) const {
  std::string out;
  for (const Section& each : sections) {
    if (each.name == section) out += each.text();
  }
  return out;
}

const Section* Case::section(const std::string& wanted) const {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const Section& each) { return each.name == wanted; });
  return found == sections.end() ? nullptr : &*found;
}

Result<std::vector<Case>> read_cases(const std::string& folder) {
  std::vector<Case> cases;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != kSuffix) continue;
    STRAND_TRY(const std::string text, read_file(path.string()));
    cases.push_back(parse_case(path.parent_path().filename().string(), path.stem().string(), text));
  }
  if (error) return Status(ErrorCode::kFileNotFound, "cannot read the folder " + folder);
  if (cases.empty()) return Status(ErrorCode::kFileNotFound, "no .case file below " + folder);
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::tie(a.topic, a.name) < std::tie(b.topic, b.name);
  });
  return cases;
}

namespace {
std::optional<InputLine::Event> event_of(const std::string& line) {
  if (line == "barrier") return InputLine::Event::kBarrier;
  if (line == "crash") return InputLine::Event::kCrash;
  if (line == "stop") return InputLine::Event::kStop;
  return std::nullopt;
}
}  // namespace

Result<std::vector<InputLine>> input_of(const Case& test_case, const std::string& folder) {
  std::vector<InputLine> input;
  for (const std::string& line : lines_of(test_case.text("input"))) {
    if (line.empty() || line[0] == '#') continue;
    if (const auto event = event_of(line)) {
      input.push_back({"", "", *event, {}});
      continue;
    }
    if (line.starts_with("wait ")) {
      STRAND_TRY(const Duration wait, parse_duration(line.substr(5)));
      input.push_back({"", "", InputLine::Event::kWait, wait});
      continue;
    }
    const size_t blank = line.find(' ');
    const std::string table = line.substr(0, blank);
    const std::string payload = blank == std::string::npos ? "" : line.substr(blank + 1);
    if (!payload.starts_with("@file ")) {
      input.push_back({table, payload, InputLine::Event::kRow, {}});
      continue;
    }
    const std::string file = folder + "/" + test_case.topic + "/" + payload.substr(6);
    STRAND_TRY(const std::string text, read_file(file));
    for (const std::string& row : lines_of(text)) input.push_back({table, row, InputLine::Event::kRow, {}});
  }
  return input;
}

}  // namespace strand::conformance::sql
