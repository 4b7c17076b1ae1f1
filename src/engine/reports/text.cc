#include "engine/reports/text.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace strand::engine::reports {

namespace {

constexpr int64_t kDay = 86'400'000;
constexpr int64_t kHour = 3'600'000;
constexpr int64_t kMinute = 60'000;

int64_t day_of(int64_t millis) { return millis >= 0 ? millis / kDay : -((-millis + kDay - 1) / kDay); }

/// `2026-02-08 ` where it is another day.
std::string date_text(int64_t millis, WallTime now) {
  if (day_of(millis) == day_of(now.millis)) return "";
  return format_utc(millis).substr(0, 10) + " ";
}

/// Milliseconds down to tenths of a second.
std::string tenths(int64_t millis) {
  const std::string text = format_utc_time(millis);
  return text.substr(0, text.size() - 2);
}

std::string two(int64_t big, const char* big_unit, int64_t small, const char* small_unit) {
  std::string text = std::to_string(big) + " " + big_unit;
  if (small > 0) text += " " + std::to_string(small) + " " + small_unit;
  return text;
}

std::string with_decimal(double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f %s", value, unit);
  return text;
}

}  // namespace

std::string clock_text(WallTime t) { return tenths(t.millis) + " UTC"; }

std::string wall_text(WallTime t, WallTime now) { return date_text(t.millis, now) + tenths(t.millis); }

std::string event_text(EventTime t, WallTime now) {
  if (t == EventTime::min()) return "nothing yet";
  if (t == EventTime::max()) return "the end";
  return date_text(t.millis, now) + format_utc_time(t.millis);
}

std::string span_text(Duration d) {
  const int64_t millis = std::max<int64_t>(d.millis, 0);
  if (millis < kMinute) return with_decimal(static_cast<double>(millis) / 1000.0, "s");
  if (millis < kHour) return two(millis / kMinute, "min", millis % kMinute / 1000, "s");
  if (millis < kDay) return two(millis / kHour, "h", millis % kHour / kMinute, "min");
  return two(millis / kDay, "d", millis % kDay / kHour, "h");
}

std::string count_text(int64_t n) {
  std::string digits = std::to_string(n < 0 ? -n : n);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return (n < 0 ? "-" : "") + digits;
}

std::string bytes_text(int64_t n) {
  if (n < 1024) return std::to_string(n) + " B";
  const auto value = static_cast<double>(n);
  if (n < int64_t{1} << 20) return with_decimal(value / 1024.0, "KiB");
  if (n < int64_t{1} << 30) return with_decimal(value / 1048576.0, "MiB");
  return with_decimal(value / 1073741824.0, "GiB");
}

std::string plural(int64_t n, const std::string& one, const std::string& many) {
  return count_text(n) + " " + (n == 1 ? one : many);
}

std::string listed(const std::vector<std::string>& items, size_t at_most) {
  std::string text;
  const size_t shown = std::min(items.size(), at_most);
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  if (shown == items.size()) return text;
  const size_t left = items.size() - shown;
  return text + " and " + std::to_string(left) + (left == 1 ? " other" : " others");
}

std::string TextTable::text(const std::string& indent) const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      const bool left = i < left_ || i + 1 == widths.size();
      line += (i == 0 ? "" : "  ") + (left ? row[i] + pad : pad + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace strand::engine::reports
