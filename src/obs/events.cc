#include "obs/events.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace strand::obs {

namespace {

bool plain(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '=' && c != '\\' && c != '\x7f';
  });
}

void append_quoted(std::string& line, std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += {'\\', c};
    } else if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (byte < ' ' || byte == 0x7f) {
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      line += c;
    }
  }
  line += '"';
}

void append_pair(std::string& line, std::string_view key, std::string_view value) {
  line += ' ';
  line += key;
  line += '=';
  if (plain(value)) {
    line += value;
  } else {
    append_quoted(line, value);
  }
}

std::string code_text(int code) { return "STRAND-" + std::to_string(code); }

}  // namespace

std::string_view level_name(Level level) {
  constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warn", "error"};
  return kNames[static_cast<size_t>(level)];
}

std::optional<Level> parse_level(std::string_view name) {
  for (const Level level : {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError}) {
    if (level_name(level) == name) return level;
  }
  return std::nullopt;
}

std::string_view Event::field(std::string_view key) const {
  for (const auto& [name_of, value] : fields) {
    if (name_of == key) return value;
  }
  return {};
}

std::string to_logfmt(const Event& event, std::string_view job) {
  std::string line = format_utc(event.at.millis);
  line += ' ';
  line += level_name(event.level);
  if (!job.empty()) append_pair(line, "job", job);
  if (event.code != 0) append_pair(line, "code", code_text(event.code));
  append_pair(line, "event", event.name);
  for (const auto& [key, value] : event.fields) append_pair(line, key, value);
  return line;
}

std::string to_json(const Event& event, std::string_view job) {
  nlohmann::ordered_json object;
  object["at"] = format_utc(event.at.millis);
  object["level"] = level_name(event.level);
  if (!job.empty()) object["job"] = job;
  if (event.code != 0) object["code"] = code_text(event.code);
  object["event"] = event.name;
  // A field never replaces what stands before it.
  for (const auto& [key, value] : event.fields) object.emplace(key, value);
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace strand::obs
