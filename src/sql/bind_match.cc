// MATCH_RECOGNIZE.
#include <algorithm>
#include <map>

#include "sql/binder.h"
#include "sql/coerce.h"

namespace strand::sql {

namespace {

using expr::MatchReference;
using expr::MatchValue;
using Kind = ast::Expr::Kind;

constexpr size_t kVariablesMax = 64;

std::optional<Aggregate::Kind> match_aggregate(const std::string& function) {
  static const std::map<std::string, Aggregate::Kind> kKinds = {{"COUNT", Aggregate::Kind::kCount},
                                                                {"SUM", Aggregate::Kind::kSum},
                                                                {"MIN", Aggregate::Kind::kMin},
                                                                {"MAX", Aggregate::Kind::kMax},
                                                                {"AVG", Aggregate::Kind::kAvg}};
  const auto found = kKinds.find(function);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> variable_names(const ast::Match& match) {
  std::vector<std::string> names;
  for (const ast::Match::Variable& variable : match.pattern) names.push_back(variable.name);
  return names;
}

Result<size_t> variable_of(const ast::Match& match, const std::string& name, const Place& place) {
  for (size_t i = 0; i < match.pattern.size(); ++i) {
    if (match.pattern[i].name == name) return i;
  }
  const std::string near = suggestion(name, variable_names(match));
  return error_at(ErrorCode::kUnknownColumn, place, "the PATTERN has no variable '" + name + "'")
      .hint(near.empty() ? "its variables: " + join_names(variable_names(match))
                         : "did you mean '" + near + "'?");
}

/// Binds conditions and measures: what they read of the rows becomes references, whose columns are numbers in
/// `needed` until it is known where those stand.
class MatchValues {
 public:
  MatchValues(const Relation& input, const ast::Match& match, std::string zone, std::optional<size_t> time)
      : input_(input), match_(match), zone_(std::move(zone)), time_(time) {}

  Result<MatchValue> measure(const ast::Expr& e) { return bind(e, nullptr); }
  Result<MatchValue> condition(const ast::Expr& e) { return bind(e, "DEFINE"); }
  const std::vector<ExprPtr>& needed() const { return needed_; }

  static void place(MatchValue& value, const std::vector<size_t>& at) {
    for (MatchReference& reference : value.references) {
      if (reference.aggregate && reference.aggregate->kind == Aggregate::Kind::kCountStar) continue;
      reference.column = at[reference.column];
      if (reference.aggregate) reference.aggregate->column = reference.column;
    }
  }

 private:
  /// The rows that a part is about, and what it reads of each.
  struct Part {
    std::optional<size_t> variable;
    ExprPtr value;
  };

  Result<MatchValue> bind(const ast::Expr& e, const char* clause) {
    value_ = {};
    ExpressionBinder binder(input_, zone_);
    binder.replace([this](const ast::Expr& part) { return reference(part); });
    Result<ExprPtr> bound = clause != nullptr ? binder.bind_condition(e, clause) : binder.bind(e);
    if (!bound.ok()) return std::move(bound).status();
    value_.value = *std::move(bound);
    return std::move(value_);
  }

  Result<ExprPtr> reference(const ast::Expr& e) {
    if (e.kind == Kind::kName) {
      STRAND_TRY(const Part part, read(e));
      return add({.kind = MatchReference::Kind::kLast, .variable = part.variable}, part.value);
    }
    if (e.kind != Kind::kCall) return ExprPtr();
    if (e.text == "FIRST" || e.text == "LAST") return navigation(e);
    if (match_aggregate(e.text)) return aggregate(e);
    if (e.text == "MATCH_ROWTIME") return rowtime(e);
    if (e.text == "MATCH_PROCTIME") return expr::resolve_call("PROCTIME", {});
    for (const char* other : {"PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "RUNNING", "FINAL"}) {
      if (e.text != other) continue;
      return error_at(ErrorCode::kUnsupportedSql, e.place, e.text + " is not supported in MATCH_RECOGNIZE")
          .hint("LAST(A.column, 1) is the row of A before the last one");
    }
    return ExprPtr();
  }

  Result<ExprPtr> rowtime(const ast::Expr& e) {
    if (time_)
      return add({.kind = MatchReference::Kind::kLast, .variable = {}},
                 expr::column(*time_, input_.columns[*time_].type));
    return error_at(ErrorCode::kUnknownColumn, e.place, "the rows have no event time")
        .hint("ORDER BY the column of WATERMARK FOR, or write MATCH_PROCTIME()");
  }

  Result<ExprPtr> navigation(const ast::Expr& e) {
    const bool two = e.args.size() == 2 && e.args[1]->kind == Kind::kNumber &&
                     e.args[1]->text.find_first_not_of("0123456789") == std::string::npos &&
                     e.args[1]->text.size() < 7;
    if (e.args.size() != 1 && !two) {
      return error_at(ErrorCode::kUnknownFunction, e.place, e.text + " takes a column and a number of rows")
          .hint("such as " + e.text + "(A.price, 1)");
    }
    STRAND_TRY(const Part part, read(*e.args[0]));
    MatchReference reference{
        .kind = e.text == "FIRST" ? MatchReference::Kind::kFirst : MatchReference::Kind::kLast,
        .variable = part.variable};
    if (two) reference.offset = std::stoul(e.args[1]->text);
    return add(std::move(reference), part.value);
  }

  Result<ExprPtr> aggregate(const ast::Expr& e) {
    if (e.distinct || e.filter) {
      return error_at(ErrorCode::kUnsupportedSql, e.place,
                      e.text + " in MATCH_RECOGNIZE takes neither DISTINCT nor FILTER")
          .hint("write CASE WHEN … THEN … END as the argument");
    }
    if (e.args.size() != 1) {
      return error_at(ErrorCode::kUnknownFunction, e.place, e.text + " takes one argument")
          .hint("write " + e.text + "(A.column)");
    }
    const bool star = e.args[0]->kind == Kind::kStar && e.text == "COUNT";
    Part part;
    if (star && !e.args[0]->parts.empty()) {
      STRAND_TRY(part.variable, variable_of(match_, e.args[0]->parts[0], e.args[0]->place));
    } else if (!star) {
      STRAND_TRY(part, read(*e.args[0]));
    }
    Aggregate call{
        .kind = star ? Aggregate::Kind::kCountStar : *match_aggregate(e.text),
        .column = 0,
        .input = part.value ? part.value->type : nullptr,
        .type = nullptr,
        .name = e.text + "(" + (star ? "*" : expr::to_string(*part.value, &input_.schema())) + ")"};
    Result<columnar::TypePtr> type = expr::aggregate_type(call.kind, call.input);
    if (!type.ok()) return located(std::move(type).status(), e.place);
    call.type = *std::move(type);
    return add(
        {.kind = MatchReference::Kind::kAggregate, .variable = part.variable, .aggregate = std::move(call)},
        part.value);
  }

  /// An expression over the columns of one row, which a variable names or nothing.
  Result<Part> read(const ast::Expr& e) {
    Part part;
    bool bare = false;
    const ExpressionBinder plain(input_, zone_);
    ExpressionBinder binder(input_, zone_);
    binder.replace([&](const ast::Expr& name) -> Result<ExprPtr> {
      if (name.kind != Kind::kName) return ExprPtr();
      const auto names = variable_names(match_);
      const bool qualified = name.parts.size() > 1 && std::ranges::find(names, name.parts[0]) != names.end();
      if (!qualified) {
        bare = true;
        return plain.bind(name);
      }
      STRAND_TRY(const size_t variable, variable_of(match_, name.parts[0], name.place));
      if (part.variable && *part.variable != variable) {
        return error_at(ErrorCode::kUnsupportedSql, name.place, "one call reads rows of one variable")
            .hint("write a call for each: SUM(A.price) + SUM(B.price)");
      }
      part.variable = variable;
      ast::Expr column = name;
      column.parts.erase(column.parts.begin());
      return plain.bind(column);
    });
    STRAND_TRY(part.value, binder.bind(e));
    if (!bare || !part.variable) return part;
    return error_at(ErrorCode::kUnsupportedSql, e.place,
                    "columns with and without a variable stand in one call")
        .hint("put the variable before each: SUM(A.price * A.amount)");
  }

  ExprPtr add(MatchReference reference, const ExprPtr& value) {
    if (value) {
      const auto known =
          std::ranges::find_if(needed_, [&](const ExprPtr& e) { return expr::equal(*e, *value); });
      reference.column = static_cast<size_t>(known - needed_.begin());
      if (known == needed_.end()) needed_.push_back(value);
    }
    const columnar::TypePtr type =
        reference.aggregate ? reference.aggregate->type : columnar::with_nullable(value->type, true);
    const auto same = [&](const MatchReference& r) {
      return r.kind == reference.kind && r.variable == reference.variable && r.offset == reference.offset &&
             r.column == reference.column && !r.aggregate && !reference.aggregate;
    };
    const auto known = std::ranges::find_if(value_.references, same);
    const auto index = static_cast<size_t>(known - value_.references.begin());
    if (known == value_.references.end()) value_.references.push_back(std::move(reference));
    return expr::column(index, type);
  }

  const Relation& input_;
  const ast::Match& match_;
  std::string zone_;
  std::optional<size_t> time_;
  std::vector<ExprPtr> needed_;
  MatchValue value_;  // while it is bound
};

Result<std::vector<expr::MatchVariable>> variables_of(const ast::Match& match) {
  std::vector<expr::MatchVariable> variables;
  bool needs_row = false;
  for (const ast::Match::Variable& each : match.pattern) {
    const bool known = std::ranges::any_of(variables, [&](const auto& v) { return v.name == each.name; });
    if (known) {
      return error_at(ErrorCode::kDuplicateName, each.place,
                      "variable '" + each.name + "' stands in the PATTERN twice")
          .hint("give the second one a name and a condition of its own");
    }
    const bool optional = each.min == 0 && each.max == 1;
    const bool varies = !optional && each.max != each.min;
    variables.push_back({each.name, each.min, each.max, varies && !each.reluctant});
    needs_row = needs_row || each.min > 0;
  }
  const ast::Match::Variable& last = match.pattern.back();
  if (variables.size() > kVariablesMax) {
    return error_at(ErrorCode::kLimitExceeded, last.place,
                    "a PATTERN has at most " + std::to_string(kVariablesMax) + " variables")
        .hint("say with {n} how often a row repeats");
  }
  if (!needs_row) {
    return error_at(ErrorCode::kSyntax, match.pattern[0].place, "the PATTERN matches no rows at all, too")
        .hint("let one variable take a row at least: A+ instead of A*");
  }
  if (!variables.back().greedy) return variables;
  return error_at(ErrorCode::kUnsupportedSql, last.place,
                  "the last variable of a PATTERN cannot be greedy: its end would never be known")
      .hint("write " + last.name + "+?, or end the PATTERN with a variable for the row behind");
}

std::string name_of(const ast::Expr& e, size_t index) {
  return e.kind == Kind::kName ? e.parts.back() : "EXPR$" + std::to_string(index);
}

}  // namespace

/// The event time by which rows are ordered; `by_arrival`: none, but processing time.
Result<size_t> Binder::match_order(const Relation& input, const ast::Match& match, const Place& place,
                                   bool& by_arrival) const {
  const auto time = input.rowtime();
  const std::string hint =
      time ? "ORDER BY " + input.columns[*time].name
           : "ORDER BY the column of WATERMARK FOR, or one that is PROCTIME(), passed on unchanged";
  if (match.order_by.empty())
    return error_at(ErrorCode::kUnsupportedSql, place, "a pattern needs rows in the order of time")
        .hint(hint);
  const ast::OrderItem& first = match.order_by[0];
  STRAND_TRY(const ExprPtr by, ExpressionBinder(input, zone()).bind(*first.expr));
  const bool column = by->kind == expr::Expr::Kind::kColumn && by->column < input.columns.size();
  const TimeAttribute attribute = column ? input.columns[by->column].time : TimeAttribute::kNone;
  by_arrival = attribute == TimeAttribute::kProctime;
  if ((!by_arrival && attribute != TimeAttribute::kRowtime) || first.descending) {
    return error_at(ErrorCode::kUnsupportedSql, first.expr->place,
                    "a pattern needs rows in ascending order of event time or processing time")
        .hint(hint);
  }
  if (match.order_by.size() > 1) {
    return error_at(ErrorCode::kUnsupportedSql, match.order_by[1].expr->place,
                    "a second order is not supported: rows of equal time are read in the order of arrival")
        .hint("leave it out");
  }
  return by->column;
}

Result<Relation> Binder::bind_match(const ast::Match& match, const Place& place) {
  STRAND_TRY(Relation input, bind_table(*match.table));
  STRAND_TRY(input, make_joins(input, {}));
  if (input.window) {
    STRAND_TRY(input, expand_window(input));
  }
  if (input.rank) return refuse_rank(input);
  if (input.updating) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "MATCH_RECOGNIZE cannot read '" + input.name + "': its rows are updated later")
        .hint("read rows that stay, such as the table itself or the rows of a window");
  }
  bool by_arrival = false;
  STRAND_TRY(const size_t order, match_order(input, match, place, by_arrival));
  plan::Match detail;
  if (!by_arrival) detail.time_column = order;
  STRAND_TRY(detail.pattern, variables_of(match));
  detail.skip = static_cast<expr::MatchSkip>(match.skip);
  if (!match.skip_to.empty()) {
    STRAND_TRY(detail.skip_to, variable_of(match, match.skip_to, match.skip_place));
  }
  if (match.within) {
    STRAND_TRY(detail.within, interval_of(*match.within, "WITHIN"));
  }

