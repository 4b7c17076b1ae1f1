#include "engine/predict.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "connect/table/store.h"

namespace strand::engine {

namespace {

int64_t rows_in(Duration d, int64_t rate) { return d.millis * rate / 1000; }

Exposure exposure(Duration length, const Load& load, std::optional<int64_t> capacity) {
  Exposure out{length, {}, {}};
  if (capacity) out.rows = rows_in(length, *capacity);
  if (out.rows && load.late_percent) out.late = *out.rows * *load.late_percent / 100;
  return out;
}

std::optional<Duration> longest_idle_timeout(const plan::Plan& plan) {
  std::optional<Duration> out;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr || !scan->watermark || !scan->watermark->idle_timeout) continue;
    out = std::max(out.value_or(Duration{0}), *scan->watermark->idle_timeout);
  }
  return out;
}

void predict_state(const plan::Plan& plan, const runtime::JobOptions& options, const Load& load,
                   Prediction& out) {
  for (const plan::NodePtr& node : plan.nodes()) {
    if (const auto* window = std::get_if<plan::WindowAggregate>(&node->detail);
        window != nullptr && window->pre_aggregate) {
      PartialSums sums{node->id, *window->pre_aggregate, {}};
      if (load.hot_rate)
        sums.hot_rows = std::max<int64_t>(1, rows_in(sums.wait, *load.hot_rate) / options.parallelism);
      out.partials.push_back(std::move(sums));
    }
    const auto* dedup = std::get_if<plan::Deduplicate>(&node->detail);
    if (dedup == nullptr || !dedup->retention || load.rate == 0) continue;
    KeptIds kept{node->id, dedup->retention->after, rows_in(dedup->retention->after, load.rate), 0, 0, {}};
    kept.each = load.id_bytes.value_or(plan::kIdBytes);
    kept.bytes = kept.ids * kept.each;
    if (options.checkpoints.interval)
      kept.increment = rows_in(*options.checkpoints.interval, load.rate) * kept.each;
    out.ids.push_back(std::move(kept));
  }
}

}  // namespace

Prediction predict(const plan::Plan& plan, const runtime::JobOptions& options,
                   const runtime::RestartOptions& restart, const Load& load) {
  Prediction out;
  out.capacity = load.capacity;
  if (load.subtask_capacity) out.capacity = *load.subtask_capacity * options.parallelism;
  const Duration down = load.restart.value_or(restart.initial);
  if (options.checkpoints.interval) out.replay = Duration{options.checkpoints.interval->millis + down.millis};
  if (out.replay && load.rate > 0) out.replay_rows = rows_in(*out.replay, load.rate);
  out.exposure = exposure(options.tick_interval, load, out.capacity);
  if (const auto idle = longest_idle_timeout(plan)) out.idle = exposure(*idle, load, out.capacity);
  if (load.keys && load.sink_rate) out.flush = Duration{*load.keys * 1000 / *load.sink_rate};
  if (load.sink_rate) out.index_rate = *load.sink_rate / connect::table::kIndexShards;
  if (out.replay_rows && out.capacity && *out.capacity > load.rate) {
    out.catch_up = Duration{*out.replay_rows * 1000 / (*out.capacity - load.rate)};
  }
  predict_state(plan, options, load, out);
  return out;
}

Result<int64_t> parse_rate(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 5> kUnits = {
      {{"", 1}, {"/s", 1}, {"/min", 60}, {"/h", 3'600}, {"/day", 86'400}}};
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const auto found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, int64_t>::first);
  if (error != std::errc() || number < 0 || found == kUnits.end()) {
    return Status(ErrorCode::kBadUsage,
                  "expected a rate such as 100000 or 1000000000/day, found '" + text + "'")
        .hint("units are /s, /min, /h and /day; see strandline explain --help");
  }
  return number / found->second;
}

}  // namespace strand::engine
