// INSERTs to sinks: writers and the columns that they own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sql/binder.h"

namespace strand::sql {

/// Each INSERT is one writer of its table and owns the columns that it sets beside the key.
class Writers {
 public:
  Writers(Binder& binder, Catalog& catalog) : binder_(binder), catalog_(catalog) {}

  Result<plan::NodePtr> insert(const ast::Insert& insert, const Place& place);
  /// A bare SELECT: its rows are printed.
  Result<plan::NodePtr> print(const ast::Query& query, const Place& place);

 private:
  struct Writer {
    std::string name;
    std::vector<std::string> columns;  // beside the key
    Place place;
  };
  Result<std::vector<std::string>> target_columns(const ast::Insert& insert, const Table& table) const;
  static Result<ast::Insert> with_partition(const ast::Insert& insert, const Table& table);
  Result<Relation> bind_rows(const ast::Insert& insert);
  std::string numbered(const std::string& table, std::string name) const;
  Status claim(const plan::TableSpec& table, Writer writer);
  /// `written`: the table as its connector takes it.
  Result<Relation> assign(const Relation& rows, const Table& table, const plan::TableSpec& written,
                          const std::vector<std::string>& columns, const Place& place);
  Result<Relation> not_null(const Relation& rows, const plan::TableSpec& table,
                            const std::vector<std::string>& columns, const Place& place);
  /// A changelog of a join can be written to a table whose key tells its rows apart, in order.
  Status check_join_key(const Relation& rows, const plan::TableSpec& table,
                        const std::vector<std::string>& columns, const Place& place) const;
  Status check_rows(const Relation& rows, const plan::TableSpec& table, const Place& place,
                    bool deduplicates) const;
  /// Rows whose changes are told apart by other columns than the table's key: made to fit it, passed on as
  /// they are, or refused.
  Result<Relation> fit_key(const Relation& rows, const plan::TableSpec& table,
                           const std::vector<std::string>& columns, const ast::Insert& insert);
  Status check_new_rows(const Relation& rows, const plan::TableSpec& table,
                        const std::vector<std::string>& columns, const Place& place) const;
  Result<Relation> first_of_key(const Relation& rows, const plan::TableSpec& table,
                                const std::vector<std::string>& columns, const Place& place);
  static Status check_event_times(const Relation& rows, const plan::TableSpec& table, const Place& place);
  Status check_key(const Relation& rows, const plan::TableSpec& table,
                   const std::vector<std::string>& columns, const Place& place) const;

  Binder& binder_;
  Catalog& catalog_;
  std::map<std::string, std::vector<Writer>> writers_;
};

/// The name of a writer that gives none: the common part before the first `_` of the columns beside the key,
/// else `strand`.
std::string default_writer(const plan::TableSpec& table, const std::vector<std::string>& columns);

}  // namespace strand::sql
