// Sections that are read when their operator comes to them.
#pragma once

#include "state/aggregate_spill.h"
#include "state/cold_groups.h"
#include "state/cold_sessions.h"
#include "state/id_section.h"
#include "state/interval_table.h"
#include "state/keyed/keyed_state.h"
#include "state/row_log.h"
#include "state/snapshot.h"

namespace strand::state {

/// Whether the operator takes the section by `Section::loaded`, one after the other: together they may be
/// more than memory holds.
inline bool is_read_late(const SectionRef& ref) {
  return ref.name == kIdsSection || ref.name == kMergedIdsSection || AggregateSpill::is_run(ref) ||
         RowSpill::is_section(ref) || RowLog::is_section(ref) || IntervalTable::is_section(ref) ||
         ref.name == kHotGroupsSection || ref.name == kKeyedSection || ref.name == kHotSessionsSection;
}

}  // namespace strand::state
