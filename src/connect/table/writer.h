// What a store is told about one writer of a table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "columnar/batch.h"
#include "connect/registry.h"

namespace strand::connect::table {

using BatchPtr = std::shared_ptr<const columnar::Batch>;

/// One writer's share of a table (product.md, "Writers").
struct WriterSpec {
  std::string job;
  std::string table;
  std::string writer;                // beside its columns: <writer>_ckpt, _gen, _attempt, _ix
  columnar::SchemaPtr table_schema;  // every column of the table
  columnar::SchemaPtr key;     // primary key columns, in the order of the key; empty: rows are only added
  columnar::SchemaPtr values;  // the writer's own columns
  /// F3: a row that no writer has columns in any more is deleted. A writer that only adds columns to rows of
  /// others leaves it.
  bool owns_rows = true;
};

/// Key columns, then the writer's columns: the schema of every batch that reaches a store.
columnar::SchemaPtr row_schema(const WriterSpec& spec);

/// The writer that `context` describes, of the table that the store knows as `table`.
WriterSpec writer_spec(const TableContext& context, std::string table);

/// What one attempt of a writer is, for the conditions of all its requests.
struct WriterClaim {
  Generation generation{1};
  Attempt attempt{1};
  /// An older generation goes on writing (blue/green) and W2 decides between both. Otherwise it has stopped,
  /// and its attempt row is closed before anything is listed.
  bool elders_run = false;
  /// W4 applies: a row whose tag has a lower epoch is finished.
  std::optional<Epoch> closed_row;
  /// Every restore so far, this one included (D).
  std::vector<AttemptRecord> history;
};

}  // namespace strand::connect::table
