#include "engine/reports/why.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "engine/reports/text.h"

namespace strand::engine::reports {

namespace {

using obs::Entry;

/// A shard that was read so lately is not called silent.
constexpr Duration kQuiet{10'000};
/// Event time so far ahead of the wall clock is a wrong clock, not a wrong time zone of a second.
constexpr Duration kAhead{600'000};
constexpr size_t kNamesShown = 3;

std::string short_name(const runtime::ShardView& shard) {
  const size_t slash = shard.shard.find('/');
  return slash == std::string::npos ? shard.shard : shard.shard.substr(slash + 1);
}

/// Looks at one job at one instant.
class Doctor {
 public:
  Doctor(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now)
      : view_(view), plan_(plan), memory_limit_(memory_limit), now_(now) {}

  Diagnosis diagnose() {
    if (!view_.attempt) return not_running();
    books_ = make_books(view_, plan_);
    tell_completeness();
    const bool found = memory() || nothing_read() || all_bad() || all_filtered() || clock_in_future() ||
                       all_late() || no_event_time() || silent_shard() || blocked();
    tell_windows(found);
    if (!found && out_.cause == Cause::kNothing) out_.headline = "nothing is stuck";
    return std::move(out_);
  }

 private:
  void line(std::string text) { out_.lines.push_back(std::move(text)); }
  bool is(Cause cause, bool stuck, std::string headline) {
    out_.cause = cause;
    out_.stuck = stuck;
    out_.headline = std::move(headline);
    return true;
  }
  std::string event(EventTime t) const { return event_text(t, now_); }
  std::string wall(WallTime t) const { return wall_text(t, now_); }
  std::string ago(WallTime t) const { return span_text(now_ - t) + " ago"; }

  Diagnosis not_running() {
    const std::string when = view_.waits_until ? " until " + wall(*view_.waits_until) : "";
    is(Cause::kNotRunning, true, "waits for its next attempt" + when);
    if (!view_.last_error.empty()) line("the last attempt ended with " + view_.last_error);
    return std::move(out_);
  }

  void tell_completeness() {
    const SourceBooks* source = books_.holding_source();
    if (source == nullptr) {
      line("no table has a WATERMARK: event time stands still until the end of the input");
      return;
    }
    const EventTime to = source->complete_to();
    if (to == EventTime::min()) {
      line("no event time is known yet");
    } else if (to == EventTime::max()) {
      line("the input has ended: data is complete");
    } else {
      const Duration behind{now_.millis - to.millis};
      line("data is complete through " + event(to) + ", " +
           (behind.millis >= 0 ? span_text(behind) + " behind the wall clock"
                               : span_text(Duration{-behind.millis}) + " ahead of the wall clock"));
    }
    if (const runtime::ShardView* holder = source->holder()) tell_holder(*holder);
    tell_others(*source);
  }

  void tell_holder(const runtime::ShardView& shard) {
    std::string text = shard.shard + " holds it: ";
    if (shard.newest == EventTime::min()) {
      text += "no event yet";
    } else {
      text += "last event " + event(shard.newest) + ", read " + ago(shard.last_read);
    }
    if (shard.idle_from && *shard.idle_from != WallTime::never()) {
      text += "; it counts as idle from " + wall(*shard.idle_from) + " if nothing comes";
    }
    line(std::move(text));
  }

  void tell_others(const SourceBooks& source) {
    const runtime::ShardView* holder = source.holder();
    std::vector<std::string> at;
    std::vector<std::string> idle;
    for (const runtime::ShardView& shard : source.shards) {
      if (&shard == holder || shard.ended) continue;
      if (shard.idle) {
        idle.push_back(shard.shard + (shard.idle_since ? " (since " + wall(*shard.idle_since) +
                                                             ", stopped at " + event(shard.watermark) + ")"
                                                       : ""));
      } else {
        at.push_back(shard.shard + " is at " + event(shard.watermark));
      }
    }
    if (!at.empty()) line(listed(at, kNamesShown));
    if (!idle.empty()) line("idle and not waited for: " + listed(idle, kNamesShown));
  }

  bool memory() {
    const bool named = std::any_of(books_.blocked.begin(), books_.blocked.end(),
                                   [](const std::string& reason) { return reason.starts_with("memory"); });
    if (!named && books_.memory_bytes <= memory_limit_ / 10 * 9) return false;
    line("the job holds " + bytes_text(books_.memory_bytes) + " of " + bytes_text(memory_limit_) +
         ": sources pause until sinks and windows give some back");
    line("to release it: raise strand.memory.limit, or keep state for a shorter time (STATE_RETENTION)");
    return is(Cause::kMemory, true, "memory is short");
  }

  bool nothing_read() {
    for (const SourceBooks& source : books_.sources) {
      const bool any = std::any_of(source.shards.begin(), source.shards.end(),
                                   [](const runtime::ShardView& shard) { return shard.records > 0; });
      if (any) continue;
      if (source.shards.empty()) {
        line(source.table + " has no shard: nothing matches " + path_of(source));
      } else {
        line(source.table + " has " + plural(static_cast<int64_t>(source.shards.size()), "shard", "shards") +
             " without a record: nothing was written there yet, or its last line has no end");
      }
      return is(Cause::kNothingRead, true, "nothing was read from " + source.table);
    }
    return false;
  }
  static std::string path_of(const SourceBooks& source) {
    if (source.scan == nullptr) return "its options";
    const auto path = source.scan->table.options.find("path");
    return path == source.scan->table.options.end() ? "its options" : "'path' = '" + path->second + "'";
  }

  bool all_bad() {
    for (const OperatorBooks& books : books_.operators) {
      const int64_t in = books.ledger[Entry::kIn];
      if (!std::holds_alternative<plan::Scan>(books.node->detail) || in == 0) continue;
      if (books.ledger[Entry::kBad] != in) continue;
      line(plural(in, "record", "records") + " of " + books.name + " and not one could be parsed");
      line("to release it: compare 'format' and the columns of the table with the input; " + books.name +
           "$bad tells why each was refused");
      return is(Cause::kAllBad, true, "every record of " + books.name + " is bad");
    }
    return false;
  }

  bool all_filtered() {
    for (const OperatorBooks& books : books_.operators) {
      const int64_t in = books.ledger[Entry::kIn];
      const auto* filter = std::get_if<plan::Filter>(&books.node->detail);
      // A branch that catches exceptions may well refuse every row.
      if (filter == nullptr || in == 0 || books.ledger[Entry::kFiltered] != in || !feeds_window(*books.node))
        continue;
      line(books.name + " has refused all of " + plural(in, "row", "rows") +
           (books.node->where.empty() ? "" : " (" + books.node->where + ")"));
      line("to release it: change its WHERE; `strandline explain` shows the condition as it was understood");
      return is(Cause::kAllFiltered, true, "the condition of " + books.name + " refuses every row");
    }
    return false;
  }
  bool feeds_window(const plan::Node& node) const {
    const auto nodes = plan_.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const plan::NodePtr& reader) {
      return std::holds_alternative<plan::WindowAggregate>(reader->detail) && reads(*reader, node);
    });
  }
  static bool reads(const plan::Node& reader, const plan::Node& node) {
    return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const plan::Input& input) {
      return input.node.get() == &node || reads(*input.node, node);
    });
  }

