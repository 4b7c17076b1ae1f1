#include "sql/catalog.h"

#include <algorithm>

#include "base/text.h"
#include "plan/alignment.h"
#include "sql/full_name.h"
#include "sql/parser.h"
#include "sql/unparse.h"

namespace strand::sql {

namespace {

constexpr size_t kColumnsMax = 2'000;
constexpr std::string_view kWatermarkOptions = "scan.watermark.";
constexpr std::string_view kIdleTimeout = "scan.watermark.idle-timeout";
constexpr std::string_view kEmitStrategy = "scan.watermark.emit.strategy";

Status add_columns(Table& table, const ast::CreateTable& statement) {
  std::vector<columnar::Field> fields;
  for (const ast::ColumnDefinition& column : statement.columns) {
    for (const TableColumn& other : table.columns) {
      if (other.name == column.name) {
        return error_at(ErrorCode::kDuplicateName, column.place,
                        "column '" + column.name + "' is declared twice")
            .hint("the first is at " + where(other.place));
      }
    }
    if (column.kind == ast::ColumnDefinition::Kind::kMetadata) {
      for (const plan::MetadataColumn& other : table.spec.metadata) {
        if (other.key != column.metadata_key) continue;
        return error_at(ErrorCode::kDuplicateName, column.place,
                        "columns '" + other.name + "' and '" + column.name + "' are both the metadata '" +
                            other.key + "'")
            .hint("make one of them a computed column: " + column.name + " AS " + other.name);
      }
      TableColumn added{column.name, column.type, 0, nullptr, column.place};
      added.metadata = table.spec.metadata.size();
      added.is_virtual = column.is_virtual;
      table.spec.metadata.push_back({column.name, column.metadata_key, column.type});
      table.columns.push_back(std::move(added));
      continue;
    }
    TableColumn added{column.name, column.type, fields.size(), column.computed, column.place};
    if (column.kind == ast::ColumnDefinition::Kind::kPhysical) {
      const auto& key = statement.primary_key;
      if (std::find(key.begin(), key.end(), column.name) != key.end()) {
        added.type = columnar::with_nullable(added.type, false);
      }
      fields.push_back({column.name, added.type});
    }
    table.columns.push_back(std::move(added));
  }
  if (table.columns.size() > kColumnsMax) {
    return error_at(ErrorCode::kLimitExceeded, table.place,
                    "a table has " + std::to_string(kColumnsMax) + " columns at most");
  }
  table.spec.schema = std::make_shared<const columnar::Schema>(std::move(fields));
  return Status();
}

Status unknown_column(const Table& table, const std::string& name, const Place& place) {
  std::vector<std::string> names;
  for (const TableColumn& column : table.columns) names.push_back(column.name);
  const auto near = nearest(name, names);
  return error_at(ErrorCode::kUnknownColumn, place,
                  "table '" + table.spec.name + "' has no column '" + name + "'")
      .hint(near ? "did you mean '" + *near + "'?" : "declare it in the table");
}

Status add_keys(Table& table, const ast::CreateTable& statement) {
  for (const std::string& name : statement.primary_key) {
    if (!table.spec.schema->find(name)) {
      Status error = unknown_column(table, name, statement.primary_key_place);
      return error;
    }
  }
  table.spec.primary_key = statement.primary_key;
  if (!statement.watermark) return Status();
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == *statement.watermark_column) table.time_column = i;
  }
  table.watermark = statement.watermark;
  table.watermark_place = statement.watermark_place;
  return table.time_column ? Status()
                           : unknown_column(table, *statement.watermark_column, statement.watermark_place);
}

}  // namespace

Status apply_options(Table& table, const std::map<std::string, std::optional<std::string>>& options) {
  for (const auto& [key, value] : options) {
    if (key == kIdleTimeout) {
      table.idle_timeout.reset();
      if (!value) continue;
      Result<Duration> timeout = parse_duration(*value);
      if (!timeout.ok()) {
        return Status(ErrorCode::kBadOption, "'" + key + "': " + timeout.status().message())
            .hint("leave it out, and a silent shard is waited for");
      }
      table.idle_timeout = *timeout;
    } else if (key == kEmitStrategy) {
      table.spec.options.erase(key);
      if (!value || *value == "on-periodic") continue;
      if (*value != "on-event") {
        return Status(ErrorCode::kBadOption,
                      "'" + key + "' expects on-event or on-periodic, found '" + *value + "'")
            .hint("leave it out for the default, 'on-periodic'");
      }
      table.spec.options[key] = *value;
    } else if (key.starts_with(kWatermarkOptions) && !key.starts_with(plan::kAlignmentOptions)) {
      return Status(ErrorCode::kUnknownOption, "option '" + key + "' is not known")
          .hint("of 'scan.watermark.…' there are '" + std::string(kIdleTimeout) + "', '" +
                std::string(kEmitStrategy) + "' and '" + plan::kAlignmentOptions + "…'");
    } else if (value) {
      table.spec.options[key] = *value;
    } else {
      table.spec.options.erase(key);
    }
  }
  const auto alignment = plan::watermark_alignment(table.spec);
  return alignment.ok() ? Status() : alignment.status();
}

