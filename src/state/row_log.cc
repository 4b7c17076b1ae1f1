#include "state/row_log.h"

#include <algorithm>
#include <cstring>
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

uint64_t first_of(const Section& section) { return load<uint64_t>(section.bytes().data()); }
uint64_t until_of(const Section& section) {
  return first_of(section) + section.bytes().size() - kRowLogHeader;
}

/// What a section holds: memory of chunks, and a header of its own.
struct SectionMemory {
  std::string header;
  std::vector<std::shared_ptr<const char>> chunks = {};
};

}  // namespace

char* RowLog::room(size_t size) {
  if (size > free_bytes_) {
    chunk_bytes_ = std::clamp(2 * chunk_bytes_, kChunkBytesMin, kChunkBytesMax);
    const size_t wanted =
        (std::max(size, chunk_bytes_) + kChunkBytesMin - 1) / kChunkBytesMin * kChunkBytesMin;
    free_ = env::allocate_pages(wanted);
    free_bytes_ = wanted;
    memory_bytes_ += static_cast<int64_t>(wanted);
    const auto give_back = [wanted](const char* memory) {
      env::free_pages(const_cast<char*>(memory), wanted);
    };
    chunks_.push_back({end_, 0, wanted, std::shared_ptr<const char>(free_, give_back)});
  }
  char* const at = free_;
  free_ += size;
  free_bytes_ -= size;
  chunks_.back().used += size;
  end_ += size;
  return at;
}

const char* RowLog::row(uint32_t id, uint64_t hash, const void* head, std::string_view body) {
  const size_t size = kRowRecordHead + head_bytes_ + body.size();
  char* const at = room(size);
  char* to = store_start(at, id, Kind::kRow, body.size());
  to = store(to, &hash, sizeof hash);
  to = store(to, head, head_bytes_);
  store(to, body.data(), body.size());
  live_ += size;
  return at;
}

void RowLog::head(uint32_t id, const void* head) {
  char* const to = store_start(room(kRecordHead + head_bytes_), id, Kind::kHead, 0);
  store(to, head, head_bytes_);
}

void RowLog::end_of(uint32_t id) { store_start(room(kRecordHead), id, Kind::kEnd, 0); }

uint64_t RowLog::hash_at(const char* at) { return load<uint64_t>(at + kRecordHead); }

std::string_view RowLog::body_at(const char* at) const {
  return {at + kRowRecordHead + head_bytes_, load<uint32_t>(at + sizeof(uint32_t)) & kLengthMask};
}

RowLog::Record RowLog::record_at(const char* at) const {
  const auto mark = load<uint32_t>(at + sizeof(uint32_t));
  Record record{static_cast<Kind>(mark >> kKindShift), load<uint32_t>(at), 0, {}, {}, at, kRecordHead};
  if (record.kind == Kind::kEnd) return record;
  if (record.kind == Kind::kRow) {
    record.hash = hash_at(at);
    record.body = body_at(at);
    record.size = kRowRecordHead;
  }
  record.head = {at + record.size, head_bytes_};
  record.size += head_bytes_ + record.body.size();
  return record;
}

Result<RowLog::Record> RowLog::parse(std::string_view bytes) const {
  const auto damaged = [] {
    return Status(ErrorCode::kCheckpointUnreadable, "expected more bytes, found the end of the data");
  };
  if (bytes.size() < kRecordHead) return damaged();
  const auto mark = load<uint32_t>(bytes.data() + sizeof(uint32_t));
  const auto kind = static_cast<Kind>(mark >> kKindShift);
  if (kind > Kind::kEnd || (kind == Kind::kRow && bytes.size() < kRowRecordHead)) return damaged();
  const Record record = record_at(bytes.data());
  if (record.size > bytes.size()) return damaged();
  return record;
}

RowLog::Record RowLog::oldest() const {
  const Chunk& chunk = chunks_.front();
  return record_at(chunk.memory.get() + (begin_ - chunk.from));
}

void RowLog::drop_oldest() {
  begin_ += oldest().size;
  while (!chunks_.empty() && chunks_.front().from + chunks_.front().used <= begin_) {
    if (chunks_.size() == 1 && free_bytes_ > 0) return;
    memory_bytes_ -= static_cast<int64_t>(chunks_.front().bytes);
    chunks_.pop_front();
  }
}

