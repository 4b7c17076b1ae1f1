#include "expr/date_pattern.h"

#include <array>

#include "expr/civil.h"

namespace strand::expr {

namespace {

using Names = std::array<std::string_view, 12>;
constexpr Names kMonths = {"January", "February", "March",     "April",   "May",      "June",
                           "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                   "Friday", "Saturday", "Sunday"};
constexpr size_t kShortName = 3;

void append_number(int64_t value, int width, std::string& out) {
  if (width == 2 && value >= 0 && value < 100) {
    const char two[] = {static_cast<char>('0' + value / 10), static_cast<char>('0' + value % 10)};
    out.append(two, 2);
    return;
  }
  char digits[24];
  size_t n = 0;
  uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  do {
    digits[n++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) out += '-';
  for (auto missing = static_cast<int64_t>(width) - static_cast<int64_t>(n); missing > 0; --missing)
    out += '0';
  while (n > 0) out += digits[--n];
}

/// Weeks begin on Sunday, and the week of the first of January is the first one (the rules of the US locale).
struct LocaleWeek {
  int64_t year;
  int64_t week;
};
LocaleWeek locale_week(int64_t days) {
  const auto sunday = [](int64_t d) { return d - iso_weekday(d) % 7; };
  const int64_t year = civil_of(sunday(days) + 6).year;
  return {year, (sunday(days) - sunday(days_of({year, 1, 1}))) / 7 + 1};
}

/// Milliseconds within which a letter does not change.
int64_t granularity_of(char letter) {
  switch (letter) {
    case 'S':
    case 'n':
    case 'A':
      return 1;
    case 's':
      return kMillisPerSecond;
    case 'm':
      return kMillisPerMinute;
    case 'H':
    case 'h':
    case 'K':
    case 'k':
      return kMillisPerHour;
    case 'a':
      return kMillisPerDay / 2;
    default:
      return kMillisPerDay;
  }
}

}  // namespace

struct DatePattern::Fields {
  explicit Fields(int64_t local_millis)
      : days(floor_div(local_millis, kMillisPerDay)),
        of_day(floor_mod(local_millis, kMillisPerDay)),
        date(civil_of(days)),
        hour(of_day / kMillisPerHour),
        minute(of_day / kMillisPerMinute % 60),
        second(of_day / kMillisPerSecond % 60),
        milli(of_day % kMillisPerSecond) {}
  int64_t days;
  int64_t of_day;
  Civil date;
  int64_t hour;
  int64_t minute;
  int64_t second;
  int64_t milli;
  // Only while reading.
  std::optional<bool> afternoon = {};
};

Result<DatePattern> DatePattern::parse(std::string_view pattern) {
  DatePattern out;
  out.granularity_ = kMillisPerDay;
  const auto plain = [&](std::string_view text) {
    if (out.tokens_.empty() || out.tokens_.back().letter != 0) out.tokens_.push_back({0, 0, {}});
    out.tokens_.back().text += text;
  };
  for (size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    if (c == '\'') {
      const size_t end = pattern.find('\'', i + 1);
      if (end == std::string_view::npos) {
        return Status(ErrorCode::kBadValue,
                      "the date pattern '" + std::string(pattern) + "' has a quote without end");
      }
      plain(end == i + 1 ? "'" : pattern.substr(i + 1, end - i - 1));
      i = end + 1;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      size_t end = i;
      while (end < pattern.size() && pattern[end] == c) ++end;
      Status status = out.add(c, static_cast<int>(end - i));
      if (!status.ok()) return std::move(status).at("pattern '" + std::string(pattern) + "'");
      i = end;
    } else {
      plain(pattern.substr(i, 1));
      ++i;
    }
  }
  return out;
}

Status DatePattern::add(char letter, int count) {
  if (std::string_view("GyuYMLdDEeHhKkmsSnAaQqw").find(letter) == std::string_view::npos) {
    return Status(ErrorCode::kBadValue,
                  std::string("the letter ") + letter + " of a date pattern is not known")
        .hint("text stands in quotes: 'T'; a timestamp carries no zone");
  }
  tokens_.push_back({letter, count, {}});
  granularity_ = std::min(granularity_, granularity_of(letter));
  return Status();
}

void DatePattern::format(int64_t local_millis, std::string& out) const {
  const Fields fields(local_millis);
  for (const Token& token : tokens_) {
    if (token.letter == 0)
      out += token.text;
    else
      append(token, fields, out);
  }
}

void DatePattern::append(const Token& token, const Fields& f, std::string& out) const {
  const int n = token.count;
  const auto number = [&](int64_t value) { append_number(value, n, out); };
  const auto year = [&](int64_t value) { append_number(n == 2 ? floor_mod(value, 100) : value, n, out); };
  const auto name = [&](std::string_view full) { out += n >= 4 ? full : full.substr(0, kShortName); };
  switch (token.letter) {
    case 'G':
      out += f.date.year > 0 ? "AD" : "BC";
      break;
    case 'y':
    case 'u':
      year(f.date.year);
      break;
    case 'Y':
      year(locale_week(f.days).year);
      break;
    case 'M':
    case 'L':
      if (n >= 3)
        name(kMonths[static_cast<size_t>(f.date.month - 1)]);
      else
        number(f.date.month);
      break;
    case 'd':
      number(f.date.day);
      break;
    case 'D':
      number(day_of_year(f.days));
      break;
    case 'E':
      name(kDays[static_cast<size_t>(iso_weekday(f.days) - 1)]);
      break;
    case 'e':
      number(iso_weekday(f.days) % 7 + 1);
      break;
    case 'H':
      number(f.hour);
      break;
    case 'k':
      number(f.hour == 0 ? 24 : f.hour);
      break;
    case 'K':
      number(f.hour % 12);
      break;
    case 'h':
      number(f.hour % 12 == 0 ? 12 : f.hour % 12);
      break;
    case 'm':
      number(f.minute);
      break;
    case 's':
      number(f.second);
      break;
    case 'S': {
      const size_t begin = out.size();
      append_number(f.milli, 3, out);
      out.resize(begin + static_cast<size_t>(n), '0');
      break;
    }
    case 'n':
      number(f.milli * 1'000'000);
      break;
    case 'A':
      number(f.of_day);
      break;
    case 'a':
      out += f.hour < 12 ? "AM" : "PM";
      break;
    case 'Q':
    case 'q':
      if (n >= 3) out += 'Q';
      append_number((f.date.month - 1) / 3 + 1, n >= 3 ? 1 : n, out);
      break;
    default:
      number(locale_week(f.days).week);
      break;  // w
  }
}

bool DatePattern::is_number(size_t token) const {
  if (token >= tokens_.size()) return false;
  const Token& t = tokens_[token];
  return t.letter != 0 && t.letter != 'a' && t.letter != 'E' && !(t.letter == 'M' && t.count >= 3);
}

std::optional<int64_t> DatePattern::read(std::string_view text) const {
  Fields fields(0);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (!take(i, text, fields)) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  if (fields.afternoon) fields.hour = fields.hour % 12 + (*fields.afternoon ? 12 : 0);
  if (!is_valid(fields.date) || fields.hour > 23 || fields.minute > 59 || fields.second > 59)
    return std::nullopt;
  return days_of(fields.date) * kMillisPerDay + fields.hour * kMillisPerHour +
         fields.minute * kMillisPerMinute + fields.second * kMillisPerSecond + fields.milli;
}

bool DatePattern::take(size_t index, std::string_view& text, Fields& f) const {
  const Token& token = tokens_[index];
  if (token.letter == 0) {
    if (!text.starts_with(token.text)) return false;
    text.remove_prefix(token.text.size());
    return true;
  }
  if (token.letter == 'a') {
    if (text.size() < 2 || (text[1] != 'M' && text[1] != 'm')) return false;
    f.afternoon = text[0] == 'P' || text[0] == 'p';
    text.remove_prefix(2);
    return true;
  }
  if (token.letter == 'M' && token.count >= 3) {
    for (size_t month = 0; month < kMonths.size(); ++month) {
      const std::string_view name = token.count >= 4 ? kMonths[month] : kMonths[month].substr(0, kShortName);
      if (!text.starts_with(name)) continue;
      text.remove_prefix(name.size());
      f.date.month = static_cast<int>(month) + 1;
      return true;
    }
    return false;
  }
  // Letters that stand next to each other have exactly as many digits as letters.
  const bool adjacent = is_number(index + 1);
  const size_t most = adjacent              ? static_cast<size_t>(token.count)
                      : token.letter == 'S' ? 9
                      : token.letter == 'y' ? 4
                                            : 2;
  int64_t value = 0;
  size_t n = 0;
  for (; n < text.size() && n < most && text[n] >= '0' && text[n] <= '9'; ++n)
    value = value * 10 + (text[n] - '0');
  if (n == 0 || (adjacent && n < most)) return false;
  text.remove_prefix(n);
  switch (token.letter) {
    case 'y':
    case 'u':
      f.date.year = token.count == 2 ? 2000 + value : value;
      return true;
    case 'M':
    case 'L':
      f.date.month = static_cast<int>(value);
      return true;
    case 'd':
      f.date.day = static_cast<int>(value);
      return true;
    case 'H':
    case 'k':
    case 'K':
    case 'h':
      f.hour = value;
      return true;
    case 'm':
      f.minute = value;
      return true;
    case 's':
      f.second = value;
      return true;
    case 'S':
      for (; n < 3; ++n) value *= 10;
      for (; n > 3; --n) value /= 10;
      f.milli = value;
      return true;
    default:
      return false;
  }
}

std::string_view CachedFormat::text(int64_t local_millis) {
  if (local_millis >= from_ && local_millis < until_) [[likely]]
    return text_;
  from_ = floor_div(local_millis, pattern_.granularity()) * pattern_.granularity();
  until_ = from_ + pattern_.granularity();
  text_.clear();
  pattern_.format(local_millis, text_);
  return text_;
}

}  // namespace strand::expr
