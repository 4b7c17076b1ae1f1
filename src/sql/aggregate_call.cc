#include "sql/aggregate_call.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "sql/coerce.h"

namespace strand::sql {

using columnar::TypeKind;
using expr::Aggregate;
using AggregateKind = Aggregate::Kind;

namespace {

constexpr std::array<std::pair<std::string_view, AggregateKind>, 9> kPlain = {
    {{"COUNT", AggregateKind::kCount},
     {"SUM", AggregateKind::kSum},
     {"MIN", AggregateKind::kMin},
     {"MAX", AggregateKind::kMax},
     {"AVG", AggregateKind::kAvg},
     {"FIRST_VALUE", AggregateKind::kFirst},
     {"LAST_VALUE", AggregateKind::kLast},
     {"ARRAY_AGG", AggregateKind::kArray},
     {"COLLECT", AggregateKind::kCollect}}};
constexpr std::array<std::string_view, 10> kComputed = {
    "STDDEV_POP", "STDDEV_SAMP", "STDDEV",     "VAR_POP",        "VAR_SAMP",
    "VARIANCE",   "LISTAGG",     "PERCENTILE", "JSON_OBJECTAGG", "JSON_ARRAYAGG"};

ExprPtr text_literal(const std::string& text) {
  return expr::literal(text, columnar::make_type(TypeKind::kString, false));
}

bool same(const ExprPtr& a, const ExprPtr& b) { return a && b ? expr::equal(*a, *b) : !a && !b; }

/// One call while it is bound.
class AggregateBinding {
 public:
  AggregateBinding(const ast::Expr& e, const ExpressionBinder& in, const Relation& input,
                   const AddAggregate& add)
      : e_(e), in_(in), input_(input), add_(add) {}

  Result<ExprPtr> bind() {
    STRAND_OK(bind_arguments());
    const auto* plain =
        std::ranges::find(kPlain, e_.text, &std::pair<std::string_view, AggregateKind>::first);
    if (plain != kPlain.end()) {
      AggregateCall call = call_of(plain->second, args_.empty() ? nullptr : args_[0]);
      call.nulls = call.kind == AggregateKind::kArray && !ignores_nulls();
      return add(std::move(call));
    }
    if (e_.text == "LISTAGG") return list();
    if (e_.text == "PERCENTILE") return percentile();
    if (e_.text == "JSON_ARRAYAGG") return json_array();
    if (e_.text == "JSON_OBJECTAGG") return json_object();
    return spread();
  }

 private:
  /// What stands behind the argument of LISTAGG and PERCENTILE is no expression over rows.
  size_t arguments() const {
    if (e_.text == "LISTAGG" || e_.text == "PERCENTILE") return 1;
    return e_.text == "JSON_OBJECTAGG"                            ? 2
           : e_.text == "JSON_ARRAYAGG" || e_.text == "ARRAY_AGG" ? 1
                                                                  : e_.args.size();
  }
  bool ignores_nulls() const { return e_.args.size() > 1 && e_.args[1]->text == "IGNORE"; }

  Status bind_arguments() {
    const bool star = e_.args.size() == 1 && e_.args[0]->kind == ast::Expr::Kind::kStar;
    if (e_.args.empty() || e_.args.size() < arguments() || (star && (e_.text != "COUNT" || e_.distinct)) ||
        (arguments() == e_.args.size() && e_.text != "JSON_OBJECTAGG" && e_.args.size() != 1)) {
      return error_at(ErrorCode::kUnknownFunction, e_.place, e_.text + " takes one argument")
          .hint(e_.text == "COUNT" ? "write COUNT(*) or COUNT(column)" : "write " + e_.text + "(column)");
    }
    if (e_.filter) {
      STRAND_TRY(filter_, in_.bind_condition(*e_.filter, "FILTER"));
    }
    if (star) return Status();
    for (size_t i = 0; i < arguments(); ++i) {
      if (has_aggregate(*e_.args[i])) {
        return error_at(ErrorCode::kSyntax, e_.args[i]->place, "an aggregate cannot stand in an aggregate")
            .hint("use a view for the inner one");
      }
      STRAND_TRY(ExprPtr bound, in_.bind(*e_.args[i]));
      const std::vector<size_t> columns = expr::columns_of(*bound);
      if (!columns.empty() && columns.back() >= input_.own_columns()) {
        return error_at(ErrorCode::kUnsupportedSql, e_.args[i]->place,
                        "the window's bounds cannot be aggregated")
            .hint("group by them");
      }
      args_.push_back(std::move(bound));
    }
    return Status();
  }

  /// An aggregate of an expression over the input; null: of rows.
  AggregateCall call_of(AggregateKind kind, ExprPtr argument) const {
    AggregateCall call;
    call.kind = argument ? kind : AggregateKind::kCountStar;
    call.distinct = e_.distinct && kind != AggregateKind::kMin && kind != AggregateKind::kMax;
    call.argument = std::move(argument);
    return call;
  }

