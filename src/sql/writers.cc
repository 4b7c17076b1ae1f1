#include "sql/writers.h"

#include <algorithm>

#include "sql/coerce.h"
#include "sql/provenance.h"
#include "sql/upsert_keys.h"
#include "sql/written_columns.h"

namespace strand::sql {

namespace {

constexpr size_t kWriterNameMax = 32;

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool is_key(const plan::TableSpec& table, const std::string& column) {
  return std::find(table.primary_key.begin(), table.primary_key.end(), column) != table.primary_key.end();
}

/// Where the columns of the primary key are among `columns`.
std::vector<size_t> key_columns(const plan::TableSpec& table, const std::vector<std::string>& columns) {
  std::vector<size_t> at;
  for (const std::string& key : table.primary_key)
    at.push_back(static_cast<size_t>(std::find(columns.begin(), columns.end(), key) - columns.begin()));
  return at;
}

/// Takes every kind of change as it is.
bool takes_changes(const plan::TableSpec& table) {
  const auto connector = table.options.find("connector");
  return connector != table.options.end() &&
         (connector->second == "print" || connector->second == "blackhole");
}

bool is_writer_name(const std::string& name) {
  if (name.empty() || name.size() > kWriterNameMax) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

std::string default_writer(const plan::TableSpec& table, const std::vector<std::string>& columns) {
  std::string common;
  for (const std::string& column : columns) {
    if (is_key(table, column)) continue;
    const std::string prefix = column.substr(0, column.find('_'));
    if (!common.empty() && prefix != common) return "strand";
    common = prefix;
  }
  return is_writer_name(common) ? common : "strand";
}

Result<std::vector<std::string>> Writers::target_columns(const ast::Insert& insert,
                                                         const Table& declared) const {
  const plan::TableSpec& table = declared.spec;
  const std::vector<std::string> all = written_columns(declared);
  if (insert.columns.empty()) return all;
  std::vector<std::string> columns;
  for (const auto& [name, place] : insert.columns) {
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      const std::string near = suggestion(name, all);
      return error_at(ErrorCode::kUnknownColumn, place,
                      "table '" + table.name + "' has no column '" + name + "' that could be written")
          .hint(near.empty() ? "its columns: " + list_text(all) : "did you mean '" + near + "'?");
    }
    if (std::find(columns.begin(), columns.end(), name) != columns.end()) {
      return error_at(ErrorCode::kDuplicateName, place, "column '" + name + "' is named twice")
          .hint("name each column once");
    }
    columns.push_back(name);
  }
  for (const columnar::Field& field : table.schema->fields()) {
    const bool left_out = std::find(columns.begin(), columns.end(), field.name) == columns.end();
    if (field.type->nullable || !left_out || !table.primary_key.empty()) continue;
    return error_at(ErrorCode::kTypeMismatch, insert.table_place,
                    "column '" + field.name + "' of '" + table.name + "' is NOT NULL and has no value here")
        .hint("name it in the column list, and give it a value");
  }
  for (const std::string& key : table.primary_key) {
    if (std::find(columns.begin(), columns.end(), key) != columns.end()) continue;
    return error_at(ErrorCode::kUnknownColumn, insert.table_place,
                    "the column list lacks '" + key + "', which is part of the primary key")
        .hint("every INSERT sets the whole key: " + list_text(table.primary_key));
  }
  return columns;
}

/// Rows of a table without a key never meet, so its writers need no columns of their own: from the second on
/// they are numbered in the order of the file.
std::string Writers::numbered(const std::string& table, std::string name) const {
  const auto others = writers_.find(table);
  if (others == writers_.end()) return name;
  const auto taken = [&](const std::string& wanted) {
    return std::ranges::any_of(others->second, [&](const Writer& other) { return other.name == wanted; });
  };
  if (!taken(name)) return name;
  if (!is_writer_name(name + "_" + std::to_string(others->second.size() + 1))) name = "strand";
  size_t number = 2;
  while (taken(name + "_" + std::to_string(number))) ++number;
  return name + "_" + std::to_string(number);
}

Status Writers::claim(const plan::TableSpec& table, Writer writer) {
  for (const Writer& other : writers_[table.name]) {
    for (const std::string& column : writer.columns) {
      if (table.primary_key.empty() ||
          std::find(other.columns.begin(), other.columns.end(), column) == other.columns.end())
        continue;
      return error_at(ErrorCode::kWriterConflict, writer.place,
                      "column '" + column + "' of '" + table.name + "' has a writer already, the INSERT at " +
                          where(other.place))
          .hint("a column has one writer: make one INSERT of both with UNION ALL, or name other columns");
    }
    if (other.name == writer.name) {
      return error_at(ErrorCode::kWriterConflict, writer.place,
                      "'" + table.name + "' has a writer named '" + writer.name +
                          "' already, the INSERT at " + where(other.place))
          .hint("make one INSERT of both with UNION ALL, or write INSERT INTO " + table.name +
                " /*+ OPTIONS('strand.writer' = 'name') */");
    }
  }
  writers_[table.name].push_back(std::move(writer));
  return Status();
}

Result<Relation> Writers::assign(const Relation& rows, const Table& declared, const plan::TableSpec& table,
                                 const std::vector<std::string>& columns, const Place& place) {
  if (rows.columns.size() != columns.size()) {
    return error_at(ErrorCode::kTypeMismatch, place,
                    "the query has " + std::to_string(rows.columns.size()) + " columns, the INSERT sets " +
                        std::to_string(columns.size()) + " of '" + table.name + "': " + list_text(columns))
        .hint("name the columns to set behind the table: INSERT INTO " + table.name + " (…)");
  }
  std::vector<ExprPtr> expressions;
  std::vector<Column> targets;
  for (size_t i = 0; i < columns.size(); ++i) {
    const columnar::TypePtr type = declared_type(declared, columns[i]);
    const Column& from = rows.columns[i];
    if (!can_assign(*from.type, *type)) {
      return error_at(ErrorCode::kTypeMismatch, place,
                      "column '" + columns[i] + "' of '" + table.name + "' is " + columnar::to_string(*type) +
                          ", the query gives " + columnar::to_string(*from.type))
          .hint("write CAST(… AS " + columnar::to_string(*columnar::with_nullable(type, true)) + ")");
    }
    Result<ExprPtr> value = coerce(expr::column(i, from.type), type);
    if (value.ok() && !table.schema->find(columns[i]))
      value = expr::resolve_cast(*value, written_type(table, columns[i]));
    if (!value.ok()) return located(std::move(value).status(), place);
    targets.push_back({columns[i], (*value)->type, from.time});
    expressions.push_back(*std::move(value));
  }
  STRAND_OK(check_event_times(rows, table, place));
  return not_null(binder_.project(rows, expressions, std::move(targets), place), table, columns, place);
}

/// A record has one event time.
Status Writers::check_event_times(const Relation& rows, const plan::TableSpec& table, const Place& place) {
  std::vector<std::string> times;
  for (const Column& column : rows.columns) {
    if (column.time == TimeAttribute::kRowtime) times.push_back(column.name);
  }
  if (times.size() < 2) return Status();
  return error_at(ErrorCode::kTypeMismatch, place,
                  "the query gives '" + table.name + "' more than one event time: " + list_text(times))
      .hint("leave all but one out, or make it a value: CAST(" + times.back() + " AS TIMESTAMP(3))");
}

/// What a NULL does that meets a NOT NULL column: fails the job, or loses the row
/// ('table.exec.sink.not-null-enforcer').
Result<Relation> Writers::not_null(const Relation& rows, const plan::TableSpec& table,
                                   const std::vector<std::string>& columns, const Place& place) {
  const bool drop = binder_.setting("table.exec.sink.not-null-enforcer") == "DROP";
  std::vector<ExprPtr> values;
  std::vector<ExprPtr> present;
  for (size_t i = 0; i < columns.size(); ++i) {
    const columnar::TypePtr type = written_type(table, columns[i]);
    const bool guarded = !type->nullable && rows.columns[i].type->nullable && !is_key(table, columns[i]);
    values.push_back(expr::column(i, rows.columns[i].type));
    if (!guarded) continue;
    if (drop) {
      STRAND_TRY(ExprPtr there, expr::resolve_call("IS NOT NULL", {values[i]}));
      present.push_back(std::move(there));
    } else {
      const ExprPtr name = expr::literal(columns[i], columnar::make_type(columnar::TypeKind::kString, false));
      STRAND_TRY(values[i], expr::resolve_call("NOT_NULL", {values[i], name}));
    }
  }
  if (!drop) return binder_.project(rows, values, rows.columns, place);
  if (present.empty()) return rows;
  ExprPtr condition = present[0];
  if (present.size() > 1) {
    STRAND_TRY(condition, expr::resolve_call("AND", present));
  }
  Relation kept = rows;
  auto node =
      binder_.nodes().make(plan::Filter{condition}, {rows.input()}, rows.node->schema(rows.port), place);
  if (rows.port == Port::kMain) node->rowtime = rows.node->rowtime;
  kept.node = node;
  kept.port = Port::kMain;
  return kept;
}

Status Writers::check_rows(const Relation& rows, const plan::TableSpec& table, const Place& place,
                           bool deduplicates) const {
  if (!rows.updating || (takes_changes(table) || binder_.checks().shows_changes(table))) return Status();
  if (table.primary_key.empty()) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "'" + table.name + "' has no primary key, but the query updates its rows")
        .hint("declare PRIMARY KEY (…) NOT ENFORCED in '" + table.name +
              "', or use a window, whose rows are written once");
  }
  if (!deduplicates && filters_mixed_updates(rows.input())) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "a condition behind UNION ALL, UNNEST or a lookup over rows that are updated would have "
                    "to delete "
                    "rows from '" +
                        table.name + "'")
        .hint("put the condition before that, or write INSERT INTO … SELECT … ON CONFLICT DO DEDUPLICATE");
  }
  if (filters_early(rows.input())) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "a condition over early totals would have to delete rows from '" + table.name + "'")
        .hint("put the condition before the window, or into the reader of the table");
  }
  return Status();
}

