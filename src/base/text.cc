#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <vector>

namespace strand {

namespace {

struct Unit {
  std::string_view name;
  int64_t millis;
};
// Flink's TimeUtils labels.
constexpr std::array kUnits = {
    Unit{"ms", 1},           Unit{"milli", 1},         Unit{"millis", 1},
    Unit{"millisecond", 1},  Unit{"milliseconds", 1},  Unit{"s", 1000},
    Unit{"sec", 1000},       Unit{"secs", 1000},       Unit{"second", 1000},
    Unit{"seconds", 1000},   Unit{"m", 60'000},        Unit{"min", 60'000},
    Unit{"minute", 60'000},  Unit{"minutes", 60'000},  Unit{"h", 3'600'000},
    Unit{"hour", 3'600'000}, Unit{"hours", 3'600'000}, Unit{"d", 86'400'000},
    Unit{"day", 86'400'000}, Unit{"days", 86'400'000},
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct Civil {
  int year, month, day, hour, minute, second, millis;
};

Civil civil_of(int64_t epoch_millis) {
  using namespace std::chrono;
  const sys_time<milliseconds> t{milliseconds{epoch_millis}};
  const auto day = floor<days>(t);
  const year_month_day date{day};
  const hh_mm_ss time{t - day};
  return {int(date.year()),
          int(unsigned(date.month())),
          int(unsigned(date.day())),
          int(time.hours().count()),
          int(time.minutes().count()),
          int(time.seconds().count()),
          int(time.subseconds().count())};
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const std::string_view trimmed = trim(text);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  const auto bad = [&](const std::string& what) {
    return Status(ErrorCode::kBadOption,
                  "expected a duration such as '30 s', found '" + std::string(text) + "'" + what);
  };
  if (error != std::errc() || number < 0) return bad("");
  const std::string_view unit = trim(trimmed.substr(static_cast<size_t>(end - trimmed.data())));
  if (unit.empty()) return Duration{number};
  for (const Unit& u : kUnits) {
    int64_t millis = 0;
    if (u.name != unit) continue;
    if (__builtin_mul_overflow(number, u.millis, &millis)) return bad(": too long");
    return Duration{millis};
  }
  return bad(": the unit is one of ms, s, min, h, d");
}

std::string format_duration(Duration d) {
  if (d.millis % 1000 != 0) {
    if (d.millis < 1000) return std::to_string(d.millis) + " ms";
    std::string fraction = std::to_string(1000 + d.millis % 1000).substr(1);
    while (fraction.back() == '0') fraction.pop_back();
    return std::to_string(d.millis / 1000) + "." + fraction + " s";
  }
  const int64_t seconds = d.millis / 1000;
  if (seconds != 0 && seconds % 86'400 == 0) return std::to_string(seconds / 86'400) + " d";
  if (seconds != 0 && seconds % 3'600 == 0) return std::to_string(seconds / 3'600) + " h";
  if (seconds != 0 && seconds % 60 == 0) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds) + " s";
}

std::string format_utc(int64_t epoch_millis) {
  const Civil c = civil_of(epoch_millis);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", c.year, c.month, c.day, c.hour,
                c.minute, c.second, c.millis);
  return text;
}

std::string format_utc_time(int64_t epoch_millis) {
  const Civil c = civil_of(epoch_millis);
  char text[48];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d.%03d", c.hour, c.minute, c.second, c.millis);
  return text;
}

std::string format_event_time(EventTime t) {
  if (t == EventTime::min()) return "none";
  if (t == EventTime::max()) return "end of input";
  return format_utc_time(t.millis);
}

std::optional<int64_t> parse_utc(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
                  &second, &used) != 6) {
    return std::nullopt;
  }
  std::string_view rest = std::string_view(copy).substr(static_cast<size_t>(used));
  int64_t millis = 0;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    int64_t scale = 100;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
      millis += (rest.front() - '0') * scale;
      scale /= 10;
      rest.remove_prefix(1);
    }
  }
  if (!rest.empty() && rest != "Z") return std::nullopt;
  using namespace std::chrono;
  const year_month_day date{std::chrono::year{year}, std::chrono::month{unsigned(month)},
                            std::chrono::day{unsigned(day)}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t days = sys_days{date}.time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace strand
