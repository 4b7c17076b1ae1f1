#include "ops/stream/window_join.h"

#include "base/check.h"

namespace strand::ops {

Record of_side(JoinSide side, Record record) {
  record.payload.insert(record.payload.begin(), static_cast<char>(side));
  return record;
}

Record without_side(Record record) {
  STRAND_CHECK(!record.payload.empty());
  record.payload.erase(0, 1);
  return record;
}

CoGroupFunction each_pair(JoinFunction function) {
  return [function = std::move(function)](const Firing& firing, const std::vector<Record>& lefts,
                                          const std::vector<Record>& rights) -> Status {
    for (const Record& left : lefts) {
      for (const Record& right : rights) STRAND_OK(function(firing, left, right));
    }
    return {};
  };
}

StreamWindowOptions window_join_options(StreamWindowOptions options, CoGroupFunction function,
                                        std::optional<window::EvictorOptions> evictor) {
  auto result = [function = std::move(function)](const Firing& firing, const std::vector<Record>& both) {
    std::vector<Record> left;
    std::vector<Record> right;
    for (const Record& record : both) {
      const bool is_left = record.payload.front() == static_cast<char>(JoinSide::kLeft);
      (is_left ? left : right).push_back(without_side(record));
    }
    return function(firing, left, right);
  };
  options.contents =
      std::make_unique<ListContents>(ListContents::Functions{.result = std::move(result)}, evictor);
  if (options.gap_of) {
    options.gap_of = [gap_of = std::move(options.gap_of)](const Record& record) {
      return gap_of(without_side(record));
    };
  }
  return options;
}

}  // namespace strand::ops
