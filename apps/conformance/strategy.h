// A watermark strategy as a case writes it.
#pragma once

#include <optional>

#include "conformance/family.h"
#include "time/generator.h"

namespace strand::conformance {

/// One row of a case: what a generator sees of it.
struct Row {
  int64_t value = 0;
  EventTime time = EventTime::min();
  EventTime mark = EventTime::min();
  bool marked = false;
  time::Events events() const {
    time::Events events{{&time, 1}};
    if (marked) events.marks = {&mark, 1};
    return events;
  }
};

class Strategy {
 public:
  explicit Strategy(const Json& json) : json_(json) {}

  time::GeneratorOptions generator() const {
    const std::string type = text(json_, "type");
    if (type == "bounded") return time::GeneratorOptions::out_of_order({json_.at("bound").get<int64_t>()});
    if (type == "ascending") return time::GeneratorOptions::ascending();
    if (type == "punctuated") return {time::GeneratorOptions::Kind::kPunctuated, {}};
    return {time::GeneratorOptions::Kind::kNone, {}};
  }
  std::optional<Duration> idle_timeout() const {
    const int64_t millis = number(json_, "idle_timeout", 0);
    return millis > 0 ? std::optional(Duration{millis}) : std::nullopt;
  }
  /// The record of an `event` or `element` step, with the timestamp that the strategy gives it. Punctuated
  /// strategies mark the records with an odd value.
  Row row(const Json& step) const {
    Row row;
    row.value = number(step, "value", 0);
    row.time = {text(json_, "timestamp", "record") == "value" ? row.value
                                                              : number(step, "ts", EventTime::min().millis)};
    row.marked = text(json_, "type") == "punctuated";
    if (row.value % 2 != 0) row.mark = row.time;
    return row;
  }

 private:
  Json json_;
};

}  // namespace strand::conformance
