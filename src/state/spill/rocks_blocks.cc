#include "state/spill/rocks_blocks.h"

#include <utility>

namespace strand::state {

namespace {

constexpr size_t kBlocksFileBytes = size_t{32} << 20;

rocksdb::EnvOptions file_options() {
  rocksdb::EnvOptions options;
  options.use_mmap_writes = false;
  options.use_mmap_reads = false;
  return options;
}

/// One thread writes while any read what it has written before.
class BlocksFile {
 public:
  BlocksFile(std::shared_ptr<RocksGround> ground, std::string path)
      : ground_(std::move(ground)), path_(std::move(path)) {}
  ~BlocksFile() {
    writer_.reset();
    reader_.reset();
    static_cast<void>(ground_->env->DeleteFile(path_));
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
    return Status();
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
  std::unique_ptr<rocksdb::WritableFile> writer_;
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
  RocksBlocks(std::shared_ptr<RocksGround> ground, std::string name)
      : ground_(std::move(ground)), name_(std::move(name)) {}

  Result<std::shared_ptr<const SpillBlock>> put(std::string_view bytes) override {
    if (file_ == nullptr || file_->size() >= kBlocksFileBytes) STRAND_OK(next_file());
    const uint64_t from = file_->size();
    const Status written = file_->append(bytes);
    if (!written.ok()) {
      file_.reset();  // how far it was written is unknown
      return written;
    }
    return std::shared_ptr<const SpillBlock>(std::make_shared<RocksBlock>(file_, from));
  }

 private:
  Status next_file() {
    file_.reset();
    auto file = std::make_shared<BlocksFile>(
        ground_, ground_->dir + "/" + name_ + "-" + std::to_string(++files_) + ".log");
    STRAND_OK(file->open());
    file_ = std::move(file);
    return Status();
  }

  std::shared_ptr<RocksGround> ground_;
  const std::string name_;
  std::shared_ptr<BlocksFile> file_;  // that is being written, or null
  int64_t files_ = 0;
};

}  // namespace

Result<std::unique_ptr<SpillBlocks>> make_rocks_blocks(std::shared_ptr<RocksGround> ground,
                                                       std::string name) {
  return std::unique_ptr<SpillBlocks>(std::make_unique<RocksBlocks>(std::move(ground), std::move(name)));
}

}  // namespace strand::state
