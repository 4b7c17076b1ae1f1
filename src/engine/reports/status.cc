#include "engine/reports/status.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "engine/reports/text.h"

namespace strand::engine::reports {

namespace {

using obs::Entry;

struct Totals {
  int64_t read = 0;
  int64_t out = 0;
  int64_t refused = 0;
  int64_t late = 0;
  int64_t duplicate = 0;
  int64_t bad = 0;
};

Totals totals(const Books& books) {
  Totals out;
  out.read = records_read(books);
  for (const OperatorBooks& b : books.operators) {
    if (b.sink) {
      out.out += b.sink->written;
      out.refused += b.sink->refused;
      continue;
    }
    out.late += b.ledger[Entry::kLate];
    out.duplicate += b.ledger[Entry::kDuplicate];
    out.bad += b.ledger[Entry::kBad];
  }
  return out;
}

std::string attempt_text(const JobView& view) {
  return "generation " + std::to_string(view.attempt->restore.generation.value) + ", attempt " +
         std::to_string(view.attempt->restore.attempt.value);
}

std::string checkpoint_text(const JobView& view, WallTime now) {
  const auto& c = view.attempt->checkpoints;
  std::string text = c.last_complete ? std::to_string(c.last_complete->value) + " complete " +
                                           span_text(now - c.last_complete_at) + " ago"
                                     : "none complete in this attempt";
  if (c.under_way) {
    text += "; " + std::to_string(c.under_way->value) + " under way for " + span_text(now - c.started) +
            ", " + std::to_string(c.acknowledged) + " of " +
            std::to_string(c.acknowledged + static_cast<int32_t>(c.missing.size())) + " tasks";
  }
  if (c.consecutive_failures > 0) text += "; " + std::to_string(c.consecutive_failures) + " failed in a row";
  return text;
}

std::string complete_text(const Books& books, WallTime now) {
  const auto to = books.complete_to();
  if (!to) return "no event time";
  if (*to == EventTime::min()) return "no event time yet";
  if (*to == EventTime::max()) return "complete to the end";
  std::string text =
      "complete to " + event_text(*to, now) + " (" + span_text(Duration{now.millis - to->millis}) + " behind";
  const runtime::ShardView* holder = books.holding_source()->holder();
  if (holder != nullptr) text += ", " + holder->shard;
  return text + ")";
}

std::string shard_counts(const SourceBooks& source) {
  int64_t idle = 0;
  int64_t ended = 0;
  for (const runtime::ShardView& shard : source.shards) {
    idle += shard.idle && !shard.ended ? 1 : 0;
    ended += shard.ended ? 1 : 0;
  }
  std::string text = plural(static_cast<int64_t>(source.shards.size()), "shard", "shards");
  if (idle > 0) text += ", " + std::to_string(idle) + " idle";
  if (ended > 0) text += ", " + std::to_string(ended) + " ended";
  return text;
}

std::string disk_text(const state::SpillDisk& disk) {
  return bytes_text(disk.state) + " of state, " + bytes_text(disk.compaction) + " being merged, " +
         bytes_text(disk.staging) + " being written";
}

void add_restore_json(const JobView& view, const Books& books, nlohmann::ordered_json& json) {
  const runtime::RestoreReport& report = view.attempt->restore;
  if (!report.snapshot) return;
  auto& out = json["restore"];
  out["epoch"] = report.snapshot->epoch.value;
  out["path"] = report.snapshot->path;
  out["at"] = format_utc(report.at.millis);
  if (view.replayed) out["replayed_records"] = *view.replayed;
  int64_t by_floor = 0;
  for (const SourceBooks& source : books.sources) by_floor += source.rows_before_watermark;
  out["judged_by_floor_only"] = by_floor;
  out["sinks"] = nlohmann::ordered_json::array();
  for (const OperatorBooks& b : books.operators) {
    if (!b.sink) continue;
    out["sinks"].push_back({{"sink", b.name},
                            {"flushed_keys", b.sink->flushed_keys},
                            {"rewritten", b.sink->flushed_rewritten},
                            {"removed", b.sink->flushed_removed},
                            {"flush_ms", b.sink->flush_millis},
                            {"flushing", b.sink->flushing},
                            {"refused", b.sink->refused},
                            {"overtaken", b.sink->overtaken}});
  }
}

}  // namespace

int64_t records_read(const Books& books) {
  int64_t read = 0;
  for (const SourceBooks& source : books.sources) {
    for (const runtime::ShardView& shard : source.shards) read += shard.records;
  }
  return read;
}

std::string restore_text(const JobView& view, const Books& books, WallTime now) {
  const runtime::RestoreReport& report = view.attempt->restore;
  if (!report.snapshot) return "";
  std::string out =
      "  restored     " + std::string(checkpoint::kind_name(report.snapshot->kind)) + " " +
      std::to_string(report.snapshot->epoch.value) + " of " + wall_text(report.snapshot->taken, now) +
      ", at " + wall_text(report.at, now) +
      (view.replayed ? ", reads at least " + plural(*view.replayed, "record", "records") + " again" : "") +
      "\n";
  for (const SourceBooks& source : books.sources) {
    out += "               " + source.table + ": " + plural(source.rows_before_watermark, "row", "rows") +
           " judged by the floor only";
    if (source.first_watermark.millis > 0) {
      out += "; event time came back after " + span_text(source.first_watermark - report.at);
    }
    out += "\n";
  }
  for (const OperatorBooks& b : books.operators) {
    if (!b.sink || (b.sink->flushed_keys == 0 && !b.sink->flushing && b.sink->refused == 0)) continue;
    out += "               " + b.name + ": flush " + (b.sink->flushing ? "under way, " : "of ") +
           plural(b.sink->flushed_keys, "key", "keys") + " in " + std::to_string(b.sink->flush_millis) +
           " ms, " + std::to_string(b.sink->flushed_rewritten) + " rewritten, " +
           std::to_string(b.sink->flushed_removed) + " removed, " + std::to_string(b.sink->refused) +
           " refused\n";
  }
  return out;
}

std::string status_text(const JobView& view, const plan::Plan& plan, WallTime now) {
  std::string out = view.job + "  " + clock_text(now) + "  running for " + span_text(now - view.started) +
                    ", " + plural(view.restarts, "restart", "restarts") + "\n";
  if (!view.last_error.empty()) out += "  last error   " + view.last_error + "\n";
  if (!view.attempt) {
    return out + "  waits for its next attempt" +
           (view.waits_until ? " until " + wall_text(*view.waits_until, now) : "") + "\n";
  }
  const Books books = make_books(view, plan);
  const Totals sums = totals(books);
  out += "  attempt      " + attempt_text(view) + "\n";
  out += "  checkpoint   " + checkpoint_text(view, now) + "\n";
  out += "  event time   " + complete_text(books, now) + "\n";
  for (const SourceBooks& source : books.sources) {
    out += "  read         " + source.table + ": " + shard_counts(source) + "\n";
  }
  out += "  rows         " + count_text(sums.read) + " read, " + count_text(sums.out) + " out, " +
         count_text(sums.late) + " late, " + count_text(sums.duplicate) + " duplicate, " +
         count_text(sums.bad) + " bad, " + count_text(sums.refused) + " refused\n";
  out += "  ledger       " + std::string(books.balanced() ? "balanced" : "DIFFERS: see `strandline ledger`") +
         "\n";
  out += "  memory       " + bytes_text(books.memory_bytes) + "\n";
  if (const auto& disk = view.attempt->local_disk) out += "  local disk   " + disk_text(*disk) + "\n";
  for (const std::string& reason : books.blocked) out += "  waits        " + reason + "\n";
  return out + restore_text(view, books, now);
}

std::string status_json(const JobView& view, const plan::Plan& plan, WallTime now) {
  nlohmann::ordered_json json;
  json["job"] = view.job;
  json["at"] = format_utc(now.millis);
  json["started"] = format_utc(view.started.millis);
  json["restarts"] = view.restarts;
  json["running"] = view.attempt.has_value();
  if (!view.last_error.empty()) json["last_error"] = view.last_error;
  if (!view.attempt) return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const Books books = make_books(view, plan);
  const Totals sums = totals(books);
  json["generation"] = view.attempt->restore.generation.value;
  json["attempt"] = view.attempt->restore.attempt.value;
  if (const auto& c = view.attempt->checkpoints; c.last_complete) {
    json["last_checkpoint"] = c.last_complete->value;
    json["last_checkpoint_at"] = format_utc(c.last_complete_at.millis);
  }
  if (const auto to = books.complete_to(); to && *to != EventTime::min() && *to != EventTime::max()) {
    json["complete_to"] = format_utc(to->millis);
  }
  json["read"] = sums.read;
  json["out"] = sums.out;
  json["late"] = sums.late;
  json["duplicate"] = sums.duplicate;
  json["bad"] = sums.bad;
  json["refused"] = sums.refused;
  json["balanced"] = books.balanced();
  json["memory_bytes"] = books.memory_bytes;
  if (const auto& disk = view.attempt->local_disk) {
    json["local_disk_bytes"] = {
        {"state", disk->state}, {"compaction", disk->compaction}, {"staging", disk->staging}};
  }
  json["blocked"] = books.blocked;
  json["shards"] = nlohmann::ordered_json::array();
  for (const SourceBooks& source : books.sources) {
    for (const runtime::ShardView& shard : source.shards) {
      json["shards"].push_back({{"shard", shard.shard},
                                {"watermark", format_event_time(shard.watermark)},
                                {"records", shard.records},
                                {"idle", shard.idle},
                                {"ended", shard.ended}});
    }
  }
  add_restore_json(view, books, json);
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

obs::Event status_event(const JobView& view, const plan::Plan& plan, WallTime now) {
  obs::Event event{obs::Level::kInfo, 0, "status", now, {}};
  if (!view.attempt) {
    event.with("waits_until", view.waits_until ? format_utc_time(view.waits_until->millis) : "start");
    return std::move(event.with("restarts", view.restarts));
  }
  const Books books = make_books(view, plan);
  const Totals sums = totals(books);
  event.with("read", sums.read);
  if (const auto to = books.complete_to()) event.with("complete_to", format_event_time(*to));
  const SourceBooks* source = books.holding_source();
  if (source != nullptr && source->holder() != nullptr) event.with("held_by", source->holder()->shard);
  event.with("out", sums.out).with("late", sums.late).with("duplicate", sums.duplicate).with("bad", sums.bad);
  if (sums.refused > 0) event.with("refused", sums.refused);
  return std::move(event.with("restarts", view.restarts));
}

std::string status_line(const JobView& view, const plan::Plan& plan, WallTime now, int64_t read_before,
                        WallTime since, size_t width) {
  std::string line = wall_text(now, now) + "   ";
  if (!view.attempt) {
    line += "waits for its next attempt, " + plural(view.restarts, "restart", "restarts");
  } else {
    const Books books = make_books(view, plan);
    const Totals sums = totals(books);
    const double seconds = static_cast<double>(std::max<int64_t>((now - since).millis, 1)) / 1000.0;
    char rate[48];
    std::snprintf(rate, sizeof rate, "%.1f/s",
                  static_cast<double>(std::max<int64_t>(sums.read - read_before, 0)) / seconds);
    line += count_text(sums.read) + " read, " + rate + " | " + complete_text(books, now) + " | " +
            plural(sums.out, "row", "rows") + " out | late " + count_text(sums.late) + " dup " +
            count_text(sums.duplicate) + " bad " + count_text(sums.bad);
    if (const auto& last = view.attempt->checkpoints.last_complete)
      line += " | ckpt " + std::to_string(last->value);
  }
  if (line.size() > width) line.resize(width);
  return line;
}

}  // namespace strand::engine::reports
