#include "expr/compile.h"

#include <cstdlib>

#include "columnar/print.h"
#include "expr/bits.h"
#include "expr/decimal.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

Scope scope_of(const Batch& batch, const EvalContext& context) {
  Scope scope{&batch, &context, batch.physical_rows(), batch.selection() == nullptr, {}};
  if (!scope.all) scope.rows = *batch.selection();
  return scope;
}

class CompiledExpression final : public Evaluator {
 public:
  explicit CompiledExpression(NodePtr root) : root_(std::move(root)) {}

  Result<ColumnPtr> eval(const Batch& batch, const EvalContext& context) override {
    const Scope scope = scope_of(batch, context);
    if (scope.empty()) return Column::nulls(root_->type(), scope.length);
    STRAND_TRY(Value value, root_->eval(scope));
    if (!value.constant) return std::move(value.column);
    return repeated(value.column, scope.length);
  }

  Result<SelectionPtr> select(const Batch& batch, const EvalContext& context) override {
    STRAND_CHECK(root_->type()->kind == TypeKind::kBoolean);
    const Scope scope = scope_of(batch, context);
    STRAND_TRY(const Scope passed, root_->filter(scope));
    if (passed.count() == scope.count()) return batch.selection();
    return std::make_shared<const columnar::Selection>(passed.rows.begin(), passed.rows.end());
  }

 private:
  /// A constant column is built once and sliced while the constant stays the same.
  ColumnPtr repeated(const ColumnPtr& one, int64_t length) {
    if (one != one_ || length > all_->length()) {
      one_ = one;
      all_ = expand(one, length);
    }
    return all_->slice(0, length);
  }

  NodePtr root_;
  ColumnPtr one_;
  ColumnPtr all_;
};

Result<Environment> environment_of(const CompileOptions& options) {
  STRAND_TRY(Zone zone, Zone::load(options.zone));
  return Environment{std::move(zone)};
}

std::optional<Value> constant_of(const Expr& e, const Environment& environment) {
  Result<NodePtr> node = build_node(e, environment);
  if (!node.ok()) return std::nullopt;
  Result<Value> value = constant_value(**node);
  if (!value.ok() || value->column->is_null(0)) return std::nullopt;
  return *std::move(value);
}

/// Flink's planner compares constants in decimal: a BIGINT that no DOUBLE has is equal to none, though it is
/// once it was widened.
bool differ_in_decimal(const Expr& widened, const Expr& real, const Environment& environment) {
  if (widened.kind != Expr::Kind::kCall || widened.function != "CAST") return false;
  const ExprPtr& exact = widened.args[0];
  const bool whole = columnar::is_integer(exact->type->kind);
  if ((!whole && exact->type->kind != TypeKind::kDecimal) || real.type->kind != TypeKind::kDouble)
    return false;
  const int scale = whole ? 0 : exact->type->scale;
  const auto a = constant_of(*coerce(exact, columnar::decimal_type(38, scale)), environment);
  const auto b = constant_of(real, environment);
  if (!a || !b) return false;
  const std::optional<Int128> decimal = decimal_of(b->column->values<double>()[0], {38, scale});
  return decimal && *decimal != a->column->values<Int128>()[0];
}

/// Folds bottom-up. What fails stays as it is: the row that needs it reports the error, if there is one.
ExprPtr fold_in(const ExprPtr& e, const Environment& environment) {
  if (e->kind != Expr::Kind::kCall) return e;
  Args args;
  bool changed = false;
  for (const ExprPtr& arg : e->args) {
    args.push_back(fold_in(arg, environment));
    changed = changed || args.back() != arg;
  }
  const ExprPtr folded = changed ? call(e->function, args, e->type) : e;
  if (!is_constant(*e) || is_nested(e->type->kind) || e->type->kind == TypeKind::kNull) return folded;
  if ((e->function == "=" || e->function == "<>") &&
      (differ_in_decimal(*e->args[0], *e->args[1], environment) ||
       differ_in_decimal(*e->args[1], *e->args[0], environment))) {
    return literal(e->function == "<>", e->type);
  }
  Result<NodePtr> node = build_node(*folded, environment);
  if (!node.ok()) return folded;
  const Result<Value> value = constant_value(**node);
  if (!value.ok()) return folded;
  if (folded->function == "CAST" && e->type->kind == TypeKind::kDouble &&
      folded->args[0]->type->kind == TypeKind::kFloat && !value->column->is_null(0)) {
    // Flink folds constants in decimal: 1.1 stays 1.1. Columns are widened bit by bit.
    std::string digits;
    columnar::print_float(static_cast<float>(value->column->values<double>()[0]), digits);
    return literal(std::strtod(digits.c_str(), nullptr), e->type);
  }
  return literal(scalar_of(*value->column, 0), e->type);
}

}  // namespace

Result<ExprPtr> fold(const ExprPtr& expression, const CompileOptions& options) {
  STRAND_TRY(const Environment environment, environment_of(options));
  return fold_in(expression, environment);
}

Result<std::unique_ptr<Evaluator>> compile(const ExprPtr& expression, const CompileOptions& options) {
  STRAND_TRY(const Environment environment, environment_of(options));
  STRAND_TRY(NodePtr root, build_node(*fold_in(expression, environment), environment));
  return std::unique_ptr<Evaluator>(std::make_unique<CompiledExpression>(std::move(root)));
}

}  // namespace strand::expr
