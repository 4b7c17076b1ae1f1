// A store with transactions: what the transaction protocol (replay.md, X1-X4) needs of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "connect/table/writer.h"

namespace strand::connect::table {

/// How far one subtask's rows are in the store.
struct Marker {
  int32_t subtask = 0;
  Generation generation{0};
  Attempt attempt{0};
  Epoch epoch{0};
};

/// The subtask whose marker says who owns the sink (X3c).
inline constexpr int32_t kOwnerMarker = -1;
/// Whether `a` was made by a newer generation or attempt than `b`.
inline bool is_newer(const Marker& a, const Marker& b) {
  return std::pair(a.generation, a.attempt) > std::pair(b.generation, b.attempt);
}
/// kFenced: `owner` stands where `mine` should.
Status fenced(const WriterSpec& spec, const std::string& where, const Marker& owner, const Marker& mine);

/// Rows of one subtask up to a marker, in their order.
struct Commit {
  Marker marker;
  std::vector<BatchPtr> rows;
};

/// What one subtask of an attempt claims of a sink.
struct SinkClaim {
  Generation generation{0};
  Attempt attempt{0};
  int32_t subtask = 0;
  int32_t parallelism = 1;
  Epoch restored{0};
  /// How many rows of each earlier subtask the restored checkpoint holds, which may be in the store already.
  std::map<int32_t, int64_t> unsettled = {};
};

enum class CommitOutcome : uint8_t {
  kCommitted,
  kHad,  // X1m: the marker was not below already: an earlier answer was lost
};

/// One connection for one subtask of a sink. `commit` is one transaction of the store: rows and marker are
/// there together or not at all, and what was acknowledged survives a power loss. kSinkUnavailable may have
/// been applied or not. Calls block and come from one executor lane, one at a time.
class TransactionStore {
 public:
  virtual ~TransactionStore() = default;
  /// Whether `open` would take the writer, without changing anything, and the markers it would find. A store
  /// that cannot tell says yes, and finds none.
  virtual Result<std::vector<Marker>> check(const WriterSpec&) { return std::vector<Marker>{}; }
  /// Creates what is missing. kSinkSchema, kWriterTaken.
  virtual Status open(const WriterSpec& spec) = 0;
  /// X3c: raises the owner row (job, sink) -> (g, a), which every commit checks. kFenced if it is higher.
  virtual Status claim(const SinkClaim& claim) = 0;
  /// Every marker of the sink, also of subtasks that are no more (X3a).
  virtual Result<std::vector<Marker>> markers() = 0;
  /// X1: kFenced if the owner or the stored marker has a higher (g, a).
  virtual Result<CommitOutcome> commit(const Commit& commit) = 0;
  virtual void close() = 0;
};

}  // namespace strand::connect::table
