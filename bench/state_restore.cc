#include <chrono>
#include <filesystem>

#include "base/hash.h"
#include "env/real.h"
#include "state/snapshot.h"
#include "state_bench.h"

namespace strand::bench {

namespace {

constexpr int64_t kBatch = 4096;

double steady() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// An operator with its context.
struct Task {
  explicit Task(const ops::WindowOptions& options) : op(std::move(*ops::make_window_aggregate(options))) {
    context.operator_id = "op";
    context.ledger = &ledger;
    context.memory = &account;
    STRAND_CHECK(op->open(context).ok());
  }
  obs::MemoryAccount account;
  obs::Ledger ledger;
  flow::OperatorContext context;
  ops::OperatorPtr op;
};

}  // namespace

void bench_restore(int64_t bytes) {
  const auto options = window_options(expr::WindowKind::kTumble, int64_t{1} << 40, 0);
  const std::string dir =
      std::filesystem::temp_directory_path() / ("strandline-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  env::PosixFileSystem files;
  std::vector<state::SectionRef> refs;
  int64_t rows = 0;
  {
    Task task(options);
    Counter out;
    columnar::BatchBuilder builder(input_schema());
    while (task.account.used() < bytes) {
      for (int64_t i = 0; i < kBatch; ++i) {
        append_key(static_cast<uint64_t>(rows++), ~uint64_t{0}, builder.column(0));
        builder.column(1).append(rows);
        builder.end_row();
      }
      STRAND_CHECK(task.op->process(0, builder.finish(), out).ok());
    }
    state::SnapshotBuilder snapshot(Epoch{1}, {0, 127});
    snapshot.set_operator("op");
    STRAND_CHECK(task.op->snapshot(Epoch{1}, snapshot).ok());
    refs = std::move(*snapshot.write(files, dir));
  }
  double length = 0;
  for (const auto& ref : refs) length += static_cast<double>(ref.length);
  Task task(options);
  const double start = steady();
  const double cpu = now();
  std::vector<state::Section> sections;
  state::SnapshotReader reader(files, dir);
  for (const auto& ref : refs) sections.push_back(std::move(*reader.read(ref)));
  const double read = steady() - start;
  STRAND_CHECK(task.op->restore(sections).ok());
  std::printf(
      "{\"bench\":\"restore\",\"state_mb\":%.0f,\"file_mb\":%.0f,\"rows\":%lld,\"read_s\":%.2f,\"restore_s\":"
      "%.2f,"
      "\"cpu_s\":%.2f}\n",
      static_cast<double>(task.account.used()) / 1e6, length / 1e6, static_cast<long long>(rows), read,
      steady() - start, now() - cpu);
  std::filesystem::remove_all(dir);
}

}  // namespace strand::bench
