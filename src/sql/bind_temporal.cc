// FOR SYSTEM_TIME AS OF: by event time the version of a table that was valid then, by processing time what
// the table has now.
#include <algorithm>

#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/full_name.h"
#include "sql/provenance.h"
#include "sql/upsert_keys.h"

namespace strand::sql {

namespace {

using plan::JoinKind;

bool is_proctime(const expr::Expr& e, const Relation& left) {
  if (e.kind == expr::Expr::Kind::kCall) return e.function == "PROCTIME";
  return e.kind == expr::Expr::Kind::kColumn && left.columns[e.column].time == TimeAttribute::kProctime;
}

std::string names_of(const Relation& relation, const std::set<size_t>& columns) {
  std::string text;
  for (const size_t column : columns) text += (text.empty() ? "" : ", ") + relation.columns[column].name;
  return text;
}

}  // namespace

/// The time of the left side that the right side is joined as of.
Result<PendingVersion> Binder::bind_version(const ast::Join& join, const Relation& left) const {
  const ast::Expr& as_of = *join.right->as_of;
  if (join.kind != ast::Join::Kind::kInner && join.kind != ast::Join::Kind::kLeft) {
    return error_at(ErrorCode::kUnsupportedSql, join.right->place,
                    "FOR SYSTEM_TIME AS OF is supported behind JOIN and LEFT JOIN")
        .hint("put the table with the versions on the right side");
  }
  STRAND_TRY(const ExprPtr time, ExpressionBinder(left, zone()).bind(as_of));
  PendingVersion version;
  if (is_proctime(*time, left)) {
    version.looked_up = plan::TableSpec();
    return version;
  }
  const bool column = time->kind == expr::Expr::Kind::kColumn;
  if (!column || left.columns[time->column].time != TimeAttribute::kRowtime) {
    return error_at(ErrorCode::kUnsupportedSql, as_of.place,
                    "FOR SYSTEM_TIME AS OF takes the event time of the left side, or its processing time")
        .hint("name the column of WATERMARK FOR, or one that is PROCTIME(), passed on unchanged");
  }
  version.time = time->column;
  return version;
}

Result<Relation> Binder::looked_up_columns(const ast::TableRef& ref, PendingVersion& version) const {
  const auto* name = std::get_if<std::string>(&ref.source);
  const auto table = name != nullptr ? catalog_.table(*name) : nullptr;
  if (!table && name != nullptr && !catalog_.view(*name)) return catalog_.unknown(*name, ref.place);
  if (!table || !checks_.looks_up(table->spec)) {
    return error_at(ErrorCode::kUnsupportedSql, ref.place,
                    "a join as of processing time needs a table that finds rows by key")
        .hint("such as one with 'connector' = 'sqlite'; or join as of event time");
  }
  version.looked_up = table->spec;
  Relation columns;
  columns.name = last_part(*name);
  for (const columnar::Field& field : table->spec.schema->fields())
    columns.columns.push_back({field.name, field.type});
  STRAND_OK(name_columns(columns, ref));
  for (Column& column : columns.columns) column.table = columns.name;
  return columns;
}

/// Conditions on the left side alone go below the join, those of WHERE on the right side stay behind it.
Result<Relation> Binder::make_versions(const PendingJoin& join, const std::vector<Condition>& where) {
  const size_t left_columns = join.left->columns.size();
  std::vector<Condition> below;
  std::vector<Condition> behind;
  for (const Condition& condition : where) {
    const bool of_left = sides_of(*condition.expr, left_columns) == Sides::kLeft;
    (of_left && !expr::reads_watermark(*condition.expr) ? below : behind).push_back(condition);
  }
  STRAND_TRY(const Relation left, make_joins(*join.left, std::move(below)));
  if (left.updating && reads_early(left.input())) {
    return error_at(ErrorCode::kUnsupportedSql, join.place,
                    "early totals of '" + left.name + "' are replaced by key and cannot be joined")
        .hint("join the closed rows of the view");
  }
  if (join.version->looked_up) {
    STRAND_TRY(const Relation joined, lookup_join(join, left));
    return filter_by(joined, behind);
  }
  STRAND_TRY(Relation right, make_joins(*join.right, {}));
  // Rows that are set and deleted by key are versions as they come: what they replace need not be known.
  const auto* dedup = std::get_if<plan::Deduplicate>(&right.node->detail);
  if (dedup != nullptr && dedup->upserts) right.node = right.node->inputs[0].node;
  STRAND_TRY(const Relation joined, temporal_join(join, left, right));
  return filter_by(joined, behind);
}

Result<Relation> Binder::temporal_join(const PendingJoin& join, const Relation& left, const Relation& right) {
  const std::optional<size_t> right_time = right.rowtime();
  if (!right_time) {
    return error_at(ErrorCode::kUnsupportedSql, join.place,
                    "'" + right.columns[0].table + "' has no event time that its versions begin at")
        .hint("declare WATERMARK FOR in it");
  }
  // The columns that ON makes equal to something of the left side.
  std::set<size_t> equal_columns;
  const size_t left_columns = left.columns.size();
  for (const Condition& condition : join.on) {
    const auto equal = equal_sides(*condition.expr, left_columns);
    if (equal && equal->second->kind == expr::Expr::Kind::kColumn)
      equal_columns.insert(equal->second->column);
  }
  const std::vector<std::set<size_t>> keys = upsert_keys(right.input());
  const auto in_condition = [&](const std::set<size_t>& key) {
    return std::includes(equal_columns.begin(), equal_columns.end(), key.begin(), key.end());
  };
  const auto key = std::ranges::find_if(keys, in_condition);
  if (key == keys.end()) {
    const std::string& name = right.columns[0].table;
    Status error =
        error_at(ErrorCode::kUnsupportedSql, join.place,
                 keys.empty() ? "the versions of '" + name + "' need a primary key"
                              : "ON must name the primary key of '" + name + "' (" +
                                    names_of(right, keys[0]) + "): its versions are told apart by it");
    return std::move(error).hint(keys.empty() ? "declare PRIMARY KEY (…) NOT ENFORCED in it"
                                              : "join by " + names_of(right, keys[0]) + " = …");
  }
  std::vector<Condition> equalities;
  std::vector<Condition> rest;
  for (const Condition& condition : join.on) {
    const auto equal = equal_sides(*condition.expr, left_columns);
    const bool of_key = equal && condition.expr->function == "=" &&
                        equal->second->kind == expr::Expr::Kind::kColumn &&
                        key->contains(equal->second->column);
    (of_key ? equalities : rest).push_back(condition);
  }
  STRAND_TRY(const JoinSides sides, join_sides(left, right, equalities, join.place));
  rest.insert(rest.end(), equalities.begin(), equalities.end());  // of types that do not meet
  STRAND_TRY(const JoinedHow how, join_how(join.kind, left, right, sides, std::move(rest)));
  want_update_before(sides.relations[0].input(), ChangeReader::kOperator);
  plan::TemporalJoin temporal{.on = how.on, .time_columns = {join.version->time, *right_time}};
  Relation result = joined(std::move(temporal), join.kind, sides, how.visible, join.place);
  result.updating = left.updating;
  for (size_t i = left_columns; i < result.columns.size(); ++i) {
    if (result.columns[i].time == TimeAttribute::kRowtime) result.columns[i].time = TimeAttribute::kNone;
  }
  if (left.node->rowtime == join.version->time) draft(result.node).rowtime = join.version->time;
  return result;
}

Result<Relation> Binder::lookup_join(const PendingJoin& join, const Relation& left) {
  const plan::TableSpec& table = *join.version->looked_up;
  const size_t left_columns = left.columns.size();
  plan::LookupJoin lookup;
  lookup.table = table;
  std::vector<ExprPtr> keys;
  std::vector<Condition> rest;
  for (const Condition& condition : join.on) {
    const auto equal = equal_sides(*condition.expr, left_columns);
    const bool column =
        equal && condition.expr->function == "=" && equal->second->kind == expr::Expr::Kind::kColumn;
    const columnar::TypePtr type = column ? (*table.schema)[equal->second->column].type : nullptr;
    const columnar::TypePtr common = column ? common_type(equal->first->type, type) : nullptr;
    if (!common || !same_values(*common, *type)) {
      rest.push_back(condition);
      continue;
    }
    Result<ExprPtr> key = coerce(equal->first, columnar::with_nullable(type, equal->first->type->nullable));
    if (!key.ok()) return located(std::move(key).status(), condition.place);
    keys.push_back(*std::move(key));
    lookup.key_columns.push_back((*table.schema)[equal->second->column].name);
  }
  if (keys.empty()) {
    return error_at(ErrorCode::kUnsupportedSql, join.place,
                    "a lookup needs a condition that makes a column of '" + table.name + "' equal to a value")
        .hint("write ON … = " + join.right->columns[0].table + "." + (*table.schema)[0].name);
  }
  const Relation input = with_hidden(without_hidden(left, join.place), keys, lookup.keys, join.place);
  const size_t own = input.schema().size();
  lookup.outer = join.kind == JoinKind::kLeft;
  std::vector<columnar::Field> fields = input.schema().fields();
  std::vector<size_t> moved;
  std::vector<ExprPtr> shown;
  std::vector<Column> columns = left.columns;
  for (size_t i = 0; i < left_columns; ++i) moved.push_back(i);
  for (size_t i = 0; i < table.schema->size(); ++i) {
    lookup.read.push_back(i);
    moved.push_back(own + i);
    Column column = join.right->columns[i];
    column.type = columnar::with_nullable(column.type, column.type->nullable || lookup.outer);
    fields.push_back({(*table.schema)[i].name, column.type});
    columns.push_back(std::move(column));
  }
  for (Condition& condition : rest) condition.expr = expr::remap(condition.expr, moved);
  STRAND_TRY(lookup.condition, all_of(rest));
  auto node = nodes_.make(std::move(lookup), {input.input()}, make_schema(std::move(fields)), join.place);
  if (input.port == Port::kMain) node->rowtime = input.node->rowtime;
  if (input.updating) want_update_before(input.input(), ChangeReader::kOperator);
  Relation all = input;
  all.node = node;
  all.port = Port::kMain;
  for (size_t i = 0; i < moved.size(); ++i) shown.push_back(expr::column(moved[i], columns[i].type));
  return project(all, shown, std::move(columns), join.place);
}

}  // namespace strand::sql
