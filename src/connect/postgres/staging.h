// Rows on their way into a table: a temporary table of the session, filled by COPY.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "connect/postgres/connection.h"
#include "connect/table/names.h"
#include "connect/table/store.h"

namespace strand::connect::postgres {

/// Collects rows as lines of COPY and puts them into `strandline_rows`, whose columns have the types of the
/// table's own: the row's number, what is to be done with it ('p': it is put, 'd': it goes), key, values,
/// tag. It is empty again when the transaction ends. Belongs to one session.
class Staging {
 public:
  explicit Staging(table::WriterNames names) : names_(std::move(names)) {}

  /// For a new session.
  Status make(Connection& connection);
  void clear();
  bool empty() const { return lines_.empty(); }
  /// `values`: else only the key. Errors: kSinkSchema, where PostgreSQL has no such value.
  Status add(size_t number, char kind, const columnar::Batch& batch, int64_t row, bool values,
             const flow::WriteTag& tag, std::string_view index_entry);
  /// All that was added; the statements below are about them.
  Status send(Connection& connection);
  /// From now on they are about the rows with these numbers, `until` excluded.
  void choose(size_t from, size_t until);
  /// Takes rows back.
  Status drop(Connection& connection, const std::vector<size_t>& numbers);

  // Statements over its rows.
  /// The tag that each row's key has in the table; locks those rows. Number, epoch, generation, attempt.
  std::string look() const;
  /// W1 and W2. Rows that another has written with a higher (generation, attempt) are left.
  std::string put() const;
  /// Without tags, for tables in transaction mode; the last of several rows of a key must stand alone.
  std::string put_untagged() const;
  /// Rows in which nothing but the writer's columns is, of all `columns` of the table.
  std::string delete_rows(const std::vector<std::string>& columns, bool tagged) const;
  /// The writer's columns of the rows that are left.
  std::string clear_rows(bool tagged) const;

 private:
  std::string on_key() const;
  std::string insert(bool tagged) const;

  table::WriterNames names_;
  std::string lines_;
  size_t rows_ = 0;
  std::string chosen_;  // as a part of FROM
};

}  // namespace strand::connect::postgres
