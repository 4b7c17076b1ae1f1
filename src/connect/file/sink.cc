#include "connect/file/sink.h"

#include <mutex>

#include "base/bytes.h"
#include "base/hash.h"

namespace strand::connect::file {
namespace {

constexpr const char* kSection = "epochs";
constexpr int32_t kSectionVersion = 1;
constexpr const char* kPartitionsSection = "epochs of partitions";
constexpr const char* kCommitsSection = "partitions to mark";

}  // namespace

/// What the task and the lane both see. The folder is the lane's alone.
struct FileSink::Shared {
  explicit Shared(SinkFolder sink_folder) : folder(std::move(sink_folder)) {}
  SinkFolder folder;
  std::mutex mutex;
  bool started = false;
  int in_flight = 0;
  Epoch done{0};
  int64_t rows_done = 0;
  Status error;
};

std::string encode_sealed(const std::vector<SealedEpoch>& sealed) {
  ByteWriter out;
  out.put(static_cast<uint32_t>(sealed.size()));
  for (const SealedEpoch& epoch : sealed) {
    out.put(epoch.subtask);
    out.put(epoch.generation.value);
    out.put(epoch.epoch.value);
    out.put(epoch.rows);
    out.put(static_cast<uint64_t>(epoch.bytes->size()));
    out.put_raw(epoch.bytes->data(), epoch.bytes->size());
  }
  return out.take();
}

/// The partition of each of them, in front of encode_sealed.
std::string encode_partitions(const std::vector<SealedEpoch>& sealed) {
  ByteWriter out;
  out.put(static_cast<uint32_t>(sealed.size()));
  for (const SealedEpoch& epoch : sealed) out.put_string(epoch.partition);
  return out.take();
}

/// Takes them off the front of `bytes`.
Result<std::vector<std::string>> decode_partitions(std::string_view& bytes) {
  ByteReader in(bytes);
  STRAND_TRY(const uint32_t count, in.get<uint32_t>());
  std::vector<std::string> names;
  size_t used = sizeof(count);
  for (uint32_t i = 0; i < count; ++i) {
    STRAND_TRY(const std::string_view name, in.get_string());
    names.emplace_back(name);
    used += sizeof(uint32_t) + name.size();
  }
  bytes.remove_prefix(used);
  return names;
}

Result<std::vector<SealedEpoch>> decode_sealed(std::string_view bytes) {
  ByteReader in(bytes);
  STRAND_TRY(const uint32_t count, in.get<uint32_t>());
  std::vector<SealedEpoch> sealed;
  for (uint32_t i = 0; i < count; ++i) {
    SealedEpoch epoch;
    STRAND_TRY(epoch.subtask, in.get<int32_t>());
    STRAND_TRY(epoch.generation.value, in.get<int64_t>());
    STRAND_TRY(epoch.epoch.value, in.get<int64_t>());
    STRAND_TRY(epoch.rows, in.get<int64_t>());
    STRAND_TRY(const uint64_t size, in.get<uint64_t>());
    STRAND_TRY(const std::string_view rows, in.get_raw(size));
    epoch.bytes = std::make_shared<const std::string>(rows);
    sealed.push_back(std::move(epoch));
  }
  return sealed;
}

FileSink::FileSink(const TableContext& table, FileOptions options,
                   std::unique_ptr<codec::RecordEncoder> encoder, Partitions partitions, CommitRules rules)
    : table_(table.table),
      writer_(table.writer),
      options_(std::move(options)),
      env_(table.env),
      encoder_(std::move(encoder)),
      memory_(table.memory),
      partitions_(std::move(partitions)),
      commits_(std::move(rules)) {}

SinkFolder FileSink::folder_of(const flow::SinkStart& start) const {
  FolderOwner owner{start.job, table_, writer_, start.generation, start.attempt};
  return SinkFolder(*env_.files, options_.path, options_.format, std::move(owner));
}

Status FileSink::check(const flow::SinkStart& start) { return folder_of(start).check(start.restored); }

Status FileSink::start(const flow::SinkStart& start) {
  subtask_ = start.subtask;
  generation_ = start.generation;
  lane_ = hash64(options_.path, hash64(start.job));
  shared_ = std::make_shared<Shared>(folder_of(start));
  std::vector<SealedEpoch> sealed;
  for (const state::Section& section : start.state) {
    STRAND_OK(restore(section, sealed));
  }
  for (const SealedEpoch& epoch : sealed) {
    if (!epoch.partition.empty()) commits_.add(epoch.partition, env_.clock->now());
  }
  env_.executor->submit(
      lane_, [shared = shared_, restored = start.restored, sealed = std::move(sealed), wake = waker_] {
        Status status = shared->folder.recover(restored, sealed);
        {
          const std::lock_guard guard(shared->mutex);
          shared->started = status.ok();
          shared->error = std::move(status);
        }
        wake();
      });
  return Status();
}

Status FileSink::write(const flow::Batch& rows, flow::WriteTag) {
  bool only_inserts = true;
  if (rows.kinds()) {
    rows.for_each_row([&](int64_t row) { only_inserts &= rows.kind(row) == columnar::RowKind::kInsert; });
  }
  if (!only_inserts) {
    return Status(ErrorCode::kSinkSchema, "table " + table_ +
                                              " takes rows that are added, found one that changes or "
                                              "takes back another")
        .hint("files cannot be changed: write such rows to a table with a primary key");
  }
  for (const auto& [partition, part] : partitions_.split(rows)) {
    if (!open_.contains(partition)) STRAND_OK(commits_.check(partition));
    Open& open = open_[partition];
    STRAND_OK(encoder_->encode(part, open.bytes));
    open.rows += part.rows();
  }
  open_rows_ += rows.rows();
  rows_in_ += rows.rows();
  memory_.set(held_bytes());
  return Status();
}

int64_t FileSink::held_bytes() const {
  size_t bytes = 0;
  for (const auto& [partition, open] : open_) bytes += open.bytes.capacity();
  for (const SealedEpoch& epoch : sealed_) bytes += epoch.bytes->capacity();
  return static_cast<int64_t>(bytes);
}

Result<bool> FileSink::busy() {
  forget_committed();
  const std::lock_guard guard(shared_->mutex);
  STRAND_OK(shared_->error);
  return !shared_->started;
}

Result<bool> FileSink::drained() {
  STRAND_TRY(const bool not_started, busy());
  return !not_started;
}

void FileSink::forget_committed() {
  Epoch done;
  {
    const std::lock_guard guard(shared_->mutex);
    done = shared_->done;
  }
  commits_.told(done);
  if (sealed_.empty() || sealed_.front().epoch > done) return;
  while (!sealed_.empty() && sealed_.front().epoch <= done) sealed_.pop_front();
  memory_.set(held_bytes());
}

Status FileSink::snapshot(Epoch epoch, state::SnapshotBuilder& out) {
  forget_committed();
  for (auto& [partition, open] : open_) {
    open.bytes.shrink_to_fit();
    sealed_.push_back({subtask_, generation_, epoch, open.rows,
                       std::make_shared<const std::string>(std::move(open.bytes)), partition});
  }
  open_.clear();
  open_rows_ = 0;
  memory_.set(held_bytes());
  commits_.barrier(epoch);
  if (std::string marks = commits_.encode(); !marks.empty())
    out.add(kCommitsSection, kSectionVersion, std::move(marks));
  if (sealed_.empty()) return Status();
  std::vector<SealedEpoch> sealed(sealed_.begin(), sealed_.end());
  out.add_deferred(partitions_.any() ? kPartitionsSection : kSection, kSectionVersion,
                   [sealed = std::move(sealed), named = partitions_.any()]() -> Result<std::string> {
                     return (named ? encode_partitions(sealed) : std::string()) + encode_sealed(sealed);
                   });
  return Status();
}

Status FileSink::restore(const state::Section& section, std::vector<SealedEpoch>& sealed) {
  if (section.ref.name == kCommitsSection) return commits_.restore(section.bytes());
  std::string_view bytes = section.bytes();
  std::vector<std::string> names;
  if (section.ref.name == kPartitionsSection) {
    STRAND_TRY(names, decode_partitions(bytes));
  } else if (section.ref.name != kSection) {
    return Status();
  }
  STRAND_TRY(std::vector<SealedEpoch> part, decode_sealed(bytes));
  for (size_t i = 0; i < std::min(names.size(), part.size()); ++i) part[i].partition = std::move(names[i]);
  sealed.insert(sealed.end(), part.begin(), part.end());
  return Status();
}

Status FileSink::committed(Epoch epoch) {
  std::vector<SealedEpoch> due;
  for (const SealedEpoch& sealed : sealed_) {
    if (sealed.epoch <= submitted_ || sealed.epoch > epoch) continue;
    if (!sealed.partition.empty()) commits_.add(sealed.partition, env_.clock->now());
    due.push_back(sealed);
  }
  std::vector<std::string> complete;
  if (commits_.active()) complete = commits_.take_due(epoch, env_.clock->now());
  if (!due.empty() || !complete.empty()) submit(epoch, std::move(due), std::move(complete));
  return Status();
}

/// Commits the rows, then marks what is complete with them.
void FileSink::submit(Epoch epoch, std::vector<SealedEpoch> sealed, std::vector<std::string> complete) {
  submitted_ = std::max(submitted_, epoch);
  {
    const std::lock_guard guard(shared_->mutex);
    ++shared_->in_flight;
  }
  env_.executor->submit(lane_,
                        [shared = shared_, epoch, sealed = std::move(sealed), complete = std::move(complete),
                         name = commits_.success_file(), wake = waker_] {
                          {
                            const std::lock_guard guard(shared->mutex);
                            if (!shared->error.ok()) return;  // never commit behind a gap
                          }
                          Status status = shared->folder.commit(sealed);
                          if (status.ok()) status = shared->folder.mark(complete, name);
                          {
                            const std::lock_guard guard(shared->mutex);
                            --shared->in_flight;
                            if (status.ok()) {
                              shared->done = std::max(shared->done, epoch);
                              for (const SealedEpoch& part : sealed) shared->rows_done += part.rows;
                            } else {
                              shared->error = std::move(status);
                            }
                          }
                          wake();
                        });
}

Result<bool> FileSink::close() {
  STRAND_TRY(const bool not_started, busy());
  if (not_started) return false;
  if (open_rows_ > 0) {
    return Status(ErrorCode::kInternal, "table " + table_ + " is closed with " + std::to_string(open_rows_) +
                                            " rows that are in no checkpoint");
  }
  // The last checkpoint is complete, even if the notice was lost.
  if (!sealed_.empty()) STRAND_OK(committed(sealed_.back().epoch));
  if (commits_.ended() && !std::exchange(told_end_, true))
    submit(submitted_, {}, commits_.take_due(submitted_, env_.clock->now()));
  const std::lock_guard guard(shared_->mutex);
  STRAND_OK(shared_->error);
  return shared_->in_flight == 0;
}

flow::SinkCounts FileSink::counts() const {
  flow::SinkCounts counts;
  counts.rows_in = rows_in_;
  if (shared_ != nullptr) {
    const std::lock_guard guard(shared_->mutex);
    counts.written = shared_->rows_done;
  }
  counts.pending = rows_in_ - counts.written;
  return counts;
}

}  // namespace strand::connect::file