  /// f(x) FILTER (WHERE c) is f(CASE WHEN c THEN x END), where f passes over NULLs.
  Status apply_filter(AggregateCall& call) const {
    if (!filter_) return Status();
    if (call.nulls) {
      call.filter = filter_;
      return Status();
    }
    if (!call.argument) {
      call.argument = expr::literal(int64_t{1}, columnar::make_type(TypeKind::kInt, false));
      call.kind = AggregateKind::kCount;
    }
    const ExprPtr none = expr::literal(std::monostate(), columnar::make_type(TypeKind::kNull));
    STRAND_TRY(call.argument, resolve("CASE", {filter_, call.argument, none}));
    return Status();
  }

  Result<ExprPtr> add(AggregateCall call) const {
    STRAND_OK(apply_filter(call));
    Result<columnar::TypePtr> type =
        expr::aggregate_type(call.kind, call.argument ? call.argument->type : nullptr);
    if (!type.ok()) return located(std::move(type).status(), e_.place);
    call.type = *std::move(type);
    if (call.kind == AggregateKind::kPercentile && percentiles_) call.type = columnar::array_type(call.type);
    call.name = !call.argument
                    ? "COUNT(*)"
                    : std::string(expr::aggregate_name(call.kind)) + (call.distinct ? "(DISTINCT " : "(") +
                          expr::to_string(*call.argument, &input_.schema()) + ")";
    return add_(std::move(call));
  }

  Result<ExprPtr> resolve(const std::string& function, std::vector<ExprPtr> args) const {
    Result<ExprPtr> call = expr::resolve_call(function, std::move(args));
    return call.ok() ? call : located(std::move(call).status(), e_.place);
  }
  Result<ExprPtr> cast(ExprPtr value, const columnar::TypePtr& type) const {
    return coerce(std::move(value), columnar::with_nullable(type, true));
  }

  /// The variance is (SUM(x * x) - SUM(x) * SUM(x) / COUNT(x)) / (COUNT(x) or COUNT(x) - 1), the deviation
  /// its root. Source: Calcite AggregateReduceFunctionsRule, which Flink uses.
  Result<ExprPtr> spread() const {
    Result<columnar::TypePtr> type = expr::aggregate_type(AggregateKind::kAvg, args_[0]->type);
    if (!type.ok()) {
      return error_at(ErrorCode::kTypeMismatch, e_.place,
                      e_.text + " takes a number, found " + columnar::to_string(*args_[0]->type))
          .hint("CAST the argument");
    }
    STRAND_TRY(const ExprPtr x, cast(args_[0], *type));
    STRAND_TRY(ExprPtr square, resolve("*", {x, x}));
    STRAND_TRY(const ExprPtr squares, add(call_of(AggregateKind::kSum, std::move(square))));
    STRAND_TRY(const ExprPtr sum, add(call_of(AggregateKind::kSum, x)));
    STRAND_TRY(const ExprPtr count, add(call_of(AggregateKind::kCount, x)));
    STRAND_TRY(ExprPtr product, resolve("*", {sum, sum}));
    const ExprPtr zero = expr::literal(int64_t{0}, count->type);
    const ExprPtr one = expr::literal(int64_t{1}, count->type);
    const bool population = e_.text.ends_with("_POP");
    // Of no value, and of a sample of one, there is none.
    STRAND_TRY(const ExprPtr divisor, nonzero(count, zero));
    ExprPtr degrees = divisor;
    if (!population) {
      STRAND_TRY(ExprPtr less, resolve("-", {count, one}));
      STRAND_TRY(ExprPtr several, resolve(">", {count, one}));
      const ExprPtr none = expr::literal(std::monostate(), columnar::make_type(TypeKind::kNull));
      STRAND_TRY(degrees, resolve("CASE", {std::move(several), std::move(less), none}));
    }
    STRAND_TRY(ExprPtr mean, resolve("/", {std::move(product), divisor}));
    STRAND_TRY(ExprPtr distance, resolve("-", {squares, std::move(mean)}));
    STRAND_TRY(ExprPtr result, resolve("/", {std::move(distance), std::move(degrees)}));
    if (e_.text.starts_with("STDDEV")) {
      const ExprPtr half = expr::literal(0.5, columnar::make_type(TypeKind::kDouble, false));
      STRAND_TRY(result, cast(std::move(result), columnar::make_type(TypeKind::kDouble)));
      STRAND_TRY(result, resolve("POWER", {std::move(result), half}));
    }
    return cast(std::move(result), *type);
  }
  Result<ExprPtr> nonzero(const ExprPtr& count, const ExprPtr& zero) const {
    STRAND_TRY(ExprPtr any, resolve(">", {count, zero}));
    const ExprPtr none = expr::literal(std::monostate(), columnar::make_type(TypeKind::kNull));
    return resolve("CASE", {std::move(any), count, none});
  }

