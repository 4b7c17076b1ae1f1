#include "conformance/sql/play.h"

#include <algorithm>
#include <array>

#include "codec/record_decoder.h"
#include "engine/job_options.h"
#include "runtime/tables.h"
#include "sim/world/virtual_driver.h"
#include "sql/compile.h"

namespace strand::conformance::sql {
namespace {

constexpr int64_t kMemory = int64_t{1} << 30;
constexpr int64_t kStart = 1'770'552'000'000;  // 2026-02-08 12:00, when the played day begins
constexpr Duration kToEnd{100};
constexpr Duration kTick{10'000};  // longer than the lines of a batch take one by one

Result<runtime::JobOptions> play_options(const plan::Plan& plan, int parallelism, size_t batch_rows) {
  STRAND_TRY(runtime::JobOptions options, engine::job_options(plan, {"/state/case"}, {parallelism, kMemory}));
  options.checkpoints.interval.reset();
  options.future_skew.reset();
  options.batch_rows = static_cast<int64_t>(batch_rows);
  const auto interval = plan.settings.find("pipeline.auto-watermark-interval");
  if (interval == plan.settings.end() || interval->second.origin == "default")
    options.tick_interval = batch_rows > 1 ? kTick : Duration{0};
  return options;
}

/// `+U {...}` is an update; without a kind before it the payload is an insertion. Payloads of a format have
/// no kind.
Stage::Line line_of(const std::string& payload) {
  static constexpr std::array<std::string_view, 4> kKinds = {"+I ", "-U ", "+U ", "-D "};
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (payload.starts_with(kKinds[i])) return {static_cast<columnar::RowKind>(i), payload.substr(3)};
  }
  return {columnar::RowKind::kInsert, payload};
}

/// Steps one attempt through the input.
class Player {
 public:
  Player(const plan::Plan& plan, const connect::Registry& registry, const PlayOptions& options,
         Played& played)
      : plan_(plan), registry_(registry), options_(options), played_(played), world_(0, WallTime{kStart}) {}

  Status run(const std::vector<InputLine>& input) {
    STRAND_TRY(job_, play_options(plan_, options_.parallelism, options_.batch_rows));
    job_.spill_space = options_.spill_space;
    STRAND_OK(start());
    std::vector<std::string> tables;
    int number = 0;
    for (const InputLine& line : input) {
      if (line.event != InputLine::Event::kRow) {
        STRAND_OK(end_batch());
        STRAND_OK(happen(line));
        continue;
      }
      if (options_.restore_each_step && number > 0) STRAND_OK(restore(number % 2 == 0));
      if (std::find(tables.begin(), tables.end(), line.table) == tables.end()) tables.push_back(line.table);
      if (line.table != table_of_batch_ || in_batch_ == options_.batch_rows) STRAND_OK(end_batch());
      table_of_batch_ = line.table;
      ++in_batch_;
      played_.stage->set_played(++number);
      played_.stage->feed(line.table).lines.push_back(line_of(line.payload));
      if (options_.batch_rows == 1 || options_.one_by_one) STRAND_OK(come_to_rest());
    }
    STRAND_OK(end_batch());
    return end(tables);
  }

 private:
  /// What came together is worked on, then time is told.
  Status end_batch() {
    if (options_.batch_rows == 1 || in_batch_ == 0) return Status();
    in_batch_ = 0;
    STRAND_OK(come_to_rest());
    const int64_t next_tick = (world_.clock.now().millis / kTick.millis + 1) * kTick.millis;
    return driver_->run_until(WallTime{next_tick + 1});
  }

  Status start() {
    STRAND_TRY(attempt_, runtime::JobAttempt::start(plan_, registry_, job_, from_, world_.env(), nullptr));
    driver_ = std::make_unique<sim::VirtualDriver>(world_, *attempt_);
    played_.started = true;
    return come_to_rest();
  }

  Status happen(const InputLine& line) {
    switch (line.event) {
      case InputLine::Event::kRow:
        return Status();
      case InputLine::Event::kBarrier:
        return checkpoint(/*stop=*/false);
      case InputLine::Event::kCrash:
        return crash();
      case InputLine::Event::kStop:
        return restore(/*stop=*/true);
      case InputLine::Event::kWait:
        return driver_->run_until(world_.clock.now() + line.wait);
    }
    return Status();
  }

  Status restore(bool stop) {
    STRAND_OK(checkpoint(stop));
    return crash();
  }

  Status checkpoint(bool stop) {
    std::optional<Status> answered;
    attempt_->ask_savepoint(stop, false, [&](Status status, const std::string& path) {
      answered = std::move(status);
      from_ = {runtime::RestoreChoice::Kind::kPath, path};
    });
    STRAND_OK(come_to_rest());
    if (!answered) return Status(ErrorCode::kInternal, "a checkpoint does not complete");
    STRAND_OK(*std::move(answered));
    played_.stage->commit();
    return Status();
  }

