// The ad-click job, built in C++: the same tables as job.sql.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "strandline/job.h"

namespace ad_clicks {

/// Where the job reads and writes, and what a variation of it leaves out.
struct Options {
  std::map<std::string, std::string> clicks = {{"connector", "filesystem"},
                                               {"path", "clicks"},
                                               {"format", "json"},
                                               {"source.monitor-interval", "1 s"}};
  std::map<std::string, std::string> metrics = {{"connector", "sqlite"}, {"path", "ad_metrics.db"}};
  std::map<std::string, std::string> running = {{"connector", "sqlite"}, {"path", "ad_metrics.db"}};
  std::map<std::string, std::string> exceptions = {
      {"connector", "filesystem"}, {"path", "exceptions"}, {"format", "json"}};
  std::optional<strandline::Millis> idle_timeout = strandline::Millis{30'000};
  bool clamp = true;  // impression <= event time <= arrival
  std::optional<strandline::Millis> pre_aggregate = strandline::Millis{500};
};

strandline::Job make(const Options& options = {});

}  // namespace ad_clicks
