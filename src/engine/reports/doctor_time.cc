#include "engine/reports/doctor.h"

#include <algorithm>
#include <set>

namespace strand::engine::reports {

namespace {

/// A shard that was read so lately is not called silent.
constexpr Duration kQuiet{10'000};
/// Event time so far ahead of the wall clock is a wrong clock, not a wrong time zone of a second.
constexpr Duration kAhead{600'000};
constexpr EventTime kFirstOfCentury{946'684'800'000};

}  // namespace

void Doctor::tell_completeness() {
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

void Doctor::tell_holder(const runtime::ShardView& shard) {
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

void Doctor::tell_others(const SourceBooks& source) {
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

bool Doctor::wrong_unit() {
  for (const SourceBooks& source : books_.sources) {
    if (source.complete_to() >= kFirstOfCentury) continue;
    const auto odd = std::ranges::find_if(
        source.shards, [](const runtime::ShardView& shard) { return shard.unit_looks_like != nullptr; });
    if (odd == source.shards.end()) continue;
    line("event times of " + odd->shard + " look like " + odd->unit_looks_like +
         ", and are read as milliseconds");
    line(
        "to release it: TO_TIMESTAMP_LTZ(column, 0) reads seconds, TO_TIMESTAMP_LTZ(column / 1000, 3) "
        "microseconds; then start anew, because state has windows of the wrong time");
    return is(Cause::kWrongUnit, true, "event time of " + source.table + " is read in another unit");
  }
  return false;
}

bool Doctor::clock_in_future() {
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
      return is(Cause::kClockInFuture, true, "event time of " + source.table + " is ahead of the wall clock");
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

bool Doctor::no_event_time() {
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

std::string Doctor::idle_advice(const SourceBooks& source) {
  return "to go on without it: 'scan.watermark.idle-timeout' = '30 s' in table " + source.table +
         " (longer than ordinary gaps), or SET 'table.exec.source.idle-timeout' for all tables";
}

bool Doctor::silent_shard() {
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

bool Doctor::quiet_source(const SourceBooks& source, const runtime::ShardView& holder) {
  line("nothing new has been read from " + source.table + " since " + wall(holder.last_read) +
       ": event time moves with events");
  const auto alignment = alignment_of(source);
  if (alignment && !paused_in(alignment->group).empty()) {
    line("to release it: an event in " + source.table + ", or " + idle_advice(source));
    return is(Cause::kSilentShard, true,
              source.table + " is quiet and holds its alignment group '" + alignment->group + "'");
  }
  return is(Cause::kSilentShard, false, source.table + " is quiet");
}

std::optional<plan::WatermarkAlignment> Doctor::alignment_of(const SourceBooks& source) {
  if (source.scan == nullptr) return std::nullopt;
  auto alignment = plan::watermark_alignment(source.scan->table);
  return alignment.ok() ? *std::move(alignment) : std::nullopt;
}

std::vector<std::string> Doctor::paused_in(const std::string& group) const {
  std::vector<std::string> paused;
  for (const SourceBooks& source : books_.sources) {
    const auto alignment = alignment_of(source);
    if (!alignment || alignment->group != group) continue;
    for (const runtime::ShardView& shard : source.shards) {
      if (shard.paused && !shard.ended) paused.push_back(shard.shard);
    }
  }
  return paused;
}

const SourceBooks* Doctor::slowest_of(const std::string& group) const {
  const SourceBooks* slowest = nullptr;
  for (const SourceBooks& source : books_.sources) {
    const auto alignment = alignment_of(source);
    if (!alignment || alignment->group != group || source.complete_to() == EventTime::max()) continue;
    if (slowest == nullptr || source.complete_to() < slowest->complete_to()) slowest = &source;
  }
  return slowest;
}

void Doctor::tell_paused() {
  std::set<std::string> told;
  for (const SourceBooks& source : books_.sources) {
    const auto alignment = alignment_of(source);
    if (!alignment || !told.insert(alignment->group).second) continue;
    const std::vector<std::string> paused = paused_in(alignment->group);
    const SourceBooks* slowest = slowest_of(alignment->group);
    if (paused.empty() || slowest == nullptr) continue;
    aligned_ = true;
    line("not read for now: " + listed(paused, kNamesShown) + ", more than " +
         span_text(alignment->max_drift) + " ahead of " + slowest->table + " in alignment group '" +
         alignment->group + "'");
  }
}

bool Doctor::aligned() {
  if (!aligned_) return false;
  line(
      "they are read again by themselves as the slowest comes nearer; 'scan.watermark.alignment.max-drift' "
      "says how near");
  return is(Cause::kAligned, false, "nothing is stuck");
}

}  // namespace strand::engine::reports
