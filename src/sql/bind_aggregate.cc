#include <algorithm>

#include "sql/aggregate_call.h"
#include "sql/binder.h"
#include "sql/provenance.h"

namespace strand::sql {

using columnar::TypeKind;
using expr::Aggregate;

namespace {

constexpr size_t kWindowColumns = 3;  // window_start, window_end, window_time

/// One GROUP BY while it is bound: keys and aggregates are collected over the input, and every expression of
/// the select list and of HAVING becomes one over the aggregation's output: keys, window columns, aggregates.
class Grouping {
 public:
  Grouping(const Relation& input, const ast::Select& select, const Values& values, const std::string& zone)
      : input_(input), select_(select), in_(input, zone), out_(input, zone) {
    in_.replace(from(values));
    out_.replace([this](const ast::Expr& e) { return replacement(e); });
  }

  Status bind_keys() {
    for (const ast::ExprPtr& ast : select_.group_by) {
      STRAND_TRY(ExprPtr key, in_.bind(*ast));
      if (const auto column = window_column(*key)) {
        grouped_window_[*column] = true;
      } else if (reads_window(*key)) {
        return error_at(ErrorCode::kBadWindow, ast->place,
                        "the rows of a window are grouped by its bounds as they are")
            .hint("group by window_start and window_end, and compute with them in the select list");
      } else if (!find_key(*key)) {
        keys_.push_back(std::move(key));
      }
    }
    return input_.window ? check_partition() : Status();
  }

  /// One more key; where it is in the output.
  size_t add_key(const ExprPtr& key) {
    if (const auto known = find_key(*key)) return *known;
    keys_.push_back(key);
    return keys_.size() - 1;
  }

  Result<ExprPtr> bind(const ast::Expr& e) { return out_.bind(e); }
  Result<ExprPtr> bind_having(const ast::Expr& e) { return out_.bind_condition(e, "HAVING"); }

  /// What the aggregation reads beside plain columns: keys, then arguments.
  std::vector<ExprPtr> needed() const {
    std::vector<ExprPtr> all = keys_;
    for (const AggregateCall& call : calls_) call.append_needed(all);
    return all;
  }
  /// What an expression over the output is in a group without rows, if `having` lets that pass and it is not
  /// NULL: COUNT is 0, the other aggregates are NULL.
  ExprPtr of_nothing(const ExprPtr& e, const ExprPtr& having, const std::string& zone) const {
    const auto value = [&](const ExprPtr& of) -> ExprPtr {
      const Result<ExprPtr> folded = expr::fold(without_rows(of), {zone});
      return folded.ok() ? *folded : without_rows(of);
    };
    const ExprPtr passes = having ? value(having) : nullptr;
    const auto* known = passes ? std::get_if<bool>(&passes->literal) : nullptr;
    if (passes && (passes->kind != expr::Expr::Kind::kLiteral || known == nullptr || !*known)) return nullptr;
    ExprPtr result = value(e);
    const bool null =
        result->kind == expr::Expr::Kind::kLiteral && std::holds_alternative<std::monostate>(result->literal);
    return null ? nullptr : result;
  }
  size_t keys() const { return keys_.size(); }
  const std::vector<ExprPtr>& key_expressions() const { return keys_; }

  std::vector<Aggregate> aggregates(const std::vector<size_t>& at) const {
    std::vector<Aggregate> list;
    size_t next = keys_.size();
    for (const AggregateCall& call : calls_) list.push_back(call.at(at, next));
    return list;
  }
  /// Gives the aggregate at this output column the name of a select item.
  void name(size_t column, const std::string& alias) {
    const size_t base = first_aggregate();
    if (column >= base && column < base + calls_.size()) calls_[column - base].name = alias;
  }
  std::shared_ptr<const WindowPart> window_part(size_t column) const {
    if (!input_.window || column < keys_.size() || column > keys_.size() + 1) return nullptr;
    return input_.columns[input_.own_columns() + column - keys_.size()].window;
  }
  /// The column of the input that a key is, where the rows have a window already.
  const Column* attached_key(size_t column) const {
    if (!input_.window || !input_.window->attached || column >= keys_.size()) return nullptr;
    const expr::Expr& key = *keys_[column];
    return key.kind == expr::Expr::Kind::kColumn && key.column < input_.columns.size()
               ? &input_.columns[key.column]
               : nullptr;
  }
  /// Which of the keys are start and end of the window that the rows have.
  std::optional<std::array<size_t, 2>> attached_bounds() const {
    if (!input_.window->attached) return std::nullopt;
    std::array<size_t, 2> bounds{};
    for (size_t i = 0; i < keys_.size(); ++i) {
      const Column* key = attached_key(i);
      if (key != nullptr && key->window) bounds[key->window->is_end ? 1 : 0] = i;
    }
    return bounds;
  }
  bool is_window_time(size_t column) const { return input_.window && column == keys_.size() + 2; }

