// A store whose rows show at once: what the flush protocol (replay.md) needs of it. SQLite implements it for
// real, the simulator with delays, lost answers and requests of the dead.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "connect/table/writer.h"
#include "flow/sink.h"

namespace strand::connect::table {

using flow::WriteTag;

/// The index entries of one epoch of a writer are spread over so many parts, by a hash of the row's key: a
/// store that keeps an index entry's rows in one place is written at all of them.
inline constexpr int64_t kIndexShards = 8;

/// One change of one row. `batch` has the columns of row_schema, or only the key's where the row loses its
/// values.
struct Request {
  enum class Kind : uint8_t {
    kPut,      // W1, W2, W2s, W4
    kDelete,   // a row of the job that says "gone": conditions of kPut, effect of kRemove
    kRewrite,  // F2: values, if the stored tag is still `expected`
    kRemove,   // F3: the writer's columns and tag go, if the stored tag is still `expected`
  };
  Kind kind = Kind::kPut;
  std::string key;  // columnar::encode_key of the key columns
  BatchPtr batch;
  int64_t row = 0;  // physical row in batch
  WriteTag tag;
  /// F3c; nothing: the writer must have no tag in the row.
  std::optional<WriteTag> expected;
  int64_t rows = 1;  // rows of the job that it stands for (updates of one key are folded)
};

enum class Answer : uint8_t {
  kWritten,
  kRefusedClosed,  // W4
  kRefusedHigher,  // W2: a newer generation or attempt has written the row
  kRefusedOlder,   // W2s: a copy of a request that has been overtaken by its successor
  kChanged,        // F3c: somebody has written since
};

/// A value of the writer, found by its tag.
struct Tagged {
  std::string key;  // columnar::encode_key of the key columns
  WriteTag tag;
};

struct Listing {
  std::vector<Tagged> values;
  int64_t entries = 0;  // of the index, that were asked for; 0: a range of them at once
  /// A kDelete with an epoch of the range or above has been applied: values that restored state holds may be
  /// gone without a tag to find them by (a flush may have removed the tag that the deletion left).
  bool deletes = false;
};

/// One connection to a table for one subtask of a writer.
///
/// `apply` is one atomic transaction: all of it or nothing is there after a crash, and what was acknowledged
/// survives a power loss. Every request of a connection carries the conditions of its claim. Errors:
/// kSinkUnavailable may have been applied or not, and is repeated with the same tags; everything else ends
/// the attempt.
///
/// A store whose calls cannot outlive them (SQLite: a call has ended before the next one begins) need not
/// store the sequence of a tag: it lists 0 and compares without it.
///
/// Calls block and come from one executor lane, one at a time.
class TableStore {
 public:
  virtual ~TableStore() = default;
  /// Whether `open` would take the writer, without changing anything. A store that cannot tell says yes.
  virtual Status check(const WriterSpec&) { return Status(); }
  /// W6: whether every `apply` fails once a later attempt has claimed. Where it does not, a request of a dead
  /// attempt may still arrive after the flush, and the writer sweeps a second time (F7).
  virtual bool fences() const { return true; }
  /// Creates the table, its bookkeeping columns and index if they are not there. kSinkSchema if a column has
  /// another type; kWriterTaken if another job holds the writer's name.
  virtual Status open(const WriterSpec& spec) = 0;
  /// Raises the attempt row (job, g) -> a before anything is listed (W6). kFenced if it is higher already.
  virtual Status claim(const WriterClaim& claim) = 0;
  /// Checks the attempt row in the same transaction: kFenced if it is above the claim's.
  virtual Result<std::vector<Answer>> apply(const std::vector<Request>& requests) = 0;
  /// Values of the writer whose tag epoch lies in [low, high], of all generations up to the claim's, by the
  /// tag index.
  virtual Result<Listing> list(Epoch low, Epoch high) = 0;
  virtual void close() = 0;
};

}  // namespace strand::connect::table