Status Writers::check_key(const Relation& rows, const plan::TableSpec& table,
                          const std::vector<std::string>& columns, const Place& place) const {
  if (!rows.updating || (takes_changes(table) || binder_.checks().shows_changes(table))) return Status();
  const auto key = key_of_changes(rows.input(), table, columns);
  if (!key || key->fits) return Status();
  std::string names;
  for (const size_t column : key->columns)
    names += (names.empty() ? "" : ", ") + (*key->node->output)[column].name;
  if (key->columns.empty() && std::holds_alternative<plan::TopN>(key->node->detail)) {
    return error_at(
               ErrorCode::kUnsupportedSql, place,
               "rows enter and leave the Top-N by their rank, which '" + table.name + "' is not keyed by")
        .hint("select the rank, and make it part of the primary key: PRIMARY KEY (…, rank) NOT ENFORCED");
  }
  if (std::holds_alternative<plan::Scan>(key->node->detail) && key->columns.empty()) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "the rows of '" + key->node->label + "' are updated, but by no key that '" + table.name +
                        "' could have")
        .hint("declare PRIMARY KEY (…) NOT ENFORCED in '" + key->node->label + "'");
  }
  return error_at(ErrorCode::kUnsupportedSql, place,
                  "the query replaces rows by " +
                      (names.empty() ? "no column: it has one row" : "(" + names + ")") +
                      ", but the primary key of '" + table.name + "' is (" + list_text(table.primary_key) +
                      ")")
      .hint(
          "the key must be made of the same columns, or else: INSERT INTO … SELECT … ON CONFLICT DO "
          "DEDUPLICATE, "
          "and the last row of a key stands there");
}

