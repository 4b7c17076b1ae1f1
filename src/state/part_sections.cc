#include "state/part_sections.h"

namespace strand::state {

void PartSections::begin(Epoch epoch, uint64_t freezes) {
  epoch_ = epoch;
  freezes_ = freezes;
  still_.clear();
  added_.clear();
}

void PartSections::add(SnapshotBuilder& out, const std::string& name, int32_t version, int64_t tag,
                       const TablePart& part, Encode encode) {
  const Id id{tag, part.table, part.first_page};
  const auto known = known_.find(id);
  if (known != known_.end() && part.changed < known->second.freezes) {
    out.add_existing(known->second.ref);
    still_.insert(*known);
    return;
  }
  out.add_own_file(name, version, [encode = std::move(encode)]() -> Result<SectionBytes> {
    STRAND_TRY(std::string bytes, encode());
    return SectionBytes(std::move(bytes));
  });
  added_.emplace_back(id);
}

void PartSections::add_small(SnapshotBuilder& out, const std::string& name, int32_t version, Encode encode) {
  out.add_deferred(name, version, std::move(encode));
  added_.emplace_back();
}

void PartSections::end() { known_.swap(still_); }

void PartSections::written(Epoch epoch, const std::vector<SectionRef>& refs) {
  if (epoch != epoch_) return;
  const std::string prefix = "e" + std::to_string(epoch.value) + "-";
  size_t next = 0;
  for (const SectionRef& ref : refs) {
    if (!ref.file.starts_with(prefix) || next == added_.size()) continue;
    const std::optional<Id>& id = added_[next++];
    if (id) known_.insert_or_assign(*id, Known{ref, freezes_});
  }
}

}  // namespace strand::state
