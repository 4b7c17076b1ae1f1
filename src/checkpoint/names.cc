#include "checkpoint/names.h"

#include <charconv>
#include <cstdio>

namespace strand::checkpoint {

namespace {

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_number(std::string_view& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_ids(std::string_view& text, SnapshotName& name) {
  return take_number(text, name.epoch.value) && take(text, "-g") &&
         take_number(text, name.generation.value) && take(text, "-a") &&
         take_number(text, name.attempt.value);
}

std::string ids_text(const SnapshotName& name) {
  return std::to_string(name.epoch.value) + "-g" + std::to_string(name.generation.value) + "-a" +
         std::to_string(name.attempt.value);
}

/// Every byte that is not safe in a file name as %xx, so that no two jobs share a name.
std::string escaped(std::string_view job) {
  std::string text;
  for (const char c : job) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.';
    if (plain) {
      text += c;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof code, "%%%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += code;
  }
  return text;
}

}  // namespace

std::string manifest_name(const SnapshotName& name) { return "m" + ids_text(name); }

bool is_attempt_name(std::string_view text) {
  int64_t number = 0;
  return take(text, "g") && take_number(text, number) && take(text, "-a") && take_number(text, number) &&
         text.empty();
}

std::optional<SnapshotName> parse_manifest_name(std::string_view text) {
  SnapshotName name;
  if (!take(text, "m") || !take_ids(text, name) || !text.empty()) return std::nullopt;
  return name;
}

std::optional<Epoch> parse_file_name(std::string_view text) {
  Epoch epoch;
  if (!take(text, "e") || !take_number(text, epoch.value) || !take(text, "-")) return std::nullopt;
  return epoch;
}

std::string savepoint_name(std::string_view job, const SnapshotName& name, std::string_view hash) {
  return "savepoint-" + escaped(job) + "-e" + ids_text(name) + "-" +
         std::string(hash.substr(0, kSavepointHash));
}

std::optional<SnapshotName> parse_savepoint_name(std::string_view job, std::string_view text) {
  SnapshotName name;
  if (!take(text, "savepoint-" + escaped(job) + "-e") || !take_ids(text, name) || !take(text, "-")) {
    return std::nullopt;
  }
  if (text.size() != kSavepointHash) return std::nullopt;
  return name;
}

}  // namespace strand::checkpoint
