// A bounded rank becomes a deduplication or a Top-N.
#include <algorithm>

#include "sql/binder.h"
#include "sql/horizon.h"
#include "sql/provenance.h"

namespace strand::sql {

namespace {

/// The bounds of the window that rows are ranked in, if they are.
struct RankedWindow {
  size_t start = 0;
  size_t end = 0;
  std::string zone;
};
std::optional<RankedWindow> window_of_rank(const Relation& input, const PendingRank& rank) {
  std::optional<size_t> start;
  std::optional<size_t> end;
  std::string zone;
  for (size_t i = 0; i < rank.bounds.size(); ++i) {
    if (!rank.bounds[i]) continue;
    (rank.bounds[i]->is_end ? end : start) = rank.keys[i];
    zone = rank.bounds[i]->zone;
  }
  if (!start || !end || input.updating) return std::nullopt;
  return RankedWindow{*start, *end, zone};
}

}  // namespace

Result<Relation> Binder::ranked_rows(const Relation& input, const PendingRank& rank, const RankRange& range,
                                     bool read) {
  if (window_of_rank(input, rank)) return window_top_n(input, rank, range, read);
  const bool one = range.from == 1 && range.to == 1;
  const bool by_time = rank.order.empty() || rank.by_rowtime;
  return one && by_time && !input.updating ? deduplicate(input, rank) : top_n(input, rank, range, read);
}

Result<Relation> Binder::deduplicate(const Relation& input, const PendingRank& rank) {
  plan::Deduplicate dedup{.keys = rank.keys, .retention = rank.retention};
  if (!dedup.retention) dedup.retention = horizon_of(input.node, input.port);
  dedup.last = rank.newest_first;
  if (rank.by_rowtime) {
    dedup.time_column = rank.order[0].column;
    dedup.last = rank.order[0].descending;
  }
  if (!dedup.retention) dedup.ttl = ttl_of({});
  const columnar::SchemaPtr schema = input.node->schema(input.port);
  const bool last = dedup.last;
  auto node = nodes_.make(std::move(dedup), {input.input()}, schema, rank.place);
  node->side_outputs[Port::kDuplicate] = schema;
  node->side_outputs[Port::kLate] = schema;
  node->rowtime = input.port == Port::kMain ? input.node->rowtime : std::nullopt;
  Relation result = input;
  result.node = node;
  result.port = Port::kMain;
  result.rank.reset();
  result.updating = last;
  return result;
}

/// A rank within a window is final when the window has ended, not before.
Result<Relation> Binder::window_top_n(const Relation& input, const PendingRank& rank, const RankRange& range,
                                      bool read) {
  const RankedWindow window = *window_of_rank(input, rank);
  if (rank.retention) {
    return error_at(ErrorCode::kBadHint, rank.place,
                    "a Top-N of windows forgets its rows with their window: it takes no STATE_RETENTION")
        .hint("remove the hint");
  }
  if (rank.order.empty()) {
    return error_at(ErrorCode::kUnsupportedSql, rank.place,
                    "rows of a window are ranked by values or by event time, not by processing time")
        .hint("ORDER BY the event time, or leave window_start and window_end out of PARTITION BY");
  }
  plan::WindowTopN top;
  top.window_start = window.start;
  top.window_end = window.end;
  for (const size_t key : rank.keys) {
    if (key != window.start && key != window.end) top.keys.push_back(key);
  }
  top.zone = window.zone;
  top.order = rank.order;
  top.from = range.from;
  top.to = *range.to;
  top.last_of_equal = rank.by_rowtime && rank.order[0].descending && range.to == 1;
  top.rank = read;
  std::vector<columnar::Field> fields = input.schema().fields();
  const size_t own = fields.size();
  if (read) fields.push_back({"rank", columnar::make_type(columnar::TypeKind::kBigInt, false)});
  auto node = nodes_.make(std::move(top), {input.input()}, make_schema(std::move(fields)), rank.place);
  node->side_outputs[Port::kLate] = input.node->schema(input.port);
  node->rowtime = input.port == Port::kMain ? input.node->rowtime : std::nullopt;
  Relation result = input;
  result.node = node;
  result.port = Port::kMain;
  result.rank.reset();
  if (read) result.rank_column = own;
  return result;
}

Result<Relation> Binder::top_n(const Relation& input, const PendingRank& rank, const RankRange& range,
                               bool read) {
  if (rank.newest_first) {
    return error_at(ErrorCode::kUnsupportedSql, rank.place,
                    "of rows by processing time, newest first, only the first can be kept")
        .hint("keep the newest with ROW_NUMBER() … = 1, or rank by event time");
  }
  if (rank.retention) {
    return error_at(ErrorCode::kBadHint, rank.place,
                    "a Top-N keeps its rows for ever: it takes no STATE_RETENTION")
        .hint("remove the hint, or rank the rows of a window");
  }
  if (input.updating && reads_early(input.input())) {
    return error_at(ErrorCode::kUnsupportedSql, rank.place,
                    "rows of V$early cannot be ranked: they are provisional")
        .hint("rank the rows of the window itself");
  }
  if (input.updating) want_update_before(input.input(), ChangeReader::kOperator);
  plan::TopN top{.keys = rank.keys, .order = rank.order};
  top.from = range.from;
  top.to = *range.to;
  top.rank = read;
  top.changes = input.updating;
  top.ttl = ttl_of({});
  std::vector<columnar::Field> fields = input.schema().fields();
  const size_t own = fields.size();
  if (read) fields.push_back({"rank", columnar::make_type(columnar::TypeKind::kBigInt, false)});
  auto node = nodes_.make(std::move(top), {input.input()}, make_schema(std::move(fields)), rank.place);
  Relation result = input;
  result.node = node;
  result.port = Port::kMain;
  result.rank.reset();
  result.updating = true;
  if (read) result.rank_column = own;
  for (Column& column : result.columns) {
    if (column.time == TimeAttribute::kProctime) column.time = TimeAttribute::kNone;
  }
  return result;
}

}  // namespace strand::sql