  bool clock_in_future() {
    for (const SourceBooks& source : books_.sources) {
      const EventTime to = source.complete_to();
      const bool ahead =
          to != EventTime::max() && to != EventTime::min() && to.millis > now_.millis + kAhead.millis;
      if (source.future_events > 0) {
        line(plural(source.future_events, "row", "rows") + " of " + source.table +
             " were further ahead of the wall clock than strand.future-skew.max (" +
             plan_.setting("strand.future-skew.max", "10 min") + ") and did not move event time");
      }
      if (ahead) {
        line(
            "to release it: clamp the event time in the table (LEAST(event, arrival)), or set "
            "'strand.future-skew.max' = '10 min', and start from a checkpoint before it");
        return is(Cause::kClockInFuture, true,
                  "event time of " + source.table + " is ahead of the wall clock");
      }
      if (source.future_events > 0 && to == EventTime::min()) {
        line(
            "to release it: check the unit of the event time (seconds, milliseconds, microseconds), clamp it "
            "in the "
            "table, or raise strand.future-skew.max");
        return is(Cause::kClockInFuture, true, "every event time of " + source.table + " lies in the future");
      }
    }
    return false;
  }

  bool all_late() {
    for (const OperatorBooks& books : books_.operators) {
      const int64_t in = books.ledger[Entry::kIn];
      if (in == 0 || books.ledger[Entry::kLate] != in) continue;
      line(books.name + " has judged all of " + plural(in, "row", "rows") + " late, by event time " +
           event(books.judge));
      line("to release it: a larger bound in WATERMARK FOR, or look for a shard whose clock runs ahead (" +
           newest_shard() + ")");
      return is(Cause::kAllLate, true, "every row of " + books.name + " is late");
    }
    return false;
  }
  std::string newest_shard() const {
    const runtime::ShardView* newest = nullptr;
    for (const SourceBooks& source : books_.sources) {
      for (const runtime::ShardView& shard : source.shards) {
        if (newest == nullptr || shard.newest > newest->newest) newest = &shard;
      }
    }
    return newest == nullptr ? "none was read"
                             : newest->shard + " is the newest, at " + event(newest->newest);
  }

