#include "state/row_log.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "base/check.h"
#include "env/pages.h"

namespace strand::state {

namespace {

constexpr size_t kChunkBytesMin = size_t{4} << 10;
constexpr size_t kChunkBytesMax = size_t{1} << 20;
constexpr size_t kRecordHead = 8;      // number, kind and length of the body
constexpr size_t kRowRecordHead = 16;  // and the hash
constexpr uint32_t kKindShift = 30;
constexpr uint32_t kLengthMask = (uint32_t{1} << kKindShift) - 1;

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
char* store(char* at, const void* bytes, size_t size) {
  if (size > 0) std::memcpy(at, bytes, size);
  return at + size;
}
char* store_start(char* at, uint32_t id, RowLog::Kind kind, size_t body) {
  STRAND_CHECK(body <= kLengthMask);
  const uint32_t mark = static_cast<uint32_t>(kind) << kKindShift | static_cast<uint32_t>(body);
  return store(store(at, &id, sizeof id), &mark, sizeof mark);
}

/// Some bytes of a chunk.
struct ChunkPart {
  std::shared_ptr<const ChunkBytes> chunk;
  size_t from;
  size_t size;
};

/// What a section holds: memory of chunks, what was read of others, and a header of its own.
struct SectionMemory {
  std::string header;
  std::vector<std::shared_ptr<const char>> chunks = {};
  std::deque<std::string> read = {};
};

Result<SectionBytes> section_of(std::string header, const std::vector<ChunkPart>& parts) {
  auto memory = std::make_shared<SectionMemory>(SectionMemory{std::move(header)});
  std::vector<std::string_view> pieces = {memory->header};
  for (const ChunkPart& part : parts) {
    if (auto there = part.chunk->memory()) {
      pieces.emplace_back(there.get() + part.from, part.size);
      memory->chunks.push_back(std::move(there));
    } else {
      std::string& bytes = memory->read.emplace_back(part.size, '\0');
      STRAND_OK(part.chunk->read(part.from, part.size, bytes.data()));
      pieces.emplace_back(bytes);
    }
  }
  return SectionBytes(std::move(pieces), memory);
}

/// Names of sections that are logs.
constexpr std::string_view kLogs[] = {"left", "right", "groups", "values", "ranked", "kept", "versions"};

}  // namespace

bool RowLog::is_section(const SectionRef& ref) {
  return ref.version >= kVersionsFrom && std::ranges::find(kLogs, ref.name) != std::end(kLogs);
}

Status RowLog::spill_to(SpillSpace& space) {
  STRAND_CHECK(end_ == 0);
  STRAND_TRY(auto blocks, space.open_blocks());
  cold_ = std::make_unique<ColdRecords>(space, std::move(blocks));
  return Status();
}

// ---- chunks

/// Small where the log has little room, so that its end is not all that is in memory.
size_t RowLog::chunk_most() const {
  if (cold_ == nullptr) return kChunkBytesMax;
  return std::clamp(static_cast<size_t>(cold_->space().share() / 16), kChunkBytesMin, kChunkBytesMax);
}

char* RowLog::new_chunk(size_t bytes) {
  char* const memory = env::allocate_pages(bytes);
  const auto give_back = [bytes](const char* pages) { env::free_pages(const_cast<char*>(pages), bytes); };
  chunks_.push_back(
      {end_, 0, bytes, memory, std::make_shared<ChunkBytes>(std::shared_ptr<const char>(memory, give_back))});
  memory_bytes_ += static_cast<int64_t>(bytes);
  return memory;
}

char* RowLog::room(size_t size) {
  if (size > free_bytes_) {
    chunk_bytes_ = std::clamp(2 * chunk_bytes_, kChunkBytesMin, chunk_most());
    free_bytes_ = (std::max(size, chunk_bytes_) + kChunkBytesMin - 1) / kChunkBytesMin * kChunkBytesMin;
    free_ = new_chunk(free_bytes_);
  }
  char* const at = free_;
  free_ += size;
  free_bytes_ -= size;
  chunks_.back().used += size;
  end_ += size;
  return at;
}

void RowLog::seal() {
  free_ = nullptr;
  free_bytes_ = 0;
  chunk_bytes_ = 0;
}

bool RowLog::crowded(int64_t beside) {
  if (cold_ == nullptr || cold_chunks_ == chunks_.size()) return false;
  cold_->set_beside(beside);
  const bool is_last = cold_chunks_ + 1 == chunks_.size();
  if (!is_last) return memory_bytes_ > cold_->end_most();
  return cold_->end_most() == 0 && chunks_.back().from + chunks_.back().used > begin_;
}

int64_t RowLog::memory_bytes() const {
  return memory_bytes_ + static_cast<int64_t>(front_.capacity()) + (cold_ == nullptr ? 0 : cold_->bytes());
}

// ---- records

RowLog::At RowLog::row(uint32_t id, uint64_t hash, const void* head, std::string_view body) {
  const size_t size = kRowRecordHead + head_bytes_ + body.size();
  char* const at = room(size);
  char* to = store_start(at, id, Kind::kRow, body.size());
  to = store(to, &hash, sizeof hash);
  to = store(to, head, head_bytes_);
  store(to, body.data(), body.size());
  live_ += size;
  return At(at);
}

void RowLog::head(uint32_t id, const void* head) {
  char* const to = store_start(room(kRecordHead + head_bytes_), id, Kind::kHead, 0);
  store(to, head, head_bytes_);
}

void RowLog::end_of(uint32_t id) { store_start(room(kRecordHead), id, Kind::kEnd, 0); }

size_t RowLog::record_size(const char* bytes) const { return record_of(bytes, At()).size; }

uint64_t RowLog::hash_at(At at) const { return load<uint64_t>(bytes_at(at) + kRecordHead); }

std::string_view RowLog::body_at(At at) const {
  const char* const bytes = bytes_at(at);
  return {bytes + kRowRecordHead + head_bytes_, load<uint32_t>(bytes + sizeof(uint32_t)) & kLengthMask};
}

RowLog::Record RowLog::record_of(const char* bytes, At at) const {
  const auto mark = load<uint32_t>(bytes + sizeof(uint32_t));
  Record record{static_cast<Kind>(mark >> kKindShift), load<uint32_t>(bytes), 0, {}, {}, at, kRecordHead};
  if (record.kind == Kind::kEnd) return record;
  if (record.kind == Kind::kRow) {
    record.hash = load<uint64_t>(bytes + kRecordHead);
    record.body = {bytes + kRowRecordHead + head_bytes_, mark & kLengthMask};
    record.size = kRowRecordHead;
  }
  record.head = {bytes + record.size, head_bytes_};
  record.size += head_bytes_ + record.body.size();
  return record;
}

const char* RowLog::read_cold(uint64_t place) const {
  STRAND_CHECK(cold_ != nullptr);
  if (const char* const known = cold_->find(place)) return known;
  const auto cold_end = chunks_.begin() + static_cast<std::ptrdiff_t>(cold_chunks_);
  const auto behind = std::ranges::upper_bound(chunks_.begin(), cold_end, place, {}, &Chunk::from);
  STRAND_CHECK(behind != chunks_.begin());
  const Chunk& chunk = *(behind - 1);
  return cold_->read(place, *chunk.home, place - chunk.from, chunk.used,
                     [&](const char* head) { return record_size(head); });
}

Result<RowLog::Record> RowLog::parse(std::string_view bytes) const {
  const auto damaged = [] {
    return Status(ErrorCode::kCheckpointUnreadable, "expected more bytes, found the end of the data");
  };
  if (bytes.size() < kRecordHead) return damaged();
  const auto mark = load<uint32_t>(bytes.data() + sizeof(uint32_t));
  const auto kind = static_cast<Kind>(mark >> kKindShift);
  if (kind > Kind::kEnd || (kind == Kind::kRow && bytes.size() < kRowRecordHead)) return damaged();
  const Record record = record_of(bytes.data(), At(bytes.data()));
  if (record.size > bytes.size()) return damaged();
  return record;
}

Status RowLog::read_front() {
  const Chunk& chunk = chunks_.front();
  front_.resize(chunk.used);
  STRAND_OK(chunk.home->read(0, chunk.used, front_.data()));
  front_from_ = chunk.from;
  return Status();
}

RowLog::Record RowLog::oldest() const {
  const Chunk& chunk = chunks_.front();
  const size_t from = begin_ - chunk.from;
  if (chunk.memory == nullptr) return record_of(front_.data() + from, At::cold(begin_));
  return record_of(chunk.memory + from, At(chunk.memory + from));
}

void RowLog::drop_oldest(size_t size) {
  begin_ += size;
  while (!chunks_.empty() && chunks_.front().from + chunks_.front().used <= begin_) {
    if (chunks_.size() == 1 && free_bytes_ > 0) return;
    if (cold_chunks_ > 0) {
      --cold_chunks_;
    } else {
      memory_bytes_ -= static_cast<int64_t>(chunks_.front().bytes);
    }
    chunks_.pop_front();
  }
}

// ---- snapshots

uint64_t RowLog::section_most() const {
  return cold_ == nullptr ? kMergedMax : cold_->space().section_bytes();
}

/// Where sections of these records end: with a chunk.
std::vector<uint64_t> RowLog::section_ends(uint64_t from, uint64_t until) const {
  std::vector<uint64_t> ends;
  for (const Chunk& chunk : chunks_) {
    const uint64_t last = chunk.from + chunk.used;
    if (cold_ == nullptr || last >= until || last <= from) continue;
    if (last - (ends.empty() ? from : ends.back()) >= section_most()) ends.push_back(last);
  }
  if (from < until) ends.push_back(until);
  return ends;
}

void RowLog::add_section(SnapshotBuilder& out, uint64_t from, uint64_t until) const {
  ByteWriter header;
  header.put(from);
  header.put(static_cast<uint32_t>(head_bytes_));
  std::vector<ChunkPart> parts;
  for (const Chunk& chunk : chunks_) {
    const uint64_t first = std::max(from, chunk.from);
    const uint64_t last = std::min(until, chunk.from + chunk.used);
    if (first < last) parts.push_back({chunk.home, first - chunk.from, last - first});
  }
  out.add_own_file(name_, version_,
                   [header = header.take(), parts = std::move(parts)] { return section_of(header, parts); });
}

/// Where there are too many sections: the neighbours with the fewest bytes, as many of them as fit.
void RowLog::choose_merge() {
  attempt_.merged = 0;
  if (durable_.size() <= kSectionsMax + 2 * (end_ - begin_) / section_most()) return;
  for (size_t n = kSectionsMax / 2; n >= 2 && attempt_.merged == 0; n /= 2) {
    uint64_t fewest = section_most() + 1;
    for (size_t i = 0; i + n <= durable_.size(); ++i) {
      const uint64_t bytes = durable_[i + n - 1].until - durable_[i].from;
      if (bytes >= fewest) continue;
      fewest = bytes;
      attempt_.merged_from = i;
      attempt_.merged = n;
    }
  }
}

void RowLog::snapshot(SnapshotBuilder& out) {
  std::erase_if(durable_, [&](const Durable& d) { return d.until <= begin_; });
  const uint64_t written = durable_.empty() ? begin_ : durable_.back().until;
  const uint64_t from = std::max(begin_, written);
  attempt_ = {out.epoch(), from, section_ends(from, end_), 0, 0};
  choose_merge();
  for (size_t i = 0; i < durable_.size(); ++i) {
    if (i - attempt_.merged_from >= attempt_.merged) out.add_existing(durable_[i].ref);
  }
  if (attempt_.merged > 0) {
    add_section(out, std::max(begin_, durable_[attempt_.merged_from].from),
                durable_[attempt_.merged_from + attempt_.merged - 1].until);
  }
  for (size_t i = 0; i < attempt_.ends.size(); ++i)
    add_section(out, i == 0 ? from : attempt_.ends[i - 1], attempt_.ends[i]);
}

void RowLog::written(Epoch epoch, const std::vector<SectionRef>& refs) {
  if (epoch != attempt_.epoch) return;
  const std::string prefix = "e" + std::to_string(epoch.value) + "-";
  std::vector<SectionRef> added;
  for (const SectionRef& ref : refs) {
    if (ref.name == name_ && ref.file.starts_with(prefix)) added.push_back(ref);
  }
  const size_t merged = attempt_.merged > 0 ? 1 : 0;
  STRAND_CHECK(added.size() == merged + attempt_.ends.size());
  if (attempt_.merged > 0) {
    const auto first = durable_.begin() + static_cast<std::ptrdiff_t>(attempt_.merged_from);
    const auto last = first + static_cast<std::ptrdiff_t>(attempt_.merged);
    *first = {added.front(), first->from, (last - 1)->until};
    durable_.erase(first + 1, last);
  }
  for (size_t i = 0; i < attempt_.ends.size(); ++i) {
    durable_.push_back({added[merged + i], i == 0 ? attempt_.from : attempt_.ends[i - 1], attempt_.ends[i]});
  }
  attempt_ = {};
}

Result<std::vector<RowLog::Saved>> RowLog::logs_in(const std::vector<Section>& sections) const {
  std::map<int32_t, Saved> logs;  // by the first group of the subtask that wrote it
  for (const Section& section : sections) {
    if (section.ref.name != name_) continue;
    STRAND_OK(check_version(section.ref, version_));
    if (section.ref.version < version_) {
      return Status(ErrorCode::kStateMismatch, section.ref.file + ": expected version " +
                                                   std::to_string(version_) + " of section '" + name_ +
                                                   "', found " + std::to_string(section.ref.version))
          .hint("start with --from none, or run the version of Strandline that wrote it");
    }
    STRAND_TRY(const Section loaded, section.loaded());
    const std::string_view bytes = loaded.bytes();
    if (bytes.size() < kRowLogHeader || load<uint32_t>(bytes.data() + sizeof(uint64_t)) != head_bytes_)
      return damaged(section);
    const auto from = load<uint64_t>(bytes.data());
    logs[section.ref.groups.first].parts.push_back({section, from, from + bytes.size() - kRowLogHeader});
  }
  std::vector<Saved> saved;
  for (auto& [group, log] : logs) {
    std::ranges::sort(log.parts, {}, &Saved::Part::from);
    for (size_t i = 1; i < log.parts.size(); ++i) {
      if (log.parts[i].from != log.parts[i - 1].until) return damaged(log.parts[i].section);
    }
    saved.push_back(std::move(log));
  }
  return saved;
}

Status RowLog::damaged(const Section& section) const {
  return Status(
             ErrorCode::kCheckpointUnreadable,
             section.ref.file + ": expected changes of rows in section '" + name_ + "', found other content")
      .hint("choose an older checkpoint with --from, or restore the file from a copy");
}

/// What stays in memory is where it was read; what may spill is in chunks, as what comes.
size_t RowLog::adopt_piece(const Section& loaded, std::string_view rest) {
  if (cold_ == nullptr) {
    chunks_.push_back(
        {end_, rest.size(), rest.size(), rest.data(),
         std::make_shared<ChunkBytes>(std::shared_ptr<const char>(loaded.file_bytes, rest.data()))});
    memory_bytes_ += static_cast<int64_t>(rest.size());
    end_ += rest.size();
    return rest.size();
  }
  size_t taken = 0;
  while (taken < rest.size() && taken < chunk_most()) {
    const auto record = parse(rest.substr(taken));
    taken = record.ok() ? taken + record->size : rest.size();
  }
  std::memcpy(new_chunk((taken + kChunkBytesMin - 1) / kChunkBytesMin * kChunkBytesMin), rest.data(), taken);
  chunks_.back().used = taken;
  end_ += taken;
  return taken;
}

}  // namespace strand::state
