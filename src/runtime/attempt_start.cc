// What an attempt does before its first step: it chooses a snapshot, refuses what must be refused, and
// restores.
#include <algorithm>

#include "base/text.h"
#include "runtime/attempt.h"
#include "runtime/state_fits.h"
#include "state/late_sections.h"

namespace strand::runtime {

namespace {

/// Windows between whose halves rows were in flight.
std::set<std::string> windows_between(const Restored& restored) {
  std::set<std::string> windows;
  for (const auto& [id, subtasks] : restored.in_flight) {
    for (const auto& rows : subtasks) {
      if (std::ranges::any_of(rows, &InFlight::partials)) windows.insert(id);
    }
  }
  return windows;
}

/// The restores of the older version come first. Of its epochs the last record knows all.
void add_elder(const checkpoint::Elder& elder, Generation generation, std::vector<AttemptRecord>& history) {
  std::vector<AttemptRecord> all;
  for (AttemptRecord record : elder.attempts) {
    if (record.generation >= generation) continue;
    record.highest_used = std::max(record.highest_used, elder.highest_used);
    record.swept = true;
    all.push_back(record);
  }
  history.insert(history.begin(), all.begin(), all.end());
}

/// The attempt behind all that were recorded; the first of a generation where that is newer than theirs.
std::pair<Generation, Attempt> next_attempt(const std::vector<AttemptRecord>& records,
                                            const JobOptions& options,
                                            const std::optional<checkpoint::Manifest>& manifest) {
  Generation newest{0};
  Attempt last{0};
  for (const AttemptRecord& record : records) {
    if (record.generation > newest) last = Attempt{0};
    newest = std::max(newest, record.generation);
    if (record.generation == newest) last = std::max(last, record.attempt);
  }
  Generation generation = options.generation.value_or(std::max(newest, Generation{1}));
  if (!options.generation && manifest && manifest->generation > newest)
    generation = Generation{std::max(manifest->generation, options.taken).value + 1};
  return {generation, generation == newest ? Attempt{last.value + 1} : Attempt{1}};
}

}  // namespace

Status JobAttempt::choose(const RestoreChoice& choice) {
  if (choice.kind == RestoreChoice::Kind::kNone) return Status();
  std::string path = choice.path;
  if (choice.kind == RestoreChoice::Kind::kLatest) {
    STRAND_TRY(const auto latest, store_->latest());
    if (!latest) return Status();
    path = latest->path;
    report_.snapshot = *latest;
  }
  STRAND_TRY(checkpoint::Manifest manifest, store_->load(path));
  if (!report_.snapshot) {
    report_.snapshot = checkpoint::SnapshotInfo{
        path, manifest.epoch, manifest.generation, manifest.attempt, manifest.kind, manifest.taken, false,
        {}};
  }
  manifest_ = std::move(manifest);
  options_.max_parallelism = max_parallelism_of(*manifest_, options_);
  STRAND_OK(check_fits());
  if (choice.kind != RestoreChoice::Kind::kLatest || !options_.savepoint_first) return Status();
  return check_savepoint_first(*manifest_, path, plan_);
}

Status JobAttempt::check_fits() const {
  return check_state_fits(*manifest_, report_.snapshot->path, plan_, options_);
}

void JobAttempt::tell_what_is_new() const {
  if (!manifest_) return;
  const std::string now = plan::fingerprint(plan_);
  const auto tell = [&](obs::Level level, const std::string& id, const char* name, const char* message) {
    obs::Event event{level, static_cast<int>(ErrorCode::kOperatorChanged), name, now_, {}};
    emit(std::move(event.with("operator", id).with("message", message)));
  };
  for (const std::string& id : plan::operators_without_state(manifest_->fingerprint, now))
    tell(obs::Level::kWarn, id, "operator_starts_empty",
         "the snapshot has no state of this operator: it starts empty");
  for (const std::string& id : options_.may_drop) {
    if (manifest_->operators.contains(id) && !plan::has_operator(plan_, id))
      tell(obs::Level::kWarn, id, "state_dropped",
           "the job has this operator no longer: its state is dropped");
  }
}

void JobAttempt::check_floors() {
  if (!manifest_ || !options_.future_skew) return;
  EventTime highest = EventTime::min();
  std::string where;
  for (const auto& [id, parts] : manifest_->operators) {
    for (const auto& part : parts) {
      for (const auto& floor : part.floors) {
        if (floor.floor <= highest) continue;
        highest = floor.floor;
        where = id;
      }
    }
  }
  if (highest <= EventTime{(now_ + *options_.future_skew).millis}) return;
  report_.floor_ahead =
      Status(ErrorCode::kClockInFuture,
             "expected a restored floor near the wall clock, " + format_utc(now_.millis) + ", found " +
                 format_utc(highest.millis) + ": rows of now are late until event time is there")
          .at(where)
          .hint("set the clock of this machine right, or restore an older checkpoint with --from");
}

Status JobAttempt::read_sections(Restored& restored) {
  if (!manifest_) return Status();
  restored.manifest = &*manifest_;
  env::FileSystem& files = *context_.env.files;
  const std::string dir = checkpoint::Store::files_dir_of(report_.snapshot->path);
  state::SnapshotReader reader(files, dir);
  for (const auto& [id, parts] : manifest_->operators) {
    if (options_.may_drop.contains(id) && !plan::has_operator(plan_, id)) continue;
    for (const auto& part : parts) {
      for (const auto& ref : part.sections) {
        const bool late = spill_ != nullptr && state::is_read_late(ref);
        state::SnapshotReader once(files, dir);
        auto section = (late ? once : reader).read(ref);
        if (!section.ok()) {
          STRAND_OK(store_->verify(*manifest_, report_.snapshot->path));  // offers an older one
          return section.status();
        }
        if (late) {
          section = state::Section{
              ref, nullptr, [&files, dir, ref] { return state::SnapshotReader(files, dir).read(ref); }};
        }
        if (ref.name != kInFlightSection) {
          restored.sections[id].push_back(*std::move(section));
          continue;
        }
        STRAND_OK(state::check_version(ref, kInFlightVersion));
        STRAND_TRY(auto rows, decode_in_flight(section->bytes()));
        restored.in_flight[id].push_back(std::move(rows));
      }
    }
  }
  return Status();
}

Status JobAttempt::restore(const RestoreChoice& choice) {
  now_ = context_.env.clock->now();
  if (options_.spill_space) {
    STRAND_TRY(spill_, options_.spill_space(*context_.env.files));
    spill_memory_.set(spill_->memory_bytes());
    context_.spill = spill_.get();
  }
  STRAND_TRY(auto store, checkpoint::Store::open(*context_.env.files, options_.checkpoint_dir,
                                                 options_.savepoint_dir, options_.job));
  store_ = std::make_shared<checkpoint::Store>(std::move(store));
  context_.snapshot_dir = store_->files_dir();
  STRAND_OK(choose(choice));
  std::optional<checkpoint::Elder> elder;
  if (options_.elder) {
    STRAND_TRY(elder, options_.elder());
  }
  elder_runs_ = elder && !elder->ended;
  if (manifest_) {  // later checkpoints may refer to its files, and the folder of a savepoint may go away
    STRAND_TRY(report_.snapshot->path, store_->adopt(report_.snapshot->path));
  }

  const auto [generation, attempt] = next_attempt(store_->attempts(), options_, manifest_);
  const std::optional<Epoch> restored_epoch =
      manifest_ ? std::optional<Epoch>(manifest_->epoch) : std::optional<Epoch>();
  const Epoch highest = std::max(store_->highest_used(), restored_epoch.value_or(Epoch{0}));
  Restored restored;
  STRAND_OK(read_sections(restored));
  STRAND_TRY(graph_, make_graph(plan_, options_.parallelism, registry_, windows_between(restored)));
  GraphOptions graph_options{options_.job,
                             options_.parallelism,
                             options_.max_parallelism,
                             options_.tick_interval,
                             options_.future_skew,
                             options_.stream_time,
                             options_.zone,
                             generation,
                             attempt,
                             restored_epoch,
                             {},
                             options_.defences,
                             options_.batch_rows,
                             {options_.flink_restore, options_.tick_interval}};
  if (elder_runs_) graph_options.elders = elder->highest_used;
  // What must be refused is refused here: nothing has been touched yet.
  STRAND_TRY(sweeps_left_, check_sinks(graph_, registry_, graph_options, context_));
  const AttemptRecord record{generation, attempt, restored_epoch, highest,
                             /*swept=*/sweeps_left_ == 0 || !options_.defences.f7d};
  // E2: before anything is claimed, flushed or written
  if (options_.defences.e2) STRAND_OK(store_->record_attempt(record));
  history_ = store_->attempts();
  if (elder) add_elder(*elder, generation, history_);
  report_.generation = generation;
  report_.attempt = attempt;
  report_.at = now_;
  check_floors();
  tell_what_is_new();

  graph_options.history = history_;
  STRAND_TRY(tasks_, make_tasks(graph_, registry_, graph_options, restored, context_));
  for (const auto& source : tasks_.sources) source_tasks_ += source.subtasks.size();
  coordinator_ = std::make_unique<checkpoint::Coordinator>(
      options_.checkpoints, static_cast<int32_t>(tasks_.all.size()), highest, now_);
  shards_.resize(tasks_.sources.size());
  return find_shards(true, now_);
}

}  // namespace strand::runtime
