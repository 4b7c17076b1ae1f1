// For tests: PostgreSQL behind the face of the other stores. The server's URL is in STRAND_POSTGRES.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "connect/postgres/connection.h"
#include "connect/postgres/flush_store.h"
#include "connect/postgres/schema.h"
#include "connect/postgres/transaction_store.h"
#include "sim/store/sim_tables.h"

namespace strand::sim {

/// A schema of its own in the server's database, which goes with it.
class PostgresBackend {
 public:
  static constexpr bool kKeepsSequence = false;
  PostgresBackend() : schema_("t" + std::to_string(getpid()) + "_" + std::to_string(++made())) {
    const char* const url = getenv("STRAND_POSTGRES");
    EXPECT_NE(url, nullptr) << "STRAND_POSTGRES must be the URL of a server";
    options_.url = std::string(url == nullptr ? "postgresql://nowhere" : url);
    run("CREATE SCHEMA " + schema_);
    options_.url += (options_.url.find('?') == std::string::npos ? "?" : "&") +
                    std::string("options=-csearch_path%3D") + schema_;
  }
  ~PostgresBackend() { run("DROP SCHEMA " + schema_ + " CASCADE"); }

  std::unique_ptr<connect::table::TableStore> connect() {
    return connect::postgres::make_flush_store(options_);
  }
  std::unique_ptr<connect::table::TransactionStore> connect_transactions() {
    return connect::postgres::make_transaction_store(options_);
  }
  const connect::postgres::PostgresOptions& options() const { return options_; }
  void run(const std::string& sql) {
    auto session = connect::postgres::Connection::open(options_);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    const Status done = (*session)->execute(sql);
    ASSERT_TRUE(done.ok()) << done.to_string();
  }
  /// Each row's cells, one line a row, in the order of all columns.
  std::vector<std::string> rows(const std::string& sql) {
    auto session = connect::postgres::Connection::open(options_);
    auto found = (*session)->query(sql);
    if (!found.ok()) return {found.status().to_string()};
    std::vector<std::string> lines;
    for (int i = 0; i < found->size(); ++i) lines.emplace_back(found->text(i, 0));
    return lines;
  }
  /// As SimStore::dump; a writer's columns are those that begin with its name.
  std::vector<std::string> dump(const std::string& name, bool tags) {
    auto session = connect::postgres::Connection::open(options_);
    const auto columns = connect::postgres::table_columns(**session, connect::table::quoted(name));
    std::vector<std::string> lines;
    for (const std::string& quoted : *columns) {
      const std::string column = quoted.substr(1, quoted.size() - 2);
      if (!column.ends_with("_ckpt")) continue;
      const std::string writer = column.substr(0, column.size() - 5);
      for (const std::string& line : rows(dump_sql(name, writer, *columns, tags))) lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  std::vector<std::string> added(const std::string& name) {
    return rows(
        "SELECT '+I[' || array_to_string(ARRAY(SELECT value FROM json_each_text(row_to_json(t))), ', ', "
        "'null') || ']' FROM " +
        name + " t ORDER BY 1");
  }

 private:
  static std::atomic<int>& made() {
    static std::atomic<int> count{0};
    return count;
  }
  static std::string dump_sql(const std::string& name, const std::string& writer,
                              const std::vector<std::string>& columns, bool tags) {
    const std::set<std::string> own = {writer + "_ckpt", writer + "_gen", writer + "_attempt",
                                       writer + "_ix"};
    std::string line = columns[0] + " || ' ' || " + columns[1] + " || ':'";
    for (const std::string& quoted : columns) {
      const std::string column = quoted.substr(1, quoted.size() - 2);
      if (!column.starts_with(writer + "_") || own.contains(column)) continue;
      line += " || ' " + column + "=' || COALESCE(" + column + "::text, 'null')";
    }
    const std::string tag = " || ' [' || " + writer + "_gen || '.' || " + writer + "_attempt || '.' || " +
                            writer + "_ckpt || ']'";
    return "SELECT " + line + (tags ? tag : "") + " FROM " + name + " WHERE " + writer + "_ckpt IS NOT NULL";
  }

  std::string schema_;
  connect::postgres::PostgresOptions options_;
};

}  // namespace strand::sim