 private:
  /// Sessions are those of the partition, so it must be what is grouped by.
  Status check_partition() const {
    if (input_.window->shape.kind != expr::WindowKind::kSession) return Status();
    const std::vector<size_t>& partition = input_.window->partition_by;
    const auto grouped = [&](size_t column) {
      return find_key(*expr::column(column, input_.columns[column].type)).has_value();
    };
    const auto in_partition = [&](const ExprPtr& key) {
      return key->kind == expr::Expr::Kind::kColumn &&
             std::find(partition.begin(), partition.end(), key->column) != partition.end();
    };
    if (std::all_of(partition.begin(), partition.end(), grouped) &&
        std::all_of(keys_.begin(), keys_.end(), in_partition)) {
      return Status();
    }
    const auto list = [&](const std::vector<size_t>& columns) {
      std::string text;
      for (const size_t column : columns) text += (text.empty() ? "" : ", ") + input_.columns[column].name;
      return text.empty() ? "nothing" : text;
    };
    std::vector<size_t> plain;
    for (const ExprPtr& key : keys_) {
      if (key->kind == expr::Expr::Kind::kColumn) plain.push_back(key->column);
    }
    const std::string by = plain.size() == keys_.size() ? list(plain) : "expressions";
    Status error = error_at(ErrorCode::kUnsupportedSql, input_.window->place,
                            "sessions are grouped by the columns of their PARTITION BY and window_start, "
                            "window_end: PARTITION BY has " +
                                list(partition) + ", GROUP BY has " + by);
    if (plain.empty()) return std::move(error).hint("add " + list(partition) + " to GROUP BY");
    return std::move(error).hint("write SESSION(TABLE " + input_.name + " PARTITION BY " +
                                 (plain.size() > 1 ? "(" + list(plain) + ")" : list(plain)) + ", …)");
  }

  ExprPtr without_rows(const ExprPtr& e) const {
    if (e->kind == expr::Expr::Kind::kColumn) {
      const size_t at = e->column - first_aggregate();
      const bool counts = at < calls_.size() && (calls_[at].kind == Aggregate::Kind::kCount ||
                                                 calls_[at].kind == Aggregate::Kind::kCountStar);
      if (counts) return expr::literal(int64_t{0}, e->type);
      return expr::literal(std::monostate{}, columnar::with_nullable(e->type, true));
    }
    if (e->kind != expr::Expr::Kind::kCall) return e;
    std::vector<ExprPtr> args;
    for (const ExprPtr& arg : e->args) args.push_back(without_rows(arg));
    return expr::call(e->function, std::move(args), e->type);
  }

  size_t first_aggregate() const { return keys_.size() + (input_.window ? kWindowColumns : 0); }

  std::optional<size_t> window_column(const expr::Expr& e) const {
    const size_t own = input_.own_columns();
    if (!input_.window || e.kind != expr::Expr::Kind::kColumn || e.column < own) return std::nullopt;
    return e.column - own;
  }
  bool reads_window(const expr::Expr& e) const {
    const std::vector<size_t> columns = expr::columns_of(e);
    return !columns.empty() && columns.back() >= input_.own_columns();
  }

  std::optional<size_t> find_key(const expr::Expr& e) const {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (expr::equal(*keys_[i], e)) return i;
    }
    return std::nullopt;
  }

  Result<ExprPtr> replacement(const ast::Expr& e) {
    if (is_aggregate(e)) {
      return bind_aggregate_call(e, in_, input_, [this](AggregateCall call) { return add(std::move(call)); });
    }
    const bool constant = e.kind != ast::Expr::Kind::kName && e.kind != ast::Expr::Kind::kCall &&
                          e.kind != ast::Expr::Kind::kCase && e.kind != ast::Expr::Kind::kCast &&
                          e.kind != ast::Expr::Kind::kSubquery;
    if (constant || has_aggregate(e)) return ExprPtr();
    STRAND_TRY(const ExprPtr bound, in_.bind(e));
    if (const auto key = find_key(*bound)) return expr::column(*key, keys_[*key]->type);
    if (const auto column = window_column(*bound); column && grouped_window_[*column]) {
      return expr::column(keys_.size() + *column, bound->type);
    }
    if (e.kind != ast::Expr::Kind::kName) return ExprPtr();
    return error_at(ErrorCode::kUnknownColumn, e.place,
                    "'" + e.parts.back() + "' is neither grouped nor aggregated")
        .hint("add it to GROUP BY, or use MIN or MAX of it");
  }

