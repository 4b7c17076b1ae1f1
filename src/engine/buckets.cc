#include "engine/buckets.h"

#include <charconv>

namespace strand::engine {

Buckets Buckets::of(const std::vector<const Key*>& keys) {
  Buckets out;
  for (size_t i = 0; !keys.empty() && i < keys.front()->size(); ++i) {
    bool minutes = false;
    bool hours = false;
    bool others = false;
    for (const Key* key : keys) {
      const Cell& cell = (*key)[i];
      const char first = cell && !cell->empty() ? (*cell)[0] : ' ';
      minutes = minutes || first == 'M';
      hours = hours || first == 'H';
      others = others || (first != 'M' && first != 'H');
    }
    if (minutes && hours && !others) out.column_ = i;
  }
  return out;
}

Key Buckets::hour_of(const Key& minute) const {
  Key hour = minute;
  std::string& text = *hour[*column_];
  text = "H" + text.substr(1, text.rfind(':') - 1);
  return hour;
}

std::optional<int64_t> whole(const Cell& cell) {
  if (!cell) return 0;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(cell->data(), cell->data() + cell->size(), number);
  if (error != std::errc() || end != cell->data() + cell->size()) return std::nullopt;
  return number;
}

}  // namespace strand::engine