Status at_option(Status status, const Table& table) {
  if (status.ok()) return status;
  const auto named = [&](const std::string& key) {
    return status.message().find("'" + key + "'") != std::string::npos;
  };
  for (const auto& [key, origin] : table.option_origins) {
    if (named(key)) return std::move(status).at(origin + " " + table.spec.name + "." + key);
  }
  for (const auto& [key, place] : table.option_places) {
    if (named(key)) return located(std::move(status), place);
  }
  const auto connector = table.option_places.find("connector");
  return located(std::move(status), connector == table.option_places.end() ? table.place : connector->second);
}

Status Catalog::check_free(const std::string& name, const Place& place) const {
  if (name.find('$') != std::string::npos) {
    return error_at(ErrorCode::kSyntax, place,
                    "a name cannot hold '$': it marks system views such as " +
                        name.substr(0, name.find('$')) + "$late")
        .hint("use '_'");
  }
  if (const auto other = table(name)) {
    return error_at(ErrorCode::kDuplicateName, place, "'" + name + "' is a table already")
        .hint("it was created at " + where(other->place));
  }
  if (const auto other = view(name)) {
    return error_at(ErrorCode::kDuplicateName, place, "'" + name + "' is a view already")
        .hint("it was created at " + where(other->place));
  }
  return Status();
}

Status Catalog::add_table(const ast::CreateTable& statement, const std::vector<TableOverride>& overrides) {
  if (statement.if_not_exists && has(statement.name)) return Status();
  STRAND_OK(check_free(statement.name, statement.name_place));
  if (statement.like) {
    STRAND_TRY(const ast::CreateTable whole, like_another(statement));
    return add_table(whole, overrides);
  }
  auto table = std::make_shared<Table>();
  table->place = statement.name_place;
  table->spec.name = statement.name;
  table->spec.where = where(statement.name_place);
  STRAND_OK(add_columns(*table, statement));
  STRAND_OK(add_keys(*table, statement));
  for (const ast::Option& option : statement.options) {
    table->option_places[option.key] = option.place;
    STRAND_OK(located(apply_options(*table, {{option.key, option.value}}), option.place));
  }
  for (const TableOverride& override : overrides) {
    if (override.table != statement.name) continue;
    if (override.replaces_all) {
      table->spec.options.clear();
      table->option_places.clear();
      table->option_origins.clear();
      table->idle_timeout.reset();
    }
    STRAND_OK(apply_options(*table, override.options).at(override.origin));
    for (const auto& [key, value] : override.options) table->option_origins[key] = override.origin;
    if (!override.watermark) continue;
    if (!table->watermark) {
      return Status(ErrorCode::kBadProfile,
                    "table '" + statement.name + "' has no WATERMARK FOR that could be changed")
          .at(override.origin)
          .hint("declare WATERMARK FOR its time column in CREATE TABLE");
    }
    texts_.push_back(std::make_unique<SourceText>(*override.watermark, override.origin));
    STRAND_TRY(table->watermark, parse_expression(*texts_.back()));
    table->watermark_place = {texts_.back().get(), 0};
  }
  for (const auto& [name, place] : statement.partitioned_by) {
    if (!table->spec.schema->find(name)) return unknown_column(*table, name, place);
    table->spec.partitions.push_back(name);
  }
  ++declared_[statement.name];
  statements_[statement.name] = statement;
  tables_[statement.name] = std::move(table);
  return Status();
}

Status Catalog::add_view(const ast::CreateView& statement) {
  if (statement.if_not_exists && has(statement.name)) return Status();
  STRAND_OK(check_free(statement.name, statement.name_place));
  auto view = std::make_shared<View>();
  view->name = statement.name;
  view->columns = statement.columns;
  view->query = statement.query;
  view->place = statement.name_place;
  view->temporary = statement.temporary;
  ++declared_[statement.name];
  views_[statement.name] = std::move(view);
  return Status();
}

