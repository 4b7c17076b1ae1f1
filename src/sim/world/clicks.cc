#include "sim/world/clicks.h"

#include <algorithm>

#include "base/text.h"

namespace strand::sim {

namespace {

std::string click_json(const ClickLine& click, int64_t impression, int64_t device, int64_t arrival) {
  return "{\"click_id\":\"" + click.click_id + "\",\"ad_id\":\"" + click.ad +
         "\",\"user_id\":\"u\",\"spend_micros\":" + std::to_string(click.spend) +
         ",\"impression_ms\":" + std::to_string(impression) + ",\"device_ms\":" + std::to_string(device) +
         ",\"arrival_ms\":" + std::to_string(arrival) + "}";
}

/// `2026-02-08 10:14` of the first 16 characters, `2026-02-08 10` of the first 13.
std::string bucket(int64_t millis, size_t length) {
  std::string text = format_utc(millis).substr(0, length);
  text[10] = ' ';
  return text;
}

}  // namespace

ClickShape punctual(ClickShape shape) {
  shape.disorder = Duration{2'000};
  shape.duplicates = shape.late = shape.bad = shape.future = 0;
  return shape;
}

ClickInput make_clicks(uint64_t seed, WallTime start, const ClickShape& shape) {
  Random random(seed);
  ClickInput input;
  input.shards = shape.shards;
  const bool silent = random.chance(shape.silent_shard);
  const size_t silent_shard = random.below(shape.shards);
  std::vector<ClickLine> originals;
  std::set<std::pair<std::string, int64_t>> taken;
  for (size_t i = 0; i < shape.rows; ++i) {
    ClickLine click;
    click.at =
        start + Duration{static_cast<int64_t>(i) * shape.span.millis / static_cast<int64_t>(shape.rows) +
                         random.between(0, 300)};
    click.shard = random.below(shape.shards);
    if (silent && click.shard == silent_shard && i > shape.rows / 2)
      click.shard = (click.shard + 1) % shape.shards;
    if (random.chance(shape.bad)) {
      click.bad = true;
      click.line = random.chance(0.5) ? "not json" : "{\"click_id\":\"x\",\"impression_ms\":\"soon\"}";
      input.lines.push_back(std::move(click));
      continue;
    }
    if (!originals.empty() && random.chance(shape.duplicates)) {
      ClickLine copy = originals[random.below(originals.size())];
      copy.at = click.at;
      copy.shard = click.shard;
      input.lines.push_back(std::move(copy));
      continue;
    }
    click.click_id = "c" + std::to_string(i);
    click.ad = "ad_" + std::to_string(random.below(static_cast<uint64_t>(shape.ads)));
    click.spend = random.between(1, 1000);
    int64_t delay = random.between(0, shape.disorder.millis);
    if (random.chance(shape.late)) delay = random.between(60'000, 180'000);
    const int64_t arrival = click.at.millis;
    click.event_millis = (arrival - delay) / shape.grain.millis * shape.grain.millis;
    if (random.chance(shape.edges)) click.event_millis = (arrival - delay) / 1'000 * 1'000 - 1;
    while (shape.one_at_a_time && !taken.insert({click.ad, click.event_millis}).second) --click.event_millis;
    const int64_t impression = click.event_millis - random.between(0, 20'000);
    // Event time is the arrival where the phone is years ahead.
    const bool year_2031 = random.chance(shape.future);
    if (year_2031) click.event_millis = arrival;
    click.line =
        click_json(click, impression, year_2031 ? int64_t{1924992000000} : click.event_millis, arrival);
    originals.push_back(click);
    input.lines.push_back(click);
  }
  std::stable_sort(input.lines.begin(), input.lines.end(),
                   [](const ClickLine& a, const ClickLine& b) { return a.at < b.at; });
  return input;
}

Recount recount(const ClickInput& input) {
  Recount out;
  std::set<std::string> seen;
  for (const ClickLine& line : input.lines) {
    ++out.records;
    if (line.bad) {
      ++out.bad;
    } else if (!seen.insert(line.click_id).second) {
      ++out.copies;
    } else {
      ++out.distinct;
      auto& total = out.hours[{line.ad, bucket(line.event_millis, 13)}];
      ++total.clicks;
      total.spend += line.spend;
      ++out.minutes[{line.ad, bucket(line.event_millis, 16)}];
    }
  }
  return out;
}

}  // namespace strand::sim
