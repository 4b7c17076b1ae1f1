#include "state/spill/rocks_spill.h"

#include <rocksdb/cache.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "env/open_files.h"
#include "env/pages.h"
#include "state/spill/rocks_blocks.h"
#include "state/spill/rocks_ground.h"

namespace strand::state {

namespace {

constexpr int kRunsMerged = 8;     // runs from which they are merged
constexpr int kRunsMax = 40;       // and at which a table waits for that
constexpr size_t kLookedUp = 256;  // keys at once
constexpr uint64_t kFileBytes = uint64_t{64} << 20;
constexpr double kFilterBits = 10;
constexpr int kLevelsOfLookups = 12;
constexpr int kCacheShardBits = 2;
constexpr int64_t kProgramBytes = int64_t{48} << 20;  // that a job takes without state

class UselessEntries : public rocksdb::CompactionFilter {
 public:
  explicit UselessEntries(std::function<bool(std::string_view, std::string_view)> useless)
      : useless_(std::move(useless)) {}
  const char* Name() const override { return "strand"; }
  bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string*,
              bool*) const override {
    return useless_(key.ToStringView(), value.ToStringView());
  }

 private:
  std::function<bool(std::string_view, std::string_view)> useless_;
};

/// Wakes a table that waits for files to be merged.
class Merged : public rocksdb::EventListener {
 public:
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    changed_.notify_all();
  }
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    const std::lock_guard lock(mutex_);
    failed_ = *status;
    changed_.notify_all();
  }
  /// Until `enough()`, or an error.
  template <class Enough>
  rocksdb::Status wait(Enough enough) {
    std::unique_lock lock(mutex_);
    while (failed_.ok() && !enough()) changed_.wait_for(lock, std::chrono::milliseconds(20));
    return failed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  rocksdb::Status failed_;
};

/// The first key behind all that begin with `prefix`.
std::string behind(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xFF') end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(end.back() + 1);
  return end;
}

/// An iterator keeps the files that it was made on.
class RocksView : public SpillView {
 public:
  RocksView(std::unique_ptr<rocksdb::Iterator> entries, std::string dir)
      : entries_(std::move(entries)), dir_(std::move(dir)) {}
  Status scan(std::string_view from, std::string_view until, const Visit& f) override {
    const rocksdb::Slice end(until.data(), until.size());
    for (entries_->Seek({from.data(), from.size()}); entries_->Valid(); entries_->Next()) {
      if (!until.empty() && entries_->key().compare(end) >= 0) break;
      STRAND_OK(f(entries_->key().ToStringView(), entries_->value().ToStringView()));
    }
    return entries_->status().ok() ? Status() : rocks_failure(entries_->status(), dir_);
  }

 private:
  std::unique_ptr<rocksdb::Iterator> entries_;
  std::string dir_;
};

class RocksStore : public SpillStore {
 public:
  RocksStore(std::shared_ptr<RocksGround> ground, SpillUse use, std::string name)
      : ground_(std::move(ground)), name_(std::move(name)), merged_(std::make_shared<Merged>()) {
    if (use.useless) useless_ = std::make_unique<UselessEntries>(std::move(use.useless));
    set_options(use.lookups);
  }
  ~RocksStore() override {
    if (db_ == nullptr) return;
    rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true);
    db_.reset();
  }

  Status open() {
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened = rocksdb::DB::Open(options_, ground_->dir + "/" + name_, &db);
    db_.reset(db);
    return told(opened);
  }

  Status put(const Next& next) override {
    std::string_view key;
    std::string_view value;
    if (!next(key, value)) return Status();
    const std::string path = ground_->staging() + "/" + name_ + "-" + std::to_string(++runs_) + ".sst";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    rocksdb::Status status = writer.Open(path);
    do {
      if (status.ok()) status = writer.Put({key.data(), key.size()}, {value.data(), value.size()});
    } while (status.ok() && next(key, value));
    if (status.ok()) status = writer.Finish();
    if (status.ok()) status = db_->IngestExternalFile({path}, ingestion());
    if (!status.ok()) {
      static_cast<void>(ground_->env->DeleteFile(path));
      return told(status);
    }
    return told(merged_->wait([this] { return runs() < kRunsMax; }));
  }

  Status get(std::span<const std::string_view> keys,
             const std::function<void(size_t, std::string_view)>& found) const override {
    std::vector<rocksdb::Slice> wanted(std::min(keys.size(), kLookedUp));
    std::vector<rocksdb::PinnableSlice> values(wanted.size());
    std::vector<rocksdb::Status> answers(wanted.size());
    for (size_t from = 0; from < keys.size(); from += kLookedUp) {
      const size_t n = std::min(kLookedUp, keys.size() - from);
      for (size_t i = 0; i < n; ++i) wanted[i] = {keys[from + i].data(), keys[from + i].size()};
      db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), n, wanted.data(), values.data(),
                    answers.data());
      for (size_t i = 0; i < n; ++i) {
        if (answers[i].ok()) {
          found(from + i, values[i].ToStringView());
        } else if (!answers[i].IsNotFound()) {
          return told(answers[i]);
        }
        values[i].Reset();
      }
    }
    return Status();
  }

  Status scan(std::string_view prefix,
              const std::function<Status(std::string_view, std::string_view)>& f) const override {
    return view()->scan(prefix, behind(prefix), f);
  }

  std::shared_ptr<SpillView> view() const override {
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    return std::make_shared<RocksView>(std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(read)),
                                       ground_->dir);
  }

  Status drop(std::string_view prefix) override {
    const std::string end = behind(prefix);
    const rocksdb::Slice first(prefix.data(), prefix.size());
    const rocksdb::Slice last(end);
    auto* const family = db_->DefaultColumnFamily();
    STRAND_OK(told(rocksdb::DeleteFilesInRange(db_.get(), family, &first, &last, /*include_end=*/false)));
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    return told(db_->DeleteRange(write, family, first, last));
  }

 private:
  void set_options(bool lookups) {
    options_.env = ground_->env.get();
    options_.create_if_missing = true;
    options_.info_log_level = rocksdb::FATAL_LEVEL;
    options_.keep_log_file_num = 1;
    options_.write_buffer_size = size_t{1} << 20;
    options_.max_background_jobs = 2;
    options_.compaction_filter = useless_.get();
    options_.listeners.push_back(merged_);
    // Runs that are looked up come in any order of keys: runs of about one size are merged, so that an entry
    // is written some times and not once for each few runs behind it. Runs that are only scanned lie behind
    // each other: two levels, and no merging.
    if (lookups) options_.compaction_style = rocksdb::kCompactionStyleUniversal;
    options_.num_levels = lookups ? kLevelsOfLookups : 2;
    options_.level0_file_num_compaction_trigger = kRunsMerged;
    options_.level0_slowdown_writes_trigger = 2 * kRunsMax;
    options_.level0_stop_writes_trigger = 2 * kRunsMax;
    options_.max_bytes_for_level_base = uint64_t{1} << 50;
    options_.level_compaction_dynamic_level_bytes = false;
    options_.target_file_size_base = kFileBytes;
    options_.compression = lookups ? rocksdb::kNoCompression : rocksdb::kLZ4Compression;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = ground_->cache;
    table.cache_index_and_filter_blocks = true;
    table.cache_index_and_filter_blocks_with_high_priority = true;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    table.block_size = lookups ? size_t{8} << 10 : size_t{64} << 10;
    table.format_version = 5;
    if (lookups) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBits));
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  }
  static rocksdb::IngestExternalFileOptions ingestion() {
    rocksdb::IngestExternalFileOptions options;
    options.move_files = true;
    options.snapshot_consistency = false;
    options.write_global_seqno = false;
    return options;
  }
  int runs() const {
    std::string number;
    return db_->GetProperty("rocksdb.num-files-at-level0", &number) ? std::stoi(number) : 0;
  }
  Status told(const rocksdb::Status& status) const {
    return status.ok() ? Status() : rocks_failure(status, ground_->dir);
  }

  std::shared_ptr<RocksGround> ground_;
  std::string name_;
  std::shared_ptr<Merged> merged_;
  std::unique_ptr<UselessEntries> useless_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  int64_t runs_ = 0;
};

