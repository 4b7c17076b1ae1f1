#include "connect/file/input.h"

#include <algorithm>
#include <cstring>

#include "connect/file/unpack.h"

namespace strand::connect::file {
namespace {

Status shrank(uint64_t end, uint64_t position) {
  return Status(ErrorCode::kShardShrank, "the file ends at " + std::to_string(end) +
                                             ", but it has been read to " + std::to_string(position) +
                                             " before");
}

/// A file that is not packed.
class PlainInput : public Input {
 public:
  explicit PlainInput(std::unique_ptr<env::ReadFile> file) : file_(std::move(file)) {}
  Result<size_t> read_at(uint64_t offset, char* into, size_t size) override {
    return file_->read_at(offset, into, size);
  }
  uint64_t disk_needed(uint64_t position) const override { return position; }
  Status check_end(uint64_t position, bool) const override {
    STRAND_TRY(const uint64_t size, file_->size());
    return size < position ? shrank(size, position) : Status();
  }

 private:
  std::unique_ptr<env::ReadFile> file_;
};

/// A packed file: unpacks forward, and keeps the bytes unpacked last, so that a reader can ask again for the
/// beginning of a line whose end was not there yet.
class PackedInput : public Input {
 public:
  PackedInput(std::unique_ptr<env::ReadFile> file, Packing packing)
      : file_(std::move(file)), packing_(packing) {
    restart();
  }

  Result<size_t> read_at(uint64_t offset, char* into, size_t size) override {
    if (offset < window_start_) restart();
    STRAND_OK(unpack_to(offset + size, offset));
    const uint64_t end = window_start_ + window_.size();
    if (offset >= end) return size_t{0};
    const size_t got = std::min<size_t>(size, end - offset);
    std::memcpy(into, window_.data() + (offset - window_start_), got);
    return got;
  }
  uint64_t disk_needed(uint64_t) const override { return packed_offset_; }
  Status check_end(uint64_t position, bool complete) const override {
    const uint64_t end = window_start_ + window_.size();
    if (end < position) return shrank(end, position);
    if (!complete || unpacker_->between_members()) return Status();
    return Status(ErrorCode::kCorruptInput,
                  "the packed data stop in the middle, behind " + std::to_string(end) + " unpacked bytes");
  }

 private:
  static constexpr size_t kPackedBytes = 128 << 10;
  static constexpr size_t kStepBytes = 256 << 10;
  static constexpr size_t kKeptBytes = 1 << 20;

  void restart() {
    unpacker_ = make_unpacker(packing_);
    packed_.clear();
    packed_offset_ = 0;
    held_back_ = false;
    window_.clear();
    window_start_ = 0;
  }

  /// Unpacks until `end` is in the window or the file has no more; bytes before `wanted` may leave the
  /// window.
  Status unpack_to(uint64_t end, uint64_t wanted) {
    while (window_start_ + window_.size() < end) {
      if (packed_.empty() && !held_back_) {
        STRAND_OK(read_packed());
        if (packed_.empty()) return Status();
      }
      drop_before(wanted);
      const size_t before = window_.size();
      window_.resize(before + kStepBytes);
      size_t made = 0;
      size_t used = 0;
      const Status unpacked = unpacker_->unpack(packed_, window_.data() + before, kStepBytes, used, made);
      window_.resize(before + made);
      packed_.erase(0, used);
      held_back_ = made == kStepBytes;
      STRAND_OK(unpacked);
    }
    return Status();
  }

  Status read_packed() {
    packed_.resize(kPackedBytes);
    auto got = file_->read_at(packed_offset_, packed_.data(), packed_.size());
    packed_.resize(got.ok() ? *got : 0);
    if (!got.ok()) return std::move(got).status();
    packed_offset_ += packed_.size();
    return Status();
  }

  void drop_before(uint64_t wanted) {
    if (window_.size() <= kKeptBytes || wanted <= window_start_) return;
    const size_t droppable = std::min<size_t>(window_.size(), wanted - window_start_);
    const size_t dropped = std::min(droppable, window_.size() - kKeptBytes / 2);
    window_.erase(0, dropped);
    window_start_ += dropped;
  }

  std::unique_ptr<env::ReadFile> file_;
  Packing packing_;
  std::unique_ptr<Unpacker> unpacker_;
  std::string packed_;          // read, not unpacked yet
  uint64_t packed_offset_ = 0;  // behind `packed_`
  bool held_back_ = false;      // the unpacker may have more, though it has taken all of `packed_`
  std::string window_;
  uint64_t window_start_ = 0;
};

}  // namespace

Result<std::unique_ptr<Input>> open_input(env::FileSystem& files, const std::string& path) {
  STRAND_TRY(auto file, files.open_read(path));
  if (path.ends_with(".gz")) return std::unique_ptr<Input>(new PackedInput(std::move(file), Packing::kGzip));
  if (path.ends_with(".zst")) return std::unique_ptr<Input>(new PackedInput(std::move(file), Packing::kZstd));
  return std::unique_ptr<Input>(new PlainInput(std::move(file)));
}

}  // namespace strand::connect::file
