// `strandline ledger --row`: one record's way through the operators of a job.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "connect/registry.h"
#include "engine/job_options.h"
#include "env/env.h"
#include "plan/plan.h"

namespace strand::engine {

/// The rows to follow: those whose column has this value, as text.
struct RowChoice {
  std::string column;
  std::string value;
};
/// `column=value`; a value alone is one of the column by which the job deduplicates, else groups, first.
/// Errors: kBadUsage, kUnknownColumn.
Result<RowChoice> parse_row(const plan::Plan& plan, const std::string& text);

/// The followed rows of one output of one operator.
struct Sighting {
  int64_t rows = 0;
  std::vector<std::string> shown;  // the first of them
  std::vector<EventTime> times;    // of those, where the output has an event time
  static constexpr size_t kShownMax = 20;
};

struct Followed {
  /// Where the input holds them: `clicks/S2 record 3`, and the record.
  std::vector<std::pair<std::string, std::string>> records;
  /// By operator id and port; an output without the column is not there.
  std::map<std::pair<std::string, Port>, Sighting> sightings;
};

/// Counts the present input anew as a recount does (nothing is late), with an eye on every output that has
/// the column. Reads the whole input; writes nothing but its own state below `scratch_dir`, which the caller
/// removes. kSourceUnavailable where an input gives nothing more for a while before its end.
Result<Followed> follow(const plan::Plan& plan, const RowChoice& row, const connect::Registry& registry,
                        const std::string& scratch_dir, const Machine& machine, env::Env env);

}  // namespace strand::engine
