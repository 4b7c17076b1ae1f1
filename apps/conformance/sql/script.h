// The connector `script`: plays the lines of a case and notes what its sinks receive.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/family.h"
#include "conformance/sql/case.h"
#include "connect/registry.h"

namespace strand::conformance::sql {

/// A row that left the job, with what had been played when it did.
struct OutputRow {
  int played = 0;  // lines; kEnd: all of them, and the end of the input
  std::string kind;
  Json values;  // an array, or the text of an encoded message
};
constexpr int kEnd = 1 << 30;

/// What one sink received.
struct Received {
  columnar::SchemaPtr schema;
  std::vector<std::string> primary_key;
  std::vector<OutputRow> rows;
  size_t committed = 0;  // rows that no crash takes back
};

/// The input and output of one run. One thread.
class Stage {
 public:
  struct Line {
    columnar::RowKind kind = columnar::RowKind::kInsert;
    std::string payload;
  };
  struct Feed {
    std::vector<Line> lines;  // handed out
    bool ended = false;
  };
  Feed& feed(const std::string& table) { return feeds_[table]; }
  std::map<std::string, Received>& received() { return received_; }
  /// Lines that a source hands out at once.
  size_t batch_rows = 1;
  void set_played(int played) { played_ = played; }
  int played() const { return played_; }
  void commit() {
    for (auto& [table, received] : received_) received.committed = received.rows.size();
  }
  void take_back() {
    for (auto& [table, received] : received_) received.rows.resize(received.committed);
  }

 private:
  std::map<std::string, Feed> feeds_;
  std::map<std::string, Received> received_;
  int played_ = 0;
};

/// Adds `script`, and takes the place of `print`, which a bare SELECT writes to.
void add_script_connectors(connect::Registry& registry, const std::shared_ptr<Stage>& stage);

}  // namespace strand::conformance::sql
