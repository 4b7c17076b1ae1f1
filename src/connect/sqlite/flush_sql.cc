#include "connect/sqlite/flush_sql.h"

#include <algorithm>

namespace strand::connect::sqlite {

std::string FlushSql::insert() const {
  std::vector<std::string> columns = names_.key;
  columns.insert(columns.end(), names_.values.begin(), names_.values.end());
  const size_t generation = columns.size() + 2;
  for (const std::string& column : names_.tag()) columns.push_back(column);
  std::vector<std::string> marks;
  for (size_t i = 1; i <= columns.size(); ++i) marks.push_back("?" + std::to_string(i));
  columns.push_back(names_.job_gen);
  marks.push_back("?" + std::to_string(generation));
  return "INSERT INTO " + names_.table + " (" + joined(columns, ", ") + ") VALUES (" + joined(marks, ", ") +
         ") ON CONFLICT (" + joined(names_.key, ", ") + ") DO UPDATE SET " + update_excluded();
}

std::string FlushSql::update_excluded() const {
  std::vector<std::string> sets;
  for (const std::string& column : names_.values) sets.push_back(column + " = excluded." + column);
  for (const std::string& column : names_.tag()) sets.push_back(column + " = excluded." + column);
  sets.push_back(names_.job_gen + " = MAX(IFNULL(" + names_.job_gen + ", 0), excluded." + names_.job_gen +
                 ")");
  return joined(sets, ", ");
}

std::string FlushSql::where_key() const { return " WHERE " + joined(names_.key, " AND ", " = ?"); }

std::string FlushSql::put() const {
  const std::string& gen = names_.gen;
  const std::string& attempt = names_.attempt;
  std::string sql = insert() + " WHERE " + gen + " IS NULL OR ((" + gen + ", " + attempt + ") <= (excluded." +
                    gen + ", excluded." + attempt + ")";
  if (closed_rows_) {
    sql += " AND (" + names_.ckpt + " >= ?" + std::to_string(names_.key.size() + names_.values.size() + 5) +
           " OR (" + gen + " = excluded." + gen + " AND " + attempt + " = excluded." + attempt +
           ") OR strand_dead(" + gen + ", " + attempt + ", " + names_.ckpt + "))";
  }
  return sql + ")";
}

std::string FlushSql::rewrite() const {
  const size_t keys = names_.key.size();
  size_t at = keys;
  const auto next = [&at] { return " = ?" + std::to_string(++at); };
  std::vector<std::string> sets;
  for (const std::string& column : names_.values) sets.push_back(column + next());
  for (const std::string& column : names_.tag()) sets.push_back(column + next());
  sets.push_back(names_.job_gen + " = MAX(IFNULL(" + names_.job_gen + ", 0), ?" +
                 std::to_string(keys + names_.values.size() + 2) + ")");
  std::vector<std::string> conditions;
  for (size_t i = 0; i < keys; ++i) conditions.push_back(names_.key[i] + " = ?" + std::to_string(i + 1));
  for (const std::string& column : {names_.ckpt, names_.gen, names_.attempt})
    conditions.push_back(column + next());
  return "UPDATE " + names_.table + " SET " + joined(sets, ", ") + " WHERE " + joined(conditions, " AND ");
}

std::string FlushSql::put_if_absent() const { return insert() + " WHERE " + names_.gen + " IS NULL"; }

std::string FlushSql::removal_condition(bool by_job) const {
  if (!by_job)
    return where_key() + " AND " + names_.ckpt + " = ? AND " + names_.gen + " = ? AND " + names_.attempt +
           " = ?";
  const std::string higher = "(" + names_.gen + ", " + names_.attempt + ") <= (?, ?)";
  if (!closed_rows_) return where_key() + " AND " + higher;
  return where_key() + " AND (" + names_.ckpt + " >= ? OR (" + names_.gen + ", " + names_.attempt +
         ") = (?, ?) OR strand_dead(" + names_.gen + ", " + names_.attempt + ", " + names_.ckpt + ")) AND " +
         higher;
}

std::string FlushSql::delete_row(const std::vector<std::string>& columns, bool by_job) const {
  std::vector<std::string> own = names_.key;
  own.insert(own.end(), names_.values.begin(), names_.values.end());
  for (const std::string& column : names_.tag()) own.push_back(column);
  own.push_back(names_.job_gen);
  std::string sql = "DELETE FROM " + names_.table + removal_condition(by_job);
  if (!owns_rows_) return sql + " AND FALSE";
  for (const std::string& column : columns) {
    if (std::find(own.begin(), own.end(), column) == own.end()) sql += " AND " + column + " IS NULL";
  }
  return sql;
}

std::string FlushSql::clear_row(bool by_job) const {
  std::vector<std::string> columns = names_.values;
  for (const std::string& column : names_.tag()) columns.push_back(column);
  return "UPDATE " + names_.table + " SET " + joined(columns, ", ", " = NULL") + removal_condition(by_job);
}

std::string FlushSql::stored_tag() const {
  return "SELECT " + names_.gen + ", " + names_.attempt + " FROM " + names_.table + where_key();
}

std::string FlushSql::listed() const {
  return "SELECT " + joined(names_.key, ", ") + ", " + names_.ckpt + ", " + names_.gen + ", " +
         names_.attempt + " FROM " + names_.table;
}

std::string FlushSql::list_entry() const { return listed() + " WHERE " + names_.ix + " = ?"; }

std::string FlushSql::list_all() const {
  return listed() + " WHERE " + names_.ckpt + " BETWEEN ? AND ? AND " + names_.gen + " <= ?";
}

}  // namespace strand::connect::sqlite