  MatchValues values(input, match, zone(), detail.time_column);
  for (const ast::Match::Definition& definition : match.definitions) {
    STRAND_TRY(const size_t variable, variable_of(match, definition.variable, definition.place));
    STRAND_TRY(detail.pattern[variable].condition, values.condition(*definition.condition));
  }
  for (const ast::SelectItem& item : match.measures) {
    STRAND_TRY(MatchValue measure, values.measure(*item.expr));
    detail.measures.push_back(std::move(measure));
  }
  std::vector<ExprPtr> needed = values.needed();
  const ExpressionBinder plain(input, zone());
  for (const ast::ExprPtr& key : match.partition_by) {
    STRAND_TRY(ExprPtr bound, plain.bind(*key));
    needed.push_back(std::move(bound));
  }
  std::vector<size_t> at;
  Relation rows = with_hidden(input, needed, at, place);
  detail.keys.assign(at.end() - static_cast<std::ptrdiff_t>(match.partition_by.size()), at.end());
  for (expr::MatchVariable& variable : detail.pattern) {
    if (variable.condition) MatchValues::place(*variable.condition, at);
  }
  for (MatchValue& measure : detail.measures) MatchValues::place(measure, at);

  Relation result;
  std::vector<columnar::Field> fields;
  const auto add = [&](std::string name, const columnar::TypePtr& type, TimeAttribute time) {
    fields.push_back({name, type});
    result.columns.push_back({.name = std::move(name), .type = type, .time = time});
  };
  for (size_t i = 0; i < detail.keys.size(); ++i)
    add(name_of(*match.partition_by[i], i), rows.schema()[detail.keys[i]].type, TimeAttribute::kNone);
  std::optional<size_t> rowtime;
  for (size_t i = 0; i < match.measures.size(); ++i) {
    const ast::Expr& written = *match.measures[i].expr;
    const bool is_rowtime = written.kind == Kind::kCall && written.text == "MATCH_ROWTIME";
    if (is_rowtime) rowtime = fields.size();
    add(*match.measures[i].alias, detail.measures[i].value->type,
        is_rowtime ? TimeAttribute::kRowtime : TimeAttribute::kNone);
  }
  if (fields.empty()) {
    return error_at(ErrorCode::kSyntax, place, "MATCH_RECOGNIZE gives no column")
        .hint("add MEASURES A.column AS name");
  }
  const columnar::SchemaPtr late = rows.node->schema(rows.port);
  auto node = nodes_.make(std::move(detail), {rows.input()}, make_schema(std::move(fields)), place);
  node->side_outputs[Port::kLate] = late;
  node->rowtime = rowtime;
  result.node = node;
  return result;
}

}  // namespace strand::sql