  Result<ExprPtr> list() const {
    if (args_[0]->type->kind != TypeKind::kString) {
      return error_at(ErrorCode::kTypeMismatch, e_.args[0]->place,
                      "LISTAGG takes a STRING, found " + columnar::to_string(*args_[0]->type))
          .hint("CAST the argument");
    }
    if (e_.args.size() > 2 || (e_.args.size() == 2 && e_.args[1]->kind != ast::Expr::Kind::kString)) {
      return error_at(ErrorCode::kUnknownFunction, e_.place, "the separator of LISTAGG is a text")
          .hint("write LISTAGG(x, ', ')");
    }
    STRAND_TRY(ExprPtr values, add(call_of(AggregateKind::kArray, args_[0])));
    return resolve("ARRAY_JOIN",
                   {std::move(values), text_literal(e_.args.size() == 2 ? e_.args[1]->text : ",")});
  }

  Result<ExprPtr> json_array() const {
    AggregateCall call = call_of(AggregateKind::kArray, args_[0]);
    call.nulls = e_.args[1]->text == "NULL";
    STRAND_TRY(ExprPtr values, add(std::move(call)));
    return resolve("JSON_ARRAY_OF", {std::move(values)});
  }

  Result<ExprPtr> json_object() const {
    STRAND_TRY(ExprPtr entry, resolve("ROW", {args_[0], args_[1]}));
    STRAND_TRY(ExprPtr entries, add(call_of(AggregateKind::kArray, std::move(entry))));
    return resolve("JSON_OBJECT_OF", {std::move(entries), text_literal(e_.args[2]->text)});
  }

  Status bad_fraction(const Place& place) const {
    return error_at(ErrorCode::kTypeMismatch, place, "PERCENTILE takes numbers from 0 to 1")
        .hint("write PERCENTILE(x, 0.5) or PERCENTILE(x, ARRAY[0.5, 0.9])");
  }
  Result<ExprPtr> percentile() {
    if (e_.args.size() < 2 || e_.args.size() > 3) return bad_fraction(e_.place);
    if (!columnar::is_numeric(args_[0]->type->kind)) {
      return error_at(ErrorCode::kTypeMismatch, e_.args[0]->place,
                      "PERCENTILE takes a number, found " + columnar::to_string(*args_[0]->type))
          .hint("CAST the argument");
    }
    const ast::Expr& wanted = *e_.args[1];
    percentiles_ = wanted.kind == ast::Expr::Kind::kCall && wanted.text == "ARRAY" && !wanted.args.empty();
    STRAND_TRY(ExprPtr number, cast(args_[0], columnar::make_type(TypeKind::kDouble)));
    AggregateCall call = call_of(AggregateKind::kPercentile, std::move(number));
    const std::vector<ast::ExprPtr> one = {e_.args[1]};
    for (const ast::ExprPtr& each : percentiles_ ? wanted.args : one) {
      if (each->kind != ast::Expr::Kind::kNumber) return bad_fraction(each->place);
      call.fractions.push_back(std::strtod(each->text.c_str(), nullptr));
      if (call.fractions.back() > 1) return bad_fraction(each->place);
    }
    if (e_.args.size() == 3) {
      STRAND_TRY(ExprPtr weight, in_.bind(*e_.args[2]));
      if (!columnar::is_integer(weight->type->kind)) {
        return error_at(ErrorCode::kTypeMismatch, e_.args[2]->place,
                        "a row counts a whole number of times, found " + columnar::to_string(*weight->type));
      }
      STRAND_TRY(call.weight, cast(std::move(weight), columnar::make_type(TypeKind::kBigInt)));
    }
    return add(std::move(call));
  }

  const ast::Expr& e_;
  const ExpressionBinder& in_;
  const Relation& input_;
  const AddAggregate& add_;
  std::vector<ExprPtr> args_;
  ExprPtr filter_;
  bool percentiles_ = false;
};

}  // namespace

bool AggregateCall::operator==(const AggregateCall& other) const {
  return kind == other.kind && distinct == other.distinct && nulls == other.nulls &&
         fractions == other.fractions && offset == other.offset && same(argument, other.argument) &&
         same(filter, other.filter) && same(weight, other.weight);
}

void AggregateCall::append_needed(std::vector<ExprPtr>& needed) const {
  for (const ExprPtr& each : {argument, filter, weight}) {
    if (each) needed.push_back(each);
  }
}

Aggregate AggregateCall::at(const std::vector<size_t>& columns, size_t& next) const {
  Aggregate aggregate{.kind = kind, .column = 0, .input = nullptr, .type = type, .name = name};
  if (argument) {
    aggregate.column = columns[next++];
    aggregate.input = argument->type;
  }
  aggregate.distinct = distinct;
  aggregate.nulls = nulls;
  if (filter) aggregate.filter = columns[next++];
  aggregate.fractions = fractions;
  aggregate.offset = offset;
  if (weight) aggregate.weight = columns[next++];
  return aggregate;
}

Result<ExprPtr> bind_aggregate_call(const ast::Expr& e, const ExpressionBinder& in, const Relation& input,
                                    const AddAggregate& add) {
  return AggregateBinding(e, in, input, add).bind();
}

bool is_aggregate_name(const std::string& name) {
  return std::ranges::find(kPlain, name, &std::pair<std::string_view, AggregateKind>::first) !=
             kPlain.end() ||
         std::ranges::find(kComputed, name) != kComputed.end();
}

}  // namespace strand::sql
