#include "connect/postgres/staging.h"

#include <algorithm>

#include "connect/postgres/values.h"

namespace strand::connect::postgres {

using table::joined;

namespace {

constexpr const char* kRows = "pg_temp.strandline_rows";

template <class... Parts>
std::vector<std::string> together(const std::vector<std::string>& first, const Parts&... parts) {
  std::vector<std::string> all = first;
  (all.insert(all.end(), parts.begin(), parts.end()), ...);
  return all;
}

std::vector<std::string> prefixed(const char* prefix, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(prefix + name);
  return all;
}

}  // namespace

Status Staging::make(Connection& connection) {
  const std::string own = joined(together(names_.key, names_.values), ", ");
  return connection.execute(
      "CREATE TEMP TABLE strandline_rows ON COMMIT DELETE ROWS AS SELECT 0 AS strandline_number,"
      " ''::text AS strandline_kind, " +
      own +
      ", 0::bigint AS strandline_epoch, 0::bigint AS strandline_gen, 0::bigint AS strandline_attempt,"
      " ''::text AS strandline_ix FROM " +
      names_.table + " WITH NO DATA");
}

Status Staging::add(size_t number, char kind, const columnar::Batch& batch, int64_t row, bool values,
                    const flow::WriteTag& tag, std::string_view index_entry) {
  lines_ += std::to_string(number);
  lines_ += '\t';
  lines_ += kind;
  const size_t columns = names_.key.size() + names_.values.size();
  for (size_t i = 0; i < columns; ++i) {
    lines_ += '\t';
    if (i >= names_.key.size() && !values) {
      lines_ += "\\N";
    } else if (!append_copy(batch.column(i), row, lines_)) {
      return Status(ErrorCode::kSinkSchema, "table " + names_.table + ": a text of column " +
                                                (*batch.schema())[i].name +
                                                " holds the character U+0000, which PostgreSQL has not")
          .hint("REPLACE it in the query, or filter such rows");
    }
  }
  for (const int64_t part : {tag.epoch.value, tag.generation.value, tag.attempt.value})
    lines_ += "\t" + std::to_string(part);
  lines_ += '\t';
  lines_ += index_entry;
  lines_ += '\n';
  ++rows_;
  return Status();
}

void Staging::clear() {
  lines_.clear();
  rows_ = 0;
}

void Staging::choose(size_t from, size_t until) {
  chosen_ = kRows;
  if (from == 0 && until == rows_) return;
  chosen_ = "(SELECT * FROM " + chosen_ + " WHERE strandline_number >= " + std::to_string(from) +
            " AND strandline_number < " + std::to_string(until) + ")";
}

Status Staging::send(Connection& connection) {
  choose(0, rows_);
  if (empty()) return Status();
  return connection.copy(std::string("COPY ") + kRows + " FROM STDIN", lines_);
}

Status Staging::drop(Connection& connection, const std::vector<size_t>& numbers) {
  if (numbers.empty()) return Status();
  std::string list = "{";
  for (const size_t number : numbers) list += (list.size() > 1 ? "," : "") + std::to_string(number);
  return connection.execute(
      std::string("DELETE FROM ") + kRows + " WHERE strandline_number = ANY($1::integer[])", {list + "}"});
}

std::string Staging::on_key() const {
  std::vector<std::string> same;
  for (const std::string& key : names_.key) same.push_back("t." + key + " = s." + key);
  return joined(same, " AND ");
}

std::string Staging::look() const {
  return "SELECT s.strandline_number, t." + names_.ckpt + ", t." + names_.gen + ", t." + names_.attempt +
         " FROM " + names_.table + " t JOIN " + chosen_ + " s ON " + on_key() + " WHERE t." + names_.gen +
         " IS NOT NULL ORDER BY " + joined(prefixed("t.", names_.key), ", ") + " FOR UPDATE OF t";
}

std::string Staging::insert(bool tagged) const {
  std::vector<std::string> columns = together(names_.key, names_.values);
  std::vector<std::string> from = columns;
  if (tagged) {
    columns = together(columns, names_.tag(), std::vector<std::string>{names_.job_gen});
    from = together(from, std::vector<std::string>{"strandline_epoch", "strandline_gen", "strandline_attempt",
                                                   "strandline_ix", "strandline_gen"});
  }
  std::string sql = "INSERT INTO " + names_.table + " AS t (" + joined(columns, ", ") + ") SELECT " +
                    joined(from, ", ") + " FROM " + chosen_ + " s WHERE strandline_kind = 'p' ORDER BY " +
                    (names_.key.empty() ? "strandline_number" : joined(names_.key, ", "));
  if (names_.key.empty()) return sql;
  std::vector<std::string> sets;
  for (const std::string& column : names_.values) sets.push_back(column + " = excluded." + column);
  if (tagged) {
    for (const std::string& column : names_.tag()) sets.push_back(column + " = excluded." + column);
    sets.push_back(names_.job_gen + " = GREATEST(COALESCE(t." + names_.job_gen + ", 0), excluded." +
                   names_.job_gen + ")");
  }
  sql += " ON CONFLICT (" + joined(names_.key, ", ") + ") DO ";
  return sql + (sets.empty() ? "NOTHING" : "UPDATE SET " + joined(sets, ", "));
}

std::string Staging::put() const {
  return insert(/*tagged=*/true) + " WHERE t." + names_.gen + " IS NULL OR (t." + names_.gen + ", t." +
         names_.attempt + ") <= (excluded." + names_.gen + ", excluded." + names_.attempt + ")";
}

std::string Staging::put_untagged() const { return insert(/*tagged=*/false); }

std::string Staging::delete_rows(const std::vector<std::string>& columns, bool tagged) const {
  std::vector<std::string> own = together(names_.key, names_.values);
  if (tagged) own = together(own, names_.tag(), std::vector<std::string>{names_.job_gen});
  std::string sql = "DELETE FROM " + names_.table + " t USING " + chosen_ + " s WHERE " + on_key() +
                    " AND s.strandline_kind = 'd'";
  for (const std::string& column : columns) {
    if (std::ranges::find(own, column) == own.end()) sql += " AND t." + column + " IS NULL";
  }
  return sql;
}

std::string Staging::clear_rows(bool tagged) const {
  std::vector<std::string> columns = names_.values;
  if (tagged) columns = together(columns, names_.tag());
  const std::string sets =
      columns.empty() ? names_.key[0] + " = t." + names_.key[0] : joined(columns, ", ", " = NULL");
  return "UPDATE " + names_.table + " t SET " + sets + " FROM " + chosen_ + " s WHERE " + on_key() +
         " AND s.strandline_kind = 'd'";
}

}  // namespace strand::connect::postgres