// ---- snapshots

void RowLog::add_section(SnapshotBuilder& out, uint64_t from, uint64_t until) const {
  auto memory = std::make_shared<SectionMemory>();
  ByteWriter header;
  header.put(from);
  header.put(static_cast<uint32_t>(head_bytes_));
  memory->header = header.take();
  std::vector<std::string_view> pieces = {memory->header};
  for (const Chunk& chunk : chunks_) {
    const uint64_t first = std::max(from, chunk.from);
    const uint64_t last = std::min(until, chunk.from + chunk.used);
    if (first >= last) continue;
    pieces.emplace_back(chunk.memory.get() + (first - chunk.from), last - first);
    memory->chunks.push_back(chunk.memory);
  }
  out.add_own_file(
      name_, version_,
      [bytes = SectionBytes(std::move(pieces), memory)]() -> Result<SectionBytes> { return bytes; });
}

/// Where there are too many sections: the neighbours with the fewest bytes, as many of them as fit.
void RowLog::choose_merge() {
  attempt_.merged = 0;
  if (durable_.size() <= kSectionsMax + 2 * (end_ - begin_) / kMergedMax) return;
  for (size_t n = kSectionsMax / 2; n >= 2 && attempt_.merged == 0; n /= 2) {
    uint64_t fewest = kMergedMax + 1;
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
  attempt_ = {out.epoch(), std::max(begin_, written), end_, 0, 0};
  choose_merge();
  for (size_t i = 0; i < durable_.size(); ++i) {
    if (i - attempt_.merged_from >= attempt_.merged) out.add_existing(durable_[i].ref);
  }
  if (attempt_.merged > 0) {
    const uint64_t from = std::max(begin_, durable_[attempt_.merged_from].from);
    add_section(out, from, durable_[attempt_.merged_from + attempt_.merged - 1].until);
  }
  if (attempt_.from < attempt_.until) add_section(out, attempt_.from, attempt_.until);
}

void RowLog::written(Epoch epoch, const std::vector<SectionRef>& refs) {
  if (epoch != attempt_.epoch) return;
  const std::string prefix = "e" + std::to_string(epoch.value) + "-";
  std::vector<SectionRef> added;
  for (const SectionRef& ref : refs) {
    if (ref.name == name_ && ref.file.starts_with(prefix)) added.push_back(ref);
  }
  const bool grew = attempt_.from < attempt_.until;
  STRAND_CHECK(added.size() == (attempt_.merged > 0 ? 1u : 0u) + (grew ? 1u : 0u));
  if (attempt_.merged > 0) {
    const auto first = durable_.begin() + static_cast<std::ptrdiff_t>(attempt_.merged_from);
    const auto last = first + static_cast<std::ptrdiff_t>(attempt_.merged);
    *first = {added.front(), first->from, (last - 1)->until};
    durable_.erase(first + 1, last);
  }
  if (grew) durable_.push_back({added.back(), attempt_.from, attempt_.until});
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
    const std::string_view bytes = section.bytes();
    if (bytes.size() < kRowLogHeader || load<uint32_t>(bytes.data() + sizeof(uint64_t)) != head_bytes_)
      return damaged(section);
    logs[section.ref.groups.first].sections.push_back(section);
  }
  std::vector<Saved> saved;
  for (auto& [group, log] : logs) {
    std::ranges::sort(log.sections, {}, first_of);
    for (size_t i = 1; i < log.sections.size(); ++i) {
      if (first_of(log.sections[i]) != until_of(log.sections[i - 1])) return damaged(log.sections[i]);
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

void RowLog::adopt(const Saved& saved) {
  STRAND_CHECK(end_ == 0 && !saved.sections.empty());
  begin_ = first_of(saved.sections.front());
  for (const Section& section : saved.sections) {
    const std::string_view records = section.bytes().substr(kRowLogHeader);
    end_ = first_of(section);
    chunks_.push_back({end_, records.size(), records.size(), {section.file_bytes, records.data()}});
    memory_bytes_ += static_cast<int64_t>(records.size());
    end_ += records.size();
    durable_.push_back({section.ref, first_of(section), end_});
  }
}

}  // namespace strand::state