  Result<ExprPtr> add(AggregateCall call) {
    const auto same = std::ranges::find(calls_, call);
    const auto at = static_cast<size_t>(same - calls_.begin());
    if (same == calls_.end()) calls_.push_back(std::move(call));
    return expr::column(first_aggregate() + at, calls_[at].type);
  }

  const Relation& input_;
  const ast::Select& select_;
  ExpressionBinder in_;
  ExpressionBinder out_;
  std::vector<ExprPtr> keys_;
  bool grouped_window_[kWindowColumns] = {};
  std::vector<AggregateCall> calls_;
};

std::vector<columnar::Field> key_fields(const columnar::Schema& input, const std::vector<size_t>& keys) {
  std::vector<columnar::Field> fields;
  for (const size_t key : keys) fields.push_back(input[key]);
  return fields;
}

/// The input of an aggregation without the columns of its pending window.
Relation without_window(const Relation& input) {
  Relation plain = input;
  if (plain.window) plain.columns.resize(plain.columns.size() - kWindowColumns);
  plain.window.reset();
  return plain;
}

plan::WindowAggregate window_detail(const PendingWindow& window, std::vector<size_t> keys,
                                    std::vector<Aggregate> aggregates, const std::string& zone) {
  return plan::WindowAggregate{.keys = std::move(keys),
                               .time_column = window.time_column,
                               .kind = window.shape.kind,
                               .size = window.shape.size,
                               .step = window.shape.step,
                               .offset = window.shape.offset,
                               .aggregates = std::move(aggregates),
                               .zone = zone,
                               .early_delay = {},
                               .pre_aggregate = {},
                               .fire = window.fire};
}

void add_late_output(plan::Node& node, const columnar::Schema& input) {
  std::vector<columnar::Field> fields = input.fields();
  const columnar::TypePtr bounds = columnar::timestamp_type(3, /*ltz=*/false, /*nullable=*/false);
  fields.push_back({"window_start", bounds});
  fields.push_back({"window_end", bounds});
  fields.push_back({"judge", columnar::timestamp_type(3, /*ltz=*/true)});
  fields.push_back({"fully_late", columnar::make_type(TypeKind::kBoolean, false)});
  node.side_outputs[Port::kLate] = make_schema(std::move(fields));
  node.side_outputs[Port::kEarly] = node.output;
}

}  // namespace

Result<Relation> Binder::bind_aggregate(const Relation& input, const ast::Select& select, SelectHints& hints,
                                        const Place& place, Extras& extras) {
  Values values;
  STRAND_TRY(const Relation rows, with_inner_of_groups(input, select, values));
  return group_rows(rows, select, values, hints, place, extras);
}

