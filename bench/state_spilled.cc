// Ids, and rows of a join, with far more state than memory.
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/hash.h"
#include "env/real.h"
#include "ops/joined_rows.h"
#include "state/id_store.h"
#include "state/spill/rocks_spill.h"
#include "state_bench.h"

namespace strand::bench {

namespace {

double process_cpu() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double elapsed() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// The most memory the process had.
int64_t rss_max() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss * int64_t{1024};
}

/// UUIDs that are kept for ever; a tenth of the rows are copies of any earlier one, so mostly of one on the
/// disk. A snapshot every four million rows counts as written.
class Ids {
 public:
  Ids(state::SpillSpace& space, obs::MemoryAccount& account)
      : store_("dedup", {0, 127}, &account, &space), texts_(kBatch, std::string(36, '0')), keys_(kBatch) {}

  void add(int64_t rows) {
    const int64_t end = row_ + rows;
    for (; row_ < end; row_ += kBatch) {
      for (size_t i = 0; i < kBatch; ++i) {
        const auto n = static_cast<uint64_t>(row_) + i;
        const uint64_t of = n % 10 == 9 ? mix64(n) % n : n;
        texts_[i] = state::uuid_text(mix64(of), mix64(~of));
        keys_[i] = texts_[i];
        groups_[i] = static_cast<uint16_t>(mix64(of) >> 57);
      }
      const double before = now();
      STRAND_CHECK(store_.insert({keys_, groups_, expiries_}, {}, fresh_).ok());
      busy += now() - before;
      if (row_ % (kBatch * 1024) == 0) snapshot();
    }
  }
  int64_t size() const { return store_.size(); }
  double busy = 0;

 private:
  static constexpr size_t kBatch = 4096;
  void snapshot() {
    state::SnapshotBuilder out(Epoch{++epoch_}, {0, 127});
    store_.snapshot(out, EventTime::min());
    store_.written(Epoch{epoch_}, {});
  }

  state::IdStore store_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> keys_;
  std::vector<uint16_t> groups_ = std::vector<uint16_t>(kBatch);
  std::vector<EventTime> expiries_ = std::vector<EventTime>(kBatch, EventTime::max());
  std::vector<uint8_t> fresh_ = std::vector<uint8_t>(kBatch);
  int64_t row_ = 0;
  int64_t epoch_ = 0;
};

}  // namespace

void bench_spilled(int64_t n) {
  constexpr int64_t kLimit = int64_t{1} << 30;
  const std::string dir = std::filesystem::temp_directory_path() / "strandline-bench-spilled";
  env::PosixFileSystem files;
  auto space = state::make_rocks_space(files, {dir, kLimit});
  STRAND_CHECK(space.ok());
  {
    obs::MemoryAccount account(kLimit);
    Ids ids(**space, account);
    for (const auto& [phase, rows] : {std::pair{"fill", n * 10 / 9}, std::pair{"go on", n / 10}}) {
      ids.busy = 0;
      const double cpu = process_cpu();
      const double began = elapsed();
      ids.add(rows);
      const auto count = static_cast<double>(rows);
      std::printf(
          "{\"bench\":\"spilled\",\"phase\":\"%s\",\"ids\":%lld,\"rows_per_s\":%.0f,"
          "\"rows_per_cpu_s_of_all_threads\":%.0f,\"rows_per_elapsed_s\":%.0f,\"rss_max_mib\":%lld,"
          "\"account_mib\":%lld,\"disk_mib\":%lld}\n",
          phase, static_cast<long long>(ids.size()), count / ids.busy, count / (process_cpu() - cpu),
          count / (elapsed() - began), static_cast<long long>(rss_max() >> 20),
          static_cast<long long>(account.used() >> 20), static_cast<long long>((*space)->disk().state >> 20));
      std::fflush(stdout);
    }
  }
  space = Status(ErrorCode::kIo, "");
  STRAND_CHECK(files.remove_all(dir).ok());
}

void bench_spilled_rows(int64_t n) {
  const std::string dir = std::filesystem::temp_directory_path() / "strandline-bench-spilled";
  env::PosixFileSystem files;
  auto space = state::make_rocks_space(files, {dir, int64_t{16} << 20});
  STRAND_CHECK(space.ok());
  {
    constexpr int64_t kBatch = 1000;
    ops::JoinedRows rows("left", 2);
    STRAND_CHECK(rows.spill_to(space->get()).ok());
    const auto key_of = [](int64_t i) { return "key" + std::to_string(i) + ";"; };
    const double filling = elapsed();
    for (int64_t i = 0; i < n; ++i) {
      const std::string key = key_of(i);
      rows.add({hash64(key), key}, key + std::string(400, 'x'), 0, WallTime{0});
      if (i % kBatch == 0) STRAND_CHECK(rows.tidy().ok());
    }
    STRAND_CHECK(rows.tidy().ok());
    const double looking = elapsed();
    const int64_t looks = n / 5;
    std::vector<ops::JoinedRows::Id> partners;
    for (int64_t i = 0; i < looks; ++i) {
      const std::string key =
          key_of(static_cast<int64_t>(mix64(static_cast<uint64_t>(i)) % static_cast<uint64_t>(n)));
      partners.clear();
      rows.partners_of({hash64(key), key}, partners);
      STRAND_CHECK(partners.size() == 1 && rows.bytes(partners[0]).starts_with(key));
      if (i % kBatch == 0) STRAND_CHECK(rows.tidy().ok());
    }
    const double end = elapsed();
    const auto count = static_cast<double>(n);
    std::printf(
        "{\"bench\":\"spilled rows\",\"rows\":%lld,\"ns_per_row\":%.0f,\"ns_per_look\":%.0f,"
        "\"memory_bytes_per_row\":%.1f,\"disk_bytes_per_row\":%.1f",
        static_cast<long long>(n), (looking - filling) / count * 1e9,
        (end - looking) / static_cast<double>(looks) * 1e9, static_cast<double>(rows.memory_bytes()) / count,
        static_cast<double>((*space)->disk().state) / count);
    STRAND_CHECK(rows.remove(key_of(0) + std::string(400, 'x')));
    std::printf(",\"memory_bytes_per_row_once_taken_back\":%.1f}\n",
                static_cast<double>(rows.memory_bytes()) / count);
  }
  space = Status(ErrorCode::kIo, "");
  STRAND_CHECK(files.remove_all(dir).ok());
}

}  // namespace strand::bench
