// Joins: which conditions belong to which join, and what kind of join they make.
#include <algorithm>
#include <set>

#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/provenance.h"

namespace strand::sql {

namespace {

using plan::JoinKind;

bool is_true(const expr::Expr& e) {
  const auto* value = e.kind == expr::Expr::Kind::kLiteral ? std::get_if<bool>(&e.literal) : nullptr;
  return value != nullptr && *value;
}

std::set<std::string> tables_of(const Relation& relation) {
  std::set<std::string> names;
  for (const Column& column : relation.columns) names.insert(column.table);
  names.erase("");
  return names;
}

/// Distributes conditions over a join, its sides and what is behind it.
struct JoinWhere {
  JoinKind kind;
  size_t left_columns;
  std::vector<Condition> down[2] = {};  // over the columns of that side
  std::vector<Condition> on = {};
  std::vector<Condition> behind = {};

  void add(const Condition& condition, bool of_where) {
    if (is_true(*condition.expr)) return;
    const Sides sides = sides_of(*condition.expr, left_columns);
    const bool one_sided = sides == Sides::kLeft || sides == Sides::kRight;
    if (one_sided && !expr::reads_watermark(*condition.expr)) {
      const size_t side = sides == Sides::kRight ? 1 : 0;
      // ON says who is a partner: it drops no row of an outer side. WHERE drops padded rows too.
      if (!plan::is_outer(kind, of_where ? 1 - side : side)) {
        down[side].push_back(
            {side == 0 ? condition.expr : of_right(condition.expr, left_columns), condition.place});
        return;
      }
    }
    (of_where && kind != JoinKind::kInner ? behind : on).push_back(condition);
  }
};

}  // namespace

Result<ExprPtr> all_of(const std::vector<Condition>& conditions) {
  if (conditions.empty()) return ExprPtr();
  std::vector<ExprPtr> parts;
  for (const Condition& condition : conditions) parts.push_back(condition.expr);
  if (parts.size() == 1) return parts[0];
  Result<ExprPtr> all = expr::resolve_call("AND", std::move(parts));
  return all.ok() ? std::move(all) : located(std::move(all).status(), conditions[0].place);
}

Result<Relation> Binder::bind_join(const ast::Join& join, const Place& place) {
  auto pending = std::make_shared<PendingJoin>();
  pending->place = place;
  static constexpr JoinKind kKinds[] = {JoinKind::kInner, JoinKind::kLeft, JoinKind::kRight, JoinKind::kFull};
  pending->kind = kKinds[static_cast<size_t>(join.kind)];
  STRAND_TRY(pending->left, bind_join_side(*join.left));
  const bool lateral = join.right->lateral || std::holds_alternative<ast::Unnest>(join.right->source);
  if (lateral) {
    STRAND_TRY(Relation right, bind_lateral(join, *pending->left, *pending));
    pending->right = std::make_shared<const Relation>(std::move(right));
  } else if (join.right->as_of) {
    STRAND_TRY(pending->version, bind_version(join, *pending->left));
  }
  if (pending->version && pending->version->looked_up) {
    STRAND_TRY(Relation right, looked_up_columns(*join.right, *pending->version));
    pending->right = std::make_shared<const Relation>(std::move(right));
  } else if (!lateral) {
    ast::TableRef right = *join.right;
    right.as_of = nullptr;  // bound above
    STRAND_TRY(pending->right, bind_join_side(right));
  }
  Values values;
  if (join.condition && has_subquery(*join.condition)) {
    STRAND_OK(with_inner_of_on(join, *pending, values));
  }
  const std::set<std::string> names = tables_of(*pending->left);
  for (const std::string& name : tables_of(*pending->right)) {
    if (!names.contains(name)) continue;
    return error_at(ErrorCode::kDuplicateName, join.right->place, "'" + name + "' stands twice in FROM")
        .hint("give one of them another name: " + name + " AS other");
  }
  Relation both;
  both.columns = pending->left->columns;
  both.columns.insert(both.columns.end(), pending->right->columns.begin(), pending->right->columns.end());
  if (join.condition) {
    ExpressionBinder binder(both, zone());
    binder.replace(from(values));
    STRAND_TRY(const std::vector<Condition> on, bind_conditions(binder, {join.condition}, "ON"));
    pending->on.insert(pending->on.end(), on.begin(), on.end());
  }
  std::vector<std::array<size_t, 2>> pairs;
  STRAND_OK(merge_columns(join, pending->left->columns.size(), both, pending->on, pairs));
  both.join = std::move(pending);
  return pairs.empty() ? both : with_common(both, pairs, place);
}

/// FULL JOIN USING: the one column of two is that of the side which has a row.
Result<Relation> Binder::with_common(const Relation& both, const std::vector<std::array<size_t, 2>>& pairs,
                                     const Place& place) {
  STRAND_TRY(const Relation joined, make_joins(both, {}));
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns = joined.columns;
  for (size_t i = 0; i < columns.size(); ++i) expressions.push_back(expr::column(i, columns[i].type));
  for (const auto& [left, right] : pairs) {
    STRAND_TRY(ExprPtr value, expr::resolve_call("COALESCE", {expressions[left], expressions[right]}));
    columns.push_back({.name = columns[left].name, .type = value->type, .common = true});
    expressions.push_back(std::move(value));
  }
  return project(joined, expressions, std::move(columns), place);
}

/// USING and NATURAL: equal columns are one, that of the side whose rows all come out.
Status Binder::merge_columns(const ast::Join& join, size_t left_columns, Relation& both,
                             std::vector<Condition>& on, std::vector<std::array<size_t, 2>>& pairs) const {
  std::vector<std::pair<std::string, Place>> names = join.common;
  const auto find = [&](size_t from, size_t to, const std::string& name) -> std::optional<size_t> {
    for (size_t i = from; i < to; ++i) {
      const Column& column = both.columns[i];
      if (column.name == name && !column.hidden && !column.merged) return i;
    }
    return std::nullopt;
  };
  for (size_t i = 0; join.natural && i < left_columns; ++i) {
    const Column& column = both.columns[i];
    const bool known =
        column.hidden || column.merged || !find(left_columns, both.columns.size(), column.name);
    if (!known) names.emplace_back(column.name, join.right->place);
  }
  for (const auto& [name, place] : names) {
    const auto left = find(0, left_columns, name);
    const auto right = find(left_columns, both.columns.size(), name);
    if (!left || !right) {
      return error_at(
                 ErrorCode::kUnknownColumn, place,
                 "there is no column '" + name + "' in the table " + (left ? "behind" : "before") + " JOIN")
          .hint("USING names columns of both, else write ON");
    }
    Result<ExprPtr> equal = expr::resolve_call("=", {expr::column(*left, both.columns[*left].type),
                                                     expr::column(*right, both.columns[*right].type)});
    if (!equal.ok()) return located(std::move(equal).status(), place);
    on.push_back({*std::move(equal), place});
    const bool of_right = join.kind == ast::Join::Kind::kRight;
    const bool full = join.kind == ast::Join::Kind::kFull;  // of neither side: with_common makes it
    if (full) pairs.push_back({*left, *right});
    Column& shown = both.columns[of_right ? *right : *left];
    shown.common = !full;
    shown.merged = full;
    both.columns[of_right ? *left : *right].merged = true;
  }
  return Status();
}

Result<std::shared_ptr<const Relation>> Binder::bind_join_side(const ast::TableRef& ref) {
  STRAND_TRY(Relation side, bind_table(ref));
  if (side.rank) {
    STRAND_TRY(side, number_rows(side));
  }
  if (side.window) {
    STRAND_TRY(side, expand_window(side));
  }
  for (Column& column : side.columns) {
    if (column.table.empty()) column.table = side.name;
  }
  return std::make_shared<const Relation>(std::move(side));
}

Result<std::vector<Condition>> Binder::bind_conditions(const ExpressionBinder& binder,
                                                       const std::vector<ast::ExprPtr>& conditions,
                                                       const std::string& clause) {
  std::vector<Condition> bound;
  for (const ast::ExprPtr& condition : conditions) {
    for (const ast::ExprPtr& part : conjuncts(condition)) {
      if (has_aggregate(*part)) {
        return error_at(ErrorCode::kSyntax, part->place, clause + " cannot hold an aggregate")
            .hint("use HAVING");
      }
      STRAND_TRY(ExprPtr expr, binder.bind_condition(*part, clause));
      bound.push_back({std::move(expr), part->place});
    }
  }
  return bound;
}

Result<Relation> Binder::make_joins(const Relation& relation, std::vector<Condition> where) {
  if (!relation.join) return filter_by(relation, where);
  STRAND_TRY(Relation made, make_pending_join(*relation.join, std::move(where)));
  for (size_t i = 0; i < relation.columns.size(); ++i) {
    made.columns[i].common = relation.columns[i].common;
    made.columns[i].merged = relation.columns[i].merged;
    made.columns[i].hidden = relation.columns[i].hidden;
  }
  return made;
}

Result<Relation> Binder::make_pending_join(const PendingJoin& join, std::vector<Condition> where) {
  if (join.unnest) return make_unnest(join, where);
  if (join.version) return make_versions(join, where);
  const size_t left_columns = join.left->columns.size();
  JoinWhere split{without_padding(join.kind, where, left_columns), left_columns};
  for (const Condition& condition : join.on) split.add(condition, /*of_where=*/false);
  for (const Condition& condition : where) split.add(condition, /*of_where=*/true);
  STRAND_TRY(const Relation left, make_joins(*join.left, std::move(split.down[0])));
  STRAND_TRY(const Relation right, make_joins(*join.right, std::move(split.down[1])));
  STRAND_TRY(const Relation joined, make_join(split.kind, left, right, std::move(split.on), join.place));
  return filter_by(joined, split.behind);
}

Relation Binder::without_hidden(const Relation& relation, const Place& place) {
  std::vector<ExprPtr> all;
  for (size_t i = 0; i < relation.columns.size(); ++i)
    all.push_back(expr::column(i, relation.columns[i].type));
  Relation exact = project(relation, all, relation.columns, place);
  if (exact.schema().size() == relation.columns.size()) return exact;
  std::vector<columnar::Field> fields;
  for (const Column& column : relation.columns) fields.push_back({column.name, column.type});
  exact.node = nodes_.make(plan::Project{all}, {relation.input()}, make_schema(std::move(fields)), place);
  exact.port = Port::kMain;
  return exact;
}

/// Takes the conditions that make two expressions equal, one of each side.
Result<JoinSides> Binder::join_sides(const Relation& left, const Relation& right,
                                     std::vector<Condition>& conditions, const Place& place) {
  std::array<std::vector<ExprPtr>, 2> keys;
  std::vector<Condition> rest;
  JoinSides sides;
  for (const Condition& condition : conditions) {
    const auto equal = equal_sides(*condition.expr, left.columns.size());
    const columnar::TypePtr type = equal ? common_type(equal->first->type, equal->second->type) : nullptr;
    if (!type) {
      rest.push_back(condition);
      continue;
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const ExprPtr& key = side == 0 ? equal->first : equal->second;
      Result<ExprPtr> cast = coerce(key, columnar::with_nullable(type, key->type->nullable));
      if (!cast.ok()) return located(std::move(cast).status(), condition.place);
      keys[side].push_back(*std::move(cast));
    }
    sides.nulls_equal.push_back(condition.expr->function != "=");
  }
  conditions = std::move(rest);
  sides.relations = {with_hidden(without_hidden(left, place), keys[0], sides.keys[0], place),
                     with_hidden(without_hidden(right, place), keys[1], sides.keys[1], place)};
  return sides;
}

Result<Relation> Binder::make_join(JoinKind kind, const Relation& left, const Relation& right,
                                   std::vector<Condition> on, const Place& place) {
  const size_t left_columns = left.columns.size();
  const auto column = [&](size_t i) -> const Column& {
    return i < left_columns ? left.columns[i] : right.columns[i - left_columns];
  };
  const auto bounds_by = [&](TimeAttribute time) {
    return plan::gives_pairs(kind)
               ? take_time_bounds(on, left_columns, [&](size_t i) { return column(i).time == time; })
               : std::nullopt;
  };
  if (const auto by_clock = bounds_by(TimeAttribute::kProctime)) {
    STRAND_TRY(const Relation read_left, read_time(left, by_clock->left, place));
    STRAND_TRY(const Relation read_right, read_time(right, by_clock->right, place));
    return interval_join(kind, read_left, read_right, *by_clock, std::move(on), place);
  }
  const auto bounds = bounds_by(TimeAttribute::kRowtime);
  const auto window_ends = bounds ? std::nullopt : take_window_ends(left, right, on);
  for (const Relation* side : {&left, &right}) {
    if (!side->updating || (!bounds && !window_ends)) continue;
    return error_at(ErrorCode::kUnsupportedSql, place,
                    std::string(bounds ? "a join by time" : "a join of windows") + " cannot read '" +
                        side->name + "': its rows are updated later")
        .hint("join before the GROUP BY, or leave out the condition on the event times");
  }
  for (const Relation* side : {&left, &right}) {
    if (!side->updating || !reads_early(side->input())) continue;
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "early totals of '" + side->name + "' are replaced by key and cannot be joined")
        .hint("join the closed rows of the view, and write the early ones to a table of their own");
  }
  if (bounds) return interval_join(kind, left, right, *bounds, std::move(on), place);
  STRAND_TRY(const JoinSides sides, join_sides(left, right, on, place));
  STRAND_TRY(const JoinedHow how, join_how(kind, left, right, sides, std::move(on)));
  if (!window_ends) return regular_join(how.on, sides, {ttl_of(left), ttl_of(right)}, how.visible, place);
  plan::WindowJoin join{.on = how.on, .window_ends = *window_ends};
  join.zone = left.columns[(*window_ends)[0]].window->zone;
  return joined(std::move(join), kind, sides, how.visible, place);
}

