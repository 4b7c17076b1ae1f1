// The tables and views that a script has declared.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sql/ast.h"
#include "sql/compile.h"
#include "sql/relation.h"

namespace strand::sql {

/// A column as declared: either physical or computed.
struct TableColumn {
  std::string name;
  columnar::TypePtr type;           // physical
  size_t physical = 0;              // its index in TableSpec::schema
  ast::ExprPtr computed = nullptr;  // else it is physical, or metadata
  Place place;
  std::optional<size_t> metadata = {};  // its index in TableSpec::metadata
  bool is_virtual = false;              // metadata that is read only

  bool is_written() const { return !computed && !is_virtual; }
};

struct Table {
  plan::TableSpec spec;  // options: WITH and overrides, without those that belong to watermarks
  std::vector<TableColumn> columns;
  std::optional<size_t> time_column;  // WATERMARK FOR: index in `columns`
  ast::ExprPtr watermark;
  std::optional<Duration> idle_timeout;
  std::map<std::string, Place> option_places;         // in the WITH clause
  std::map<std::string, std::string> option_origins;  // of those given outside the file
  Place place;
  Place watermark_place;
};

struct View {
  std::string name;
  std::vector<std::string> columns;
  ast::QueryPtr query;
  Place place;
  bool temporary = false;
  std::optional<Relation> bound = {};  // once somebody reads it
  bool binding = false;                // while it is bound: a view cannot read itself
};

/// Names are case-sensitive. Tables and views share one namespace.
class Catalog {
 public:
  Status add_table(const ast::CreateTable& statement, const std::vector<TableOverride>& overrides);
  Status alter(const ast::AlterTable& change, const std::vector<TableOverride>& overrides);
  Status add_view(const ast::CreateView& statement);
  Status alter_view(const ast::AlterView& change);
  Status drop(const ast::Drop& statement);
  Status drop_database(const ast::DropDatabase& statement);

  std::shared_ptr<Table> table(const std::string& name) const;
  std::shared_ptr<View> view(const std::string& name) const;
  /// CREATE TABLE of a table as ALTER has left it.
  std::optional<ast::CreateTable> statement(const std::string& name) const {
    const auto found = statements_.find(name);
    return found == statements_.end() ? std::nullopt : std::optional(found->second);
  }
  /// CREATE TABLE and CREATE VIEW of what a kept catalog holds, the views last.
  std::vector<std::string> kept_in(const std::string& catalog) const;
  bool is_temporary(const std::string& name) const;
  bool has(const std::string& name) const { return table(name) != nullptr || view(name) != nullptr; }
  /// All names, for "did you mean".
  std::vector<std::string> names() const;
  /// kUnknownTable with the nearest name.
  Status unknown(const std::string& name, const Place& place) const;
  bool ever_declared(const std::string& name) const { return declared_.contains(name); }

 private:
  /// The table that CREATE TABLE ... LIKE declares, written out.
  Result<ast::CreateTable> like_another(const ast::CreateTable& own) const;
  Status check_free(const std::string& name, const Place& place) const;
  Status is_temporary_error(const std::string& name, const Place& place, bool if_exists) const;

  std::map<std::string, std::shared_ptr<Table>> tables_;
  std::map<std::string, std::shared_ptr<View>> views_;
  std::map<std::string, ast::CreateTable> statements_;  // of the tables, as ALTER has left them
  std::map<std::string, int> declared_;
  std::vector<std::unique_ptr<SourceText>> texts_;  // watermarks of profiles
};

/// Takes the options of an /*+ OPTIONS(…) */ or override into `table`.
Status apply_options(Table& table, const std::map<std::string, std::optional<std::string>>& options);
/// Gives an error about a table's options the place of the option that it names, else that of the connector.
Status at_option(Status status, const Table& table);

}  // namespace strand::sql