  bool no_event_time() {
    const SourceBooks* source = books_.holding_source();
    if (source == nullptr || source->complete_to() != EventTime::min()) return false;
    const runtime::ShardView* holder = source->holder();
    if (holder != nullptr && holder->newest == EventTime::min()) {
      line("to release it: a first event in " + holder->shard + ", or " + idle_advice(*source));
      return is(source->scan->watermark->idle_timeout ? Cause::kSilentUntilIdle : Cause::kSilentShard,
                !source->scan->watermark->idle_timeout, holder->shard + " has sent no event");
    }
    line("to release it: rows with an event time, or a WATERMARK whose expression is not NULL");
    return is(Cause::kNoEventTime, true, "no event time is known in " + source->table);
  }

  static std::string idle_advice(const SourceBooks& source) {
    return "to go on without it: 'scan.watermark.idle-timeout' = '30 s' in table " + source.table +
           " (longer than ordinary gaps), or SET 'table.exec.source.idle-timeout' for all tables";
  }

  bool silent_shard() {
    const SourceBooks* source = books_.holding_source();
    const runtime::ShardView* holder = source == nullptr ? nullptr : source->holder();
    if (holder == nullptr || now_ - holder->last_read < kQuiet) return false;
    const bool others_ahead =
        std::any_of(source->shards.begin(), source->shards.end(), [&](const runtime::ShardView& shard) {
          return &shard != holder && !shard.idle && !shard.ended && shard.watermark > holder->watermark;
        });
    if (!others_ahead) return quiet_source(*source, *holder);
    if (source->scan->watermark->idle_timeout) {
      return is(Cause::kSilentUntilIdle, false, "nothing is stuck");
    }
    line(holder->shard + " has sent nothing since " + wall(holder->last_read) +
         " and the table has no idle timeout");
    line(idle_advice(*source));
    return is(Cause::kSilentShard, true, holder->shard + " is silent and holds event time");
  }
  bool quiet_source(const SourceBooks& source, const runtime::ShardView& holder) {
    line("nothing new has been read from " + source.table + " since " + wall(holder.last_read) +
         ": event time moves with events");
    return is(Cause::kSilentShard, false, source.table + " is quiet");
  }

  bool blocked() {
    if (books_.blocked.empty()) return false;
    for (const std::string& reason : books_.blocked) line("waits at this moment: " + reason);
    return is(Cause::kBlocked, false, "nothing is stuck");
  }

  void tell_windows(bool found) {
    for (const OperatorBooks& books : books_.operators) {
      const auto* window = std::get_if<plan::WindowAggregate>(&books.node->detail);
      if (window == nullptr || books.partial || books.ledger.in_state() == 0) continue;
      tell_window(books, *window);
      if (!found) is(Cause::kWindowOpen, false, "nothing is stuck");
    }
  }