Result<Relation> Binder::interval_join(JoinKind kind, const Relation& left, const Relation& right,
                                       const TimeBounds& bounds, std::vector<Condition> on,
                                       const Place& place) {
  STRAND_TRY(const JoinSides sides, join_sides(left, right, on, place));
  STRAND_TRY(const JoinedHow how, join_how(kind, left, right, sides, std::move(on)));
  return joined(plan::IntervalJoin{.on = how.on,
                                   .time_columns = {bounds.left, bounds.right},
                                   .lower = *bounds.lower,
                                   .upper = *bounds.upper},
                kind, sides, how.visible, place);
}

/// `rest`: the conditions beside the keys, over the columns of the two relations.
Result<Binder::JoinedHow> Binder::join_how(JoinKind kind, const Relation& left, const Relation& right,
                                           const JoinSides& sides, std::vector<Condition> rest) {
  const size_t left_columns = left.columns.size();
  const size_t right_begins = sides.relations[0].schema().size();
  JoinedHow how{{kind, sides.keys, nullptr, sides.nulls_equal}, {}};
  for (size_t i = 0; i < left_columns + right.columns.size(); ++i)
    how.visible.push_back(i < left_columns ? i : right_begins + i - left_columns);
  for (Condition& condition : rest) condition.expr = expr::remap(condition.expr, how.visible);
  if (!plan::gives_pairs(kind)) how.visible.resize(left_columns);
  STRAND_TRY(how.on.condition, all_of(rest));
  return how;
}

