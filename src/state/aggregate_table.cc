#include "state/aggregate_table.h"

#include <array>
#include <cstring>

#include "columnar/batch.h"

namespace strand::state {

namespace {}  // namespace

AggregateTable::AggregateTable(PagePool& pool, AggregateLayout layout)
    : pool_(&pool),
      layout_(std::move(layout)),
      payload_(payload_bytes(layout_)),
      keys_(pool, payload_),
      values_(pool) {}

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
  for (char* row : rows) {
    const uint8_t before = flags(row);
    if ((before & kTouched) != 0) continue;
    set_flags(row, before | kTouched);
    touched_.push_back(row);
  }
}

EventTime AggregateTable::expiry(const char* row) const {
  EventTime expiry;
  std::memcpy(&expiry.millis, row + payload_ - 8, 8);
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

void AggregateTable::encode(ByteWriter& out) const {
  out.put(size());
  keys_.for_each([&](const char* row) {
    KeyTable::encode_key(row, out);
    layout_.accumulators->encode(row, out);
    if (layout_.emitted) {
      out.put(static_cast<uint8_t>(flags(row) & kEmitted));
      layout_.accumulators->encode(emitted(row), out);
    }
    if (layout_.expiry) out.put(expiry(row).millis);
  });
}

Status AggregateTable::decode(ByteReader& in, KeyGroupRange groups, int32_t max_parallelism,
                              bool emitted_too) {
  std::vector<char> aside(payload_);  // a row of another group
  const size_t bytes = layout_.accumulators->bytes();
  std::vector<char> ignored(bytes);  // emitted totals that this table does not keep
  ByteArena aside_values(*pool_);
  STRAND_TRY(const int64_t rows, in.get<int64_t>());
  for (int64_t i = 0; i < rows; ++i) {
    STRAND_TRY(const KeyTable::StoredKey stored, KeyTable::decode_key(in));
    const bool mine = groups.contains(columnar::key_group(stored.hash, max_parallelism));
    char* row = aside.data();
    if (mine) {
      keys_.find_or_add({&stored.hash, 1}, {&stored.key, 1}, {&row, 1});
    } else {
      std::memset(row, 0, payload_);
    }
    ByteArena& values = mine ? values_ : aside_values;
    STRAND_OK(layout_.accumulators->decode(in, row, values));
    uint8_t emitted_flag = 0;
    if (emitted_too) {
      STRAND_TRY(emitted_flag, in.get<uint8_t>());
      char* emitted_row = layout_.emitted ? row + bytes : ignored.data();
      STRAND_OK(layout_.accumulators->decode(in, emitted_row, layout_.emitted ? values : aside_values));
    }
    if (layout_.emitted) {
      set_flags(row, emitted_flag);
      const bool changed = emitted_flag == 0 || !layout_.accumulators->equal(row, emitted(row));
      if (mine && changed) touch({&row, 1});
    }
    if (layout_.expiry) {
      STRAND_TRY(const int64_t expiry_millis, in.get<int64_t>());
      set_expiry(row, EventTime{expiry_millis});
    }
  }
  return Status();
}

}  // namespace strand::state
