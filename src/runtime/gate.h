// The way out of a task: elements of one output to the subtasks of the node that reads it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "columnar/batch.h"
#include "flow/channel.h"

namespace strand::runtime {

/// Which subtask of a reader owns a row: by the hash of key columns, or by the key group in a column.
class KeySpread {
 public:
  /// `groups`: `keys` is one INT column that holds the key group.
  KeySpread(std::vector<size_t> keys, bool groups, int32_t parallelism, int32_t max_parallelism);
  bool has_keys() const { return !keys_.empty(); }
  /// The rows of each subtask, by selection; null where it gets none.
  const std::vector<columnar::SelectionPtr>& spread(const columnar::Batch& batch);

 private:
  std::vector<size_t> keys_;
  bool groups_;
  int32_t max_parallelism_;
  std::vector<uint32_t> owners_;  // by key group
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t*> ends_;  // by subtask: where its next row goes
  std::vector<columnar::SelectionPtr> targets_;
};

/// Spreads rows over the channels to a reader's subtasks: all to one, or by the hash of key columns to the
/// owner of the key's group. Everything but rows goes to every channel. Rows are not copied: each target gets
/// the batch with a selection of its own. Belongs to the task that emits.
class Gate {
 public:
  /// How rows are spread over several channels.
  enum class Spread : uint8_t { kHash, kGroup, kAll };
  /// One channel: everything goes there. kGroup: `keys` is one INT column that holds the key group.
  Gate(std::string reader, std::vector<flow::Channel*> channels, std::vector<size_t> keys,
       int32_t max_parallelism, Spread spread = Spread::kHash);

  void push_rows(const columnar::Batch& batch, bool held);
  void broadcast(const flow::Element& element);
  /// True while the task must wait for a reader.
  bool full();
  /// The node that reads, for the reason of a block.
  const std::string& reader() const { return reader_; }
  /// Idle marks stop here (edges of partial sums, replay.md T8).
  void hold_active() { forwards_idle_ = false; }

 private:
  std::string reader_;
  std::vector<flow::Channel*> channels_;
  KeySpread by_key_;
  Spread spread_;
  bool forwards_idle_ = true;
};

}  // namespace strand::runtime
