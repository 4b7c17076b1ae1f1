#include "state/aggregate_spill.h"

#include <algorithm>
#include <utility>

#include "columnar/batch.h"
#include "state/spill/ordered_key.h"

namespace strand::state {

namespace {

std::string table_prefix(int64_t table) {
  std::string prefix;
  append_ordered(static_cast<uint64_t>(table) ^ (uint64_t{1} << 63), prefix);
  return prefix;
}

std::string section_name(int64_t table, uint32_t run) {
  return std::string(AggregateSpill::kSection) + "/" + std::to_string(table) + "/" + std::to_string(run);
}

}  // namespace

AggregateSpill::AggregateSpill(SpillSpace& space, AggregateLayout layout, KeyGroupRange groups,
                               int32_t max_parallelism)
    : space_(space),
      layout_(std::move(layout)),
      groups_(groups),
      max_parallelism_(max_parallelism),
      scratch_(memory_, layout_) {
  space_.join();
}

std::string AggregateSpill::run_prefix(int64_t table, uint32_t run) const {
  std::string prefix = table_prefix(table);
  append_ordered(run, prefix);
  return prefix;
}

Status AggregateSpill::open() {
  if (store_ != nullptr) return Status();
  STRAND_TRY(store_, space_.open({}));
  return Status();
}

int64_t AggregateSpill::rows() const {
  int64_t n = 0;
  for (const auto& [table, runs] : runs_) {
    for (const Run& run : runs) n += run.rows;
  }
  return n;
}

Status AggregateSpill::put(int64_t table, StatePages& memory, const AggregateTable& rows) {
  STRAND_OK(open());
  STRAND_OK(drop_free());
  std::vector<std::pair<int32_t, const char*>> by_group;
  by_group.reserve(static_cast<size_t>(rows.size()));
  rows.for_each([&](const char* row) {
    by_group.emplace_back(columnar::key_group(KeyTable::hash_of(row), max_parallelism_), row);
  });
  std::ranges::stable_sort(by_group, {}, &std::pair<int32_t, const char*>::first);
  const auto frozen = memory.freeze();  // only for its reader of long values
  const std::string prefix = run_prefix(table, next_run_);
  std::string key;
  ByteWriter bytes;
  std::string encoded;
  size_t at = 0;
  Run run{next_run_, rows.size(), 0};
  const Status put = store_->put([&](std::string_view& next_key, std::string_view& value) {
    if (at == by_group.size()) return false;
    const int32_t group = by_group[at].first;
    std::vector<const char*> of_group;
    for (; at < by_group.size() && by_group[at].first == group; ++at) of_group.push_back(by_group[at].second);
    rows.encode(of_group, *frozen, bytes);
    encoded = bytes.take();
    run.bytes += encoded.size();
    key = prefix;
    append_ordered(static_cast<uint16_t>(group), key);
    next_key = key;
    value = encoded;
    return true;
  });
  STRAND_OK(put);
  ++next_run_;
  runs_[table].push_back(std::move(run));
  return Status();
}

Status AggregateSpill::add_group(int64_t table, int32_t group, AggregateTable& to) {
  const auto runs = runs_.find(table);
  if (runs == runs_.end()) return Status();
  std::vector<std::string> keys;
  for (const Run& run : runs->second) {
    append_ordered(static_cast<uint16_t>(group), keys.emplace_back(run_prefix(table, run.number)));
  }
  const std::vector<std::string_view> wanted(keys.begin(), keys.end());
  std::vector<std::string> found(keys.size());  // in their order: some aggregates depend on it
  STRAND_OK(store_->get(wanted, [&](size_t i, std::string_view value) { found[i] = value; }));
  for (const std::string& rows : found) {
    if (rows.empty()) continue;
    ByteReader in(rows);
    scratch_.clear();
    STRAND_OK(scratch_.decode(in, groups_, max_parallelism_, /*emitted_too=*/false));
    to.add(scratch_);
  }
  scratch_.clear();
  return Status();
}

Status AggregateSpill::drop(int64_t table) {
  const auto runs = runs_.find(table);
  if (runs != runs_.end()) {
    for (Run& run : runs->second) dropped_.emplace_back(table, std::move(run));
    runs_.erase(runs);
  }
  return drop_free();
}

Status AggregateSpill::drop_free() {
  Status status;
  std::erase_if(dropped_, [&](const auto& dropped) {
    const auto& [table, run] = dropped;
    if (!status.ok() || run.pin.use_count() > 1) return false;
    status = store_->drop(run_prefix(table, run.number));
    return status.ok();
  });
  return status;
}

void AggregateSpill::snapshot(SnapshotBuilder& out) {
  epoch_ = out.epoch();
  for (const auto& [table, runs] : runs_) {
    for (const Run& run : runs) {
      for (const SectionRef& ref : run.durable) out.add_existing(ref);
      if (run.durable.empty()) add_run(out, table, run);
    }
  }
}

/// In sections of some key groups each: whoever reads or writes one has all of it in memory.
void AggregateSpill::add_run(SnapshotBuilder& out, int64_t table, const Run& run) const {
  const auto groups = static_cast<uint64_t>(groups_.last - groups_.first + 1);
  const uint64_t parts = std::clamp<uint64_t>(run.bytes / space_.section_bytes() + 1, 1, groups);
  for (uint64_t part = 0; part < parts; ++part) {
    std::vector<std::string> keys;
    for (uint64_t group = groups * part / parts; group < groups * (part + 1) / parts; ++group) {
      append_ordered(static_cast<uint16_t>(static_cast<uint64_t>(groups_.first) + group),
                     keys.emplace_back(run_prefix(table, run.number)));
    }
    const auto make = [store = store_, pin = run.pin, table, keys]() -> Result<SectionBytes> {
      const std::vector<std::string_view> wanted(keys.begin(), keys.end());
      std::vector<std::string> found(keys.size());
      STRAND_OK(store->get(wanted, [&](size_t i, std::string_view rows) { found[i] = rows; }));
      std::erase_if(found, [](const std::string& rows) { return rows.empty(); });
      ByteWriter bytes;
      bytes.put(uint8_t{0});  // no totals emitted early
      bytes.put(static_cast<uint64_t>(found.size()));
      for (std::string& rows : found) {
        bytes.put(table);
        bytes.put_raw(rows.data(), rows.size());
        rows = std::string();
      }
      return SectionBytes(bytes.take());
    };
    out.add_own_file(section_name(table, run.number), kSectionVersion, make);
  }
}

std::vector<SectionRef> AggregateSpill::written(Epoch epoch, const std::vector<SectionRef>& refs) {
  std::vector<SectionRef> others;
  std::map<std::string, std::vector<SectionRef>> added;
  const std::string prefix = "e" + std::to_string(epoch.value) + "-";
  for (const SectionRef& ref : refs) {
    if (!is_run(ref)) {
      others.push_back(ref);
      continue;
    }
    if (epoch == epoch_ && ref.file.starts_with(prefix)) added[ref.name].push_back(ref);
  }
  for (auto& [table, runs] : runs_) {
    for (Run& run : runs) {
      const auto found = added.find(section_name(table, run.number));
      if (run.durable.empty() && found != added.end()) run.durable = found->second;
    }
  }
  return others;
}

}  // namespace strand::state