Status Writers::check_join_key(const Relation& rows, const plan::TableSpec& table,
                               const std::vector<std::string>& columns, const Place& place) const {
  if (!rows.updating || takes_changes(table) || !reads_regular_join(rows.input())) return Status();
  const auto keys = upsert_keys(rows.input());
  const auto in_primary_key = [&](size_t column) { return is_key(table, columns[column]); };
  for (const std::set<size_t>& key : keys) {
    if (std::all_of(key.begin(), key.end(), in_primary_key)) return Status();
  }
  Status error = error_at(ErrorCode::kUnsupportedSql, place,
                          "the primary key of '" + table.name + "' (" + list_text(table.primary_key) +
                              ") does not tell the joined rows apart in the order of their changes");
  if (keys.empty()) {
    return std::move(error).hint(
        "give both sides a key (GROUP BY, or PRIMARY KEY of the tables), and make it the "
        "table's");
  }
  std::vector<std::string> names;
  for (const size_t column : keys[0]) names.push_back(columns[column]);
  return std::move(error).hint("declare PRIMARY KEY (" + list_text(names) + ") NOT ENFORCED in '" +
                               table.name + "'");
}

/// Rows that are never changed replace each other where two of them have the same key.
Status Writers::check_new_rows(const Relation& rows, const plan::TableSpec& table,
                               const std::vector<std::string>& columns, const Place& place) const {
  if (rows.updating || table.primary_key.empty() || takes_changes(table)) return Status();
  const std::vector<size_t> key = key_columns(table, columns);
  if (tells_rows_apart(rows.input(), {key.begin(), key.end()})) return Status();
  return error_at(ErrorCode::kUnsupportedSql, place,
                  "rows of the query may agree in the primary key of '" + table.name + "' (" +
                      list_text(table.primary_key) + ") and would replace each other")
      .hint(
          "say which of them counts: INSERT INTO … SELECT … ON CONFLICT DO DEDUPLICATE, the last; or DO "
          "NOTHING, the first");
}

