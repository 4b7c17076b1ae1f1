#include "base/text.h"
#include "connect/table/store.h"
#include "engine/predict.h"
#include "engine/reports/text.h"

namespace strand::engine {

namespace {

using reports::count_text;
using reports::span_text;

std::string records(const std::optional<int64_t>& rows) {
  return rows ? ", " + count_text(*rows) + " records" : "";
}

/// To the nearest second where no fraction is shown.
std::string estimate_text(Duration d) {
  return span_text(d.millis < 60'000 ? d : Duration{(d.millis + 500) / 1'000 * 1'000});
}

/// `5.0 GB`, `20.8 MB`: powers of a thousand, as disks and bills count.
std::string decimal_bytes(int64_t n) {
  static constexpr std::pair<int64_t, const char*> kUnits[] = {
      {1'000'000'000'000, " TB"}, {1'000'000'000, " GB"}, {1'000'000, " MB"}, {1'000, " kB"}};
  for (const auto& [size, unit] : kUnits) {
    if (n < size) continue;
    const int64_t tenths = (n / (size / 100) + 5) / 10;
    return count_text(tenths / 10) + "." + std::to_string(tenths % 10) + unit;
  }
  return std::to_string(n) + " B";
}

std::string replay_text(const Prediction& p) {
  if (!p.replay) return "all input: execution.checkpointing.interval is 0, only savepoints are taken";
  return "at most " + span_text(*p.replay) + " of input" + records(p.replay_rows) +
         ": the interval of checkpoints and the restart";
}

std::string exposure_text(const Exposure& exposure) {
  std::string out = span_text(exposure.length) + records(exposure.rows);
  if (exposure.late)
    out += ", of which " + count_text(*exposure.late) + " would open closed windows again without the floor";
  return out;
}

std::string flush_text(const Prediction& p, const Load& load) {
  if (!p.flush) {
    return "one read and at most one write for each key written since the checkpoint (--keys and --sink-rate "
           "tell "
           "how long)";
  }
  return estimate_text(*p.flush) + " for " + count_text(*load.keys) + " keys";
}

std::string index_text(const Prediction& p, const Load& load) {
  const auto fits = [&](int64_t writes) { return writes <= *load.index_rate ? " (enough)" : " (too many)"; };
  std::string out = count_text(*p.index_rate) + " writes/s to each of the " +
                    std::to_string(connect::table::kIndexShards) + " parts of an epoch";
  if (load.index_rate) out += fits(*p.index_rate);
  out += "; one part would take " + count_text(*load.sink_rate);
  return load.index_rate ? out + fits(*load.sink_rate) : out;
}

std::string catch_up_text(const Prediction& p, const Load& load) {
  if (p.catch_up) {
    return estimate_text(*p.catch_up) + ", at " + count_text(*p.capacity) +
           " records/s: " + count_text(*p.capacity - load.rate) + "/s more than arrive";
  }
  if (p.capacity && *p.capacity <= load.rate) return "never: the job reads no more than arrives";
  return "replayed records / (capacity - rate) (--rate and --capacity tell how long)";
}

std::string partial_text(const PartialSums& sums) {
  std::string out = sums.id + ": rows wait for at most " + format_duration(sums.wait);
  if (sums.hot_rows)
    out += "; " + count_text(*sums.hot_rows) + " of the hottest key become one in each subtask";
  return out;
}

std::string ids_text(const KeptIds& kept) {
  std::string out = kept.id + ": " + count_text(kept.ids) + " ids of " + span_text(kept.retention) + ", " +
                    decimal_bytes(kept.bytes) + " at " + std::to_string(kept.each) + " B";
  if (kept.increment) out += "; " + decimal_bytes(*kept.increment) + " of them new in each checkpoint";
  return out;
}

}  // namespace

std::string prediction_text(const Prediction& prediction, const Load& load) {
  std::string out = "\npredictions";
  if (load.rate > 0) out += " at " + count_text(load.rate) + " records/s";
  const auto line = [&](std::string label, const std::string& text) {
    label.resize(12, ' ');
    out += "\n  " + label + text;
  };
  line("replay", replay_text(prediction));
  line("exposure",
       exposure_text(prediction.exposure) + ": until event time is back, rows are judged by the floor only");
  if (prediction.idle)
    line("",
         exposure_text(*prediction.idle) + ": where a shard has nothing to replay, until it counts as idle");
  line("flush", flush_text(prediction, load));
  if (prediction.index_rate) line("index", index_text(prediction, load));
  line("catch-up", catch_up_text(prediction, load));
  for (const PartialSums& sums : prediction.partials) line("partials", partial_text(sums));
  for (const KeptIds& kept : prediction.ids) line("state", ids_text(kept));
  return out + "\n";
}

}  // namespace strand::engine
