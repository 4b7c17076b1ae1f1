#include "sql/bind_expression.h"

#include <algorithm>
#include <array>

#include "expr/library.h"
#include "sql/aggregate_call.h"
#include "sql/coerce.h"

namespace strand::sql {

using columnar::TypeKind;

namespace {

/// Flink's old windows: TUMBLE(ts, …) in GROUP BY, TUMBLE_START(ts, …) beside it.
bool is_group_window(std::string_view function) {
  const std::string_view window = function.substr(0, function.find('_'));
  return window == "TUMBLE" || window == "HOP" || window == "SESSION";
}

/// Calls that the binder makes for itself, with arguments that nobody checks.
bool is_internal_call(std::string_view function) {
  static constexpr std::array<std::string_view, 6> kInternal = {
      expr::kLibraryCall, "JSON_ARRAY_OF", "JSON_OBJECT_OF", "NOT_NULL", "SINGLE_ROW", "WINDOW_BOUND"};
  return std::find(kInternal.begin(), kInternal.end(), function) != kInternal.end();
}

constexpr size_t kPartsMax = 200'000;

/// Takes the parts of the expression from `left`; whether there were enough.
bool take_bound_parts(const expr::Expr& e, size_t& left) {
  if (left == 0) return false;
  --left;
  return std::all_of(e.args.begin(), e.args.end(),
                     [&](const ExprPtr& arg) { return take_bound_parts(*arg, left); });
}

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (text.size() > 120) return text + ", …";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

ExpressionBinder::Replace from(const Values& values) {
  return [&values](const ast::Expr& e) -> Result<ExprPtr> {
    const auto found = values.find(&e);
    return found == values.end() ? ExprPtr() : found->second;
  };
}

bool is_aggregate(const ast::Expr& e) {
  return e.kind == ast::Expr::Kind::kCall && !e.over && is_aggregate_name(e.text);
}

bool has_aggregate(const ast::Expr& e) {
  if (is_aggregate(e)) return true;
  return std::any_of(e.args.begin(), e.args.end(),
                     [](const ast::ExprPtr& arg) { return has_aggregate(*arg); });
}

bool has_subquery(const ast::Expr& e) {
  return e.kind == ast::Expr::Kind::kSubquery ||
         std::any_of(e.args.begin(), e.args.end(),
                     [](const ast::ExprPtr& arg) { return has_subquery(*arg); });
}

bool is_row_number(const ast::Expr& e) {
  return e.kind == ast::Expr::Kind::kCall && e.text == "ROW_NUMBER" && e.over != nullptr;
}

std::vector<ast::ExprPtr> conjuncts(const ast::ExprPtr& condition) {
  if (condition->kind != ast::Expr::Kind::kCall || condition->text != "AND") return {condition};
  std::vector<ast::ExprPtr> parts;
  for (const ast::ExprPtr& arg : condition->args) {
    const auto inner = conjuncts(arg);
    parts.insert(parts.end(), inner.begin(), inner.end());
  }
  return parts;
}

Result<ExprPtr> ExpressionBinder::bind(const ast::Expr& e) const {
  STRAND_TRY(ExprPtr bound, bind_part(e));
  Result<ExprPtr> folded = expr::fold(bound, {zone_});
  if (!folded.ok()) return located(std::move(folded).status(), e.place);
  return *std::move(folded);
}

Result<ExprPtr> ExpressionBinder::bind_condition(const ast::Expr& e, const std::string& clause) const {
  STRAND_TRY(ExprPtr bound, bind(e));
  if (bound->type->kind == TypeKind::kBoolean) return bound;
  return error_at(ErrorCode::kTypeMismatch, e.place,
                  clause + " expects a condition (BOOLEAN), found " + columnar::to_string(*bound->type))
      .hint("compare it with something");
}

std::string tables_hint(const Relation& relation) {
  std::vector<std::string> tables;
  for (const Column& column : relation.columns) {
    if (!column.table.empty() && std::find(tables.begin(), tables.end(), column.table) == tables.end())
      tables.push_back(column.table);
  }
  if (!tables.empty()) return "the tables here are: " + join_names(tables);
  return relation.name.empty() ? "name the column without a qualifier"
                               : "the table here is called '" + relation.name + "'";
}

Result<size_t> ExpressionBinder::column_of(const std::string& table, const std::string& name,
                                           const Place& place) const {
  std::optional<size_t> found;
  std::vector<std::string> names;
  for (size_t i = 0; i < relation_.columns.size(); ++i) {
    const Column& each = relation_.columns[i];
    if (!table.empty() && table_of(each) != table) continue;
    if (each.hidden || (table.empty() && each.merged)) continue;
    names.push_back(each.name);
    if (each.name != name) continue;
    if (found) {
      const std::string& first = relation_.columns[*found].table;
      return error_at(ErrorCode::kUnknownColumn, place, "column '" + name + "' is there twice")
          .hint(first.empty() || first == each.table
                    ? "give one of them another name with AS"
                    : "write " + first + "." + name + " or " + each.table + "." + name);
    }
    found = i;
  }
  if (found) return *found;
  const std::string near = suggestion(name, names);
  const std::string& in = table.empty() ? relation_.name : table;
  const std::string of = in.empty() ? "" : " in '" + in + "'";
  return error_at(ErrorCode::kUnknownColumn, place, "there is no column '" + name + "'" + of)
      .hint(near.empty() ? "its columns: " + join_names(names) : "did you mean '" + near + "'?");
}

Result<ExprPtr> ExpressionBinder::bind_part(const ast::Expr& e) const {
  if (replace_) {
    STRAND_TRY(ExprPtr replaced, replace_(e));
    if (replaced) return replaced;
  }
  switch (e.kind) {
    case ast::Expr::Kind::kName:
      return bind_name(e);
    case ast::Expr::Kind::kStar:
      return error_at(ErrorCode::kSyntax, e.place, "* cannot stand here").hint("name the columns");
    case ast::Expr::Kind::kSubquery:
      return error_at(ErrorCode::kUnsupportedSql, e.place, "a subquery cannot stand here")
          .hint("it can stand in WHERE, HAVING and the select list; or make it a view and join it");
    case ast::Expr::Kind::kCall:
      return bind_call(e);
    case ast::Expr::Kind::kCase:
      return bind_case(e);
    case ast::Expr::Kind::kCast: {
      STRAND_TRY(ExprPtr value, bind_part(*e.args[0]));
      Result<ExprPtr> cast = expr::resolve_cast(std::move(value), e.type, e.text == "TRY_CAST");
      return cast.ok() ? cast : located(std::move(cast).status(), e.place);
    }
    default: {
      Result<ExprPtr> constant = bind_literal(e);
      return constant.ok() ? constant : located(std::move(constant).status(), e.place);
    }
  }
}

bool ExpressionBinder::has_name(const ast::Expr& e) const {
  return std::any_of(relation_.columns.begin(), relation_.columns.end(), [&](const Column& column) {
    const bool whole = e.parts.size() > 1 && table_of(column) == e.parts[0];
    return !column.hidden && (whole || column.name == e.parts[0]);
  });
}

Result<ExprPtr> ExpressionBinder::bind_name(const ast::Expr& e) const {
  if (outer_ != nullptr && !has_name(e)) {
    const ExpressionBinder outer(*outer_, zone_);
    if (outer.has_name(e)) {
      STRAND_TRY(const ExprPtr value, outer.bind_name(e));
      std::vector<size_t> moved(outer_->columns.size());
      for (size_t i = 0; i < moved.size(); ++i) moved[i] = relation_.columns.size() + i;
      return expr::remap(value, moved);
    }
  }
  if (e.parts.size() > 2 && (e.parts[0] == "default_catalog" || e.parts[0] == "default_database")) {
    ast::Expr short_name = e;  // default_catalog.default_database.t.v is t.v: there is one catalog
    short_name.parts.erase(short_name.parts.begin());
    return bind_name(short_name);
  }
  size_t next = 1;
  const bool qualified =
      e.parts.size() > 1 && std::any_of(relation_.columns.begin(), relation_.columns.end(),
                                        [&](const Column& column) { return table_of(column) == e.parts[0]; });
  const auto is_first = [&](const Column& column) { return column.name == e.parts[0]; };
  if (e.parts.size() > 1 && !qualified &&
      std::none_of(relation_.columns.begin(), relation_.columns.end(), is_first)) {
    return error_at(ErrorCode::kUnknownTable, e.place, "there is no table '" + e.parts[0] + "' in FROM")
        .hint(tables_hint(relation_));
  }
  STRAND_TRY(const size_t index,
             qualified ? column_of(e.parts[0], e.parts[1], e.place) : column(e.parts[0], e.place));
  if (qualified) ++next;
  ExprPtr value = expr::column(index, relation_.columns[index].type);
  for (; next < e.parts.size(); ++next) {
    if (value->type->kind != TypeKind::kRow) {
      return error_at(ErrorCode::kUnknownColumn, e.place,
                      "'" + e.parts[next - 1] + "' is " + columnar::to_string(*value->type) +
                          " and has no field '" + e.parts[next] + "'")
          .hint("only a ROW has fields");
    }
    const columnar::TypePtr text = columnar::make_type(TypeKind::kString, false);
    Result<ExprPtr> field = expr::resolve_call("GET_FIELD", {value, expr::literal(e.parts[next], text)});
    if (!field.ok()) return located(std::move(field).status(), e.place);
    value = *std::move(field);
  }
  return value;
}

Result<std::vector<ExprPtr>> ExpressionBinder::bind_args(const ast::Expr& e) const {
  std::vector<ExprPtr> args;
  for (const ast::ExprPtr& arg : e.args) {
    STRAND_TRY(ExprPtr bound, bind_part(*arg));
    args.push_back(std::move(bound));
  }
  return args;
}

Result<ExprPtr> ExpressionBinder::bind_call(const ast::Expr& e) const {
  if (is_row_number(e)) {
    return error_at(ErrorCode::kUnsupportedSql, e.place,
                    "ROW_NUMBER() stands alone in a select list, or in QUALIFY")
        .hint("write QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) = 1");
  }
  if (e.over) {
    return error_at(ErrorCode::kUnsupportedSql, e.place, e.text + " OVER is not supported here")
        .hint("aggregates OVER rows stand in the select list of a query without GROUP BY");
  }
  if (is_aggregate(e)) {
    return error_at(ErrorCode::kSyntax, e.place, "an aggregate (" + e.text + ") cannot stand here")
        .hint("aggregates stand in the select list and in HAVING");
  }
  if (e.distinct || e.filter) {
    return error_at(ErrorCode::kSyntax, e.place, "only aggregates take DISTINCT and FILTER");
  }
  if (e.own) return bind_own_call(e);
  if (e.text == "EXISTS" || (e.text == "IN" && e.args.back()->kind == ast::Expr::Kind::kSubquery)) {
    return error_at(ErrorCode::kUnsupportedSql, e.place,
                    e.text + " (SELECT …) is supported in WHERE, HAVING and the select list")
        .hint("take it out of the aggregate or ON, or join a view");
  }
  if (is_internal_call(e.text))
    return error_at(ErrorCode::kUnknownFunction, e.place, "there is no function " + e.text);
  STRAND_TRY(std::vector<ExprPtr> args, bind_args(e));
  if (e.text == "CURRENT_WATERMARK") STRAND_OK(check_watermark_call(e, args));
  const bool to_unit = (e.text == "FLOOR" || e.text == "CEIL") && args.size() == 2;  // FLOOR(ts TO HOUR)
  Result<ExprPtr> call = expr::resolve_call(to_unit ? e.text + "_TIME" : e.text, std::move(args));
  if (call.ok()) {
    STRAND_OK(check_size(*call, e.place));
    return call;
  }
  Status error = located(std::move(call).status(), e.place);
  if (!is_group_window(e.text) || error.code() != ErrorCode::kUnknownFunction) return error;
  return std::move(error).hint(
      "window in FROM: FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(time), INTERVAL '1' MINUTE)) GROUP BY "
      "window_start, "
      "window_end");
}

Result<ExprPtr> ExpressionBinder::bind_own_call(const ast::Expr& e) const {
  STRAND_TRY(std::vector<ExprPtr> args, bind_args(e));
  auto call = expr::resolve_library_call({e.own->name, e.own->path, e.own->entry}, std::move(args));
  if (!call.ok()) return located(std::move(call).status(), e.place);
  STRAND_OK(check_size(*call, e.place));
  return call;
}

/// NULLIF and its kind write an argument out twice: inside each other they are trees without end.
Status ExpressionBinder::check_size(const ExprPtr& bound, const Place& place) {
  size_t left = kPartsMax;
  if (take_bound_parts(*bound, left)) return Status();
  return error_at(ErrorCode::kLimitExceeded, place,
                  "the expression has more than " + std::to_string(kPartsMax) + " parts")
      .hint("compute parts of it in a view");
}

Status ExpressionBinder::check_watermark_call(const ast::Expr& e, const std::vector<ExprPtr>& args) const {
  const bool rowtime = args.size() == 1 && args[0]->kind == expr::Expr::Kind::kColumn &&
                       args[0]->column < relation_.columns.size() &&
                       relation_.columns[args[0]->column].time == TimeAttribute::kRowtime;
  if (rowtime) return Status();
  const auto time = relation_.rowtime();
  return error_at(ErrorCode::kTypeMismatch, e.place, "CURRENT_WATERMARK expects the event-time column")
      .hint(time ? "write CURRENT_WATERMARK(" + relation_.columns[*time].name + ")"
                 : "there is none here: it comes from WATERMARK FOR and passes through plain columns only");
}

Result<ExprPtr> ExpressionBinder::bind_case(const ast::Expr& e) const {
  STRAND_TRY(std::vector<ExprPtr> args, bind_args(e));
  for (size_t i = 0; i + 1 < args.size(); i += 2) {
    if (args[i]->type->kind == TypeKind::kBoolean || args[i]->type->kind == TypeKind::kNull) continue;
    return error_at(ErrorCode::kTypeMismatch, e.args[i]->place,
                    "WHEN expects a condition (BOOLEAN), found " + columnar::to_string(*args[i]->type));
  }
  Result<ExprPtr> call = expr::resolve_call("CASE", std::move(args));
  return call.ok() ? call : located(std::move(call).status(), e.place);
}

}  // namespace strand::sql