/// ON CONFLICT DO NOTHING: of new rows the first of each key.
Result<Relation> Writers::first_of_key(const Relation& rows, const plan::TableSpec& table,
                                       const std::vector<std::string>& columns, const Place& place) {
  if (table.primary_key.empty()) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "ON CONFLICT needs a primary key in '" + table.name + "'")
        .hint("declare PRIMARY KEY (…) NOT ENFORCED, or leave ON CONFLICT out");
  }
  if (rows.updating) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "ON CONFLICT DO NOTHING takes rows that are never updated, those of the query are")
        .hint("write ON CONFLICT DO DEDUPLICATE: the last row of a key stands in the table");
  }
  if (check_new_rows(rows, table, columns, place).ok()) return rows;
  plan::Deduplicate first{.keys = key_columns(table, columns), .retention = {}};
  const Duration ttl = binder_.duration("table.exec.state.ttl");
  if (ttl.millis > 0) first.ttl = ttl;
  plan::Input edge = rows.input();
  edge.hash_keys = first.keys;
  const columnar::SchemaPtr schema = rows.node->schema(rows.port);
  auto node = binder_.nodes().make(std::move(first), {edge}, schema, place);
  node->side_outputs[Port::kDuplicate] = schema;
  node->side_outputs[Port::kLate] = schema;
  if (rows.port == Port::kMain) node->rowtime = rows.node->rowtime;
  Relation kept = rows;
  kept.node = node;
  kept.port = Port::kMain;
  return kept;
}

