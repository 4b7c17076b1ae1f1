// ALTER TABLE: the table is declared again, changed.
#include <algorithm>

#include "sql/catalog.h"
#include "sql/coerce.h"

namespace strand::sql {

namespace {

using Columns = std::vector<ast::ColumnDefinition>;

Columns::iterator find_column(ast::CreateTable& table, const std::string& name) {
  return std::find_if(table.columns.begin(), table.columns.end(),
                      [&](const ast::ColumnDefinition& column) { return column.name == name; });
}

Status no_column(const ast::CreateTable& table, const std::string& name, const Place& place) {
  std::vector<std::string> names;
  for (const ast::ColumnDefinition& column : table.columns) names.push_back(column.name);
  const std::string near = suggestion(name, names);
  return error_at(ErrorCode::kUnknownColumn, place, "table '" + table.name + "' has no column '" + name + "'")
      .hint(near.empty() ? "name one of its columns" : "did you mean '" + near + "'?");
}

Status put_column(ast::CreateTable& table, const ast::ColumnDefinition& column,
                  const std::optional<std::string>& after) {
  if (!after) {
    table.columns.push_back(column);
    return Status();
  }
  if (after->empty()) {
    table.columns.insert(table.columns.begin(), column);
    return Status();
  }
  const auto before = find_column(table, *after);
  if (before == table.columns.end()) return no_column(table, *after, column.place);
  table.columns.insert(before + 1, column);
  return Status();
}

void take_key_and_watermark(ast::CreateTable& table, const ast::CreateTable& from) {
  if (!from.primary_key.empty()) {
    table.primary_key = from.primary_key;
    table.primary_key_place = from.primary_key_place;
  }
  if (!from.watermark) return;
  table.watermark = from.watermark;
  table.watermark_column = from.watermark_column;
  table.watermark_place = from.watermark_place;
}

Status add_elements(ast::CreateTable& table, const ast::AlterTable& change) {
  const bool key_twice = !table.primary_key.empty() && !change.elements.primary_key.empty();
  if (key_twice || (table.watermark && change.elements.watermark)) {
    return error_at(ErrorCode::kDuplicateName, change.change_place,
                    "the table has a " + std::string(key_twice ? "primary key" : "watermark") + " already")
        .hint("write MODIFY");
  }
  for (size_t i = 0; i < change.elements.columns.size(); ++i) {
    STRAND_OK(put_column(table, change.elements.columns[i], change.after[i]));
  }
  take_key_and_watermark(table, change.elements);
  return Status();
}

Status modify_elements(ast::CreateTable& table, const ast::AlterTable& change) {
  for (size_t i = 0; i < change.elements.columns.size(); ++i) {
    const ast::ColumnDefinition& column = change.elements.columns[i];
    const auto found = find_column(table, column.name);
    if (found == table.columns.end()) return no_column(table, column.name, column.place);
    if (!change.after[i]) {
      *found = column;
      continue;
    }
    table.columns.erase(found);
    STRAND_OK(put_column(table, column, change.after[i]));
  }
  take_key_and_watermark(table, change.elements);
  return Status();
}

Status rename_column(ast::CreateTable& table, const ast::AlterTable& change) {
  const auto found = find_column(table, change.names[0]);
  if (found == table.columns.end()) return no_column(table, change.names[0], change.change_place);
  found->name = change.names[1];
  for (std::string& key : table.primary_key) {
    if (key == change.names[0]) key = change.names[1];
  }
  if (table.watermark_column == change.names[0]) table.watermark_column = change.names[1];
  return Status();
}

Status drop_elements(ast::CreateTable& table, const ast::AlterTable& change) {
  if (change.drop_key) table.primary_key.clear();
  if (change.drop_watermark) {
    table.watermark = nullptr;
    table.watermark_column.reset();
  }
  for (const std::string& name : change.names) {
    const auto found = find_column(table, name);
    if (found == table.columns.end()) return no_column(table, name, change.change_place);
    table.columns.erase(found);
  }
  return Status();
}

void change_options(ast::CreateTable& table, const ast::AlterTable& change) {
  for (const ast::Option& option : change.elements.options) {
    std::erase_if(table.options, [&](const ast::Option& other) { return other.key == option.key; });
    if (change.kind == ast::AlterTable::Kind::kSet) table.options.push_back(option);
  }
}

}  // namespace

Status Catalog::alter(const ast::AlterTable& change, const std::vector<TableOverride>& overrides) {
  const auto declared = statements_.find(change.name);
  if (declared == statements_.end()) {
    if (change.if_exists) return Status();
    return unknown(change.name, change.name_place);
  }
  if (declared->second.temporary) return is_temporary_error(change.name, change.name_place, change.if_exists);
  ast::CreateTable table = declared->second;
  switch (change.kind) {
    case ast::AlterTable::Kind::kAdd:
      STRAND_OK(add_elements(table, change));
      break;
    case ast::AlterTable::Kind::kModify:
      STRAND_OK(modify_elements(table, change));
      break;
    case ast::AlterTable::Kind::kRename:
      if (change.names.size() == 1) {
        table.name = change.names[0];
      } else {
        STRAND_OK(rename_column(table, change));
      }
      break;
    case ast::AlterTable::Kind::kDrop:
      STRAND_OK(drop_elements(table, change));
      break;
    case ast::AlterTable::Kind::kSet:
    case ast::AlterTable::Kind::kReset:
      change_options(table, change);
      break;
  }
  tables_.erase(change.name);
  statements_.erase(change.name);
  table.if_not_exists = false;
  return add_table(table, overrides);
}

}  // namespace strand::sql
