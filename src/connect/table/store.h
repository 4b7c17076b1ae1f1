// A store whose rows show at once: what the flush protocol (replay.md) needs of it. SQLite implements it for real, the
// simulator with delays, lost answers and requests of the dead.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "columnar/batch.h"
#include "flow/sink.h"

namespace strand::connect::table {

using flow::WriteTag;

/// One writer's share of a table (product.md, "Writers").
struct WriterSpec {
  std::string job;
  std::string table;
  std::string writer;                      // beside its columns: <writer>_ckpt, _gen, _attempt, _ix
  columnar::SchemaPtr table_schema;        // every column of the table
  std::vector<std::string> primary_key;
  columnar::SchemaPtr key;                 // primary key columns, in that order
  columnar::SchemaPtr values;              // the writer's own columns
};

/// One row as the sink hands it over: key columns, then the writer's columns.
struct Row {
  std::string key;      // columnar::encode_key of the key columns
  columnar::Batch batch;
  int64_t row = 0;      // physical row in batch, whose schema is key + values
  bool remove = false;  // the row is a delete: the writer's columns go, the item too if nothing else is left
};

struct Request {
  enum class Kind : uint8_t {
    kPut,      // W1, W2, W2s: refused where the stored (g, a) is higher, or equal with a higher sequence
    kRewrite,  // F2: only if the stored tag is still `expected`
    kRemove,   // F3: the same, and the writer's columns and tag go
  };
  Kind kind = Kind::kPut;
  Row row;
  std::string key;  // kRemove: encoded key
  WriteTag tag;
  std::optional<WriteTag> expected;  // F3c
  /// W4: allowed only where the writer has no tag, its epoch is >= this, or (W4d) the tag is mine or dead.
  std::optional<Epoch> closed_row;
};

enum class Answer : uint8_t { kWritten, kRefusedClosed, kRefusedHigher, kRefusedOlder, kChanged };

struct Tagged {
  std::string key;
  WriteTag tag;
};

/// Calls block and come from one executor lane. `apply` is one atomic transaction: all of it or nothing is there after a
/// crash, and what was acknowledged survives a power loss.
class TableStore {
 public:
  virtual ~TableStore() = default;
  /// Creates the table, its bookkeeping columns and index if they are not there. kSinkSchema if a column has another
  /// type; kWriterTaken if another job holds the writer's name.
  virtual Status open(const WriterSpec& spec) = 0;
  /// Raises the attempt row (job, g) -> a before anything is listed (W6). kFenced if a higher attempt or generation that
  /// is not this job's elder owns it.
  virtual Status claim(Generation generation, Attempt attempt) = 0;
  /// Checks the attempt row in the same transaction: kFenced if it is above (g, a) of the requests.
  virtual Result<std::vector<Answer>> apply(const std::vector<Request>& requests) = 0;
  /// Values of the writer whose tag epoch lies in [low, high], by the tag index.
  virtual Result<std::vector<Tagged>> list(Epoch low, Epoch high) = 0;
  virtual void close() = 0;
};

/// Makes a sink that follows replay.md's flush mode over a store. Works of one sink run in one executor lane.
std::unique_ptr<flow::Sink> make_flush_sink(WriterSpec spec, std::unique_ptr<TableStore> store, env::Env env,
                                            bool closed_rows, size_t batch_rows);

}  // namespace strand::connect::table
