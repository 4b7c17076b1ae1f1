#include "engine/reports/doctor.h"

#include <algorithm>

namespace strand::engine::reports {

using obs::Entry;

bool Doctor::nothing_read() {
  for (const SourceBooks& source : books_.sources) {
    const bool any = std::any_of(source.shards.begin(), source.shards.end(),
                                 [](const runtime::ShardView& shard) { return shard.records > 0; });
    if (any) continue;
    if (source.shards.empty()) {
      line(source.table + " has no shard: nothing matches " + path_of(source));
    } else {
      line(source.table + " has " + plural(static_cast<int64_t>(source.shards.size()), "shard", "shards") +
           " without a record: nothing was written there yet, or its last line has no end");
    }
    return is(Cause::kNothingRead, true, "nothing was read from " + source.table);
  }
  return false;
}

std::string Doctor::path_of(const SourceBooks& source) {
  if (source.scan == nullptr) return "its options";
  const auto path = source.scan->table.options.find("path");
  return path == source.scan->table.options.end() ? "its options" : "'path' = '" + path->second + "'";
}

bool Doctor::all_bad() {
  for (const OperatorBooks& books : books_.operators) {
    const int64_t in = books.ledger[Entry::kIn];
    if (!std::holds_alternative<plan::Scan>(books.node->detail) || in == 0) continue;
    if (books.ledger[Entry::kBad] != in) continue;
    line(plural(in, "record", "records") + " of " + books.name + " and not one could be parsed");
    line("to release it: compare 'format' and the columns of the table with the input; " + books.name +
         "$bad tells why each was refused");
    return is(Cause::kAllBad, true, "every record of " + books.name + " is bad");
  }
  return false;
}

bool Doctor::all_filtered() {
  for (const OperatorBooks& books : books_.operators) {
    const int64_t in = books.ledger[Entry::kIn];
    const auto* filter = std::get_if<plan::Filter>(&books.node->detail);
    // A branch that catches exceptions may well refuse every row.
    if (filter == nullptr || in == 0 || books.ledger[Entry::kFiltered] != in || !feeds_window(*books.node))
      continue;
    line(books.name + " has refused all of " + plural(in, "row", "rows") +
         (books.node->where.empty() ? "" : " (" + books.node->where + ")"));
    line("to release it: change its WHERE; `strandline explain` shows the condition as it was understood");
    return is(Cause::kAllFiltered, true, "the condition of " + books.name + " refuses every row");
  }
  return false;
}

bool Doctor::feeds_window(const plan::Node& node) const {
  const auto nodes = plan_.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const plan::NodePtr& reader) {
    return std::holds_alternative<plan::WindowAggregate>(reader->detail) && reads(*reader, node);
  });
}

bool Doctor::reads(const plan::Node& reader, const plan::Node& node) {
  return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const plan::Input& input) {
    return input.node.get() == &node || reads(*input.node, node);
  });
}

bool Doctor::all_late() {
  for (const OperatorBooks& books : books_.operators) {
    const int64_t in = books.ledger[Entry::kIn];
    if (in == 0 || books.ledger[Entry::kLate] != in) continue;
    line(books.name + " has judged all of " + plural(in, "row", "rows") + " late, by event time " +
         event(books.judge));
    line("to release it: a larger bound in WATERMARK FOR, or look for a shard whose clock runs ahead (" +
         newest_shard() + ")");
    return is(Cause::kAllLate, true, "every row of " + books.name + " is late");
  }
  return false;
}

std::string Doctor::newest_shard() const {
  const runtime::ShardView* newest = nullptr;
  for (const SourceBooks& source : books_.sources) {
    for (const runtime::ShardView& shard : source.shards) {
      if (newest == nullptr || shard.newest > newest->newest) newest = &shard;
    }
  }
  return newest == nullptr ? "none was read" : newest->shard + " is the newest, at " + event(newest->newest);
}

}  // namespace strand::engine::reports
