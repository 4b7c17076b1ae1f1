#include "tests/fuzz/expression_fuzz.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <optional>
#include <vector>

#include "expr/compile.h"
#include "expr/registry.h"
#include "tests/fuzz/reference.h"
#include "tests/fuzz/sample.h"
#include "tests/fuzz/tree.h"

namespace strand::fuzz {

namespace {

using columnar::Batch;
using columnar::TypeKind;
using expr::Expr;
using expr::ExprPtr;

/// The value of one row as text, or how it fails.
using Answer = std::string;
constexpr const char* kFails = "fails with ";

bool fails(const Answer& answer) { return answer.starts_with(kFails); }

Answer failure(const Status& error) {
  return kFails + std::to_string(static_cast<int>(error.code())) + ": " + error.message();
}

/// Some functions refuse the texts of constants when they are compiled.
struct Judge {
  std::string zone;
  expr::EvalContext context = {WallTime{1'704'067'200'123}, EventTime{1'704'067'200'000}};

  Result<std::unique_ptr<expr::Evaluator>> compiled(const ExprPtr& e) const {
    return expr::compile(e, {.zone = zone});
  }

  std::vector<Answer> rows_of(expr::Evaluator& evaluator, const Batch& batch) const {
    std::vector<Answer> answers;
    const Result<columnar::ColumnPtr> column = evaluator.eval(batch, context);
    batch.for_each_row([&](int64_t row) {
      answers.push_back(column.ok() ? columnar::value_to_string(**column, row) : failure(column.status()));
    });
    return answers;
  }
};

std::string differs(const char* what, int64_t row, const Answer& expected, const Answer& found) {
  return std::string(what) + ", row " + std::to_string(row) + ": '" + found +
         "' where the row alone gives '" + expected + "'";
}

/// All rows at once and in parts: a part fails where one of its rows does, and has their values otherwise.
std::string wrong_in_parts(const Judge& judge, expr::Evaluator& evaluator, const Batch& batch,
                           const std::vector<Answer>& alone, int64_t size) {
  for (int64_t from = 0; from < batch.physical_rows(); from += size) {
    const int64_t rows = std::min(size, batch.physical_rows() - from);
    const std::vector<Answer> answers = judge.rows_of(evaluator, batch.slice(from, rows));
    const auto first = alone.begin() + static_cast<std::ptrdiff_t>(from);
    const bool should_fail = std::any_of(first, first + static_cast<std::ptrdiff_t>(rows), fails);
    if (should_fail && fails(answers[0])) continue;
    for (int64_t i = 0; i < rows; ++i) {
      const Answer& expected = alone[static_cast<size_t>(from + i)];
      const Answer& found = answers[static_cast<size_t>(i)];
      if (expected != found) return differs("in a batch", from + i, expected, found);
    }
  }
  return "";
}

/// A selection hides the rows that fail and others; what is hidden neither fails nor matters.
std::string wrong_with_selection(const Judge& judge, expr::Evaluator& evaluator, const Batch& batch,
                                 const std::vector<Answer>& alone, Random& random) {
  columnar::Selection rows;
  const double share = random.chance(0.5) ? 1.0 : 0.5;
  for (uint32_t row = 0; row < alone.size(); ++row) {
    if (!fails(alone[row]) && random.chance(share)) rows.push_back(row);
  }
  if (rows.empty()) return "";
  const Batch hidden = batch.with_selection(std::make_shared<const columnar::Selection>(rows));
  const std::vector<Answer> answers = judge.rows_of(evaluator, hidden);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (answers[i] != alone[rows[i]])
      return differs("under a selection", rows[i], alone[rows[i]], answers[i]);
  }
  return "";
}

/// The rows that `select` passes are those whose value is TRUE.
std::string wrong_as_condition(const Judge& judge, expr::Evaluator& evaluator, const Batch& batch,
                               const std::vector<Answer>& alone) {
  if (std::any_of(alone.begin(), alone.end(), fails)) return "";
  const Result<columnar::SelectionPtr> selected = evaluator.select(batch, judge.context);
  if (!selected.ok()) return "as a condition it fails: " + selected.status().to_string();
  std::vector<bool> passes(alone.size(), *selected == nullptr);
  if (*selected != nullptr) {
    for (const uint32_t row : **selected) passes[row] = true;
  }
  for (size_t row = 0; row < alone.size(); ++row) {
    if (passes[row] != (alone[row] == "TRUE")) {
      return differs("as a condition", static_cast<int64_t>(row), alone[row],
                     passes[row] ? "passes" : "does not pass");
    }
  }
  return "";
}

/// Flink's planner computes with constants in decimal, which is another answer than that of columns of these
/// types.
bool folds_in_decimal(const Expr& e) {
  const auto approximate = [](const ExprPtr& arg) {
    return arg->type->kind == TypeKind::kFloat || arg->type->kind == TypeKind::kDouble;
  };
  return approximate(std::make_shared<const Expr>(e)) ||
         std::any_of(e.args.begin(), e.args.end(), approximate) ||
         std::any_of(e.args.begin(), e.args.end(), [](const ExprPtr& arg) { return folds_in_decimal(*arg); });
}

/// The expression with some columns replaced by what they have in a row; nothing where one is nested.
ExprPtr with_constants(const ExprPtr& e, const Batch& batch, int64_t row, double share, Random& random) {
  if (e->kind == Expr::Kind::kColumn) {
    if (e->type->kind >= TypeKind::kArray || !random.chance(share)) return e;
    return expr::literal(expr::scalar_of(batch.column(e->column), row), e->type);
  }
  if (e->kind != Expr::Kind::kCall) return e;
  std::vector<ExprPtr> args;
  for (const ExprPtr& arg : e->args) args.push_back(with_constants(arg, batch, row, share, random));
  return expr::call(e->function, std::move(args), e->type);
}

std::string wrong_with_constants(const Judge& judge, const ExprPtr& e, const Batch& batch,
                                 const std::vector<Answer>& alone, Random& random) {
  if (folds_in_decimal(*e)) return "";
  for (int i = 0; i < 4; ++i) {
    const auto row = static_cast<int64_t>(random.below(alone.size()));
    const ExprPtr constant = with_constants(e, batch, row, i % 2 == 0 ? 1.0 : 0.5, random);
    const auto evaluator = judge.compiled(constant);
    const Answer& expected = alone[static_cast<size_t>(row)];
    if (fails(expected)) continue;  // a constant NULL beside the part that fails makes it needless
    if (!evaluator.ok()) continue;  // a constant that the function refuses
    const Answer found = judge.rows_of(**evaluator, batch.slice(row, 1))[0];
    if (expected != found)
      return differs("as constants", row, expected, found) + "\n" + expr::to_string(*constant);
  }
  return "";
}

/// Whether some part may not be needed for a row: what would fail there need not fail then.
bool has_choice(const Expr& e) {
  return e.kind == Expr::Kind::kLiteral || e.function == "AND" || e.function == "OR" ||
         e.function == "CASE" || e.function == "COALESCE" ||
         std::any_of(e.args.begin(), e.args.end(), [](const ExprPtr& arg) { return has_choice(*arg); });
}

/// Constants of FLOAT are computed in decimal, too.
bool has_constant_float(const ExprPtr& e) {
  return (e->type->kind == TypeKind::kFloat && expr::columns_of(*e).empty()) ||
         std::any_of(e->args.begin(), e->args.end(), has_constant_float);
}

std::string wrong_with_reference(const Judge& judge, const ExprPtr& e, const Batch& batch,
                                 const std::vector<Answer>& alone) {
  if (has_constant_float(e)) return "";
  for (int64_t row = 0; row < std::min<int64_t>(8, batch.physical_rows()); ++row) {
    const Batch one = batch.slice(row, 1);
    const auto known = reference_value(e, [&](const ExprPtr& part) -> Reference {
      const auto evaluator = judge.compiled(part);
      if (!evaluator.ok()) return {{}, true};
      const Result<columnar::ColumnPtr> column = (*evaluator)->eval(one, judge.context);
      if (!column.ok()) return {{}, true};
      return {expr::scalar_of(**column, 0), false};
    });
    if (!known || (known->fails && has_choice(*e))) continue;
    const Answer& found = alone[static_cast<size_t>(row)];
    const Answer expected =
        known->fails ? kFails : columnar::value_to_string(*expr::scalar_to_column(known->value, e->type), 0);
    if (known->fails ? !fails(found) : expected != found)
      return "row " + std::to_string(row) + ": '" + found + "' where the reference has '" + expected + "'";
  }
  return "";
}

}  // namespace

