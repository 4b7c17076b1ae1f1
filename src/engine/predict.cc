#include "engine/predict.h"

#include "engine/reports/text.h"

namespace strand::engine {

namespace {

using reports::count_text;
using reports::span_text;

int64_t rows_in(Duration d, int64_t rate) { return d.millis * rate / 1000; }

std::string rows_text(const std::optional<int64_t>& rows) {
  return rows ? ", " + count_text(*rows) + " records" : "";
}

}  // namespace

Prediction predict(const runtime::JobOptions& options, const runtime::RestartOptions& restart,
                   const Load& load) {
  Prediction out;
  out.exposure = options.tick_interval;
  const Duration down = load.restart.value_or(restart.initial);
  if (options.checkpoints.interval) out.replay = Duration{options.checkpoints.interval->millis + down.millis};
  if (out.replay && load.rate > 0) out.replay_rows = rows_in(*out.replay, load.rate);
  if (load.capacity) out.exposed_rows = rows_in(out.exposure, *load.capacity);
  if (load.keys && load.sink_rate && *load.sink_rate > 0)
    out.flush = Duration{*load.keys * 1000 / *load.sink_rate};
  if (out.replay_rows && load.capacity && *load.capacity > load.rate) {
    out.catch_up = Duration{*out.replay_rows * 1000 / (*load.capacity - load.rate)};
  }
  return out;
}

std::string prediction_text(const Prediction& prediction, const Load& load) {
  std::string out = "\npredictions";
  if (load.rate > 0) out += " at " + count_text(load.rate) + " records/s";
  out += "\n  replay      ";
  out += prediction.replay
             ? "at most " + span_text(*prediction.replay) + " of input" + rows_text(prediction.replay_rows) +
                   ": the interval of checkpoints and the restart"
             : "all input: execution.checkpointing.interval is 0, only savepoints are taken";
  out += "\n  exposure    " + span_text(prediction.exposure) + rows_text(prediction.exposed_rows) +
         ": until event time is back, rows are judged by the floor only";
  out += "\n  flush       ";
  if (prediction.flush) {
    out += span_text(*prediction.flush) + " for " + count_text(*load.keys) + " keys";
  } else {
    out +=
        "one read and at most one write for each key written since the checkpoint (--keys and --sink-rate "
        "tell how "
        "long)";
  }
  out += "\n  catch-up    ";
  if (prediction.catch_up) {
    out += span_text(*prediction.catch_up) + ", at " + count_text(*load.capacity) + " records/s";
  } else if (load.capacity && *load.capacity <= load.rate) {
    out += "never: the job reads no more than arrives";
  } else {
    out += "replayed records / (capacity - rate) (--rate and --capacity tell how long)";
  }
  return out + "\n";
}

}  // namespace strand::engine
