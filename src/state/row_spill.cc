#include "state/row_spill.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/bytes.h"
#include "state/spill/ordered_key.h"

namespace strand::state {

namespace {

constexpr std::string_view kRowSection = "rows/";  // and a number
constexpr size_t kRowBlockBytes = size_t{32} << 10;
constexpr uint64_t kWholeFrom = uint64_t{16} << 20;

std::string group_prefix(int32_t group) {
  std::string prefix;
  append_ordered(static_cast<uint16_t>(group), prefix);
  return prefix;
}

std::string staged_rows_prefix(uint64_t piece) {
  std::string prefix;
  append_ordered(piece, prefix);
  return prefix;
}

int32_t group_of(std::string_view key) {
  return static_cast<int32_t>(static_cast<uint8_t>(key[0])) << 8 | static_cast<uint8_t>(key[1]);
}

uint64_t number_of(const SectionRef& ref) {
  uint64_t number = 0;
  const std::string_view digits = std::string_view(ref.name).substr(kRowSection.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string row_section(uint64_t number) { return std::string(kRowSection) + std::to_string(number); }

void write_row(std::string_view key, std::string_view value, ByteWriter& out) {
  out.put_string(key);
  out.put_string(value);
}

/// Calls f(key, value) for the rows of a section that belong to its reader and to `groups`.
Status for_each_row(const Section& section, KeyGroupRange groups, const RowSpill::Visit& f) {
  const KeyGroupRange theirs = section.ref.groups;
  if (theirs.last < groups.first || theirs.first > groups.last) return Status();
  STRAND_OK(check_version(section.ref, RowSpill::kSectionVersion));
  STRAND_TRY(const Section loaded, section.loaded());
  ByteReader in(loaded.bytes());
  while (in.remaining() > 0) {
    STRAND_TRY(const std::string_view key, in.get_string());
    STRAND_TRY(const std::string_view value, in.get_string());
    const int32_t group = group_of(key);
    if (groups.contains(group) && theirs.contains(group)) STRAND_OK(f(key, value));
  }
  return Status();
}

std::vector<const Section*> in_their_order(const std::vector<Section>& sections) {
  std::vector<const Section*> ordered;
  for (const Section& section : sections) {
    if (RowSpill::is_section(section.ref)) ordered.push_back(&section);
  }
  std::ranges::stable_sort(ordered, {}, [](const Section* s) { return number_of(s->ref); });
  return ordered;
}

}  // namespace

RowSpill::RowSpill(SpillSpace& space, KeyGroupRange groups, Useless useless)
    : space_(space), groups_(groups), useless_(std::make_shared<const Useless>(std::move(useless))) {
  space_.join();
}

bool RowSpill::is_section(const SectionRef& ref) { return ref.name.starts_with(kRowSection); }

Status RowSpill::open() {
  if (store_ != nullptr) return Status();
  const auto useless = [of = useless_](std::string_view key, std::string_view value) {
    return value.empty() || (*of && (*of)(key, value));
  };
  STRAND_TRY(stage_, space_.open({}));
  STRAND_TRY(store_, space_.open({.lookups = true, .useless = useless}));
  return Status();
}

Status RowSpill::put(size_t n, const Row& row) {
  STRAND_OK(failed_);
  if (n == 0) return Status();
  STRAND_OK(open());
  STRAND_OK(stage(n, row));
  rows_ += static_cast<int64_t>(n);
  std::string key;
  std::string value;
  size_t at = 0;
  return store_->put([&](std::string_view& next_key, std::string_view& next_value) {
    if (at == n) return false;
    row(at++, key, value);
    next_key = key;
    next_value = value;
    return true;
  });
}

Status RowSpill::stage(size_t n, const Row& row) {
  const size_t most = space_.section_bytes();
  size_t at = 0;
  size_t piece_bytes = most;
  uint32_t block = 0;
  std::string block_key;
  std::string key;
  std::string value;
  std::string bytes;
  return stage_->put([&](std::string_view& next_key, std::string_view& next_value) {
    if (at == n) return false;
    if (piece_bytes >= most) {
      staged_.push_back({next_piece_++});
      piece_bytes = 0;
      block = 0;
    }
    ByteWriter rows;
    size_t block_bytes = 0;
    while (at < n && block_bytes < kRowBlockBytes) {
      row(at++, key, value);
      write_row(key, value, rows);
      block_bytes += key.size() + value.size();
    }
    piece_bytes += block_bytes;
    block_key = staged_rows_prefix(staged_.back().number);
    append_ordered(block++, block_key);
    bytes = rows.take();
    next_key = block_key;
    next_value = bytes;
    return true;
  });
}

Status RowSpill::take(std::span<const std::string_view> keys,
                      const std::function<void(size_t, std::string_view)>& found) {
  if (store_ == nullptr) return Status();
  return store_->get(keys, [&](size_t i, std::string_view value) {
    if (value.empty()) return;
    --rows_;
    found(i, value);
  });
}

Status RowSpill::for_each(const Visit& f) const {
  if (store_ == nullptr) return Status();
  return store_->view()->scan("", "", [&](std::string_view key, std::string_view value) {
    return value.empty() ? Status() : f(key, value);
  });
}

Status RowSpill::change(const std::function<Result<bool>(std::string_view, std::string&)>& change) {
  if (store_ == nullptr) return Status();
  std::vector<std::pair<std::string, std::string>> rows;
  size_t bytes = 0;
  const auto put_changed = [&] {
    rows_ -= static_cast<int64_t>(rows.size());  // that are there already
    const Status status = put(rows.size(), [&](size_t i, std::string& key, std::string& value) {
      key = rows[i].first;
      value = rows[i].second;
    });
    rows.clear();
    bytes = 0;
    return status;
  };
  STRAND_OK(for_each([&](std::string_view key, std::string_view old) -> Status {
    std::string value(old);
    STRAND_TRY(const bool changed, change(key, value));
    if (!changed) return Status();
    bytes += key.size() + value.size();
    rows.emplace_back(key, std::move(value));
    return bytes < space_.section_bytes() ? Status() : put_changed();
  }));
  return put_changed();
}

bool RowSpill::shall_write_whole() const {
  if (changes_ != changes_written_) return true;
  uint64_t bytes = 0;
  for (const SectionRef& ref : durable_) bytes += ref.length;
  return bytes > std::max(kWholeFrom, 2 * whole_bytes_);
}

void RowSpill::snapshot(SnapshotBuilder& out) {
  attempt_ = {out.epoch(), next_piece_, store_ != nullptr && shall_write_whole(), changes_};
  if (attempt_.whole) return add_whole(out);
  for (SectionRef ref : durable_) {
    // Of what another subtask had written, only the part that is this one's now.
    ref.groups = {std::max(ref.groups.first, groups_.first), std::min(ref.groups.last, groups_.last)};
    out.add_existing(ref);
  }
  for (const Piece& piece : staged_) {
    if (!piece.durable) add_piece(out, piece);
  }
}

void RowSpill::add_piece(SnapshotBuilder& out, const Piece& piece) const {
  const auto make = [store = stage_, pin = piece.pin,
                     prefix = staged_rows_prefix(piece.number)]() -> Result<SectionBytes> {
    std::string bytes;
    STRAND_OK(store->scan(prefix, [&](std::string_view, std::string_view rows) {
      bytes += rows;
      return Status();
    }));
    return SectionBytes(std::move(bytes));
  };
  out.add_own_file(row_section(piece.number), kSectionVersion, make);
}

void RowSpill::add_whole(SnapshotBuilder& out) {
  uint64_t bytes = 0;
  for (const SectionRef& ref : durable_) bytes += ref.length;
  const auto groups = static_cast<uint64_t>(groups_.last - groups_.first + 1);
  const auto parts = std::clamp<uint64_t>(bytes / space_.section_bytes() + 1, 1, groups);
  const std::shared_ptr<SpillView> view = store_->view();
  const uint64_t number = next_piece_ - 1;  // behind all that it replaces
  for (uint64_t part = 0; part < parts; ++part) {
    const auto first = groups_.first + static_cast<int32_t>(groups * part / parts);
    const auto next = groups_.first + static_cast<int32_t>(groups * (part + 1) / parts);
    // A row that has become useless since the barrier was not then.
    const auto make = [store = store_, view, from = group_prefix(first),
                       until = group_prefix(next)]() -> Result<SectionBytes> {
      ByteWriter rows;
      STRAND_OK(view->scan(from, until, [&](std::string_view key, std::string_view value) {
        if (!value.empty()) write_row(key, value, rows);
        return Status();
      }));
      return SectionBytes(rows.take());
    };
    out.add_own_file(row_section(number), kSectionVersion, make);
  }
}

std::vector<SectionRef> RowSpill::written(Epoch epoch, const std::vector<SectionRef>& refs) {
  std::vector<SectionRef> others;
  std::vector<SectionRef> added;
  const std::string prefix = "e" + std::to_string(epoch.value) + "-";
  for (const SectionRef& ref : refs) {
    if (!is_section(ref)) {
      others.push_back(ref);
    } else if (ref.file.starts_with(prefix)) {
      added.push_back(ref);
    }
  }
  if (epoch != attempt_.epoch) return others;
  if (attempt_.whole) {
    durable_.clear();
    changes_written_ = attempt_.changes;
    whole_bytes_ = 0;
    for (const SectionRef& ref : added) whole_bytes_ += ref.length;
  }
  durable_.insert(durable_.end(), added.begin(), added.end());
  for (Piece& piece : staged_) piece.durable |= piece.number < attempt_.until;
  if (failed_.ok()) failed_ = drop_staged();
  return others;
}

/// What durable files have, unless a snapshot that is being written needs it.
Status RowSpill::drop_staged() {
  Status status;
  std::erase_if(staged_, [&](const Piece& piece) {
    if (!status.ok() || !piece.durable || piece.pin.use_count() > 1) return false;
    status = stage_->drop(staged_rows_prefix(piece.number));
    return status.ok();
  });
  return status;
}

Status RowSpill::restore(const std::vector<Section>& sections) {
  for (const Section* section : in_their_order(sections)) {
    next_piece_ = std::max(next_piece_, number_of(section->ref) + 1);
    std::vector<std::pair<std::string, std::string>> rows;
    STRAND_OK(for_each_row(*section, groups_, [&](std::string_view key, std::string_view value) {
      rows.emplace_back(key, value);
      return Status();
    }));
    if (rows.empty()) continue;
    STRAND_OK(open());
    rows_ += static_cast<int64_t>(rows.size());
    auto at = rows.begin();
    STRAND_OK(store_->put([&](std::string_view& key, std::string_view& value) {
      if (at == rows.end()) return false;
      key = at->first;
      value = at->second;
      ++at;
      return true;
    }));
    durable_.push_back(section->ref);
  }
  return Status();
}

Status RowSpill::read(const std::vector<Section>& sections, KeyGroupRange groups, const Visit& f,
                      bool newest_first) {
  std::vector<const Section*> ordered = in_their_order(sections);
  if (newest_first) std::ranges::reverse(ordered);
  for (const Section* section : ordered) STRAND_OK(for_each_row(*section, groups, f));
  return Status();
}

}  // namespace strand::state