bool Catalog::is_temporary(const std::string& name) const {
  if (const auto found = view(name)) return found->temporary;
  const auto found = statements_.find(name);
  return found != statements_.end() && found->second.temporary;
}

Status Catalog::drop(const ast::Drop& statement) {
  const bool is_view = view(statement.name) != nullptr;
  if (!has(statement.name)) {
    if (statement.if_exists) return Status();
    return unknown(statement.name, statement.name_place);
  }
  if (is_temporary(statement.name) != statement.temporary) {
    // Source: Flink CatalogManager: a temporary table hides a permanent one, and goes first.
    if (statement.temporary && statement.if_exists) return Status();
    return error_at(ErrorCode::kUnknownTable, statement.name_place,
                    "'" + statement.name + "' is " + (statement.temporary ? "not temporary" : "temporary"))
        .hint(std::string("write DROP ") + (statement.temporary ? "" : "TEMPORARY ") +
              (is_view ? "VIEW" : "TABLE"));
  }
  if (is_view != statement.view) {
    return error_at(ErrorCode::kUnknownTable, statement.name_place,
                    "'" + statement.name + "' is a " + (is_view ? "view" : "table"))
        .hint(std::string("write DROP ") + (statement.temporary ? "TEMPORARY " : "") +
              (is_view ? "VIEW" : "TABLE"));
  }
  tables_.erase(statement.name);
  statements_.erase(statement.name);
  views_.erase(statement.name);
  return Status();
}

/// Source: Flink's converters of ALTER: what is temporary is not in the catalog that would be altered.
Status Catalog::is_temporary_error(const std::string& name, const Place& place, bool if_exists) const {
  if (if_exists) return Status();
  const std::string word = view(name) ? "VIEW" : "TABLE";
  return error_at(ErrorCode::kUnsupportedSql, place, "'" + name + "' is temporary, and cannot be altered")
      .hint("write DROP TEMPORARY " + word + ", and create it as it shall be");
}

Status Catalog::alter_view(const ast::AlterView& change) {
  const auto old = view(change.name);
  if (!old) return unknown(change.name, change.name_place);
  if (old->temporary) return is_temporary_error(change.name, change.name_place, /*if_exists=*/false);
  ast::CreateView statement{change.query ? change.name : change.new_name,
                            change.name_place,
                            /*if_not_exists=*/false,
                            change.query ? std::vector<std::string>() : old->columns,
                            change.query ? change.query : old->query,
                            old->temporary};
  if (!change.query) STRAND_OK(check_free(change.new_name, change.name_place));
  views_.erase(change.name);
  return add_view(statement);
}

Status Catalog::drop_database(const ast::DropDatabase& statement) {
  std::vector<std::string> inside;
  for (const std::string& name : names()) {
    if (is_inside(name, statement.prefix, statement.catalog ? 2 : 1)) inside.push_back(name);
  }
  if (!inside.empty() && !statement.cascade) {
    return error_at(ErrorCode::kDuplicateName, statement.name_place,
                    "database '" + statement.name + "' is not empty: it holds '" + inside[0] + "'")
        .hint("write CASCADE behind it");
  }
  for (const std::string& name : inside) {
    tables_.erase(name);
    statements_.erase(name);
    views_.erase(name);
  }
  return Status();
}

std::vector<std::string> Catalog::kept_in(const std::string& catalog) const {
  const std::string prefix = part_of_name(catalog) + ".";
  std::vector<std::string> kept;
  for (const auto& [name, statement] : statements_) {
    if (is_inside(name, prefix, 2) && !statement.temporary)
      kept.push_back(to_sql(ast::Statement{{}, statement}));
  }
  for (const auto& [name, view] : views_) {
    if (!is_inside(name, prefix, 2) || view->temporary) continue;
    ast::CreateView statement{name, {}, /*if_not_exists=*/false, view->columns, view->query};
    kept.push_back(to_sql(ast::Statement{{}, std::move(statement)}));
  }
  return kept;
}

std::shared_ptr<Table> Catalog::table(const std::string& name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

std::shared_ptr<View> Catalog::view(const std::string& name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? nullptr : found->second;
}

std::vector<std::string> Catalog::names() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) names.push_back(name);
  for (const auto& [name, view] : views_) names.push_back(name);
  return names;
}

Status Catalog::unknown(const std::string& name, const Place& place) const {
  const auto near = nearest(name, names());
  return error_at(ErrorCode::kUnknownTable, place, "there is no table or view '" + name + "'")
      .hint(near ? "did you mean '" + *near + "'?" : "create it before it is used");
}

}  // namespace strand::sql
