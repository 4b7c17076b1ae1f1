// Input for any table: lines of JSON that follow from its schema, in the order of event time.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "sim/world/any_job.h"
#include "sim/world/clicks.h"

namespace strand::sim {

/// How the rows of one table are made or read.
class MadeTable {
 public:
  /// `unique`: columns by whose values the job removes copies; rows with one value are copies of each other.
  static Result<MadeTable> of(const plan::Scan& scan, const std::vector<std::string>& unique);

  const std::string& name() const { return name_; }
  /// A line of event time `millis`. Row `number` differs from all others in the unique columns.
  std::string line(Random& random, int64_t millis, int64_t number) const;
  /// The event times of lines, by the table's own format and expressions; where the table has none, their
  /// numbers. Lines that do not parse have the time of the line before.
  Result<std::vector<int64_t>> times(const std::vector<std::string>& lines) const;

 private:
  enum class Role : uint8_t { kFree, kUnique, kTime };
  std::string name_;
  plan::Scan scan_;
  std::vector<Role> roles_;  // by physical column
};

}  // namespace strand::sim
