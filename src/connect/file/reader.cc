#include "connect/file/reader.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "connect/bad_records.h"

namespace strand::connect::file {
namespace {

constexpr Duration kLookAgain{10};
constexpr size_t kVisitsPerPoll = 256;
constexpr size_t kOpenWhileIdleMax = 256;
constexpr size_t kReadableBehind = 64;  // parsers load whole vectors
constexpr size_t kScanBytesPerPoll = 16 << 20;
constexpr size_t kReadMin = 4096;
constexpr size_t kPayloadKept = 120;

std::string position_text(uint64_t offset, bool gone) {
  return "{\"offset\": " + std::to_string(offset) + (gone ? ", \"gone\": true}" : "}");
}

}  // namespace

FileReader::FileReader(const TableContext& table, FileOptions options,
                       std::unique_ptr<codec::RecordDecoder> decoder, Partitions partitions,
                       ReadLimits limits)
    : table_(table.table),
      options_(std::move(options)),
      files_(*table.env.files),
      events_(table.events),
      want_bad_(table.want_bad),
      limits_(limits),
      decoder_(std::move(decoder)),
      partitions_(std::move(partitions)),
      out_(partitions_.any() ? partitions_.in_files() : table.schema, limits.rows),
      memory_(table.memory) {
  resize_buffer(std::min<size_t>(limits_.buffer_bytes, options_.record_bytes_max + 1));
}

void FileReader::resize_buffer(size_t size) {
  buffer_.reset(new char[size + kReadableBehind]());
  buffer_size_ = size;
  memory_.set(static_cast<int64_t>(size));
}

Status FileReader::at_shard(Status status, const Shard& shard) const {
  return std::move(status).at(table_ + "/" + shard.name + " position " + std::to_string(shard.offset));
}

Status FileReader::assign(const ShardState& state) {
  Shard shard;
  shard.name = state.shard;
  shard.records = state.records;
  if (!state.position.empty()) {
    unsigned long long offset = 0;
    if (std::sscanf(state.position.c_str(), "{\"offset\": %llu", &offset) != 1) {
      return Status(ErrorCode::kCheckpointUnreadable,
                    "expected a position like " + position_text(1234, false) + ", found " + state.position)
          .at(table_ + "/" + state.shard);
    }
    shard.offset = offset;
    shard.gone = state.position == position_text(offset, true);
    shard.ended = shard.gone;
  }
  if (!path_is_dir_) {
    const auto root = files_.stat(options_.path);
    if (!root.ok() && root.status().code() != ErrorCode::kFileNotFound) return root.status();
    path_is_dir_ = !root.ok() || root->is_dir;
  }
  shard.path = *path_is_dir_ ? options_.path + "/" + shard.name : options_.path;
  shards_.push_back(std::move(shard));
  return Status();
}

ShardState FileReader::state(size_t index) const {
  const Shard& shard = shards_[index];
  return {shard.name, position_text(shard.offset, shard.gone), shard.records};
}

Result<flow::Polled> FileReader::poll(WallTime now) {
  flow::Polled nothing;
  const size_t visits = std::min(shards_.size(), kVisitsPerPoll);
  for (size_t visited = 0; visited < visits; ++visited) {
    const size_t index = next_;
    next_ = (next_ + 1) % shards_.size();
    Shard& shard = shards_[index];
    if (shard.ended || shard.paused) continue;
    Status status = visit(shard, now);
    if (!status.ok()) return at_shard(std::move(status), shard);
    if (out_.records() > 0) return take(index, now);
    if (!shard.ended) nothing.until = std::min(nothing.until, shard.check_at);
  }
  if (visits < shards_.size()) nothing.until = std::min(nothing.until, now);
  if (std::all_of(shards_.begin(), shards_.end(), [](const Shard& shard) { return shard.ended; })) {
    nothing.kind = flow::Polled::Kind::kEnded;
  }
  return nothing;
}

Result<flow::Polled> FileReader::take(size_t index, WallTime now) {
  Shard& shard = shards_[index];
  flow::Polled polled;
  polled.kind = flow::Polled::Kind::kRows;
  polled.shard = index;
  polled.records = out_.records();
  if (poll_bytes_ > 0) record_bytes_ = static_cast<double>(poll_bytes_) / static_cast<double>(polled.records);
  const std::vector<codec::BadRecord> bad = out_.take_bad();
  STRAND_TRY(polled.batch, partitions_.with_folders(shard.name, out_.take_rows()));
  shard.records += polled.records;
  if (bad.empty()) return polled;
  if (want_bad_) {
    polled.bad = bad_batch(shard.name, bad, now);
  } else if (!options_.ignore_bad) {
    return bad.front().position == too_long_at_
               ? too_long_error(shard, bad.front())
               : bad_record_error(table_, shard.name, options_.format, bad.front());
  }
  return polled;
}

Status FileReader::too_long_error(const Shard& shard, const codec::BadRecord& record) const {
  return Status(ErrorCode::kRecordTooLong, record.reason + "; it begins with " + preview(record.payload))
      .at(table_ + "/" + shard.name + " position " + std::to_string(record.position))
      .hint("is a line end missing? Otherwise raise 'strand.max-record-bytes', or read such records from " +
            table_ + "$bad");
}

/// Reads what one poll may take of the shard into `out_`; afterwards `check_at` says when to come back.
Status FileReader::visit(Shard& shard, WallTime now) {
  poll_bytes_ = 0;
  STRAND_TRY(const bool worth, worth_reading(shard, now));
  if (!worth) return Status();
  shard.check_at = now;
  if (shard.input == nullptr) STRAND_OK(open(shard));
  STRAND_OK(shard.long_record ? skip_long_record(shard) : read_lines(shard));
  if (shard.size_seen) shard.check_at = now + kLookAgain;
  return Status();
}

/// Looks at the file itself, if it may grow: whether it is still there, has not become shorter, and has
/// changed.
Result<bool> FileReader::worth_reading(Shard& shard, WallTime now) {
  const bool waiting =
      now < shard.check_at && shard.check_at <= now + kLookAgain;  // else the clock was set back
  if (waiting) return false;
  if (!growing()) return true;
  auto info = files_.stat(shard.path);
  if (!info.ok() && info.status().code() != ErrorCode::kFileNotFound) return std::move(info).status();
  disk_size_ = info.ok() ? std::optional(info->size) : std::nullopt;
  const uint64_t needed = shard.input ? shard.input->disk_needed(shard.offset) : 0;
  if (disk_size_ && *disk_size_ < needed) {
    return Status(ErrorCode::kShardShrank, "the file has " + std::to_string(*disk_size_) + " bytes, but " +
                                               std::to_string(needed) + " have been read of it")
        .hint("files of a table may only grow: put the old content back, or write new data to a new file");
  }
  if (!disk_size_ && shard.size_seen) {
    STRAND_OK(note_removal(shard, now));
    return false;
  }
  if (disk_size_ && shard.size_seen == disk_size_) {
    shard.check_at = now + kLookAgain;
    return false;
  }
  shard.size_seen.reset();
  return true;
}

/// The file is not there any more, and everything that was in it had been read.
Status FileReader::note_removal(Shard& shard, WallTime now) {
  if (shard.line_begun) {
    return Status(ErrorCode::kShardGone,
                  "the file " + shard.path + " has disappeared before its last line had an end")
        .hint("put it back with a whole last line; or start anew without it (--from none)");
  }
  shard.ended = shard.gone = true;
  close(shard);
  if (events_ == nullptr) return Status();
  obs::Event event{obs::Level::kInfo, 0, "shard_removed", now, {}};
  events_->on_event(std::move(event.with("shard", table_ + "/" + shard.name)));
  return Status();
}

Status FileReader::open(Shard& shard) {
  auto input = open_input(files_, shard.path);
  if (input.ok()) {
    shard.input = *std::move(input);
    return Status();
  }
  if (input.status().code() != ErrorCode::kFileNotFound) return std::move(input).status();
  return Status(ErrorCode::kShardGone,
                "expected the file " + shard.path + ", which has not been read to its end; found none")
      .hint("put it back; or start anew without it (--from none)");
}

/// As many bytes as the rows that are still wanted are likely to have.
size_t FileReader::bytes_wanted() const {
  const double likely = static_cast<double>(out_.rows_left() + 1) * record_bytes_;
  if (likely >= static_cast<double>(buffer_size_)) return buffer_size_;
  return std::max(std::min(buffer_size_, kReadMin), static_cast<size_t>(likely));
}

Status FileReader::read_lines(Shard& shard) {
  while (!out_.full() && poll_bytes_ < limits_.poll_bytes) {
    STRAND_TRY(const Chunk chunk, read_chunk(shard));
    if (chunk == Chunk::kTooLong) return skip_long_record(shard);
    const uint64_t lines_end = shard.offset + whole_;
    if (whole_ > 0) STRAND_OK(decode(shard, {buffer_.get(), whole_}));
    if (shard.offset < lines_end) return Status();
    if (chunk == Chunk::kEnd) return at_end(shard, {buffer_.get() + whole_, filled_ - whole_});
  }
  return Status();
}

/// Reads at the shard's offset until there is a whole line, the end of the file, or a record that is too
/// long.
Result<FileReader::Chunk> FileReader::read_chunk(Shard& shard) {
  size_t wanted = bytes_wanted();
  while (true) {
    STRAND_TRY(filled_, shard.input->read_at(shard.offset, buffer_.get(), wanted));
    const void* newline = filled_ == 0 ? nullptr : memrchr(buffer_.get(), '\n', filled_);
    whole_ =
        newline == nullptr ? 0 : static_cast<size_t>(static_cast<const char*>(newline) - buffer_.get()) + 1;
    if (filled_ < wanted) return Chunk::kEnd;
    if (whole_ > 0) return Chunk::kLines;
    if (wanted > options_.record_bytes_max) break;
    wanted = std::min<size_t>(wanted * 4, options_.record_bytes_max + 1);
    if (wanted > buffer_size_) resize_buffer(wanted);
  }
  shard.long_record = shard.offset + filled_;
  shard.long_record_start.assign(buffer_.get(), std::min(filled_, kPayloadKept));
  return Chunk::kTooLong;
}

Status FileReader::decode(Shard& shard, std::string_view lines) {
  STRAND_TRY(const size_t used, decoder_->decode(lines, shard.offset, out_));
  shard.offset += used;
  poll_bytes_ += used;
  return Status();
}

/// Everything that is there has been decoded but the beginning of a line.
Status FileReader::at_end(Shard& shard, std::string_view line_begun) {
  STRAND_OK(shard.input->check_end(shard.offset, /*complete=*/!growing()));
  shard.line_begun = !line_begun.empty();
  if (growing()) {
    shard.size_seen = disk_size_.value_or(UINT64_MAX);
    if (shards_.size() > kOpenWhileIdleMax) close(shard);
    return Status();
  }
  if (shard.line_begun) {
    if (out_.full()) return Status();
    STRAND_OK(decode(shard, line_begun));
  }
  shard.ended = true;
  close(shard);
  return Status();
}

void FileReader::close(Shard& shard) {
  shard.input.reset();
  const size_t usual = std::min<size_t>(limits_.buffer_bytes, options_.record_bytes_max + 1);
  if (buffer_size_ > usual) resize_buffer(usual);
}

/// Looks for the end of the record that is too long, a bounded number of bytes at a time.
Status FileReader::skip_long_record(Shard& shard) {
  for (size_t scanned = 0; scanned < kScanBytesPerPoll;) {
    STRAND_TRY(const size_t got, shard.input->read_at(*shard.long_record, buffer_.get(), buffer_size_));
    const void* newline = got == 0 ? nullptr : std::memchr(buffer_.get(), '\n', got);
    if (newline != nullptr) {
      const auto in_buffer = static_cast<uint64_t>(static_cast<const char*>(newline) - buffer_.get());
      const uint64_t end = *shard.long_record + in_buffer;
      finish_long_record(shard, end, end + 1);
      return Status();
    }
    *shard.long_record += got;
    scanned += got;
    if (got == buffer_size_) continue;
    if (growing()) return at_end(shard, shard.long_record_start);
    finish_long_record(shard, *shard.long_record, *shard.long_record);
    return at_end(shard, {});
  }
  return Status();
}

void FileReader::finish_long_record(Shard& shard, uint64_t end, uint64_t next) {
  too_long_at_ = shard.offset;
  out_.add_bad(shard.offset, shard.long_record_start,
               "the record has " + std::to_string(end - shard.offset) +
                   " bytes, more than strand.max-record-bytes (" + std::to_string(options_.record_bytes_max) +
                   ")");
  shard.offset = next;
  shard.long_record.reset();
  shard.long_record_start.clear();
}

}  // namespace strand::connect::file
