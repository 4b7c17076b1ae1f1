#include "state/id_store.h"

#include <algorithm>
#include <array>

#include "state/id_section.h"

namespace strand::state {

namespace {

constexpr size_t kAttemptsMax = 16;  // snapshots that may still be told as written
constexpr size_t kRestoreGroup = 256;
constexpr size_t kIdBytes = 40;        // of an id in memory, about
constexpr double kSpilledPart = 0.25;  // of the pages, at once
const std::string kNew = kIdsSection;
const std::string kMerged = kMergedIdsSection;

}  // namespace

/// Puts keys back in groups.
class IdStore::Restorer {
 public:
  explicit Restorer(IdStore& store, EventTime lowest) : store_(store), lowest_(lowest) {}
  void add(const IdKey& key, uint64_t meta) {
    keys_[n_] = key;
    metas_[n_] = meta;
    if (++n_ == kRestoreGroup && status_.ok()) status_ = flush();
  }
  Status flush() {
    STRAND_OK(status_);
    const auto keys = std::span(keys_).first(n_);
    const auto metas = std::span(metas_).first(n_);
    n_ = 0;
    IdSpill* const spill = store_.spill_.get();
    if (spill == nullptr || spill->empty()) {
      store_.table_.restore(keys, metas);
    } else {
      store_.cold_.assign(keys.size(), 0);
      store_.table_.missing(keys, store_.missing_);
      STRAND_OK(spill->find(keys, metas, store_.missing_, store_.cold_));
      store_.table_.restore(keys, metas, store_.cold_);
    }
    if (spill == nullptr) return Status();
    store_.written_ = store_.table_.log().end();  // all of it comes from durable files
    return store_.make_room(lowest_);
  }

