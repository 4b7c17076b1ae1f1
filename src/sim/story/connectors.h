// Where a run of the story writes: tables whose requests are recorded, and a log of rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "connect/registry.h"
#include "connect/table/rules.h"
#include "connect/table/store.h"
#include "sim/store/sim_store.h"
#include "sim/story/clicks.h"

namespace strand::sim {

/// One request that reached a table.
struct StoryWrite {
  WallTime at;
  std::string table;
  std::string writer;
  connect::table::Request::Kind kind = connect::table::Request::Kind::kPut;
  std::string key;  // "ad_7 M10:14"
  std::vector<std::string> columns;
  std::vector<std::optional<std::string>> values;  // none where the row loses them
  flow::WriteTag tag;
  connect::table::Answer answer = connect::table::Answer::kWritten;

  bool is_flush() const { return kind != connect::table::Request::Kind::kPut; }
  bool written() const { return answer == connect::table::Answer::kWritten; }
  /// The value of a column as a number; nothing where it is not set.
  std::optional<int64_t> number(std::string_view column) const;
};

/// One row of the exceptions.
struct StoryException {
  WallTime at;
  std::string verdict;
  std::string click_id;
  std::string ad;
  std::string event;  // "10:13:40.000"
  std::string judge;  // "10:14:52.999", or "none"
};

/// "ad_7 M10:14" of "ad_7 M2026-02-08 10:14".
std::string story_key(std::string name);

/// `storystore`: flush sinks on `store`, each request noted in `writes` when the table has answered.
connect::Connector story_store(SimStore* store, connect::table::Rules rules, std::vector<StoryWrite>* writes);
/// `storylog`: a sink that notes the rows of the exceptions in the instant in which they come.
connect::Connector story_log(std::vector<StoryException>* rows);

}  // namespace strand::sim