  Status crash() {
    driver_.reset();
    attempt_.reset();
    played_.stage->take_back();
    return start();
  }

  Status come_to_rest() {
    world_.clock.advance(Duration{1});
    return driver_->settle();
  }

  Status end(std::vector<std::string> tables) {
    played_.stage->set_played(kEnd);
    for (const plan::NodePtr& node : plan_.nodes()) {
      const auto* scan = std::get_if<plan::Scan>(&node->detail);
      if (scan == nullptr) continue;
      if (std::find(tables.begin(), tables.end(), scan->table.name) == tables.end())
        tables.push_back(scan->table.name);
    }
    for (const std::string& table : tables) {
      played_.stage->feed(table).ended = true;
      STRAND_OK(come_to_rest());
    }
    STRAND_OK(driver_->run_until(world_.clock.now() + kToEnd));
    return attempt_->finished()
               ? Status()
               : Status(ErrorCode::kInternal, "the job does not end when its input has ended");
  }

  const plan::Plan& plan_;
  const connect::Registry& registry_;
  const PlayOptions& options_;
  Played& played_;
  sim::SimEnv world_;
  std::string table_of_batch_;
  size_t in_batch_ = 0;
  runtime::JobOptions job_;
  runtime::RestoreChoice from_{runtime::RestoreChoice::Kind::kNone, {}};
  std::unique_ptr<runtime::JobAttempt> attempt_;
  std::unique_ptr<sim::VirtualDriver> driver_;
};

}  // namespace

const Received* Played::result() const {
  for (const auto& [name, received] : stage->received()) {
    if (name.starts_with("print")) return &received;
  }
  return nullptr;
}

namespace {

/// Flink's watermark assigner announces none before 1970; the corpus has it behind each table that does not
/// say that its source makes the watermark.
void announce_from_1970(const plan::Plan& plan) {
  for (const plan::NodePtr& node : plan.nodes()) {
    auto* scan = std::get_if<plan::Scan>(&std::const_pointer_cast<plan::Node>(node)->detail);
    if (scan == nullptr || !scan->watermark || scan->table.option("connector") != "script" ||
        scan->table.option("watermark") == "source")
      continue;
    const expr::ExprPtr mark = scan->watermark->expression;
    const auto epoch = expr::literal(int64_t{0}, columnar::with_nullable(mark->type, false));
    const auto after = expr::resolve_call(">", {mark, epoch});
    if (!after.ok()) continue;
    const auto none = expr::literal(std::monostate{}, columnar::with_nullable(mark->type, true));
    const auto announced = expr::resolve_call("CASE", {*after, mark, none});
    if (!announced.ok()) continue;
    scan->watermark->expression = *announced;
    scan->watermark->trail.reset();
  }
}

}  // namespace

Played play(const std::string& text, const std::vector<InputLine>& input, const PlayOptions& options) {
  Played played;
  played.stage = std::make_shared<Stage>();
  played.stage->batch_rows = options.one_by_one ? 1 : options.batch_rows;
  connect::Registry registry;
  connect::add_builtin_connectors(registry);
  add_script_connectors(registry, played.stage);
  ::strand::sql::SqlInput source{.text = text, .file = "case.sql"};
  sim::SimEnv nowhere(0, WallTime{kStart});
  const runtime::Tables tables(registry, {{}, "UTC", nowhere.env()});
  source.checks.read = [&tables](const plan::TableSpec& table) { return tables.check_read(table); };
  source.checks.metadata = [&tables](const plan::TableSpec& table) { return tables.metadata(table); };
  source.checks.written_metadata = [&tables](const plan::TableSpec& table) {
    return tables.written_metadata(table);
  };
  source.checks.looks_up = [&tables](const plan::TableSpec& table) { return tables.can_look_up(table); };
  source.checks.write = [&tables](const plan::SinkWrite& write) { return tables.check_write(write); };
  source.checks.shows_changes = [](const plan::TableSpec& table) {
    return table.option("connector") == "script" && table.primary_key.empty();
  };
  source.checks.rows = [](const plan::TableSpec& table) {
    const std::string changelog = table.option("changelog");
    if (codec::gives_changes(table.option("format"))) return ::strand::sql::TableRows::kChanges;
    return changelog == "all"      ? ::strand::sql::TableRows::kChanges
           : changelog == "upsert" ? ::strand::sql::TableRows::kUpserts
                                   : ::strand::sql::TableRows::kNew;
  };
  auto job = ::strand::sql::compile(source);
  if (!job.ok()) {
    played.error = job.status();
    return played;
  }
  for (const ::strand::sql::Shown& shown : job->shown) played.shown += ::strand::sql::to_text(shown);
  if (job->plan.sinks.empty()) return played;
  announce_from_1970(job->plan);
  played.error = engine::check_plan(job->plan, registry, nowhere.env());
  if (!played.error.ok()) return played;
  Player player(job->plan, registry, options, played);
  played.error = player.run(input);
  return played;
}

}  // namespace strand::conformance::sql
