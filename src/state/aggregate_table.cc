#include "state/aggregate_table.h"

#include <array>
#include <cstring>

#include "columnar/batch.h"

namespace strand::state {

AggregateTable::AggregateTable(StatePages& memory, AggregateLayout layout)
    : memory_(&memory),
      layout_(std::move(layout)),
      payload_(payload_bytes(layout_)),
      keys_(memory, payload_),
      values_(memory) {}

// Accumulators; then, as the layout wants, the emitted ones and flags, and the expiry at the end.
size_t AggregateTable::payload_bytes(const AggregateLayout& layout) {
  const size_t accumulators = layout.accumulators->bytes();
  const size_t bytes = accumulators + (layout.emitted ? accumulators + 8 : 0) + (layout.expiry ? 8 : 0);
  return bytes == 0 ? 8 : bytes;
}

void AggregateTable::clear() {
  keys_.clear();
  values_.clear();
  touched_.clear();
}

void AggregateTable::add(const AggregateTable& other) {
  constexpr size_t kRows = 128;
  std::array<uint64_t, kRows> hashes;
  std::array<std::string_view, kRows> keys;
  std::array<const char*, kRows> from;
  std::array<char*, kRows> to;
  size_t n = 0;
  const auto flush = [&] {
    keys_.find_or_add({hashes.data(), n}, {keys.data(), n}, {to.data(), n});
    layout_.accumulators->combine({from.data(), n}, {to.data(), n}, values_);
    n = 0;
  };
  other.for_each([&](const char* row) {
    hashes[n] = KeyTable::hash_of(row);
    keys[n] = KeyTable::key_of(row);
    from[n] = row;
    if (++n == kRows) flush();
  });
  flush();
}

void AggregateTable::touch(std::span<char* const> rows) {
  if (touched_.empty()) touched_at_ = memory_->freezes();
  for (char* row : rows) {
    const uint8_t before = flags(row);
    if ((before & kTouched) != 0) continue;
    set_flags(row, before | kTouched);
    touched_.push_back(row);
  }
}

EventTime AggregateTable::expiry(const char* row) const { return expiry_at(row + payload_ - 8); }

EventTime AggregateTable::expiry_at(const char* at) {
  EventTime expiry;
  std::memcpy(&expiry.millis, at, 8);
  return {expiry.millis ^ EventTime::min().millis};
}

void AggregateTable::set_expiry(char* row, EventTime expiry) const {
  const int64_t stored = expiry.millis ^ EventTime::min().millis;
  std::memcpy(row + payload_ - 8, &stored, 8);
}

void AggregateTable::reset(char* row) const { std::memset(row, 0, payload_); }

void AggregateTable::copy_row(const char* from, char* to) {
  std::memset(to, 0, payload_);
  const size_t bytes = layout_.accumulators->bytes();
  layout_.accumulators->copy(from, to, values_);
  if (layout_.emitted) {
    layout_.accumulators->copy(from + bytes, to + bytes, values_);
    set_flags(to, flags(from));
  }
  if (layout_.expiry) set_expiry(to, expiry(from));
}

void AggregateTable::encode(const AggregateLayout& layout, const FrozenRows& rows, ByteWriter& out) {
  out.put(rows.rows());
  rows.for_each([&](const char* key) {
    KeyTable::encode_key(rows, key, out);
    encode_row(layout, key + KeyTable::kKeyBytes, *rows.memory, out);
  });
}

void AggregateTable::encode(std::span<const char* const> rows, FrozenPages& memory, ByteWriter& out) const {
  out.put(static_cast<int64_t>(rows.size()));
  for (const char* row : rows) {
    KeyTable::encode_key(KeyTable::hash_of(row), KeyTable::key_of(row), out);
    encode_row(layout_, row, memory, out);
  }
}

void AggregateTable::encode_row(const AggregateLayout& layout, const char* row, FrozenPages& memory,
                                ByteWriter& out) {
  const Accumulators& accumulators = *layout.accumulators;
  accumulators.encode(row, memory, out);
  if (layout.emitted) {
    out.put(static_cast<uint8_t>(static_cast<uint8_t>(row[flags_at(layout)]) & kEmitted));
    accumulators.encode(row + accumulators.bytes(), memory, out);
  }
  if (layout.expiry) out.put(expiry_at(row + payload_bytes(layout) - 8).millis);
}

Status AggregateTable::decode(ByteReader& in, KeyGroupRange groups, int32_t max_parallelism,
                              bool emitted_too) {
  STRAND_TRY(const int64_t rows, in.get<int64_t>());
  keys_.reserve(rows / max_parallelism * (groups.last - groups.first + 1), in.remaining());
  return keys_.decode(
      in, rows, [&](uint64_t hash) { return groups.contains(columnar::key_group(hash, max_parallelism)); },
      [&](ByteReader& row) { return skip_row(row, emitted_too); },
      [&](ByteReader& stored, char* row) { return decode_row(stored, row, emitted_too); });
}

Status AggregateTable::skip_row(ByteReader& in, bool emitted_too) const {
  STRAND_OK(layout_.accumulators->skip(in));
  if (emitted_too) {
    STRAND_OK(skip_bytes(in, 1));
    STRAND_OK(layout_.accumulators->skip(in));
  }
  return layout_.expiry ? skip_bytes(in, 8) : Status();
}

Status AggregateTable::decode_row(ByteReader& in, char* row, bool emitted_too) {
  const Accumulators& accumulators = *layout_.accumulators;
  STRAND_OK(accumulators.decode(in, row, values_));
  uint8_t emitted_flag = 0;
  if (emitted_too) {
    STRAND_TRY(emitted_flag, in.get<uint8_t>());
    STRAND_OK(layout_.emitted ? accumulators.decode(in, row + accumulators.bytes(), values_)
                              : accumulators.skip(in));
  }
  if (layout_.emitted) {
    set_flags(row, emitted_flag);
    if (emitted_flag == 0 || !accumulators.equal(row, emitted(row))) touch({&row, 1});
  }
  if (!layout_.expiry) return Status();
  STRAND_TRY(const int64_t expiry_millis, in.get<int64_t>());
  set_expiry(row, EventTime{expiry_millis});
  return Status();
}

}  // namespace strand::state