/// Takes the conditions that make both bounds of one kind of window equal; the columns of the ends then.
std::optional<std::array<size_t, 2>> Binder::take_window_ends(const Relation& left, const Relation& right,
                                                              std::vector<Condition>& conditions) const {
  std::optional<std::array<size_t, 2>> ends;
  const Condition* end_condition = nullptr;
  bool starts = false;
  std::vector<Condition> rest;
  for (const Condition& condition : conditions) {
    const auto equal = equal_sides(*condition.expr, left.columns.size());
    const auto part = [&](const ExprPtr& e, const Relation& side) {
      return e->kind == expr::Expr::Kind::kColumn ? side.columns[e->column].window : nullptr;
    };
    const auto a = equal ? part(equal->first, left) : nullptr;
    const auto b = equal ? part(equal->second, right) : nullptr;
    if (!a || !b || a->is_end != b->is_end || a->zone != b->zone || !(a->shape == b->shape)) {
      rest.push_back(condition);
    } else if (a->is_end) {
      ends = {equal->first->column, equal->second->column};
      end_condition = &condition;
    } else {
      starts = true;
    }
  }
  if (!ends || !starts) return std::nullopt;
  // Without another key windows are what spreads the rows.
  const bool keyed = std::ranges::any_of(rest, [&](const Condition& condition) {
    return equal_sides(*condition.expr, left.columns.size()).has_value();
  });
  if (!keyed) rest.push_back(*end_condition);
  conditions = std::move(rest);
  return ends;
}

