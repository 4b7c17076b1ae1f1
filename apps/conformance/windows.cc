#include "conformance/windows.h"

#include <algorithm>
#include <limits>

#include "state/keyed/states.h"

namespace strand::conformance {
namespace {

using ops::Firing;
using ops::Record;
using Acc = std::vector<int64_t>;  // count, sum, min, max

Json head(const Firing& firing) {
  const auto& window = firing.facts().window;
  return {firing.key(), window ? Json(window->start) : Json(), window ? Json(window->end) : Json()};
}

Status tell(const Firing& firing, Json result) {
  Json value = head(firing);
  value.push_back(std::move(result));
  firing.emit(0, value.dump());
  return {};
}

int64_t wrapping_sum(int64_t a, int64_t b) { return window::wrapping_add(a, b); }

Acc add(const Acc& acc, const Record& record) {
  return {acc[0] + 1, wrapping_sum(acc[1], record.value), std::min(acc[2], record.value),
          std::max(acc[3], record.value)};
}

Acc nothing() { return {0, 0, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}; }

Result<int64_t> result_of(const std::string& what, const Acc& acc) {
  if (what == "count") return acc[0];
  if (what == "sum") return acc[1];
  if (what == "min") return acc[2];
  if (what == "max") return acc[3];
  if (acc[0] == 0) return Status(ErrorCode::kOverflow, "division by zero: the average of nothing");
  return acc[1] / acc[0];
}

Status tell_aggregate(const std::string& what, const Firing& firing, const Acc& acc) {
  STRAND_TRY(const int64_t result, result_of(what, acc));
  return tell(firing, result);
}

Record reduce(const std::string& what, const Record& a, const Record& b) {
  if (what == "first") return a;
  if (what == "last") return b;
  Record result = a;
  result.value = what == "sum" ? wrapping_sum(a.value, b.value) : std::max(a.value, b.value);
  return result;
}

std::unique_ptr<ops::WindowContents> folding(const std::string& type, const std::string& what) {
  if (type == "reduce") {
    return std::make_unique<ops::FoldContents<Record>>(ops::FoldContents<Record>::Functions{
        .first = [](const Record& r) { return r; },
        .add = [what](const Record& a, const Record& b) { return reduce(what, a, b); },
        .merge = [what](const Record& a, const Record& b) { return reduce(what, a, b); },
        .result = [](const Firing& firing, const Record& r) { return tell(firing, r.value); }});
  }
  return std::make_unique<ops::FoldContents<Acc>>(ops::FoldContents<Acc>::Functions{
      .first = [](const Record& r) { return add(nothing(), r); },
      .add = add,
      .merge =
          [](const Acc& a, const Acc& b) {
            return Acc{a[0] + b[0], wrapping_sum(a[1], b[1]), std::min(a[2], b[2]), std::max(a[3], b[3])};
          },
      .result = [what](const Firing& firing, const Acc& acc) { return tell_aggregate(what, firing, acc); }});
}

std::vector<int64_t> values_of(const std::vector<Record>& records) {
  std::vector<int64_t> values;
  for (const Record& record : records) values.push_back(record.value);
  return values;
}

/// Counts its firings by window and by key.
Status tell_stateful(const Firing& firing, const std::vector<Record>& records) {
  STRAND_TRY(const state::Namespace window, firing.window_space());
  STRAND_TRY(auto of_window, state::ValueState<int64_t>::open(firing.state(), "firings-window"));
  STRAND_TRY(auto of_key, state::ValueState<int64_t>::open(firing.state(), "firings-key"));
  of_window.set(of_window.get(window).value_or(0) + 1, window);
  of_key.set(of_key.get().value_or(0) + 1);
  Json value = head(firing);
  value.push_back(values_of(records));
  value.push_back(*of_window.get(window));
  value.push_back(*of_key.get());
  value.push_back(firing.facts().watermark.millis);
  value.push_back(firing.facts().now.millis);
  firing.emit(0, value.dump());
  return {};
}

Status clear_stateful(const Firing& firing) {
  STRAND_TRY(const state::Namespace window, firing.window_space());
  STRAND_TRY(auto of_window, state::ValueState<int64_t>::open(firing.state(), "firings-window"));
  of_window.clear(window);
  return {};
}

ops::ListContents::Functions listing(const std::string& type, const std::string& what, bool sorted) {
  if (type == "stateful") return {.result = tell_stateful, .close = clear_stateful};
  if (type == "elements") {
    return {.result = [sorted](const Firing& firing, const std::vector<Record>& records) {
      std::vector<int64_t> values = values_of(records);
      if (sorted) std::sort(values.begin(), values.end());
      return tell(firing, values);
    }};
  }
  if (type == "reduce") {
    return {.result = [what](const Firing& firing, const std::vector<Record>& records) {
      if (records.empty()) return tell(firing, nullptr);
      Record folded = records.front();
      for (size_t i = 1; i < records.size(); ++i) folded = reduce(what, folded, records[i]);
      return tell(firing, folded.value);
    }};
  }
  return {.result = [what](const Firing& firing, const std::vector<Record>& records) {
    Acc acc = nothing();
    for (const Record& record : records) acc = add(acc, record);
    return tell_aggregate(what, firing, acc);
  }};
}

std::optional<window::EvictorOptions> evictor_of(const Json& config) {
  const auto found = config.find("evictor");
  if (found == config.end() || found->is_null()) return std::nullopt;
  const std::string type = text(*found, "type");
  window::EvictorOptions options;
  options.after = flag(*found, "after");
  if (type == "count") {
    options.count = found->at("n").get<int64_t>();
  } else if (type == "time") {
    options.kind = window::EvictorOptions::Kind::kTime;
    options.window = {number(*found, "window", 0)};
  } else {
    options.kind = window::EvictorOptions::Kind::kDelta;
    options.threshold = found->at("threshold").get<double>();
  }
  return options;
}

std::unique_ptr<ops::WindowContents> contents_of(const Json& config) {
  const Json& function = config.at("function");
  const std::string type = text(function, "type");
  const std::string what = text(function, type == "reduce" ? "op" : "agg");
  const auto evictor = evictor_of(config);
  if (!evictor && (type == "reduce" || type == "aggregate")) return folding(type, what);
  const bool sessions = text(config.at("assigner"), "type") == "session";
  return std::make_unique<ops::ListContents>(listing(type, what, sessions), evictor);
}

window::AssignerOptions assigner_of(const Json& json) {
  using Kind = window::AssignerOptions::Kind;
  const std::string type = text(json, "type");
  window::AssignerOptions options;
  options.kind = type == "tumbling"  ? Kind::kTumbling
                 : type == "sliding" ? Kind::kSliding
                 : type == "session" ? Kind::kSession
                                     : Kind::kGlobal;
  options.event_time = text(json, "time", "event") == "event";
  options.size = number(json, "size", 0);
  options.slide = number(json, "slide", 0);
  options.offset = number(json, "offset", 0);
  options.gap = number(json, "gap", 0);
  options.own_gaps = flag(json, "dynamic");
  options.natural_stagger = text(json, "stagger") == "natural";
  return options;
}

window::TriggerPtr trigger_of(const Json& json) {
  const std::string type = text(json, "type");
  const Duration interval{number(json, "interval", 0)};
  if (type == "event_time") return window::event_time_trigger();
  if (type == "processing_time") return window::processing_time_trigger();
  if (type == "count") return window::count_trigger(json.at("n").get<int64_t>());
  if (type == "purging") return window::purging_trigger(trigger_of(json.at("of")));
  if (type == "continuous_event") return window::continuous_event_trigger(interval);
  if (type == "continuous_processing") return window::continuous_processing_trigger(interval);
  if (type == "delta") return window::delta_trigger(json.at("threshold").get<double>());
  return window::processing_timeout_trigger(
      trigger_of(json.at("of")),
      {{number(json, "timeout", 0)}, flag(json, "reset_on_record"), flag(json, "clear_on_timeout")});
}

/// All but the contents.
ops::StreamWindowOptions options_of(const Json& config, KeyGroupRange own, const time::Floor& floor) {
  ops::StreamWindowOptions options;
  options.key_groups = own;
  options.assigner = assigner_of(config.at("assigner"));
  if (config.contains("trigger") && !config.at("trigger").is_null()) {
    options.trigger = trigger_of(config.at("trigger"));
  } else if (text(config.at("assigner"), "type") == "global_end_of_stream") {
    options.trigger = window::end_of_stream_trigger();
  }
  options.allowed_lateness = {number(config, "allowed_lateness", 0)};
  options.late_output = flag(config, "late_output");
  options.floor = floor;
  options.flink_restore = config.value(kFlinkRestore, true);
  options.flink_sessions = true;
  if (options.assigner.own_gaps) {
    options.gap_of = [](const Record& record) {
      return record.payload.empty() ? int64_t{0} : std::stoll(record.payload);
    };
  }
  return options;
}

Status tell_pair(const Firing& firing, const Record& left, const Record& right) {
  firing.emit(0, Json{firing.key(), left.value, right.value}.dump());
  return {};
}

/// Contents of sessions have no order: theirs are sorted.
ops::CoGroupFunction telling_groups(bool sorted) {
  return [sorted](const Firing& firing, const std::vector<Record>& left, const std::vector<Record>& right) {
    std::vector<int64_t> sides[2] = {values_of(left), values_of(right)};
    for (auto& side : sides) {
      if (sorted) std::sort(side.begin(), side.end());
    }
    firing.emit(0, Json{firing.key(), sides[0], sides[1]}.dump());
    return Status();
  };
}

}  // namespace

Result<std::unique_ptr<ops::StreamWindowOperator>> make_window(const Json& config, KeyGroupRange own,
                                                               const time::Floor& floor) {
  ops::StreamWindowOptions options = options_of(config, own, floor);
  options.contents = contents_of(config);
  return ops::StreamWindowOperator::make(std::move(options));
}

Result<std::unique_ptr<ops::StreamWindowOperator>> make_window_join(const Json& config, KeyGroupRange own,
                                                                    const time::Floor& floor) {
  const bool sessions = text(config.at("assigner"), "type") == "session";
  ops::CoGroupFunction function =
      text(config, "kind") == "join" ? ops::each_pair(tell_pair) : telling_groups(sessions);
  return ops::StreamWindowOperator::make(
      ops::window_join_options(options_of(config, own, floor), std::move(function), evictor_of(config)));
}

}  // namespace strand::conformance
