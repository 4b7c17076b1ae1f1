// For tests: the simulated store and SQLite behind one face.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "connect/sqlite/flush_store.h"
#include "connect/sqlite/read.h"
#include "connect/sqlite/transaction_store.h"
#include "sim/store/sim_store.h"

namespace strand::sim {

/// The simulated store.
class SimBackend {
 public:
  static constexpr bool kKeepsSequence = true;
  std::unique_ptr<table::TableStore> connect() { return store.connect(); }
  std::unique_ptr<table::TransactionStore> connect_transactions() { return store.connect_transactions(); }
  std::vector<std::string> dump(const std::string& name, bool tags) const { return store.dump(name, tags); }
  std::vector<std::string> added(const std::string& name) const { return store.tables().added(name); }

  SimStore store;
};

/// A SQLite file in a folder of its own.
class SqliteBackend {
 public:
  static constexpr bool kKeepsSequence = false;
  SqliteBackend() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strand-sink-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  ~SqliteBackend() { std::filesystem::remove_all(dir_); }

  std::string path() const { return dir_ + "/sink.db"; }
  std::unique_ptr<table::TableStore> connect() {
    return connect::sqlite::make_flush_store({path(), Duration{1000}});
  }
  std::unique_ptr<table::TransactionStore> connect_transactions() {
    return connect::sqlite::make_transaction_store({path(), Duration{1000}});
  }
  /// As SimStore::dump; a writer's columns are those that begin with its name.
  std::vector<std::string> dump(const std::string& name, bool tags) const {
    std::vector<std::string> lines;
    const auto rows = connect::sqlite::read_table(path(), name, /*bookkeeping=*/true);
    if (!rows.ok()) return {rows.status().to_string()};
    for (size_t row = 0; row < rows->rows.size(); ++row) {
      for (const std::string& column : rows->columns) {
        if (!column.ends_with("_ckpt")) continue;
        const std::string writer = column.substr(0, column.size() - 5);
        if (rows->value(row, column)) lines.push_back(line(*rows, row, writer, tags));
      }
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  std::vector<std::string> added(const std::string& name) const {
    std::vector<std::string> lines;
    const auto rows = connect::sqlite::read_table(path(), name);
    if (!rows.ok()) return {};
    for (const auto& row : rows->rows) {
      std::string text = "+I[";
      for (size_t i = 0; i < row.size(); ++i) text += (i > 0 ? ", " : "") + row[i].value_or("null");
      lines.push_back(text + "]");
    }
    return lines;
  }

 private:
  static std::string line(const connect::sqlite::TableRows& rows, size_t row, const std::string& writer,
                          bool tags) {
    std::string text = rows.rows[row][0].value_or("null") + " " + rows.rows[row][1].value_or("null") + ":";
    const std::set<std::string> own = {writer + "_ckpt", writer + "_gen", writer + "_attempt",
                                       writer + "_ix"};
    for (const std::string& column : rows.columns) {
      if (!column.starts_with(writer + "_") || own.contains(column)) continue;
      text += " " + column + "=" + rows.value(row, column).value_or("null");
    }
    if (!tags) return text;
    return text + " [" + *rows.value(row, writer + "_gen") + "." + *rows.value(row, writer + "_attempt") +
           "." + *rows.value(row, writer + "_ckpt") + "]";
  }
  std::string dir_;
};

}  // namespace strand::sim
