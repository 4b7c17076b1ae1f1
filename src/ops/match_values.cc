#include "ops/match_values.h"

#include <algorithm>
#include <array>

#include "ops/rows.h"

namespace strand::ops {

using columnar::Batch;
using expr::MatchReference;

namespace {

columnar::TypePtr type_of(const MatchReference& reference, const columnar::Schema& input) {
  return reference.aggregate ? reference.aggregate->type : input[reference.column].type;
}

/// The rows that a reference is about.
struct Range {
  uint64_t from;
  uint64_t count;
};
Range range_of(const MatchReference& reference, const MatchRun& run) {
  if (!reference.variable) return {run.start, run.rows()};
  return {run.first_of(*reference.variable), run.counts[*reference.variable]};
}

void append_from(const MatchReference& reference, const MatchRows& rows, const MatchRun& run,
                 columnar::ColumnBuilder& out) {
  const Range range = range_of(reference, run);
  if (reference.offset >= range.count) return out.append_null();
  const bool first = reference.kind == MatchReference::Kind::kFirst;
  const MatchRow& row =
      rows.at(first ? range.from + reference.offset : range.from + range.count - 1 - reference.offset);
  out.append_from(row.batch->column(reference.column), row.row);
}

}  // namespace

bool reads_own_row(const expr::MatchValue& condition, size_t own) {
  return std::ranges::all_of(condition.references, [own](const MatchReference& r) {
    return r.kind == MatchReference::Kind::kLast && r.offset == 0 && r.variable.value_or(own) == own;
  });
}

Result<MatchEvaluator> MatchEvaluator::make(const expr::MatchValue& value, const columnar::SchemaPtr& input,
                                            const expr::CompileOptions& options) {
  MatchEvaluator made;
  made.references_ = value.references;
  made.value_ = value.value;
  std::vector<columnar::Field> fields;
  for (const MatchReference& reference : value.references) {
    fields.push_back({(*input)[reference.column].name, type_of(reference, *input)});
    made.aggregates_.emplace_back();
    if (reference.aggregate)
      made.aggregates_.back().emplace(accumulator_specs({*reference.aggregate}), false);
  }
  made.schema_ = std::make_shared<columnar::Schema>(std::move(fields));
  made.builder_ = std::make_unique<columnar::BatchBuilder>(made.schema_);
  STRAND_TRY(made.evaluator_, expr::compile(value.value, options));
  return made;
}

Status MatchEvaluator::append(const MatchRows& rows, const MatchRun& run, const expr::EvalContext& context,
                              columnar::ColumnBuilder& out) {
  if (value_->kind == expr::Expr::Kind::kColumn && !aggregates_[value_->column]) {
    append_from(references_[value_->column], rows, run, out);
    return Status();
  }
  STRAND_TRY(const columnar::ColumnPtr value, evaluator_->eval(read(rows, run), context));
  out.append_from(*value, 0);
  return Status();
}

Result<bool> MatchEvaluator::holds(const MatchRows& rows, const MatchRun& run,
                                   const expr::EvalContext& context) {
  STRAND_TRY(const columnar::SelectionPtr selected, evaluator_->select(read(rows, run), context));
  return selected == nullptr || !selected->empty();
}

Result<columnar::SelectionPtr> MatchEvaluator::select(const Batch& batch, const expr::EvalContext& context) {
  std::vector<columnar::ColumnPtr> columns;
  for (const MatchReference& reference : references_) columns.push_back(batch.column_ptr(reference.column));
  return evaluator_->select(Batch(schema_, std::move(columns), batch.physical_rows()), context);
}

Batch MatchEvaluator::read(const MatchRows& rows, const MatchRun& run) {
  for (size_t i = 0; i < references_.size(); ++i) {
    if (aggregates_[i]) {
      append_aggregate(i, rows, run);
    } else {
      append_from(references_[i], rows, run, builder_->column(i));
    }
  }
  builder_->end_row();
  return builder_->finish();
}

void MatchEvaluator::append_aggregate(size_t index, const MatchRows& rows, const MatchRun& run) {
  state::ChangeAccumulators::State state{};
  const Range range = range_of(references_[index], run);
  for (uint64_t number = range.from; number < range.from + range.count; ++number) {
    const MatchRow& row = rows.at(number);
    aggregates_[index]->add(*row.batch, row.row, state);
  }
  aggregates_[index]->append_results(state, *builder_, index);
}

}  // namespace strand::ops
