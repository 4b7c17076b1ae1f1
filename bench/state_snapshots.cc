#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/hash.h"
#include "env/real.h"
#include "ops/interval_join.h"
#include "ops/regular_join.h"
#include "ops/rowtime_deduplicate.h"
#include "ops/top_n.h"
#include "state/snapshot.h"
#include "state_bench.h"

namespace strand::bench {

namespace {

constexpr int64_t kBatch = 4096;
constexpr int kSnapshots = 20;

/// Of a share of the values, none is larger.
double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}
double median(const std::vector<double>& values) { return quantile(values, 0.5); }
double largest(const std::vector<double>& values) { return values.empty() ? 0 : std::ranges::max(values); }

/// Takes snapshots of an operator and writes them in the background, as a task does.
class Snapshots {
 public:
  explicit Snapshots(flow::Operator& op) : op_(op) {
    dir_ = std::filesystem::temp_directory_path() / ("strandline-bench-" + std::to_string(getpid()));
    std::filesystem::create_directories(dir_);
  }
  ~Snapshots() {
    real_.executor.drain();
    std::filesystem::remove_all(dir_);
  }
  bool writing() const { return writing_; }
  /// Whether a snapshot has been taken; not while one is written.
  void take(flow::Emitter& out) {
    const auto builder = std::make_shared<state::SnapshotBuilder>(Epoch{++epoch_}, KeyGroupRange{0, 127});
    builder->set_operator("op");
    const double start = now();
    STRAND_CHECK(op_.before_barrier(out).ok());
    STRAND_CHECK(op_.snapshot(Epoch{epoch_}, *builder).ok());
    pauses.push_back((now() - start) * 1e3);
    writing_ = true;
    real_.executor.submit(0, [this, builder] {
      auto refs = builder->write(real_.files, dir_);
      STRAND_CHECK(refs.ok());
      refs_ = *std::move(refs);
      written_ = true;
    });
  }
  void poll() {
    if (!written_.exchange(false)) return;
    writing_ = false;
    op_.snapshot_written(Epoch{epoch_}, refs_);
    const std::string prefix = "e" + std::to_string(epoch_) + "-";
    double bytes = 0;
    for (const auto& ref : refs_) {
      if (ref.file.starts_with(prefix)) bytes += static_cast<double>(ref.length);
    }
    megabytes.push_back(bytes / 1e6);
  }
  std::vector<double> pauses;     // ms
  std::vector<double> megabytes;  // written

 private:
  flow::Operator& op_;
  std::string dir_;
  env::RealEnv real_;
  int64_t epoch_ = 0;
  bool writing_ = false;
  std::atomic<bool> written_{false};
  std::vector<state::SectionRef> refs_;
};

/// `row` makes rows; `inputs`: batches go to them in turn. A snapshot every `every` rows, once the state is
/// there.
template <class Row>
void run(const char* name, Result<ops::OperatorPtr> made, int inputs, int64_t warm, int64_t every,
         Row&& row) {
  STRAND_CHECK(made.ok());
  flow::Operator& op = **made;
  obs::MemoryAccount account;
  obs::Ledger ledger;
  flow::OperatorContext context;
  context.operator_id = "op";
  context.ledger = &ledger;
  context.memory = &account;
  Counter out;
  STRAND_CHECK(op.open(context).ok());
  Snapshots snapshots(op);
  columnar::BatchBuilder builder(input_schema());
  std::vector<double> batches;
  double busy = 0;
  int64_t rows = 0;
  int64_t next = warm;
  int input = 0;
  int64_t live = 0;
  for (int64_t at = 0; snapshots.megabytes.size() < kSnapshots; at += kBatch) {
    EventTime newest = EventTime::min();
    for (int64_t i = at; i < at + kBatch; ++i) newest = std::max(newest, row(i, builder));
    const columnar::Batch batch = builder.finish();
    const double start = now();
    STRAND_CHECK(op.process(input, batch, out).ok());
    input = (input + 1) % inputs;
    context.reach(newest - Duration{1000});
    STRAND_CHECK(op.advance(out).ok());
    if (at >= warm) {
      rows += kBatch;
      busy += now() - start;
      if (snapshots.writing()) batches.push_back((now() - start) * 1e3);
    }
    snapshots.poll();
    if (at < next || snapshots.writing()) continue;
    next = at + every;
    live = std::max(live, op.state_rows());
    snapshots.take(out);
  }
  std::printf(
      "{\"bench\":\"snapshots\",\"state\":\"%s\",\"live_rows\":%lld,\"pause_p50_ms\":%.3f,\"pause_max_ms\":%."
      "3f,"
      "\"ns_per_row\":%.1f,\"batch_p50_ms\":%.2f,\"batch_p99_ms\":%.2f,\"batch_max_ms\":%.2f,\"written_mb\":%"
      ".1f,"
      "\"bytes_per_row\":%.0f}\n",
      name, static_cast<long long>(live), median(snapshots.pauses), largest(snapshots.pauses),
      busy / static_cast<double>(rows) * 1e9, median(batches), quantile(batches, 0.99), largest(batches),
      median(snapshots.megabytes),
      static_cast<double>(account.used()) / static_cast<double>(std::max<int64_t>(live, 1)));
}

ops::GroupOptions group_options() {
  ops::GroupOptions options;
  options.input = input_schema();
  options.keys = {0};
  const auto bigint = columnar::make_type(columnar::TypeKind::kBigInt, false);
  options.aggregates = {{expr::Aggregate::Kind::kCountStar, 0, nullptr, bigint, "n"}};
  options.output = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"key", columnar::make_type(columnar::TypeKind::kString)}, {"n", bigint}});
  return options;
}

