#include "ops/join_condition.h"

namespace strand::ops {

using columnar::ColumnBuilder;

Result<std::unique_ptr<JoinCondition>> JoinCondition::make(const expr::ExprPtr& condition,
                                                           const std::array<const KeyedRowBytes*, 2>& sides,
                                                           const expr::CompileOptions& compile) {
  const size_t left = sides[0]->schema()->size();
  const std::vector<size_t> read = expr::columns_of(*condition);
  std::vector<size_t> places(left + sides[1]->schema()->size());
  std::vector<columnar::Field> fields;
  for (const size_t c : read) {
    places[c] = fields.size();
    fields.push_back(c < left ? (*sides[0]->schema())[c] : (*sides[1]->schema())[c - left]);
  }
  std::unique_ptr<JoinCondition> made(new JoinCondition);
  STRAND_TRY(made->evaluator_, expr::compile(expr::remap(condition, places), compile));
  made->pairs_ =
      std::make_unique<columnar::BatchBuilder>(std::make_shared<const columnar::Schema>(std::move(fields)));
  for (size_t side = 0; side < 2; ++side) {
    std::vector<ColumnBuilder*> to(sides[side]->schema()->size());
    for (const size_t c : read) {
      if ((c < left) != (side == 0)) continue;
      const size_t own = side == 0 ? c : c - left;
      to[own] = &made->pairs_->column(places[c]);
      made->sides_[side].columns.emplace_back(own, to[own]);
    }
    made->sides_[side].parts = sides[side]->parts(to);
  }
  return made;
}

void JoinCondition::add(size_t side, const columnar::Batch& batch, uint32_t row, std::string_view partner) {
  for (const auto& [column, to] : sides_[side].columns) to->append_from(batch.column(column), row);
  columnar::decode_key_parts(partner, sides_[1 - side].parts);
  pairs_->end_row();
}

}  // namespace strand::ops
