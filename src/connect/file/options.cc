#include "connect/file/options.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace strand::connect::file {
namespace {

constexpr uint64_t kRecordBytesMax = uint64_t{1} << 30;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

Status bad_value(const std::string& key, const std::string& value, const std::string& expected) {
  return Status(ErrorCode::kBadOption, "'" + key + "' must be " + expected + ", not '" + value + "'")
      .hint("leave it out for the default");
}

/// The value of an option, or nothing.
const std::string* value_of(const TableContext& table, const std::string& key) {
  const auto found = table.options.find(key);
  return found == table.options.end() ? nullptr : &found->second;
}

Result<bool> flag(const TableContext& table, const std::string& key) {
  const std::string* value = value_of(table, key);
  if (value == nullptr || lower(*value) == "false") return false;
  if (lower(*value) == "true") return true;
  return bad_value(key, *value, "true or false");
}

Status read_monitoring(const TableContext& table, FileOptions& options) {
  STRAND_TRY(options.monitor_interval, duration_option(table, "source.monitor-interval"));
  if (options.monitor_interval && options.monitor_interval->millis <= 0) {
    return bad_value("source.monitor-interval", *value_of(table, "source.monitor-interval"),
                     "longer than nothing");
  }
  if (const std::string* regex = value_of(table, "source.path.regex-pattern")) {
    const re2::RE2 pattern(*regex, re2::RE2::Quiet);
    if (!pattern.ok()) {
      return bad_value("source.path.regex-pattern", *regex, "a regular expression (" + pattern.error() + ")");
    }
    options.path_regex = *regex;
  }
  return Status();
}

Status read_limits(const TableContext& table, FileOptions& options) {
  const std::string key = "strand.max-record-bytes";
  const std::string* value = value_of(table, key);
  if (value == nullptr) return Status();
  const auto bytes = parse_bytes(*value);
  if (!bytes.ok()) return bad_value(key, *value, "a number of bytes such as '16 mb'");
  options.record_bytes_max = *bytes;
  if (options.record_bytes_max < 1 || options.record_bytes_max > kRecordBytesMax) {
    return bad_value(key, *value, "1 byte to 1 GiB");
  }
  return Status();
}

Status read_format(const TableContext& table, FileOptions& options) {
  const std::string* format = value_of(table, "format");
  if (format == nullptr) {
    return Status(ErrorCode::kBadOption, "table " + table.table + " has no 'format'")
        .hint("add 'format' = 'json', 'csv' or 'raw'");
  }
  options.format = *format;
  STRAND_TRY(options.ignore_bad, flag(table, *format + ".ignore-parse-errors"));
  return Status();
}

}  // namespace

Result<uint64_t> parse_bytes(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto bad = [&] { return bad_value("size", std::string(text), "a number of bytes such as '16 mb'"); };
  if (error != std::errc()) return bad();
  std::string unit = lower(text.substr(static_cast<size_t>(end - text.data())));
  std::erase(unit, ' ');
  int shift = -1;
  if (unit.empty() || unit == "b" || unit == "bytes") shift = 0;
  if (unit == "k" || unit == "kb" || unit == "kib") shift = 10;
  if (unit == "m" || unit == "mb" || unit == "mib") shift = 20;
  if (unit == "g" || unit == "gb" || unit == "gib") shift = 30;
  if (shift < 0 || number > (UINT64_MAX >> shift)) return bad();
  return number << shift;
}

Result<FileOptions> read_options(const TableContext& table) {
  FileOptions options;
  const std::string* path = value_of(table, "path");
  if (path == nullptr || path->empty()) {
    return Status(ErrorCode::kBadOption, "table " + table.table + " has no 'path'")
        .hint("add 'path' = 'FOLDER', relative to the working folder");
  }
  options.path = path->starts_with("file://") ? path->substr(7) : *path;
  while (options.path.size() > 1 && options.path.back() == '/') options.path.pop_back();
  STRAND_OK(read_format(table, options));
  STRAND_OK(read_monitoring(table, options));
  STRAND_OK(read_limits(table, options));
  return options;
}

}  // namespace strand::connect::file
