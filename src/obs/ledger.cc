#include "obs/ledger.h"

namespace strand::obs {

std::string_view entry_name(Entry entry) {
  constexpr std::array<std::string_view, kEntries> kNames = {"in",        "counted", "filtered", "late",
                                                             "duplicate", "bad",     "out",      "in_right"};
  return kNames[static_cast<size_t>(entry)];
}

}  // namespace strand::obs
