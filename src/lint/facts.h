// What a rule has to be told from outside the job: what was measured of its tables, and limits of others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"

namespace strand::lint {

/// Of one table that is read, over a day or so. What is not known is not judged by.
struct TableFacts {
  std::optional<Duration> lag_p999 = {};     // read time - event time, of 999 of 1,000 records less
  std::optional<Duration> longest_gap = {};  // between two records of its quietest shard, in ordinary traffic
  std::optional<int64_t> shards = {};
  std::optional<int64_t> newest_millis = {};  // an event time of a sample, as the job reads it
};

struct Facts {
  std::map<std::string, TableFacts> tables;            // by the name in the job
  std::optional<Duration> broker_transaction_longest;  // transaction.max.timeout.ms

  const TableFacts& of(const std::string& table) const {
    static const TableFacts kNothing;
    const auto found = tables.find(table);
    return found == tables.end() ? kNothing : found->second;
  }
};

}  // namespace strand::lint