 private:
  IdStore& store_;
  EventTime lowest_;
  std::array<IdKey, kRestoreGroup> keys_;
  std::array<uint64_t, kRestoreGroup> metas_{};
  size_t n_ = 0;
  Status status_;
};

Status IdStore::insert(const IdBatch& batch, const IdJudge& judge, std::span<uint8_t> fresh) {
  STRAND_OK(spill_failed_);
  cold_.clear();
  if (spill_ != nullptr && !spill_->empty()) {
    cold_.assign(batch.keys.size(), 0);
    table_.missing(batch, missing_);
    STRAND_OK(spill_->find(batch, missing_, cold_));
  }
  table_.insert(batch, judge, fresh, cold_);
  STRAND_OK(make_room(judge.lowest));
  memory_.set(memory_bytes());
  return Status();
}

/// Hands the oldest ids over while there are more than the share of memory holds.
Status IdStore::make_room(EventTime lowest) {
  if (spill_ == nullptr) return Status();
  const int64_t budget = spill_->budget();
  if (budget < static_cast<int64_t>(IdPagePool::kPageBytes)) table_.close_pages();
  while (table_.used_bytes() > budget) {
    const IdPages pages = table_.log().oldest(kSpilledPart);
    if (pages.empty()) return Status();
    const bool staged = !IdLog::before(pages, written_);
    STRAND_OK(spill_->put(pages, lowest, staged));
    table_.drop(pages);
  }
  return Status();
}

/// About how many of the ids are this subtask's.
size_t IdStore::expected(const std::vector<Section>& sections) const {
  size_t ids = 0;
  for (const Section& section : sections) {
    const KeyGroupRange theirs = section.ref.groups;
    const KeyGroupRange shared{std::max(groups_.first, theirs.first), std::min(groups_.last, theirs.last)};
    if (shared.last < shared.first) continue;
    const size_t all = section.ref.length / IdEntry::kUuidBytes;
    ids += all * static_cast<size_t>(shared.last - shared.first + 1) /
           static_cast<size_t>(theirs.last - theirs.first + 1);
  }
  return ids;
}

Status IdStore::restore(const std::vector<Section>& sections, EventTime lowest) {
  if (table_.size() == 0) {
    const size_t all = expected(sections);
    table_.reserve(spill_ == nullptr ? all : std::min(all, static_cast<size_t>(spill_->budget()) / kIdBytes));
  }
  Restorer restorer(*this, lowest);
  for (const Section& section : sections) {
    if (section.ref.groups.last < groups_.first || section.ref.groups.first > groups_.last) continue;
    STRAND_OK(check_version(section.ref, kIdSectionVersion));
    const auto known = std::ranges::find_if(durable_, [&](const Durable& d) {
      return d.ref.file == section.ref.file && d.ref.offset == section.ref.offset;
    });
    if (known != durable_.end()) continue;
    const auto add = [&](const IdKey& key, uint64_t meta, std::string_view) {
      const bool mine = groups_.contains(IdMeta::group(meta));
      if (mine && !IdMeta::expired(meta, lowest)) restorer.add(key, meta);
    };
    STRAND_TRY(const Section loaded, section.loaded());
    STRAND_TRY(const IdSectionTail tail, decode_ids(loaded.bytes(), add));
    STRAND_OK(restorer.flush());
    durable_.push_back({section.ref, tail.latest});
  }
  written_ = table_.log().end();
  memory_.set(memory_bytes());
  return Status();
}

void IdStore::snapshot(SnapshotBuilder& out, EventTime lowest) {
  std::erase_if(durable_, [&](const Durable& d) {
    return d.latest == EventTime::min() || IdMeta::expired(IdMeta::pack(d.latest, 0), lowest);
  });
  if (spill_ != nullptr) spill_->forget(lowest);
  Attempted attempted{out.epoch(), table_.log().end(), 0, EventTime::min(), {}};
  add_merge(out, lowest, attempted);
  add_increment(out, attempted);
  attempts_.push_back(std::move(attempted));
  if (attempts_.size() > kAttemptsMax) attempts_.pop_front();
  memory_.set(memory_bytes());
}

void IdStore::add_increment(SnapshotBuilder& out, Attempted& attempted) {
  for (const Durable& d : durable_) {
    const bool merged =
        std::ranges::any_of(attempted.merged, [&](const Durable& m) { return m.ref == d.ref; });
    if (!merged) out.add_existing(d.ref);
  }
  if (spill_ != nullptr) attempted.staged_until = spill_->add_staged(out, kNew, attempted.latest);
  IdPart part = table_.log().since(written_);
  if (part.empty()) return;
  attempted.latest = std::max(attempted.latest, part.latest);
  out.add_own_file(kNew, kIdSectionVersion,
                   [section = id_section(std::move(part))]() -> Result<SectionBytes> { return section; });
}

std::vector<IdStore::Durable> IdStore::to_merge() const {
  if (durable_.size() <= kSectionsMax) return {};
  const uint64_t merged_max =
      spill_ == nullptr ? merged_max_ : std::min(merged_max_, spill_->section_bytes());
  std::vector<Durable> smallest = durable_;
  std::ranges::stable_sort(smallest, {}, [](const Durable& d) { return d.ref.length; });
  uint64_t total = 0;
  size_t fit = 0;
  for (const Durable& d : smallest) {
    total += d.ref.length;
    if (total <= merged_max && fit <= kSectionsMax / 2) ++fit;
  }
  smallest.resize(fit);
  const auto large = std::ranges::find_if(
      durable_, [&](const Durable& d) { return fit == 0 || d.ref.length > smallest.back().ref.length; });
  const uint64_t known = table_.log().entry_bytes() + (spill_ == nullptr ? 0 : spill_->entry_bytes());
  const bool mostly_expired = total > 2 * (known + merged_max);
  if (mostly_expired && large != durable_.end()) smallest.push_back(*large);
  return mostly_expired || smallest.size() >= 2 ? smallest : std::vector<Durable>{};
}

void IdStore::add_merge(SnapshotBuilder& out, EventTime lowest, Attempted& attempted) {
  attempted.merged = to_merge();
  if (attempted.merged.empty()) return;
  const auto merge = [inputs = attempted.merged, groups = groups_,
                      lowest](SnapshotReader& reader) -> Result<SectionBytes> {
    IdSectionBuilder merged;
    for (const Durable& input : inputs) {
      STRAND_TRY(const Section section, reader.read(input.ref));
      const auto add = [&](const IdKey& key, uint64_t meta, std::string_view entry) {
        const bool mine = groups.contains(IdMeta::group(meta));
        if (mine && !IdMeta::expired(meta, lowest)) merged.add(key.uuid, meta, entry);
      };
      const auto read = decode_ids(section.bytes(), add);
      if (!read.ok()) return read.status();
    }
    return merged.finish();
  };
  out.add_merged(kMerged, kIdSectionVersion, merge);
}

void IdStore::written(Epoch epoch, const std::vector<SectionRef>& refs) {
  const auto attempted = std::ranges::find(attempts_, epoch, &Attempted::epoch);
  if (attempted == attempts_.end()) return;
  const std::string prefix = "e" + std::to_string(epoch.value) + "-";
  for (const SectionRef& ref : refs) {
    if (ref.operator_id == operator_id_ && ref.file.starts_with(prefix)) settle(*attempted, ref);
  }
  if (attempted->until.appended > written_.appended) written_ = attempted->until;
  if (spill_ != nullptr && spill_failed_.ok()) spill_failed_ = spill_->drop_staged(attempted->staged_until);
  attempts_.erase(attempted);
  memory_.set(memory_bytes());
}

void IdStore::settle(const Attempted& attempted, const SectionRef& ref) {
  if (ref.name == kNew) {
    if (attempted.until.appended > written_.appended) durable_.push_back({ref, attempted.latest});
    return;
  }
  // A merge holds its inputs; unless they are all still there, another merge has them already.
  EventTime latest = EventTime::min();
  for (const Durable& input : attempted.merged) {
    if (std::ranges::none_of(durable_, [&](const Durable& d) { return d.ref == input.ref; })) return;
    latest = std::max(latest, input.latest);
  }
  std::erase_if(durable_, [&](const Durable& d) {
    return std::ranges::any_of(attempted.merged, [&](const Durable& m) { return m.ref == d.ref; });
  });
  durable_.push_back({ref, latest});
}

}  // namespace strand::state
