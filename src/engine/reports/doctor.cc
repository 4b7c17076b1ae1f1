#include "engine/reports/doctor.h"

#include <algorithm>

namespace strand::engine::reports {

namespace {

constexpr Duration kSlowCheckpoint{30'000};

std::string short_name(const runtime::ShardView& shard) {
  const size_t slash = shard.shard.find('/');
  return slash == std::string::npos ? shard.shard : shard.shard.substr(slash + 1);
}

}  // namespace

Diagnosis Doctor::diagnose() {
  if (!view_.attempt) return not_running();
  books_ = make_books(view_, plan_);
  tell_completeness();
  tell_paused();
  // Whatever the cause is found to be: who is away explains much.
  for (const std::string& reason : books_.blocked) line("waits at this moment: " + reason);
  const bool found = memory() || nothing_read() || all_bad() || all_filtered() || wrong_unit() ||
                     clock_in_future() || all_late() || no_event_time() || silent_shard() || aligned() ||
                     checkpoint() || transaction() || blocked();
  tell_windows(found);
  if (!found && out_.cause == Cause::kNothing) out_.headline = "nothing is stuck";
  return std::move(out_);
}

Diagnosis Doctor::not_running() {
  const std::string when = view_.waits_until ? " until " + wall(*view_.waits_until) : "";
  is(Cause::kNotRunning, true, "waits for its next attempt" + when);
  if (!view_.last_error.empty()) line("the last attempt ended with " + view_.last_error);
  return std::move(out_);
}

bool Doctor::memory() {
  const bool named = std::any_of(books_.blocked.begin(), books_.blocked.end(),
                                 [](const std::string& reason) { return reason.starts_with("memory"); });
  if (!named && books_.memory_bytes <= memory_limit_ / 10 * 9) return false;
  line("the job holds " + bytes_text(books_.memory_bytes) + " of " + bytes_text(memory_limit_) +
       ": sources pause until sinks and windows give some back");
  line("to release it: raise strand.memory.limit, or keep state for a shorter time (STATE_RETENTION)");
  return is(Cause::kMemory, true, "memory is short");
}

bool Doctor::blocked() {
  if (books_.blocked.empty()) return false;
  const bool away = std::ranges::any_of(books_.blocked, [](const std::string& reason) {
    return reason.starts_with("sink ") && reason.find(" repeats a write: ") != std::string::npos;
  });
  if (!away) return is(Cause::kBlocked, false, "nothing is stuck");
  line("to release it: what the write says; nothing is lost meanwhile, and it goes on by itself");
  return is(Cause::kBlocked, true, "a table cannot be written");
}

bool Doctor::checkpoint() {
  const auto& checkpoints = view_.attempt->checkpoints;
  const bool slow = checkpoints.under_way && now_ - checkpoints.started > kSlowCheckpoint;
  if (!slow && checkpoints.consecutive_failures == 0) return false;
  if (slow) {
    std::vector<std::string> missing;
    for (const int32_t task : checkpoints.missing) {
      const auto i = static_cast<size_t>(task);
      if (i < view_.attempt->tasks.size()) missing.push_back(view_.attempt->tasks[i].first);
    }
    line("checkpoint " + std::to_string(checkpoints.under_way->value) + " has been under way for " +
         span_text(now_ - checkpoints.started) +
         (missing.empty() ? ": its files are being written"
                          : ": it waits for " + listed(missing, kNamesShown)));
  }
  if (checkpoints.consecutive_failures > 0) {
    line(plural(checkpoints.consecutive_failures, "checkpoint", "checkpoints") +
         " failed in a row; the job's log says why");
  }
  const int64_t held = rows_held();
  if (held > 0) line(plural(held, "row", "rows") + " show only when a checkpoint is complete");
  return is(Cause::kCheckpoint, held > 0, held > 0 ? "output waits for a checkpoint" : "nothing is stuck");
}

int64_t Doctor::rows_held() const {
  int64_t rows = 0;
  for (const OperatorBooks& books : books_.operators) rows += books.sink ? books.sink->pending : 0;
  return rows;
}

bool Doctor::transaction() {
  const int64_t held = rows_held();
  if (held == 0 || !books_.blocked.empty()) return false;
  line(plural(held, "row", "rows") +
       " were given to tables that show them when their checkpoint is complete");
  const std::string interval = plan_.setting("execution.checkpointing.interval", "");
  const bool never = interval.empty() || interval == "0" || interval.starts_with("0 ");
  if (!never) {
    line("a checkpoint is made each " + interval);
    return is(Cause::kTransaction, false, "nothing is stuck");
  }
  line("to release it: SET 'execution.checkpointing.interval' = '10 s', or strandline savepoint JOB");
  return is(Cause::kTransaction, true, "output waits for a checkpoint, and none is made");
}

void Doctor::tell_windows(bool found) {
  for (const OperatorBooks& books : books_.operators) {
    const auto* window = std::get_if<plan::WindowAggregate>(&books.node->detail);
    if (window == nullptr || books.partial || books.ledger.in_state() == 0) continue;
    tell_window(books, *window);
    if (!found) is(Cause::kWindowOpen, false, "nothing is stuck");
  }
}

void Doctor::tell_window(const OperatorBooks& books, const plan::WindowAggregate& window) {
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

std::string Doctor::closes(const SourceBooks& source, const OpenWindow& open) const {
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

}  // namespace strand::engine::reports