Result<Relation> Writers::fit_key(const Relation& rows, const plan::TableSpec& table,
                                  const std::vector<std::string>& columns, const ast::Insert& insert) {
  const Place& place = insert.query->place;
  if (insert.keeps_first) return first_of_key(rows, table, columns, place);
  Status fits = check_key(rows, table, columns, place);
  if (fits.ok()) fits = check_join_key(rows, table, columns, place);
  if (fits.ok()) fits = check_new_rows(rows, table, columns, place);
  const std::string when = binder_.setting("table.exec.sink.upsert-materialize");
  const bool filtered = insert.deduplicates && rows.updating && filters_updates(rows.input());
  const bool forced = when == "FORCE" && rows.updating && !table.primary_key.empty();
  if (fits.ok() && !filtered && !forced) return rows;
  if (when == "NONE") {
    want_update_before(rows.input(), ChangeReader::kShown);
    return rows;
  }
  const bool asked =
      insert.deduplicates || forced || binder_.setting("table.exec.sink.require-on-conflict") == "false";
  if (!asked || !rows.updating) return asked ? Result<Relation>(rows) : fits;
  plan::Materialize materialize{key_columns(table, columns)};
  want_update_before(rows.input(), ChangeReader::kOperator);
  plan::Input edge = rows.input();
  edge.hash_keys = materialize.keys;
  Relation kept = rows;
  kept.node = binder_.nodes().make(std::move(materialize), {edge}, rows.node->schema(rows.port), place);
  kept.port = Port::kMain;
  return kept;
}

/// The INSERT with PARTITION as columns: those that have one value for all rows stand behind the query's.
Result<ast::Insert> Writers::with_partition(const ast::Insert& insert, const Table& table) {
  ast::Insert all = insert;
  const auto is_fixed = [&](const std::string& name) {
    return std::ranges::any_of(insert.partition, [&](const ast::Insert::Partition& part) {
      return part.value && part.name == name;
    });
  };
  for (const ast::Insert::Partition& part : insert.partition) {
    if (std::ranges::find(table.spec.partitions, part.name) != table.spec.partitions.end()) continue;
    return error_at(ErrorCode::kUnknownColumn, part.place,
                    "table '" + insert.table + "' is not partitioned by '" + part.name + "'")
        .hint(table.spec.partitions.empty() ? "declare it: CREATE TABLE … PARTITIONED BY (" + part.name + ")"
                                            : "it is by " + list_text(table.spec.partitions));
  }
  if (insert.columns.empty() && !insert.partition.empty()) {
    for (const std::string& name : written_columns(table)) {
      if (!is_fixed(name)) all.columns.emplace_back(name, insert.table_place);
    }
  }
  for (const ast::Insert::Partition& part : insert.partition) {
    if (part.value) all.columns.emplace_back(part.name, part.place);
  }
  return all;
}

/// The rows of the query, and behind them what PARTITION gives all of them.
Result<Relation> Writers::bind_rows(const ast::Insert& insert) {
  STRAND_TRY(const Relation rows, binder_.bind_result(*insert.query));
  std::vector<ExprPtr> values;
  std::vector<Column> columns = rows.columns;
  for (size_t i = 0; i < columns.size(); ++i) values.push_back(expr::column(i, columns[i].type));
  const Relation nothing;
  for (const ast::Insert::Partition& part : insert.partition) {
    if (!part.value) continue;
    STRAND_TRY(ExprPtr value, ExpressionBinder(nothing, binder_.zone()).bind(*part.value));
    columns.push_back({part.name, value->type});
    values.push_back(std::move(value));
  }
  return values.size() == rows.columns.size()
             ? rows
             : binder_.project(rows, values, std::move(columns), insert.query->place);
}

