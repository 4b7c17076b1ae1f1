#include "expr/zone.h"

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include <chrono>
#include <limits>
#include <optional>

#include "expr/civil.h"

namespace strand::expr {

namespace {

using Seconds = cctz::time_point<cctz::seconds>;

/// `+8`, `-03:30`, `+0800` to milliseconds.
std::optional<int64_t> parse_offset(std::string_view text) {
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const bool negative = text[0] == '-';
  std::string digits;
  bool colon = false;
  for (const char c : text.substr(1)) {
    if (c == ':' && !colon) {
      colon = true;
      if (digits.size() == 1) digits.insert(0, "0");
    } else if (c >= '0' && c <= '9') {
      digits += c;
    } else {
      return std::nullopt;
    }
  }
  if (digits.size() == 1) digits.insert(0, "0");
  if (digits.size() == 2) digits += "00";
  if (digits.size() != 4) return std::nullopt;
  const int64_t hours = (digits[0] - '0') * 10 + (digits[1] - '0');
  const int64_t minutes = (digits[2] - '0') * 10 + (digits[3] - '0');
  if (hours > 18 || minutes > 59) return std::nullopt;
  const int64_t offset = hours * kMillisPerHour + minutes * kMillisPerMinute;
  return negative ? -offset : offset;
}

std::optional<int64_t> fixed_offset(std::string_view name) {
  if (name == "UTC" || name == "Z" || name == "GMT" || name == "UT" || name == "Etc/UTC") return 0;
  if (name.starts_with("UTC") || name.starts_with("GMT")) return parse_offset(name.substr(3));
  return parse_offset(name);
}

}  // namespace

struct Zone::Rules {
  cctz::time_zone zone;
};

Result<Zone> Zone::load(const std::string& name) {
  Zone zone;
  if (const auto offset = fixed_offset(name)) {
    zone.offset_ = *offset;
    return zone;
  }
  auto rules = std::make_shared<Rules>();
  if (name.empty() || !cctz::load_time_zone(name, &rules->zone)) {
    return Status(ErrorCode::kBadOption, "there is no time zone '" + name + "'")
        .hint("use a name such as Europe/Berlin or an offset such as UTC+02:00");
  }
  zone.rules_ = std::move(rules);
  return zone;
}

void Zone::find_stretch(int64_t utc_millis) const {
  // The library lists the changes of some 400 years to come; the rules, and the calendar, repeat after as
  // many.
  constexpr cctz::seconds kCycle{146'097 * int64_t{86'400}};
  const Seconds listed{cctz::seconds(10'413'792'000)};  // 2300-01-01
  Seconds at{cctz::seconds(floor_div(utc_millis, kMillisPerSecond))};
  offset_ = rules_->zone.lookup(at).offset * kMillisPerSecond;
  cctz::time_zone::civil_transition change;
  int64_t shift = 0;
  for (Seconds earlier = at; earlier >= listed && !rules_->zone.next_transition(earlier, &change);) {
    earlier -= kCycle;
    if (!rules_->zone.next_transition(earlier, &change)) continue;
    shift = (at - earlier).count() * kMillisPerSecond;
    at = earlier;
    break;
  }
  const auto instant = [&](const cctz::civil_second& local) {
    return rules_->zone.lookup(local).trans.time_since_epoch().count() * kMillisPerSecond + shift;
  };
  // next_transition looks strictly behind its argument, prev_transition strictly before it.
  until_ =
      rules_->zone.next_transition(at, &change) ? instant(change.to) : std::numeric_limits<int64_t>::max();
  from_ = rules_->zone.prev_transition(at + cctz::seconds(1), &change) ? instant(change.to)
                                                                       : std::numeric_limits<int64_t>::min();
}

int64_t Zone::utc_of(int64_t local_millis) const {
  if (rules_ == nullptr) return local_millis - offset_;
  const int64_t second = floor_div(local_millis, kMillisPerSecond);
  // Far from both ends of the stretch the answer is the offset in force.
  const int64_t guess = local_millis - offset_;
  if (guess - kMillisPerDay >= from_ && guess + kMillisPerDay < until_ && from_ < until_) return guess;
  const auto found = rules_->zone.lookup(cctz::civil_second(1970, 1, 1) + second);
  const int64_t utc =
      found.pre.time_since_epoch().count() * kMillisPerSecond + floor_mod(local_millis, 1'000);
  find_stretch(utc);
  return utc;
}

}  // namespace strand::expr
