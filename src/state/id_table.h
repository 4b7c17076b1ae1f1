// An exact set of keys that expire: what deduplication remembers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "state/id_index.h"
#include "state/id_log.h"

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
/// Keys are appended to a log, and an index of 8-byte slots says where they lie: a new key costs one cache
/// line and a sequential write, and the log is at the same time what an incremental snapshot writes. A UUID
/// takes 24 bytes in the log and 10 to 23 in the index; another key 10, its length and the same. The log
/// forgets by pages: a page goes when the last of its keys has expired. Keys that outlive most of their page
/// are appended again when such pages become many, so that a few of them do not keep the rest in memory.
/// Belongs to one operator.
class IdTable {
 public:
  /// For each row in order: fresh[i] = 1 if the key was not there, and then it is. `cold`: what somebody else
  /// knows of keys that are not in the table (IdMeta), 0 for nothing; empty where nobody else does.
  void insert(const IdBatch& batch, const IdJudge& judge, std::span<uint8_t> fresh,
              std::span<const uint64_t> cold = {});
  /// The rows whose keys are not in the table.
  void missing(const IdBatch& batch, std::vector<uint32_t>& rows) const;
  /// Room for the keys of a snapshot; only while the table is empty.
  void reserve(size_t keys) { index_.reserve(keys); }
  /// Puts back keys of a snapshot; a few dozen a call, so that their memory is fetched together. A key that
  /// comes twice has the later expiry. `cold` as above.
  void restore(std::span<const IdKey> keys, std::span<const uint64_t> metas,
               std::span<const uint64_t> cold = {});
  /// Indexes of the keys that are not in the table.
  void missing(std::span<const IdKey> keys, std::vector<uint32_t>& rows) const;

  const IdLog& log() const { return log_; }
  /// Pages that somebody else has taken over: their keys are not in the table any more.
  void drop(const IdPages& pages) { log_.drop(pages); }
  /// What is appended from now on begins new pages.
  void close_pages() { log_.close(); }
  /// Keys in the index, expired ones included.
  int64_t size() const { return index_.used(); }
  int64_t memory_bytes() const { return log_.bytes() + index_.bytes(); }
  /// The same without memory that is kept for later use.
  int64_t used_bytes() const { return log_.page_bytes() + index_.bytes(); }

 private:
  const char* probable_entry(const IdKey& key) const;
  bool has(const IdKey& key) const;
  bool put(const IdKey& key, uint64_t meta, EventTime judge, uint64_t cold);
  void put_back(const IdKey& key, uint64_t meta, uint64_t cold);
  void forget(EventTime lowest);
  void forget(IdChain& chain, EventTime lowest, bool texts);
  void append_again(const IdChain& chain, uint32_t page, EventTime lowest, bool texts);
  void keep(const IdKey& key, uint64_t meta, uint32_t ref);
  void clean_some(size_t segments);

  IdLog log_;
  IdIndex index_;
  // Cleaning of the whole index, segment by segment, after which dropped pages' ids are free again.
  bool cleaning_ = false;
  size_t cleaned_ = 0;
  size_t dropped_uuids_ = 0;
  size_t dropped_texts_ = 0;
};

}  // namespace strand::state
