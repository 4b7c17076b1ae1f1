// Measures state tables alone: `bench_state ids|slices [options]`. One JSON line a figure.
#include <time.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/hash.h"
#include "state/id_store.h"

namespace strand {
namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID,
                &t);  // of the thread: other load on the machine costs less of the figure
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

int64_t rss() {
  long pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    long size = 0;
    if (std::fscanf(f, "%ld %ld", &size, &pages) != 2) pages = 0;
    std::fclose(f);
  }
  return pages * int64_t{4096};
}

/// UUIDs that live for `live` rows, a tenth of them copies, in batches of 4,096.
void bench_ids(int64_t live, int64_t rows, bool snapshots) {
  constexpr size_t kBatch = 4096;
  const int64_t rss_before = rss();
  obs::MemoryAccount account;
  state::IdStore store("dedup", {0, 127}, &account);
  std::vector<std::string> texts(kBatch, std::string(36, '0'));
  std::vector<std::string_view> keys(kBatch);
  std::vector<uint16_t> groups(kBatch);
  std::vector<EventTime> expiries(kBatch);
  std::vector<uint8_t> fresh(kBatch);
  double busy = 0;
  double worst = 0;
  int64_t copies = 0;
  int64_t epoch = 0;
  for (int64_t row = 0; row < rows + live; row += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) {
      const int64_t n = row + static_cast<int64_t>(i);
      const auto of = static_cast<uint64_t>(n % 10 == 9 && n > 5001 ? n - 5001 : n);
      texts[i] = state::id_key_text(mix64(of), mix64(~of), true);
      keys[i] = texts[i];
      groups[i] = static_cast<uint16_t>(mix64(of) >> 57);
      expiries[i] = EventTime{n + live};
    }
    const double start = now();
    store.insert({keys, groups, expiries}, {EventTime{row}, {}}, fresh);
    const double took = now() - start;
    if (row >= live) {
      busy += took;
      worst = std::max(worst, took);
    }
    for (const uint8_t f : fresh) copies += 1 - f;
    if (snapshots && row % (kBatch * 256) == 0) {
      state::SnapshotBuilder out(Epoch{++epoch}, {0, 127});
      store.snapshot(out, EventTime{row});
      store.written(Epoch{epoch}, {});
    }
  }
  const auto seen = static_cast<double>(store.size());
  std::printf(
      "{\"bench\":\"ids\",\"live\":%lld,\"rows_per_s\":%.0f,\"ns_per_row\":%.1f,\"worst_batch_ms\":%.2f,"
      "\"bytes_per_id\":%.1f,"
      "\"rss_per_id\":%.1f,\"copies\":%lld}\n",
      static_cast<long long>(live), static_cast<double>(rows) / busy, busy / static_cast<double>(rows) * 1e9,
      worst * 1e3, static_cast<double>(account.used()) / (0.9 * static_cast<double>(live)),
      static_cast<double>(rss() - rss_before) / (0.9 * static_cast<double>(live)),
      static_cast<long long>(copies));
  std::printf("{\"bench\":\"ids\",\"slots_used_per_live\":%.2f}\n", seen / (0.9 * static_cast<double>(live)));
}

}  // namespace
}  // namespace strand

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "ids";
  if (what == "ids") {
    const int64_t live = argc > 2 ? std::atoll(argv[2]) : 11'111'111;
    strand::bench_ids(live, live, true);
  }
  return 0;
}
