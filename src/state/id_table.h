// An exact set of keys that expire: what deduplication remembers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "state/id_log.h"
#include "state/id_segment.h"
#include "state/page_pool.h"

namespace strand::state {

/// What time it is for each key group (replay.md T2, T3).
struct IdJudge {
  EventTime lowest = EventTime::min();
  /// By key group; empty: `lowest` for all.
  std::span<const EventTime> of_group = {};
  EventTime of(uint16_t group) const { return of_group.empty() ? lowest : of_group[group]; }
};

/// Keys to look up, one entry a row. keys[i].data() == nullptr is NULL.
struct IdBatch {
  std::span<const std::string_view> keys;
  std::span<const uint16_t> groups;
  std::span<const EventTime> expiries;
};

/// An exact set of keys with an expiry: no fingerprints, a key whose expiry the judge has reached is not
/// there.
///
/// Extendible hashing: the top bits of a key's hash choose a segment of at most 1 MiB. A crowded segment is
/// purged of its expired keys; rebuilt larger when that is not enough, and split when it would become too
/// large. So work comes in steps of a millisecond. A slot of 25.6 bytes is between 58 % and 82 % full (31 to
/// 44 bytes a key); in segments with texts longer than 15 bytes between 70 % and 90 % (29 to 37 bytes, plus
/// what the text is longer than 8). UUID texts are 16 bytes. Lookups run in groups, with the memory of the
/// whole group fetched ahead. Belongs to one operator.
class IdTable {
 public:
  IdTable();

  /// For each row in order: fresh[i] = 1 if the key was not there, and then it is. New keys go to `log`, if
  /// given.
  void insert(const IdBatch& batch, const IdJudge& judge, IdLog* log, std::span<uint8_t> fresh);
  /// Puts back keys of a snapshot; a few dozen a call, so that their memory is fetched together. A key that
  /// comes twice has the later expiry.
  void restore(std::span<const IdKey> keys, std::span<const uint64_t> metas);

  /// Keys that take memory, expired ones included.
  int64_t size() const { return size_; }
  int64_t memory_bytes() const;
  /// Calls f(key, meta) for every key, expired ones included.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& segment : segments_) segment->for_each(f);
  }

 private:
  IdSegment*& segment_of(uint64_t hash) { return directory_[depth_ == 0 ? 0 : hash >> (64 - depth_)]; }
  bool put(const IdKey& key, uint64_t meta, EventTime judge, EventTime lowest, bool extend);
  void rebuild(uint64_t hash, EventTime lowest);
  void split(size_t index, EventTime lowest);
  void replace(size_t index, std::unique_ptr<IdSegment> segment);

  PagePool pool_;
  std::vector<IdSegment*> directory_;  // 2^depth_ entries
  int depth_ = 0;
  std::vector<std::unique_ptr<IdSegment>> segments_;
  int64_t size_ = 0;
  int64_t big_text_bytes_ = 0;
};

}  // namespace strand::state
