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

/// A row of the topic, whose rows show when their checkpoint is complete.
struct StoryTopicRow {
  WallTime at;
  std::string key;  // "ad_7 M10:14"
  int64_t value = 0;
  Epoch epoch;  // handed to the sink: the last barrier before; committed: that of the checkpoint
};
struct StoryTopic {
  std::vector<StoryTopicRow> written;    // handed to the sink
  std::vector<StoryTopicRow> committed;  // shown to readers
};

/// "ad_7 M10:14" of "ad_7 M2026-02-08 10:14".
std::string story_key(std::string name);

/// Where the sinks of `storystore` take turns on the executor.
inline constexpr uint64_t kStoryTables = 0x57A7E;
/// `storystore`: flush sinks on `store`, each request noted in `writes` when the table has answered.
/// `one_by_one`: no two rows are in one request.
connect::Connector story_store(SimStore* store, connect::table::Rules rules, bool one_by_one,
                               std::vector<StoryWrite>* writes);
/// `storytopic`: transaction sinks on `store`.
connect::Connector story_topic(SimStore* store, StoryTopic* topic);
/// `storylog`: a sink that notes the rows of the exceptions in the instant in which they come.
connect::Connector story_log(std::vector<StoryException>* rows);

}  // namespace strand::sim