std::optional<Duration> Binder::ttl_of(const Relation& input) const {
  const Duration ttl = input.ttl.value_or(session_.duration("table.exec.state.ttl"));
  return ttl.millis > 0 ? std::optional(ttl) : std::nullopt;
}

/// Rows come out as they meet: no longer in the order of any event time.
Relation Binder::regular_join(const plan::JoinOn& how, const JoinSides& sides,
                              const std::array<std::optional<Duration>, 2>& ttl,
                              const std::vector<size_t>& visible, const Place& place) {
  plan::RegularJoin join{.on = how, .ttl = ttl};
  for (const Relation& side : sides.relations) want_update_before(side.input(), ChangeReader::kOperator);
  Relation result = joined(std::move(join), how.kind, sides, visible, place);
  result.updating = sides.relations[0].updating || sides.relations[1].updating ||
                    how.kind == JoinKind::kAnti || plan::is_outer(how.kind, 0) || plan::is_outer(how.kind, 1);
  for (Column& column : result.columns) {
    if (column.time == TimeAttribute::kRowtime) column.time = TimeAttribute::kNone;
  }
  return result;
}

Relation Binder::joined(plan::Detail detail, JoinKind kind, const JoinSides& sides,
                        const std::vector<size_t>& visible, const Place& place) {
  std::vector<columnar::Field> fields;
  std::vector<plan::Input> inputs;
  Relation all;
  for (size_t side = 0; side < 2; ++side) {
    const Relation& relation = sides.relations[side];
    const bool padded = plan::is_outer(kind, 1 - side);
    for (size_t i = 0; i < relation.schema().size(); ++i) {
      columnar::Field field = relation.schema()[i];
      if (padded) field.type = columnar::with_nullable(field.type, true);
      Column column = i < relation.columns.size() ? relation.columns[i] : Column{field.name, field.type};
      column.type = field.type;
      if (side == 1 && !plan::gives_pairs(kind)) continue;
      all.columns.push_back(std::move(column));
      fields.push_back(std::move(field));
    }
    plan::Input input = relation.input();
    input.hash_keys = sides.keys[side];
    input.single = sides.keys[side].empty();
    input.number = side;
    inputs.push_back(std::move(input));
  }
  auto node = nodes_.make(std::move(detail), std::move(inputs), make_schema(std::move(fields)), place);
  all.node = node;
  std::vector<ExprPtr> shown;
  std::vector<Column> columns;
  for (const size_t i : visible) {
    shown.push_back(expr::column(i, all.columns[i].type));
    columns.push_back(all.columns[i]);
  }
  return project(all, shown, std::move(columns), place);
}

}  // namespace strand::sql
