// Where something waits for processing time: the wall clock becomes the event time of the rows that it reads.
#include "sql/binder.h"

namespace strand::sql {

Result<Relation> Binder::read_time(const Relation& input, size_t column, const Place& place) {
  if (input.updating) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "'" + input.columns[column].name + "' is processing time, and rows of '" + input.name +
                        "' are updated later: each update would count at another time")
        .hint("read the rows before the GROUP BY, or take an event time");
  }
  auto node = nodes_.make(plan::ReadTime{column}, {input.input()}, input.node->schema(input.port), place);
  node->rowtime = column;
  Relation result = input;
  result.node = node;
  result.port = Port::kMain;
  for (Column& each : result.columns) {
    if (each.time == TimeAttribute::kRowtime) each.time = TimeAttribute::kNone;
  }
  result.columns[column].time = TimeAttribute::kRowtime;
  return result;
}

/// The rows OVER which is aggregated: a RANGE with a bound that is ordered by processing time waits for it.
Result<Relation> Binder::read_time_over(const Relation& input, const ast::Over& written,
                                        const ast::Select& select) {
  STRAND_TRY(const ast::Over* over, window_of(written, select));
  if (!over->frame || !over->frame->range || !over->frame->preceding || over->order_by.size() != 1)
    return input;
  const ExpressionBinder binder(input, zone());
  STRAND_TRY(const ExprPtr by, binder.bind(*over->order_by[0].expr));
  const bool column = by->kind == expr::Expr::Kind::kColumn && by->column < input.columns.size();
  if (!column || input.columns[by->column].time != TimeAttribute::kProctime) return input;
  return read_time(input, by->column, over->place);
}

}  // namespace strand::sql