Result<plan::NodePtr> Writers::insert(const ast::Insert& written, const Place& place) {
  const auto table = catalog_.table(written.table);
  if (!table) {
    if (!catalog_.view(written.table)) return catalog_.unknown(written.table, written.table_place);
    return error_at(ErrorCode::kUnknownTable, written.table_place,
                    "'" + written.table + "' is a view and cannot be written")
        .hint("INSERT INTO a table");
  }
  STRAND_TRY(const ast::Insert insert, with_partition(written, *table));
  STRAND_TRY(plan::TableSpec spec, written_table(*table, binder_.checks()));
  STRAND_TRY(auto options, options_of(insert.hints, "the table of an INSERT"));
  STRAND_TRY(const std::vector<std::string> columns, target_columns(insert, *table));
  std::string name = default_writer(spec, columns);
  const auto given = options.find("strand.writer");
  const bool named = given != options.end();
  if (named) {
    name = given->second;
    options.erase(given);
    if (!is_writer_name(name)) {
      return error_at(ErrorCode::kBadOption, insert.hints[0].place,
                      "a writer's name has 1 to 32 letters, digits and '_', found '" + name + "'");
    }
  }
  if (!named && spec.primary_key.empty()) name = numbered(spec.name, std::move(name));
  for (const auto& [key, value] : options) spec.options[key] = value;
  Writer writer{name, {}, insert.table_place};
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(writer.columns),
               [&](const std::string& column) { return !is_key(spec, column); });
  STRAND_OK(claim(spec, std::move(writer)));
  const Nodes::Owner owner(
      binder_.nodes(), binder_.nodes().unique_owner(name == "strand" ? spec.name : spec.name + "." + name));
  STRAND_TRY(Relation rows, bind_rows(insert));
  STRAND_OK(check_rows(rows, spec, insert.query->place, insert.deduplicates));
  STRAND_TRY(rows, assign(rows, *table, spec, columns, insert.query->place));
  STRAND_TRY(rows, fit_key(rows, spec, columns, insert));
  const RowOrigin origin = row_origin(rows.input(), spec, columns);
  if (origin == RowOrigin::kMixed) {
    return error_at(ErrorCode::kWriterConflict, insert.query->place,
                    "rows of a V$early cannot share an INSERT with other rows: they are provisional")
        .hint("give V$early an INSERT and columns of its own");
  }
  if (takes_changes(spec) || binder_.checks().shows_changes(spec)) {
    if (rows.updating) want_update_before(rows.input(), ChangeReader::kShown);
  } else {
    delete_what_is_filtered(rows.input());
  }
  plan::SinkWrite sink{.table = spec,
                       .writer = name,
                       .columns = columns,
                       .closed_rows = origin == RowOrigin::kClosed,
                       .provisional = origin == RowOrigin::kEarly};
  Status checked = binder_.checks().write(sink);
  STRAND_OK(options.empty() ? at_option(std::move(checked), *table)
                            : located(std::move(checked), insert.hints[0].place));
  plan::Input edge = rows.input();
  edge.hash_keys = key_columns(spec, columns);
  return plan::NodePtr(binder_.nodes().make(std::move(sink), {edge}, nullptr, place));
}

Result<plan::NodePtr> Writers::print(const ast::Query& query, const Place& place) {
  const Nodes::Owner owner(binder_.nodes(), binder_.nodes().unique_owner("print"));
  STRAND_TRY(Relation rows, binder_.bind_result(query));
  plan::TableSpec spec;
  spec.name = binder_.nodes().owner();
  spec.options = {{"connector", "print"}};
  spec.where = where(place);
  STRAND_OK(check_rows(rows, spec, place, false));
  std::vector<columnar::Field> fields;
  std::vector<std::string> columns;
  for (const Column& column : rows.columns) {
    if (column.type->kind == columnar::TypeKind::kNull) {
      return error_at(ErrorCode::kTypeMismatch, place, "column '" + column.name + "' is NULL without a type")
          .hint("write CAST(NULL AS STRING)");
    }
    fields.push_back({column.name, column.type});
    columns.push_back(column.name);
  }
  spec.schema = make_schema(std::move(fields));
  if (rows.updating) want_update_before(rows.input(), ChangeReader::kShown);
  plan::SinkWrite sink{
      .table = spec, .writer = "strand", .columns = columns, .closed_rows = false, .provisional = false};
  return plan::NodePtr(binder_.nodes().make(std::move(sink), {rows.input()}, nullptr, place));
}

}  // namespace strand::sql
