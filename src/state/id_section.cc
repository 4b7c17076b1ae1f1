#include "state/id_section.h"

#include <numeric>

namespace strand::state {

namespace {

std::string tail(EventTime latest, size_t uuid_bytes) {
  ByteWriter out;
  out.put(latest.millis);
  out.put(uint64_t{uuid_bytes / IdEntry::kUuidBytes});
  return out.take();
}

Status damaged(const std::string& found) {
  return Status(ErrorCode::kCheckpointUnreadable, "expected a section of ids, found " + found)
      .hint("choose an older checkpoint with --from, or restore the file from a copy");
}

}  // namespace

SectionBytes id_section(IdPart part) {
  struct Owner {
    std::vector<std::shared_ptr<const IdPage>> pages;
    std::string tail;
  };
  size_t uuid_bytes = 0;
  for (const std::string_view piece : part.uuids) uuid_bytes += piece.size();
  auto owner = std::make_shared<Owner>(Owner{std::move(part.owners), tail(part.latest, uuid_bytes)});
  SectionBytes section{std::move(part.uuids), owner};
  section.pieces.insert(section.pieces.end(), part.texts.begin(), part.texts.end());
  section.pieces.emplace_back(owner->tail);
  return section;
}

Result<IdSectionTail> read_id_tail(std::string_view bytes) {
  if (bytes.size() < kIdTailBytes) return damaged(std::to_string(bytes.size()) + " bytes");
  ByteReader in(bytes.substr(bytes.size() - kIdTailBytes));
  IdSectionTail tail;
  STRAND_TRY(tail.latest.millis, in.get<int64_t>());
  STRAND_TRY(tail.uuids, in.get<uint64_t>());
  if (tail.uuids > (bytes.size() - kIdTailBytes) / IdEntry::kUuidBytes) {
    return damaged(std::to_string(bytes.size()) + " bytes for " + std::to_string(tail.uuids) + " UUIDs");
  }
  return tail;
}

Result<std::string_view> next_text_entry(std::string_view& bytes) {
  ByteReader in(bytes);
  STRAND_TRY(const std::string_view meta, in.get_raw(sizeof(uint64_t)));
  STRAND_TRY(const uint16_t length, in.get<uint16_t>());
  size_t size = meta.size() + sizeof length;
  if (length == IdEntry::kLongLength) {
    STRAND_TRY(const uint32_t long_length, in.get<uint32_t>());
    size += sizeof long_length + long_length;
  } else if (length != IdEntry::kNullLength) {
    size += length;
  }
  size = IdEntry::padded(size);
  if (size > bytes.size()) return damaged("a key of " + std::to_string(size) + " bytes cut off");
  const std::string_view entry = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return entry;
}

SectionBytes IdSectionBuilder::finish() {
  const EventTime latest =
      uuids_.empty() && texts_.empty() ? EventTime::min() : IdMeta::expiry(latest_ << 15);
  const size_t uuid_bytes = uuids_.size();
  struct Owner {
    std::string uuids, texts, tail;
  };
  auto owner = std::make_shared<Owner>(Owner{std::move(uuids_), std::move(texts_), tail(latest, uuid_bytes)});
  return {{owner->uuids, owner->texts, owner->tail}, owner};
}

}  // namespace strand::state
