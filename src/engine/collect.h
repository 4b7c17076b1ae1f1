// A sink that keeps rows in memory: what a recount writes its tables to.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "connect/registry.h"

namespace strand::engine {

/// A cell as SQLite shows it; nothing: NULL.
using Cell = std::optional<std::string>;
using Key = std::vector<Cell>;

/// The rows of one table, by primary key; every writer has set its columns. A table without a primary key is
/// a bag of rows: the key is the whole row, and `copies` counts it.
struct CollectedTable {
  std::vector<std::string> key;  // columns
  struct Row {
    std::map<std::string, Cell> values;  // of the other columns, those that a writer has set
    int64_t copies = 0;
  };
  std::map<Key, Row> rows;
};

/// Tables by name in the job. Thread-safe: sinks of several tasks write here.
class Collection {
 public:
  void apply(const connect::TableContext& context, const flow::Batch& rows);
  /// Only when nobody writes any more.
  const std::map<std::string, CollectedTable>& tables() const { return tables_; }

 private:
  std::mutex mutex_;
  std::map<std::string, CollectedTable> tables_;
};

/// The name under which `add_collect_connector` adds it; not one that a job file can use.
inline constexpr const char* kCollectConnector = "strandline-collect";
void add_collect_connector(connect::Registry& registry, std::shared_ptr<Collection> into);

}  // namespace strand::engine