std::string wrong_with_expression(uint64_t number, bool tell) try {
  Random random(number);
  const int64_t rows = random.chance(0.02) ? 1'024 : random.between(1, 24);
  const Batch batch = sample(random, rows);
  const ExprPtr e = random_tree(*batch.schema(), static_cast<int>(random.between(1, 4)), random);
  const std::string text =
      expr::to_string(*e, batch.schema().get()) + " of type " + columnar::to_string(*e->type);
  if (tell) std::printf("%s\n", text.c_str());
  constexpr std::array kZones = {"UTC", "Europe/Berlin", "America/New_York"};
  const Judge judge{kZones[random.below(kZones.size())]};
  const auto evaluator = judge.compiled(e);
  if (!evaluator.ok()) return "";  // a constant that the function refuses
  std::vector<Answer> alone;
  for (int64_t row = 0; row < rows; ++row) {
    alone.push_back(judge.rows_of(**evaluator, batch.slice(row, 1))[0]);
    if (tell) std::printf("%lld %s\n", static_cast<long long>(row), alone.back().c_str());
  }
  std::string wrong = wrong_in_parts(judge, **evaluator, batch, alone, 7);
  if (wrong.empty()) wrong = wrong_in_parts(judge, **evaluator, batch, alone, 1'024);
  if (wrong.empty()) wrong = wrong_with_selection(judge, **evaluator, batch, alone, random);
  if (wrong.empty() && e->type->kind == TypeKind::kBoolean)
    wrong = wrong_as_condition(judge, **evaluator, batch, alone);
  if (wrong.empty()) wrong = wrong_with_constants(judge, e, batch, alone, random);
  if (wrong.empty()) wrong = wrong_with_reference(judge, e, batch, alone);
  return wrong.empty() ? "" : wrong + "\n" + text + ", zone " + judge.zone;
} catch (const std::exception& error) {
  return std::string("an exception: ") + error.what();
}

}  // namespace strand::fuzz
