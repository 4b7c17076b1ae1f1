#include <algorithm>

#include "sql/binder.h"
#include "sql/coerce.h"

namespace strand::sql {

using columnar::TypeKind;

namespace {

Status check_time_type(const TableColumn& column, const columnar::Type& type, const Place& place) {
  const bool timestamp = type.kind == TypeKind::kTimestamp || type.kind == TypeKind::kTimestampLtz;
  if (timestamp && type.precision <= 3) return Status();
  Status error = error_at(ErrorCode::kTypeMismatch, place,
                          "WATERMARK FOR expects TIMESTAMP(3) or TIMESTAMP_LTZ(3), '" + column.name +
                              "' is " + columnar::to_string(type));
  if (timestamp)
    return std::move(error).hint("declare it as " + std::string(type.kind == TypeKind::kTimestamp
                                                                    ? "TIMESTAMP(3)"
                                                                    : "TIMESTAMP_LTZ(3)"));
  const bool text = type.kind == TypeKind::kString;
  return std::move(error).hint(
      "add a computed column: event_time AS " +
      (text ? "TO_TIMESTAMP(" + column.name + ")" : "TO_TIMESTAMP_LTZ(" + column.name + ", 3)"));
}

/// The constant that the watermark trails the time column by, if it is that simple.
std::optional<Duration> trail_of(const expr::Expr& e, size_t time_column) {
  const auto is_time = [&](const expr::Expr& part) {
    return part.kind == expr::Expr::Kind::kColumn && part.column == time_column;
  };
  if (is_time(e)) return Duration{0};
  if (e.kind != expr::Expr::Kind::kCall || e.function != "-" || e.args.size() != 2 || !is_time(*e.args[0]))
    return std::nullopt;
  const expr::Expr& bound = *e.args[1];
  if (bound.kind != expr::Expr::Kind::kLiteral || bound.type->kind != TypeKind::kIntervalMillis)
    return std::nullopt;
  const auto* millis = std::get_if<int64_t>(&bound.literal);
  if (millis == nullptr || *millis < 0) return std::nullopt;
  return Duration{*millis};
}

std::string scan_key(const std::string& table, const std::map<std::string, std::string>& options) {
  std::string key = table;
  for (const auto& [name, value] : options) key += '\0' + name + '\0' + value;
  return key;
}

}  // namespace

columnar::SchemaPtr bad_schema() {
  return make_schema({{"shard", columnar::make_type(TypeKind::kString, false)},
                      {"shard_position", columnar::make_type(TypeKind::kBigInt, false)},
                      {"payload", columnar::make_type(TypeKind::kBytes, false)},
                      {"reason", columnar::make_type(TypeKind::kString, false)},
                      {"read_at", columnar::timestamp_type(3, /*ltz=*/true, /*nullable=*/false)}});
}

Result<Relation> Binder::bind_scan(const std::shared_ptr<Table>& table, const std::vector<ast::Hint>& hints,
                                   const Place& place) {
  STRAND_TRY(const auto options, options_of(hints, "a table"));
  const std::string key = scan_key(table->spec.name + "@" + table->spec.where, options);
  if (const auto known = scans_.find(key); known != scans_.end()) return known->second;
  Table hinted = *table;
  for (const auto& [name, value] : options) {
    STRAND_OK(located(apply_options(hinted, {{name, value}}), hints[0].place));
  }
  STRAND_OK(find_metadata(hinted));
  Status checked = checks_.read(hinted.spec);
  STRAND_OK(options.empty() ? at_option(std::move(checked), hinted) : located(std::move(checked), place));
  const Nodes::Owner owner(nodes_, table->spec.name);
  STRAND_TRY(Relation scan, make_scan(hinted));
  scans_[key] = scan;
  return scan;
}

/// Gives the metadata columns the types that the connector has for their keys.
Status Binder::find_metadata(Table& table) const {
  if (table.spec.metadata.empty()) return Status();
  const std::vector<columnar::Field> known = checks_.metadata(table.spec);
  std::vector<std::string> keys;
  for (const columnar::Field& field : known) keys.push_back(field.name);
  for (const TableColumn& column : table.columns) {
    if (!column.metadata) continue;
    plan::MetadataColumn& metadata = table.spec.metadata[*column.metadata];
    const auto found = std::find(keys.begin(), keys.end(), metadata.key);
    if (found != keys.end()) {
      metadata.type = known[static_cast<size_t>(found - keys.begin())].type;
      continue;
    }
    std::string list;
    for (const std::string& key : keys) list += (list.empty() ? "" : ", ") + key;
    return error_at(ErrorCode::kUnknownColumn, column.place,
                    "table '" + table.spec.name + "' has no metadata '" + metadata.key + "'")
        .hint(list.empty() ? "its connector gives none: leave the column out" : "there is " + list);
  }
  return Status();
}

Result<std::vector<ExprPtr>> Binder::scan_expressions(const Table& table) {
  Relation physical;
  physical.name = table.spec.name;
  for (const columnar::Field& field : table.spec.schema->fields())
    physical.columns.push_back({field.name, field.type});
  for (const plan::MetadataColumn& metadata : table.spec.metadata)
    physical.columns.push_back({metadata.name, metadata.type});
  std::map<std::string, ExprPtr> computed;  // computed columns may use those above them
  ExpressionBinder binder(physical, zone());
  binder.replace([&](const ast::Expr& e) -> Result<ExprPtr> {
    if (e.kind != ast::Expr::Kind::kName || e.parts.size() != 1) return ExprPtr();
    const auto found = computed.find(e.parts[0]);
    return found == computed.end() ? ExprPtr() : found->second;
  });
  std::vector<ExprPtr> expressions;
  for (const TableColumn& column : table.columns) {
    if (column.metadata) {
      const plan::MetadataColumn& metadata = table.spec.metadata[*column.metadata];
      Result<ExprPtr> value = expr::resolve_cast(
          expr::column(table.spec.schema->size() + *column.metadata, metadata.type), column.type);
      if (!value.ok()) return located(std::move(value).status(), column.place);
      computed[column.name] = *value;
      expressions.push_back(*std::move(value));
      continue;
    }
    if (!column.computed) {
      expressions.push_back(expr::column(column.physical, column.type));
      continue;
    }
    STRAND_TRY(ExprPtr bound, binder.bind(*column.computed));
    computed[column.name] = bound;
    expressions.push_back(std::move(bound));
  }
  return expressions;
}

Result<std::vector<Column>> Binder::columns_of(const std::string& name, const Place& place) {
  if (const auto view = catalog_.view(name)) {
    STRAND_TRY(const Relation bound, bind_view(*view, {}, place));
    return bound.columns;
  }
  const auto table = catalog_.table(name);
  if (!table) return catalog_.unknown(name, place);
  STRAND_TRY(const std::vector<ExprPtr> expressions, scan_expressions(*table));
  std::vector<Column> columns;
  for (size_t i = 0; i < expressions.size(); ++i) {
    const bool proctime =
        expressions[i]->kind == expr::Expr::Kind::kCall && expressions[i]->function == "PROCTIME";
    columns.push_back({table->columns[i].name, expressions[i]->type,
                       table->time_column == i ? TimeAttribute::kRowtime
                       : proctime              ? TimeAttribute::kProctime
                                               : TimeAttribute::kNone});
  }
  return columns;
}

Result<Relation> Binder::make_scan(const Table& table) {
  STRAND_TRY(const std::vector<ExprPtr> expressions, scan_expressions(table));
  plan::Scan scan{.table = table.spec, .read = {}, .project = expressions, .watermark = {}};
  for (size_t i = 0; i < table.spec.schema->size() + table.spec.metadata.size(); ++i) scan.read.push_back(i);
  Relation bound;
  bound.name = table.spec.name;
  std::vector<columnar::Field> fields;
  for (size_t i = 0; i < expressions.size(); ++i) {
    const TableColumn& column = table.columns[i];
    const bool proctime =
        expressions[i]->kind == expr::Expr::Kind::kCall && expressions[i]->function == "PROCTIME";
    bound.columns.push_back(
        {column.name, expressions[i]->type, proctime ? TimeAttribute::kProctime : TimeAttribute::kNone});
    fields.push_back({column.name, expressions[i]->type});
  }
  if (table.time_column) {
    STRAND_TRY(scan.watermark, scan_watermark(table, bound));
    bound.columns[*table.time_column].time = TimeAttribute::kRowtime;
  }
  auto node = nodes_.make(std::move(scan), {}, make_schema(std::move(fields)), table.place);
  node->side_outputs[Port::kBad] = bad_schema();
  node->rowtime = table.time_column;
  bound.node = node;
  const TableRows rows = checks_.rows(table.spec);
  bound.updating = rows != TableRows::kNew;
  std::get<plan::Scan>(node->detail).changes = bound.updating;
  if (rows != TableRows::kUpserts) return bound;
  if (table.spec.primary_key.empty()) {
    return error_at(ErrorCode::kBadOption, table.place,
                    "rows of '" + table.spec.name + "' are set and deleted by a key, which it does not have")
        .hint("declare PRIMARY KEY (…) NOT ENFORCED");
  }
  plan::Deduplicate keep{.keys = {}, .retention = {}};
  for (const std::string& name : table.spec.primary_key) keep.keys.push_back(*node->output->find(name));
  keep.last = true;
  keep.upserts = true;
  auto kept = nodes_.make(std::move(keep), {bound.input()}, node->output, table.place);
  kept->side_outputs[Port::kDuplicate] = node->output;
  kept->side_outputs[Port::kLate] = node->output;
  kept->rowtime = node->rowtime;
  bound.node = kept;
  return bound;
}

Result<plan::WatermarkSpec> Binder::scan_watermark(const Table& table, const Relation& scan) {
  const size_t time = *table.time_column;
  STRAND_OK(check_time_type(table.columns[time], *scan.columns[time].type, table.watermark_place));
  const ExpressionBinder binder(scan, zone());
  STRAND_TRY(ExprPtr expression, binder.bind(*table.watermark));
  if (expression->type->kind != scan.columns[time].type->kind) {
    return error_at(ErrorCode::kTypeMismatch, table.watermark->place,
                    "the watermark of '" + table.columns[time].name + "' must be " +
                        columnar::to_string(*scan.columns[time].type) + ", found " +
                        columnar::to_string(*expression->type))
        .hint("such as " + table.columns[time].name + " - INTERVAL '5' SECOND");
  }
  plan::WatermarkSpec watermark{.time_column = time,
                                .expression = expression,
                                .trail = trail_of(*expression, time),
                                .idle_timeout = {}};
  const Duration general = session_.duration("table.exec.source.idle-timeout");
  if (table.idle_timeout ? table.idle_timeout->millis > 0 : general.millis > 0) {
    watermark.idle_timeout = table.idle_timeout ? *table.idle_timeout : general;
  }
  return watermark;
}

}  // namespace strand::sql
