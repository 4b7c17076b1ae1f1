#include "state/id_log.h"

#include <cstring>

#include "base/bytes.h"

namespace strand::state {

namespace {
constexpr uint32_t kNullLength = 0xFFFFFFFF;
constexpr size_t kKeptChunks = 1024;  // memory kept for the next log: 192 MiB at most
}  // namespace

std::unique_ptr<char[]> IdLogMemory::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique_for_overwrite<char[]>(kChunkBytes);
  auto chunk = std::move(free_.back());
  free_.pop_back();
  return chunk;
}

void IdLogMemory::give(std::unique_ptr<char[]> chunk) {
  const std::lock_guard lock(mutex_);
  if (free_.size() < kKeptChunks) free_.push_back(std::move(chunk));
}

IdLog::~IdLog() {
  for (auto& chunk : chunks_) memory_->give(std::move(chunk));
}

void IdLog::append(const IdKey& key, uint64_t meta) {
  latest_ = std::max(latest_, meta >> 15);
  if (key.uuid) {
    const size_t at = static_cast<size_t>(uuids_) % kPerChunk;
    if (at == 0) chunks_.push_back(memory_->take());
    char* out = chunks_.back().get() + at * kEntryBytes;
    std::memcpy(out, &key.a, 8);
    std::memcpy(out + 8, &key.b, 8);
    std::memcpy(out + 16, &meta, 8);
    ++uuids_;
    return;
  }
  ++others_;
  const bool null = !key.is_long() && (key.b >> 56) == 0xFE;
  const std::string inlined = key.is_long() || null ? "" : id_key_text(key.a, key.b, false);
  const std::string_view text = key.is_long() ? key.text : std::string_view(inlined);
  const uint32_t length = null ? kNullLength : static_cast<uint32_t>(text.size());
  char head[12];
  std::memcpy(head, &meta, 8);
  std::memcpy(head + 8, &length, 4);
  texts_.append(head, sizeof head);
  texts_ += text;
}

int64_t IdLog::bytes() const {
  return static_cast<int64_t>(chunks_.size() * IdLogMemory::kChunkBytes + texts_.capacity());
}

void IdLog::copy_uuids(std::string& out) const {
  auto left = static_cast<size_t>(uuids_);
  for (const auto& chunk : chunks_) {
    const size_t here = std::min(left, kPerChunk);
    out.append(chunk.get(), here * kEntryBytes);
    left -= here;
  }
}

std::string encode_ids(const std::vector<std::shared_ptr<const IdLog>>& logs) {
  uint64_t uuids = 0;
  uint64_t others = 0;
  size_t bytes = 24;
  EventTime latest = EventTime::min();
  for (const auto& log : logs) {
    uuids += static_cast<uint64_t>(log->uuids());
    others += static_cast<uint64_t>(log->others());
    bytes += static_cast<size_t>(log->bytes());
    latest = std::max(latest, log->latest());
  }
  ByteWriter head;
  head.put(latest.millis);
  head.put(uuids);
  head.put(others);
  std::string out;
  out.reserve(bytes);
  out = head.take();
  for (const auto& log : logs) log->copy_uuids(out);
  for (const auto& log : logs) log->copy_others(out);
  return out;
}

Result<IdSectionHead> decode_ids(std::string_view bytes,
                                 const std::function<void(const IdKey&, uint64_t)>& f) {
  ByteReader in(bytes);
  IdSectionHead head;
  STRAND_TRY(head.latest.millis, in.get<int64_t>());
  STRAND_TRY(head.uuids, in.get<uint64_t>());
  STRAND_TRY(head.others, in.get<uint64_t>());
  for (uint64_t i = 0; i < head.uuids; ++i) {
    IdKey key;
    key.uuid = true;
    STRAND_TRY(key.a, in.get<uint64_t>());
    STRAND_TRY(key.b, in.get<uint64_t>());
    STRAND_TRY(const uint64_t meta, in.get<uint64_t>());
    key.hash = hash_id(key.a, key.b);
    f(key, meta);
  }
  for (uint64_t i = 0; i < head.others; ++i) {
    STRAND_TRY(const uint64_t meta, in.get<uint64_t>());
    STRAND_TRY(const uint32_t length, in.get<uint32_t>());
    std::string_view text;
    if (length != kNullLength) {
      STRAND_TRY(text, in.get_raw(length));
    }
    f(make_id_key(text), meta);
  }
  return head;
}

}  // namespace strand::state
