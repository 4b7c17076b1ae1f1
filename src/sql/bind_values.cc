// VALUES, SELECT without FROM, WITH, and DISTINCT.
#include "expr/types.h"
#include "sql/binder.h"
#include "sql/full_name.h"
#include "sql/provenance.h"

namespace strand::sql {

using columnar::TypeKind;

/// A relation of `rows` rows without columns that SQL sees; the node's column is the number of the row.
Relation Binder::bind_rows(size_t rows, const Place& place) {
  const columnar::SchemaPtr schema = make_schema({{"row", columnar::make_type(TypeKind::kInt, false)}});
  plan::TableSpec spec;
  spec.name = nodes_.unique_owner("values");
  spec.schema = schema;
  spec.options = {{"connector", "strandline-values"}, {"rows", std::to_string(rows)}};
  spec.where = where(place);
  const Nodes::Owner owner(nodes_, spec.name);
  plan::Scan scan{
      .table = spec, .read = {0}, .project = {expr::column(0, (*schema)[0].type)}, .watermark = {}};
  auto node = nodes_.make(std::move(scan), {}, schema, place);
  node->side_outputs[Port::kBad] = bad_schema();
  Relation relation;
  relation.node = node;
  return relation;
}

/// Column `column` of all rows, in one type: the value is chosen by the number of the row.
Result<ExprPtr> Binder::values_column(const ast::Values& values, std::vector<ExprPtr> cells,
                                      const ExprPtr& row, const Place& place) const {
  std::vector<columnar::TypePtr> types;
  for (const ExprPtr& cell : cells) types.push_back(cell->type);
  const columnar::TypePtr type = expr::common_type(types);
  if (!type) {
    return error_at(ErrorCode::kTypeMismatch, place,
                    "the rows of VALUES have types that do not fit in one column")
        .hint("CAST the values of a column to one type");
  }
  std::vector<ExprPtr> choice;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i + 1 < values.rows.size()) {
      const ExprPtr number =
          expr::literal(static_cast<int64_t>(i), columnar::make_type(TypeKind::kInt, false));
      STRAND_TRY(ExprPtr is_row, expr::resolve_call("=", {row, number}));
      choice.push_back(std::move(is_row));
    }
    choice.push_back(expr::coerce(cells[i], type));
  }
  if (choice.size() == 1) return choice[0];
  return expr::call("CASE", std::move(choice), type);
}

Result<Relation> Binder::bind_values(const ast::Values& values, const Place& place) {
  const Relation rows = bind_rows(values.rows.size(), place);
  const ExpressionBinder binder(rows, zone());
  const ExprPtr row = expr::column(0, rows.schema()[0].type);
  std::vector<std::vector<ExprPtr>> cells(values.rows[0].size());
  for (const auto& each : values.rows) {
    if (each.size() != cells.size()) {
      return error_at(ErrorCode::kTypeMismatch, each[0]->place,
                      "this row of VALUES has " + std::to_string(each.size()) + " values, the first has " +
                          std::to_string(cells.size()))
          .hint("give each row as many values; CAST(NULL AS type) stands for one that is missing");
    }
    for (size_t i = 0; i < each.size(); ++i) {
      STRAND_TRY(ExprPtr cell, binder.bind(*each[i]));
      if (cell->type->kind == TypeKind::kNull) {
        return error_at(ErrorCode::kTypeMismatch, each[i]->place, "NULL has no type in VALUES")
            .hint("write CAST(NULL AS type)");
      }
      cells[i].push_back(std::move(cell));
    }
  }
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns;
  for (size_t i = 0; i < cells.size(); ++i) {
    STRAND_TRY(ExprPtr value, values_column(values, std::move(cells[i]), row, place));
    columns.push_back({"EXPR$" + std::to_string(i), value->type});
    expressions.push_back(std::move(value));
  }
  return project(rows, expressions, std::move(columns), place);
}

/// Each different row once.
Relation Binder::distinct(const Relation& input, const Place& place) {
  std::vector<ExprPtr> expressions;
  std::vector<columnar::Field> fields;
  std::vector<size_t> keys;
  for (size_t i = 0; i < input.columns.size(); ++i) {
    expressions.push_back(expr::column(i, input.columns[i].type));
    fields.push_back({input.columns[i].name, input.columns[i].type});
    keys.push_back(i);
  }
  std::vector<Column> columns = input.columns;
  for (Column& column : columns) column.time = TimeAttribute::kNone;
  const Relation plain = project(input, expressions, columns, place);
  if (input.updating) want_update_before(plain.input(), ChangeReader::kOperator);
  plan::Input edge = plain.input();
  edge.hash_keys = keys;
  Relation result = plain;
  plan::GroupAggregate group{keys, {}, {}, false, input.updating};
  group.ttl = ttl_of(input);
  result.node = nodes_.make(std::move(group), {edge}, make_schema(std::move(fields)), place);
  result.port = Port::kMain;
  return result;
}

/// Names of a WITH clause hide tables and views while its query is bound.
Result<Relation> Binder::bind_with(const ast::Query& query, Extras& extras) {
  std::map<std::string, std::shared_ptr<View>> names;
  for (const ast::CommonTable& each : query.with) {
    auto view = std::make_shared<View>();
    view->name = each.name;
    view->columns = each.columns;
    view->query = each.query;
    view->place = each.place;
    if (!names.emplace(each.name, std::move(view)).second) {
      return error_at(ErrorCode::kDuplicateName, each.place, "WITH names '" + each.name + "' twice")
          .hint("give one of them another name");
    }
  }
  common_tables_.push_back(std::move(names));
  Result<Relation> bound = bind_body(query, extras);
  common_tables_.pop_back();
  return bound;
}

std::shared_ptr<View> Binder::common_table(const std::string& name) const {
  const std::string plain = last_part(name);  // in another database the parser puts that before it
  for (size_t i = common_tables_.size(); i-- > 0;) {
    const auto found = common_tables_[i].find(plain);
    if (found != common_tables_[i].end()) return found->second;
  }
  return nullptr;
}

}  // namespace strand::sql