  void tell_window(const OperatorBooks& books, const plan::WindowAggregate& window) {
    const std::string rows = plural(books.ledger.in_state(), "row", "rows");
    const SourceBooks* source = books_.holding_source();
    const auto open = first_open(window, source == nullptr ? EventTime::min() : source->complete_to());
    if (!open || window.zone != "UTC") {
      line("waiting: " + books.name + " (" + rows + ")");
      return;
    }
    std::string start = event(open->start);
    if (window.size.millis % 60'000 == 0)
      start = start.substr(0, start.size() - 7);  // hours and minutes say it
    line("waiting: " + books.name + " " + start + " (" + rows + "). " + closes(*source, *open));
  }

  std::string closes(const SourceBooks& source, const OpenWindow& open) const {
    const auto& trail = source.scan->watermark->trail;
    if (!trail) return "It closes when event time reaches " + event(open.last);
    std::vector<std::string> behind;
    for (const runtime::ShardView& shard : source.shards) {
      if (!shard.idle && !shard.ended && shard.watermark < open.last) behind.push_back(short_name(shard));
    }
    const std::string needed = event(open.last + *trail);
    if (behind.size() == 1)
      return "It closes when " + behind[0] + " has read an event of " + needed + " or later";
    if (behind.size() > kNamesShown) {
      return "It closes when each of " + std::to_string(behind.size()) + " shards has read an event of " +
             needed + " or later";
    }
    return "It closes when " + listed(behind, kNamesShown) + " have each read an event of " + needed +
           " or later";
  }

  const JobView& view_;
  const plan::Plan& plan_;
  int64_t memory_limit_;
  WallTime now_;
  Books books_;
  Diagnosis out_;
};

}  // namespace

std::string_view cause_name(Cause cause) {
  static constexpr std::string_view kNames[] = {
      "not_running",     "memory",      "nothing_read",  "all_bad",      "all_filtered",
      "clock_in_future", "all_late",    "no_event_time", "silent_shard", "silent_until_idle",
      "blocked",         "window_open", "nothing"};
  return kNames[static_cast<size_t>(cause)];
}

std::optional<OpenWindow> first_open(const plan::WindowAggregate& window, EventTime watermark) {
  if (watermark == EventTime::min() || watermark == EventTime::max()) return std::nullopt;
  if (window.kind == expr::WindowKind::kSession) return std::nullopt;
  const expr::WindowShape shape = window.shape();
  // A watermark on a window's last millisecond has closed it; one millisecond before has not.
  const int64_t next = watermark.millis + 1;
  if (window.kind == expr::WindowKind::kHop) {
    const int64_t start = shape.floor_to(next - window.size.millis, window.step.millis) + window.step.millis;
    return OpenWindow{{start}, {start + window.size.millis - 1}};
  }
  const int64_t start = shape.floor_to(next, window.size.millis);
  const bool cumulates = window.kind == expr::WindowKind::kCumulate;
  const int64_t end =
      cumulates ? shape.floor_to(next, window.step.millis) + window.step.millis : start + window.size.millis;
  return OpenWindow{{start}, {end - 1}};
}

Diagnosis diagnose(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now) {
  return Doctor(view, plan, memory_limit, now).diagnose();
}

std::string why_text(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now) {
  const Diagnosis found = diagnose(view, plan, memory_limit, now);
  std::string out = view.job + "  " + clock_text(now) + "  running for " + span_text(now - view.started) +
                    ": " + found.headline + "\n";
  for (const std::string& line : found.lines) out += "  " + line + "\n";
  return out;
}

std::string why_json(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now) {
  const Diagnosis found = diagnose(view, plan, memory_limit, now);
  nlohmann::ordered_json json;
  json["job"] = view.job;
  json["at"] = format_utc(now.millis);
  json["cause"] = cause_name(found.cause);
  json["stuck"] = found.stuck;
  json["headline"] = found.headline;
  json["lines"] = found.lines;
  if (view.attempt) {
    const Books books = make_books(view, plan);
    if (const auto to = books.complete_to(); to && *to != EventTime::min() && *to != EventTime::max()) {
      json["complete_to"] = format_utc(to->millis);
    }
    const SourceBooks* source = books.holding_source();
    if (source != nullptr && source->holder() != nullptr) json["held_by"] = source->holder()->shard;
  }
  return json.dump(2) + "\n";
}

}  // namespace strand::engine::reports