class RocksSpace : public SpillSpace {
 public:
  RocksSpace(std::shared_ptr<RocksGround> ground, int64_t table_bytes, int64_t cache_bytes)
      : SpillSpace(table_bytes), ground_(std::move(ground)), cache_bytes_(cache_bytes) {}

  Result<std::shared_ptr<SpillStore>> open(SpillUse use) override {
    auto store = std::make_shared<RocksStore>(ground_, std::move(use), std::to_string(++opened_));
    STRAND_OK(store->open());
    return std::shared_ptr<SpillStore>(std::move(store));
  }
  Result<std::unique_ptr<SpillBlocks>> open_blocks() override {
    return make_rocks_blocks(ground_, std::to_string(++opened_));
  }
  SpillDisk disk() const override { return ground_->files->disk(); }
  int64_t memory_bytes() const override { return cache_bytes_; }

 private:
  std::shared_ptr<RocksGround> ground_;
  int64_t cache_bytes_;
  std::atomic<int64_t> opened_{0};
};

/// Names the folder of one attempt: two of them may live in one process while the older one ends.
std::string attempt_folder() {
  static std::atomic<int64_t> attempts{0};
  return "p" + std::to_string(getpid()) + "-" + std::to_string(++attempts);
}

/// Takes away what dead processes have left.
Status remove_left(env::FileSystem& files, const std::string& dir) {
  STRAND_OK(files.make_dirs(dir));
  const std::string own = "p" + std::to_string(getpid()) + "-";
  STRAND_TRY(const auto left, files.list(dir));
  for (const env::FileInfo& each : left) {
    if (each.is_dir && !each.name.starts_with(own)) STRAND_OK(files.remove_all(dir + "/" + each.name));
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<SpillSpace>> make_rocks_space(env::FileSystem& files, const RocksOptions& options) {
  env::give_large_blocks_back();
  env::allow_many_open_files();
  STRAND_OK(remove_left(files, options.dir));
  auto ground = std::make_shared<RocksGround>(files, options.dir + "/" + attempt_folder());
  STRAND_OK(files.make_dirs(ground->staging()));
  const int64_t for_state = std::max(options.memory_limit - kProgramBytes, options.memory_limit / 4);
  const int64_t cache_bytes = for_state / 5;
  ground->files = std::make_shared<RocksFiles>(ground->staging(), options.disk_limit);
  ground->env = rocksdb::NewCompositeEnv(ground->files);
  ground->cache = rocksdb::NewLRUCache(static_cast<size_t>(cache_bytes), kCacheShardBits,
                                       /*strict_capacity_limit=*/false, /*high_pri_pool_ratio=*/0.8);
  const int64_t table_bytes = options.keep_nothing ? 0 : for_state / 2;
  return std::unique_ptr<SpillSpace>(
      std::make_unique<RocksSpace>(std::move(ground), table_bytes, cache_bytes));
}

}  // namespace strand::state
