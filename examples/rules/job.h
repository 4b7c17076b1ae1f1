// Connect and broadcast: readings are checked against limits that a second stream sets while the job runs.
#pragma once

#include <map>
#include <string>

#include "strandline/stream.h"

namespace rules {

using Options = std::map<std::string, std::string>;

struct Reading {
  std::string sensor;
  std::string kind;
  double value = 0;
  static auto fields() {
    return strandline::fields("sensor", &Reading::sensor, "kind", &Reading::kind, "value", &Reading::value);
  }
};

/// From now on readings of this kind are alarming above the limit. No limit: never.
struct Rule {
  std::string kind;
  std::optional<double> limit;
  static auto fields() { return strandline::fields("kind", &Rule::kind, "limit_value", &Rule::limit); }
};

struct Alarm {
  std::string sensor;
  double value = 0;
  int64_t in_a_row = 0;
  static auto fields() {
    return strandline::fields("sensor", &Alarm::sensor, "value", &Alarm::value, "in_a_row", &Alarm::in_a_row);
  }
};

/// Reads `readings` and `limits`; writes `alarms`.
strandline::Job make(const Options& readings, const Options& limits, const Options& alarms);

}  // namespace rules
