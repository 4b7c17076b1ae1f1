// The statements of the flush store as text.
#pragma once

#include <string>
#include <vector>

#include "connect/sqlite/schema.h"

namespace strand::connect::sqlite {

/// Builds the statements for one writer. Parameters come in the order: key columns, the writer's columns, tag
/// (epoch, generation, attempt, index entry), then what the condition needs.
class FlushSql {
 public:
  /// `strand_dead(gen, attempt, ckpt)` must be a function of the connection.
  FlushSql(const table::WriterSpec& spec, bool closed_rows)
      : names_(spec), closed_rows_(closed_rows), owns_rows_(spec.owns_rows) {}

  /// W1, W2, W4. Last parameter with closed rows: the epoch below which rows are finished.
  std::string put() const;
  /// F2, a tag is expected: parameters end with its epoch, generation, attempt.
  std::string rewrite() const;
  /// F2, no tag is expected.
  std::string put_if_absent() const;
  /// F3. The row is deleted if nothing but the writer's columns is in it; `columns` are all columns of the
  /// table. Both take key and then epoch, generation, attempt: of the expected tag, or with `by_job` of the
  /// request (W2, W4; then the epoch below which rows are finished stands first).
  std::string delete_row(const std::vector<std::string>& columns, bool by_job) const;
  std::string clear_row(bool by_job) const;
  /// Key -> generation, attempt.
  std::string stored_tag() const;
  /// Index entry -> key columns, epoch, generation, attempt.
  std::string list_entry() const;
  /// Epochs [?, ?] and highest generation -> the same, by reading the whole table.
  std::string list_all() const;

 private:
  std::string insert() const;
  std::string update_excluded() const;
  std::string where_key() const;
  std::string removal_condition(bool by_job) const;
  std::string listed() const;

  WriterNames names_;
  bool closed_rows_;
  bool owns_rows_;
};

}  // namespace strand::connect::sqlite
