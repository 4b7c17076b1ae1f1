// A logged row for each key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/logged_rows.h"
#include "state/row_index.h"

namespace strand::state {

/// Logged rows found by their key, with whose bytes their bodies begin; keys are such that none begins with
/// another (columnar::encode_key). Belongs to one operator.
template <class Row>
class KeyedRows : private LoggedRows<Row> {
  using Rows = LoggedRows<Row>;

 public:
  using Rows::kNone;
  using typename Rows::Head;
  using typename Rows::Id;

  using Rows::Rows;
  using Rows::operator[];
  using Rows::body;
  using Rows::changed;
  using Rows::for_each;
  using Rows::hash;
  using Rows::let_go;
  using Rows::replace;
  using Rows::size;
  using Rows::snapshot;
  using Rows::spill_to;
  using Rows::written;

  /// See LoggedRows.
  Status tidy() { return Rows::tidy(static_cast<int64_t>(index_.bytes())); }
  Id find(uint64_t key_hash, std::string_view key) const {
    return index_.find(key_hash, [&](Id id) { return body(id).starts_with(key); });
  }
  /// A row whose key is not there; `bytes` begins with it.
  Id add(uint64_t key_hash, const Head& head, std::string_view bytes) {
    const Id id = Rows::add(key_hash, head, bytes);
    index_.add(key_hash, id);
    return id;
  }
  void erase(Id id) {
    index_.erase(hash(id), id);
    Rows::erase(id);
  }
  /// See LoggedRows.
  template <class Mine>
  Status restore(const std::vector<Section>& sections, KeyGroupRange groups, Mine&& mine) {
    STRAND_OK(Rows::restore(sections, groups, mine));
    for_each([&](Id id) { index_.add(hash(id), id); });
    return Rows::intact();
  }
  /// Row `i` of a batch is about to be looked for: asks for what the rows behind it will read, whose keys
  /// have the hash hash_of(row).
  template <class HashOf>
  void look_ahead(size_t i, size_t rows, HashOf&& hash_of) const {
    constexpr size_t kStep = 8;
    if (i + 3 * kStep < rows) index_.prefetch(hash_of(i + 3 * kStep));
    if (i + 2 * kStep < rows) Rows::prefetch(index_.guess(hash_of(i + 2 * kStep)));
    if (i + kStep < rows) Rows::prefetch_body(index_.guess(hash_of(i + kStep)));
  }
  int64_t memory_bytes() const { return Rows::memory_bytes() + static_cast<int64_t>(index_.bytes()); }

 private:
  RowIndex index_;
};

}  // namespace strand::state