Result<Relation> Binder::group_rows(const Relation& input, const ast::Select& select, const Values& values,
                                    SelectHints& hints, const Place& place, Extras& extras) {
  if (input.updating && reads_early(input.input())) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "rows of '" + input.name + "' cannot be aggregated: they are provisional")
        .hint("aggregate the rows of the window itself");
  }
  if (input.updating) want_update_before(input.input(), ChangeReader::kOperator);
  Grouping grouping(input, select, values, zone());
  STRAND_OK(grouping.bind_keys());
  std::vector<size_t> extras_at;
  for (const ExprPtr& key : extras.keys) extras_at.push_back(grouping.add_key(key));
  STRAND_TRY(const std::vector<ast::SelectItem> items, expand_stars(input, select.items));
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns;
  for (size_t i = 0; i < items.size(); ++i) {
    STRAND_TRY(ExprPtr bound, grouping.bind(*items[i].expr));
    Column column{item_name(items[i], i), bound->type};
    if (bound->kind == expr::Expr::Kind::kColumn) {
      if (grouping.is_window_time(bound->column)) column.time = TimeAttribute::kRowtime;
      column.window = grouping.window_part(bound->column);
      if (const Column* key = grouping.attached_key(bound->column)) {
        column.window = key->window;
        column.time = key->time == TimeAttribute::kRowtime ? key->time : TimeAttribute::kNone;
      }
      if (items[i].alias) grouping.name(bound->column, *items[i].alias);
    }
    if (bound->kind == expr::Expr::Kind::kCall && bound->function == "PROCTIME")
      column.time = TimeAttribute::kProctime;
    expressions.push_back(std::move(bound));
    columns.push_back(std::move(column));
  }
  STRAND_TRY(
      const std::vector<size_t> order_at,
      order_columns(extras, columns, expressions, [&](const ast::Expr& e) { return grouping.bind(e); }));
  ExprPtr having;
  if (select.having) {
    STRAND_TRY(having, grouping.bind_having(*select.having));
  }
  if (extras.one_value && !extras.keys.empty() && !select.grouped) {
    extras.of_nothing = grouping.of_nothing(expressions[0], having, zone());
    if (having) {  // a total that does not pass is no total of nothing
      const ExprPtr none = expr::literal(std::monostate{}, columnar::with_nullable(columns[0].type, true));
      STRAND_TRY(expressions[0], expr::resolve_call("CASE", {having, expressions[0], none}));
      columns[0].type = expressions[0]->type;
      having = nullptr;
    }
  }
  std::vector<ExprPtr> needed = grouping.needed();
  Duration after;
  std::optional<ExprPtr> instant;
  if (!input.window) {
    STRAND_TRY(instant, retention_instant(input, hints, after));
  }
  if (instant && input.updating) {
    return error_at(ErrorCode::kBadHint, hints.retention->place,
                    "STATE_RETENTION cannot act here: rows of '" + input.name + "' are updated later")
        .hint("remove the hint: a key whose last row is deleted is forgotten");
  }
  if (instant) needed.push_back(*instant);
  std::vector<size_t> at;
  const Relation plain = with_hidden(without_window(input), needed, at, place);
  std::optional<plan::Retention> retention;
  if (instant) retention = plan::Retention{at.back(), after};

  const std::vector<Aggregate> aggregates = grouping.aggregates(at);
  if (instant && !std::ranges::all_of(aggregates, &Aggregate::plain)) {
    return error_at(ErrorCode::kBadHint, hints.retention->place,
                    "STATE_RETENTION cannot act here: an aggregate keeps the values of its rows")
        .hint("use COUNT, SUM, MIN, MAX and AVG without DISTINCT, or remove the hint");
  }
  std::vector<size_t> keys(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(grouping.keys()));
  std::vector<columnar::Field> fields = key_fields(plain.schema(), keys);
  for (size_t i = 0; input.window && i < kWindowColumns; ++i) {
    const Column& column = input.columns[input.columns.size() - kWindowColumns + i];
    fields.push_back({column.name, column.type});
  }
  for (const Aggregate& aggregate : aggregates) fields.push_back({aggregate.name, aggregate.type});
  plan::Input edge = plain.input();
  if (keys.empty()) edge.single = true;
  edge.hash_keys = keys;
  plan::GroupAggregate group{keys, aggregates, retention, false, input.updating};
  if (!retention) group.ttl = ttl_of(input);
  plan::Detail detail = std::move(group);
  if (input.window) {
    const bool local = input.columns.back().type->kind == TypeKind::kTimestampLtz;
    plan::WindowAggregate window = window_detail(*input.window, keys, aggregates, local ? zone() : "UTC");
    window.changes = input.updating;
    window.attached = grouping.attached_bounds();
    detail = std::move(window);
  }
  auto node = nodes_.make(std::move(detail), {edge}, make_schema(std::move(fields)), place);
  if (input.window) {
    node->rowtime = keys.size() + 2;
    for (size_t i = 0; i < keys.size(); ++i) {
      const Column* key = grouping.attached_key(i);
      if (key != nullptr && key->time == TimeAttribute::kRowtime) node->rowtime = i;
    }
    add_late_output(*node, plain.schema());
  }
  Relation grouped;
  grouped.node = node;
  grouped.name = input.name;
  grouped.updating = !input.window || input.window->fire;
  if (having) {
    auto filtered = nodes_.make(plan::Filter{having}, {grouped.input()}, node->output, select.having->place);
    filtered->rowtime = node->rowtime;
    grouped.node = filtered;
  }
  for (size_t& place_of_key : extras_at) {
    expressions.push_back(expr::column(place_of_key, grouped.schema()[place_of_key].type));
    place_of_key = expressions.size() - 1;
  }
  return show_extras(project(grouped, expressions, std::move(columns), place), extras_at, order_at, extras,
                     place);
}

}  // namespace strand::sql
