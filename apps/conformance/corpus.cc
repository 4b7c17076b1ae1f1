#include "conformance/corpus.h"

#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace strand::conformance {
namespace {

Result<std::string> decompress(const std::string& bytes, const std::string& file) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return Status(ErrorCode::kCorruptInput, file + " is not a zstd file that tells its size");
  }
  std::string plain(size, '\0');
  const size_t written = ZSTD_decompress(plain.data(), plain.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(written) != 0 || written != size)
    return Status(ErrorCode::kCorruptInput, file + " is damaged");
  return plain;
}

std::string describe(const Json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "default";
  if (found->is_object()) return text(*found, "type", "object");
  return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace

Result<std::string> read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Status(ErrorCode::kFileNotFound, "cannot read " + file);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

Result<std::vector<std::string>> case_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().string();
    if (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")) files.push_back(name);
  }
  if (error)
    return Status(ErrorCode::kFileNotFound, "cannot read the folder " + folder + ": " + error.message());
  if (files.empty()) return Status(ErrorCode::kFileNotFound, "no .jsonl or .jsonl.zst file in " + folder);
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<Json>> read_cases(const std::string& file) {
  STRAND_TRY(std::string bytes, read_file(file));
  if (file.ends_with(".zst")) {
    STRAND_TRY(bytes, decompress(bytes, file));
  }
  std::vector<Json> cases;
  std::istringstream lines(bytes);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded()) {
      return Status(ErrorCode::kBadRow,
                    file + ":" + std::to_string(cases.size() + 1) + ": not a JSON object");
    }
    cases.push_back(std::move(parsed));
  }
  return cases;
}

Result<Where> Where::parse(const std::string& text) {
  Where where;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) {
      return Status(ErrorCode::kBadUsage, "--where: expected key=value, found `" + part + "`");
    }
    where.parts_.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return where;
}

bool Where::matches(const Json& test_case) const {
  return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) {
    const bool of_case = part.first == "family" || part.first == "id";
    return describe(of_case ? test_case : test_case.at("config"), part.first) == part.second;
  });
}

}  // namespace strand::conformance
