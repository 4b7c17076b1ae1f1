// Rows per second through the SQLite sink, mode flush: one JSON line for new rows and one for updates.
//   bench_sqlite [rows] [keys] [rows of a transaction] [file]
#include <fmt/format.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/random.h"
#include "connect/sqlite/flush_store.h"
#include "connect/table/flush_sink.h"
#include "connect/table/test_rows.h"
#include "env/real.h"

namespace {

using namespace strand;
using connect::table::WriterSpec;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

columnar::Batch batch_of(const WriterSpec& spec, Random& random, uint64_t keys, int64_t rows, int64_t value) {
  columnar::BatchBuilder builder(connect::table::row_schema(spec));
  for (int64_t i = 0; i < rows; ++i) {
    const uint64_t key = random.below(keys);
    builder.column(0).append_string(fmt::format("ad_{}", key / 60));
    builder.column(1).append_string(fmt::format("M2026-02-08 10:{:02}", key % 60));
    builder.column(2).append(value);
    builder.end_row();
  }
  return builder.finish();
}

std::atomic<int> wakes{0};

bool wait_until(flow::Sink& sink, bool drained) {
  for (;;) {
    const int seen = wakes.load();
    const Result<bool> done = drained ? sink.drained() : sink.busy();
    if (!done.ok()) {
      fmt::print(stderr, "{}\n", done.status().to_string());
      return false;
    }
    if (*done == drained) return true;
    wakes.wait(seen);
  }
}

bool measure(const char* name, flow::Sink& sink, env::RealEnv& env, const WriterSpec& spec, int64_t rows,
             uint64_t keys, int64_t epoch) {
  Random random(static_cast<uint64_t>(epoch));
  constexpr int64_t kBatch = 1024;
  const int64_t begin = env.clock.steady_nanos();
  const double cpu = cpu_seconds();
  for (int64_t done = 0; done < rows; done += kBatch) {
    if (!wait_until(sink, false)) return false;
    if (!sink.write(batch_of(spec, random, keys, kBatch, done), {{1}, {1}, {epoch}, 0}).ok()) return false;
  }
  if (!wait_until(sink, true)) return false;
  const double seconds = static_cast<double>(env.clock.steady_nanos() - begin) * 1e-9;
  fmt::print(
      "{{\"bench\": \"sqlite_{}\", \"rows\": {}, \"keys\": {}, \"rows_per_s\": {:.0f}, \"rows_per_cpu_s\": "
      "{:.0f}}}\n",
      name, rows, keys, static_cast<double>(rows) / seconds,
      static_cast<double>(rows) / (cpu_seconds() - cpu));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t rows = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const auto keys = static_cast<uint64_t>(argc > 2 ? std::atoll(argv[2]) : 1'000'000);
  connect::table::FlushOptions options;
  if (argc > 3) options.batch_rows = static_cast<size_t>(std::atoll(argv[3]));
  const std::string path =
      argc > 4 ? argv[4] : (std::filesystem::temp_directory_path() / "strand-bench.db").string();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  env::RealEnv env;
  const WriterSpec spec = connect::table::test_writer("fast");
  const auto sink = make_flush_sink(spec, connect::sqlite::make_flush_store({path}), env.env(), options);
  sink->set_waker([] {
    ++wakes;
    wakes.notify_one();
  });
  flow::SinkStart start;
  start.history = {connect::table::test_record(1, 1, {}, 0)};
  if (!sink->start(start).ok() || !sink->held_end().ok()) return 1;
  const bool ok = measure("insert", *sink, env, spec, rows, keys, 1) &&
                  measure("update", *sink, env, spec, rows, keys, 1) &&
                  measure("update_new_epoch", *sink, env, spec, rows, keys, 2);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  return ok ? 0 : 1;
}
