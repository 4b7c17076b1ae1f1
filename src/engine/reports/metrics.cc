#include "engine/reports/metrics.h"

#include <cstdio>

namespace strand::engine::reports {

namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// Label values escape backslash, quote and newline.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

/// Writes families: help and type once, then the samples.
class Exposition {
 public:
  explicit Exposition(std::string job) : job_(std::move(job)) {}

  void family(const std::string& name, const char* type, const char* help) {
    name_ = "strandline_" + name;
    out_ += "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n";
  }
  void sample(const Labels& labels, const std::string& value) {
    out_ += name_ + "{job=\"" + escaped(job_) + "\"";
    for (const auto& [key, label] : labels) out_ += "," + std::string(key) + "=\"" + escaped(label) + "\"";
    out_ += "} " + value + "\n";
  }
  void sample(const Labels& labels, int64_t value) { sample(labels, std::to_string(value)); }
  void seconds(const Labels& labels, int64_t millis) {
    char text[48];
    std::snprintf(text, sizeof text, "%.3f", static_cast<double>(millis) / 1000.0);
    sample(labels, text);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string job_;
  std::string name_;
  std::string out_;
};

bool known(EventTime t) { return t != EventTime::min() && t != EventTime::max(); }

void operators(const Books& books, Exposition& out) {
  out.family("operator_rows_total", "counter", "Rows of an operator by account of its ledger.");
  for (const OperatorBooks& b : books.operators) {
    if (b.sink) continue;
    for (size_t i = 0; i < obs::kEntries; ++i) {
      const auto entry = static_cast<obs::Entry>(i);
      out.sample({{"operator", b.id}, {"entry", std::string(obs::entry_name(entry))}}, b.ledger[entry]);
    }
  }
  out.family("operator_rows_in_state", "gauge", "Rows that an operator holds back.");
  for (const OperatorBooks& b : books.operators) out.sample({{"operator", b.id}}, b.ledger.in_state());
  out.family("operator_state_bytes", "gauge", "Bytes of an operator's state.");
  for (const OperatorBooks& b : books.operators) out.sample({{"operator", b.id}}, b.state_bytes);
  out.family("operator_ledger_difference", "gauge", "Rows that the ledger cannot account for; 0 is right.");
  for (const OperatorBooks& b : books.operators) out.sample({{"operator", b.id}}, b.ledger.difference());
}

void sources(const Books& books, WallTime now, Exposition& out) {
  out.family("watermark_lag_seconds", "gauge",
             "Wall clock minus the time through which a source is complete.");
  for (const SourceBooks& source : books.sources) {
    if (known(source.complete_to()))
      out.seconds({{"source", source.table}}, now.millis - source.complete_to().millis);
  }
  out.family("shard_watermark_lag_seconds", "gauge", "Wall clock minus the watermark of a shard.");
  for (const SourceBooks& source : books.sources) {
    for (const runtime::ShardView& shard : source.shards) {
      if (known(shard.watermark)) out.seconds({{"shard", shard.shard}}, now.millis - shard.watermark.millis);
    }
  }
  out.family("shard_records_total", "counter", "Records read of a shard.");
  for (const SourceBooks& source : books.sources) {
    for (const runtime::ShardView& shard : source.shards) out.sample({{"shard", shard.shard}}, shard.records);
  }
  out.family("shard_idle", "gauge", "1 while a shard is idle and not waited for.");
  for (const SourceBooks& source : books.sources) {
    for (const runtime::ShardView& shard : source.shards)
      out.sample({{"shard", shard.shard}}, shard.idle ? 1 : 0);
  }
  out.family("future_rows_total", "counter", "Rows too far ahead of the wall clock to move event time.");
  for (const SourceBooks& source : books.sources)
    out.sample({{"source", source.table}}, source.future_events);
}

struct SinkMetric {
  const char* name;
  const char* type;
  const char* help;
  int64_t flow::SinkCounts::* count;
};
constexpr SinkMetric kSinkMetrics[] = {
    {"sink_written_rows_total", "counter", "Rows acknowledged by the store.", &flow::SinkCounts::written},
    {"sink_refused_rows_total", "counter", "Writes refused because the row was finished.",
     &flow::SinkCounts::refused},
    {"sink_overtaken_rows_total", "counter", "Writes of rows that a newer attempt had written.",
     &flow::SinkCounts::overtaken},
    {"sink_flushed_keys_total", "counter", "Keys visited by the flush after a restore.",
     &flow::SinkCounts::flushed_keys},
    {"sink_pending_rows", "gauge", "Rows not yet acknowledged, or held back for their checkpoint.",
     &flow::SinkCounts::pending},
};

void sinks(const Books& books, Exposition& out) {
  for (const SinkMetric& metric : kSinkMetrics) {
    out.family(metric.name, metric.type, metric.help);
    for (const OperatorBooks& b : books.operators) {
      if (b.sink) out.sample({{"sink", b.id}}, (*b.sink).*metric.count);
    }
  }
  out.family("sink_flush_seconds", "gauge", "Duration of the flush after the last restore.");
  for (const OperatorBooks& b : books.operators) {
    if (b.sink) out.seconds({{"sink", b.id}}, b.sink->flush_millis);
  }
}

void checkpoints(const checkpoint::Coordinator::View& view, WallTime now, Exposition& out) {
  out.family("checkpoints_completed_total", "counter", "Checkpoints completed in this attempt.");
  out.sample({}, view.completed);
  out.family("checkpoints_failed_total", "counter", "Checkpoints given up in this attempt.");
  out.sample({}, view.failed);
  if (view.last_complete) {
    out.family("checkpoint_last_epoch", "gauge", "Number of the newest complete checkpoint.");
    out.sample({}, view.last_complete->value);
    out.family("checkpoint_age_seconds", "gauge", "Time since the newest checkpoint was complete.");
    out.seconds({}, (now - view.last_complete_at).millis);
  }
  if (view.under_way) {
    out.family("checkpoint_under_way_seconds", "gauge",
               "How long the present checkpoint has been under way.");
    out.seconds({}, (now - view.started).millis);
  }
}

}  // namespace

std::string metrics_text(const JobView& view, const plan::Plan& plan, WallTime now) {
  Exposition out(view.job);
  out.family("up", "gauge", "1 while an attempt runs, 0 while the job waits for its next.");
  out.sample({}, view.attempt ? 1 : 0);
  out.family("uptime_seconds", "gauge", "Time since the process started the job.");
  out.seconds({}, (now - view.started).millis);
  out.family("restarts_total", "counter", "Restarts of the job in this process.");
  out.sample({}, view.restarts);
  if (!view.attempt) return out.take();
  const Books books = make_books(view, plan);
  if (view.replayed) {
    out.family("replayed_records", "gauge", "Records that the present attempt read again, at least.");
    out.sample({}, *view.replayed);
  }
  out.family("memory_bytes", "gauge", "Bytes that the job's memory account holds.");
  out.sample({}, books.memory_bytes);
  if (const auto& disk = view.attempt->local_disk) {
    out.family("local_disk_bytes", "gauge", "Bytes that state takes on the local disk.");
    out.sample({{"use", "state"}}, disk->state);
    out.sample({{"use", "compaction"}}, disk->compaction);
    out.sample({{"use", "staging"}}, disk->staging);
  }
  out.family("blocked", "gauge", "1 for each reason why a task waits at this moment.");
  for (const std::string& reason : books.blocked) out.sample({{"reason", reason}}, 1);
  operators(books, out);
  sources(books, now, out);
  sinks(books, out);
  checkpoints(view.attempt->checkpoints, now, out);
  return out.take();
}

}  // namespace strand::engine::reports
