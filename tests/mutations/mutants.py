"""What is broken, where, and who must notice."""

import dataclasses


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    old: str  # stands once in the file
    new: str
    more: tuple[str, str, str] | None = None  # another file, old and new
    command: list[str] | None = None  # below the build's folder; nothing: random jobs in the simulator


MUTANTS = [
    Mutant("late test one step off", "src/ops/window_aggregate.cc",
           "[judge](const WindowBounds& window) { return reached(window.last, judge); });",
           "[judge](const WindowBounds& window) { return reached(window.last + Duration{1}, judge); });",
           command=["bin/ops_test"]),
    Mutant("windows close a second early", "src/ops/window_aggregate.cc",
           "if (!reached(window.last, context_->watermark)) break;",
           "if (!reached(window.last - Duration{1'000}, context_->watermark)) break;"),
    Mutant("the end of time is a floor after a drain", "src/runtime/chain.cc",
           "defences.t5_end_is_no_floor ? flow::reached_at_barrier", "false ? flow::reached_at_barrier"),
    Mutant("rows go to the subtask beside the owner of their key group", "src/runtime/gate.cc",
           "owners_.push_back(static_cast<uint32_t>(owner_of(group, parallelism, max_parallelism_)));",
           "owners_.push_back(static_cast<uint32_t>((owner_of(group, parallelism, max_parallelism_) + 1) % parallelism));"),
    Mutant("a key group off by one gets the floor", "src/runtime/make_tasks.cc",
           "slot.context.floor.add(own, floor.floor);",
           "slot.context.floor.add({own.first + 1, own.last}, floor.floor);"),
    Mutant("the highest watermark of the channels, not the lowest", "src/time/combined_status.cc",
           "lowest_active = std::min(lowest_active, part->watermark);",
           "lowest_active = lowest_active == EventTime::max() ? part->watermark : std::max(lowest_active, part->watermark);"),
    Mutant("T8 partial sums where one can reach a closed window", "src/sql/rebuild_window.cc",
           "return !late_read || (hashed_before && window.kind == expr::WindowKind::kTumble);",
           "return true || late_read || hashed_before;",
           more=("src/runtime/graph.cc", "return read_.count({window.node.get(), Port::kLate}) == 0 ||", "return true ||")),
    Mutant("rows behind a barrier overtake it", "src/runtime/inputs.cc",
           "if (aligner_.blocked(channel) || held_[channel]) continue;", "if (held_[channel]) continue;"),
    Mutant("a checkpoint does not wait for the last task", "src/checkpoint/coordinator.cc",
           "!under_way_->waiting.empty()) return;", "under_way_->waiting.size() > 1) return;"),
    Mutant("values of the restored epoch are not dead", "src/connect/table/history.cc",
           "later->lowest <= tag.epoch;", "later->lowest < tag.epoch;"),
    Mutant("an epoch is committed with the one behind it once more", "src/connect/table/transaction_sink.cc",
           "kept_.epochs.upper_bound(asked_)", "kept_.epochs.lower_bound(asked_)"),
    Mutant("sessions end one step early", "src/state/session_table.cc",
           "return insert(row, time, time + gap_);", "return insert(row, time, time + gap_ - 1);"),
    Mutant("Top-N keeps one row too few", "src/ops/top_n.cc",
           "if (options_.changes || ranked.size() <= options_.to) return Status();",
           "if (options_.changes || ranked.size() < options_.to) return Status();"),
]