/// Rows of a key join where they are at most 50 s apart.
ops::IntervalJoinOptions interval_options() {
  ops::IntervalJoinOptions options;
  options.lower = Duration{-50'000};
  options.upper = Duration{50'000};
  std::vector<columnar::Field> fields;
  for (auto& side : options.sides) {
    side.schema = input_schema();
    side.keys = {0};
    side.time_column = 1;
    fields.insert(fields.end(), side.schema->fields().begin(), side.schema->fields().end());
  }
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return options;
}

/// Rows of a key join, each with all that came.
ops::RegularJoinOptions join_options() {
  ops::RegularJoinOptions options;
  std::vector<columnar::Field> fields;
  for (auto& side : options.sides) {
    side = {input_schema(), {0}};
    fields.insert(fields.end(), side.schema->fields().begin(), side.schema->fields().end());
  }
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return options;
}

/// The two newest rows of each key.
ops::TopNOptions newest_options() {
  ops::TopNOptions options;
  options.input = options.output = input_schema();
  options.keys = {0};
  options.order = {{1, /*descending=*/true}};
  options.to = 2;
  return options;
}

/// The last row of each key.
ops::RowtimeDeduplicateOptions last_options() {
  ops::RowtimeDeduplicateOptions options;
  options.input = input_schema();
  options.keys = {0};
  options.time_column = 1;
  options.last = true;
  return options;
}

/// How many different times a key has.
ops::GroupOptions distinct_options() {
  ops::GroupOptions options = group_options();
  options.aggregates[0] = {expr::Aggregate::Kind::kCount,
                           1,
                           columnar::timestamp_type(3, true),
                           columnar::make_type(columnar::TypeKind::kBigInt, false),
                           "n",
                           true};
  return options;
}

}  // namespace

void bench_snapshots(int64_t rows) {
  const auto keys = static_cast<uint64_t>(rows);
  // Rows of random keys, `rate` of them in a second of event time.
  const auto random_rows = [keys](int64_t rate) {
    return [=](int64_t i, columnar::BatchBuilder& out) {
      append_key(mix64(static_cast<uint64_t>(i)), keys, out.column(0));
      const int64_t millis = i * 1000 / rate;
      out.column(1).append(millis);
      out.end_row();
      return EventTime{millis};
    };
  };
  const int64_t warm = rows * 8;
  run("windows", ops::make_window_aggregate(window_options(expr::WindowKind::kTumble, int64_t{1} << 40, 0)),
      1, warm, rows * 2, random_rows(rows));
  // Six slices with a sixth of the keys each are open, five of which do not change any more.
  run("hop slices", ops::make_window_aggregate(window_options(expr::WindowKind::kHop, 60'000, 10'000)), 1,
      warm, rows / 12, random_rows(std::max<int64_t>(1, rows / 50)));
  run("groups", ops::make_group_aggregate(group_options()), 1, warm, rows * 2, random_rows(rows));
  run("sessions", ops::make_window_aggregate(window_options(expr::WindowKind::kSession, 30'000, 0)), 1, warm,
      rows * 2, random_rows(std::max<int64_t>(1, rows / 10)));
  run("interval join", ops::make_interval_join(interval_options()), 2, warm, rows,
      random_rows(std::max<int64_t>(1, rows / 50)));
  // State that is a log: once a million rows are there, a snapshot every tenth of them.
  const int64_t tenth = rows / 10;
  run("regular join", ops::make_regular_join(join_options()), 2, rows, tenth, random_rows(tenth));
  run("distinct values", ops::make_group_aggregate(distinct_options()), 1, rows, tenth, random_rows(tenth));
  run("top 2", ops::make_top_n(newest_options()), 1, warm, tenth, random_rows(tenth));
  run("last row", ops::make_rowtime_deduplicate(last_options()), 1, warm, tenth, random_rows(tenth));
}

}  // namespace strand::bench
