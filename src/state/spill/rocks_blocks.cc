#include "state/spill/rocks_blocks.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace strand::state {

namespace {

/// Of all bytes of a log, at least that part is in one file: so a log of a terabyte has about two hundred,
/// and what a file keeps on the disk because of its last block is little beside the rest.
constexpr int64_t kFilesOfALog = 16;
using Bytes = std::shared_ptr<std::atomic<int64_t>>;

rocksdb::EnvOptions file_options() {
  rocksdb::EnvOptions options;
  options.use_mmap_writes = false;
  options.use_mmap_reads = false;
  return options;
}

/// One thread writes while any read what it has written before.
class BlocksFile {
 public:
  /// `all` counts the bytes of all files of the log.
  BlocksFile(std::shared_ptr<RocksGround> ground, std::string path, Bytes all)
      : ground_(std::move(ground)), path_(std::move(path)), all_(std::move(all)) {}
  ~BlocksFile() {
    writer_.reset();
    reader_.reset();
    static_cast<void>(ground_->env->DeleteFile(path_));
    *all_ -= static_cast<int64_t>(size_);
  }
  BlocksFile(const BlocksFile&) = delete;
  BlocksFile& operator=(const BlocksFile&) = delete;

  Status open() {
    rocksdb::Status status = ground_->env->NewWritableFile(path_, &writer_, file_options());
    if (status.ok()) status = ground_->env->NewRandomAccessFile(path_, &reader_, file_options());
    return told(status);
  }
  Status append(std::string_view bytes) {
    STRAND_OK(told(writer_->Append({bytes.data(), bytes.size()})));
    size_ += bytes.size();
    *all_ += static_cast<int64_t>(bytes.size());
    return Status();
  }
  /// No more is written.
  Status close() {
    const Status closed = told(writer_->Close());
    writer_.reset();
    return closed;
  }
  Status read(uint64_t from, size_t size, char* into) const {
    rocksdb::Slice found;
    STRAND_OK(told(reader_->Read(from, size, &found, into)));
    if (found.size() == size) return Status();
    return told(rocksdb::Status::IOError(path_ + ": expected " + std::to_string(size) + " bytes at " +
                                         std::to_string(from) + ", found " + std::to_string(found.size())));
  }
  uint64_t size() const { return size_; }

 private:
  Status told(const rocksdb::Status& status) const {
    return status.ok() ? Status() : rocks_failure(status, ground_->dir);
  }

  std::shared_ptr<RocksGround> ground_;
  const std::string path_;
  const Bytes all_;
  std::unique_ptr<rocksdb::WritableFile> writer_;  // until it is full
  std::unique_ptr<rocksdb::RandomAccessFile> reader_;
  uint64_t size_ = 0;
};

class RocksBlock : public SpillBlock {
 public:
  RocksBlock(std::shared_ptr<const BlocksFile> file, uint64_t from) : file_(std::move(file)), from_(from) {}
  Status read(size_t from, size_t size, char* into) const override {
    return file_->read(from_ + from, size, into);
  }

 private:
  std::shared_ptr<const BlocksFile> file_;
  const uint64_t from_;
};

class RocksBlocks : public SpillBlocks {
 public:
  RocksBlocks(std::shared_ptr<RocksGround> ground, std::string name, int64_t file_bytes)
      : ground_(std::move(ground)), name_(std::move(name)), file_bytes_(file_bytes) {}

  Result<std::shared_ptr<const SpillBlock>> put(std::string_view bytes) override {
    if (file_ == nullptr) STRAND_OK(next_file());
    const std::shared_ptr<BlocksFile> file = file_;
    const uint64_t from = file->size();
    Status written = file->append(bytes);
    const bool full = static_cast<int64_t>(file->size()) >= std::max(file_bytes_, *all_ / kFilesOfALog);
    if (written.ok() && full) written = file->close();
    if (full || !written.ok()) file_.reset();  // after an error: how far it was written is unknown
    STRAND_OK(std::move(written));
    return std::shared_ptr<const SpillBlock>(std::make_shared<RocksBlock>(file, from));
  }

 private:
  Status next_file() {
    auto file = std::make_shared<BlocksFile>(
        ground_, ground_->dir + "/" + name_ + "-" + std::to_string(++files_) + ".log", all_);
    STRAND_OK(file->open());
    file_ = std::move(file);
    return Status();
  }

  std::shared_ptr<RocksGround> ground_;
  const std::string name_;
  const int64_t file_bytes_;
  const Bytes all_ = std::make_shared<std::atomic<int64_t>>(0);
  std::shared_ptr<BlocksFile> file_;  // that is being written, or null
  int64_t files_ = 0;
};

}  // namespace

Result<std::unique_ptr<SpillBlocks>> make_rocks_blocks(std::shared_ptr<RocksGround> ground, std::string name,
                                                       int64_t file_bytes) {
  return std::unique_ptr<SpillBlocks>(
      std::make_unique<RocksBlocks>(std::move(ground), std::move(name), file_bytes));
}

}  // namespace strand::state
