// The writer `final`: what a recount leaves in a table, by the protocol that every writer keeps.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "connect/table/store.h"
#include "engine/reconcile.h"
#include "plan/plan.h"

namespace strand::engine {

/// The event time that the whole job had reached at a snapshot: the lowest of its floors. Every row of an
/// hour that is closed by then has been judged, and what the job wrote for it stands in the table.
EventTime reached(const checkpoint::Manifest& snapshot);

/// How long rows of an hour are accepted behind its end: as long as the deduplications of the plan keep ids,
/// which is until the horizon refuses every copy. kBadUsage if no deduplication says how long.
Result<Duration> accepted_after(const plan::Plan& plan);

/// `final` in a table that `plan` writes. Its name belongs to the recounts of the job: an INSERT of the same
/// name, or another job's recount, is refused (kWriterTaken).
Result<connect::table::WriterSpec> final_writer(const plan::Plan& plan, const ComparedTable& table);

/// Writes hours as `final`. Values are absolute and tagged with the snapshot whose event time has closed
/// their hour, one transaction for at most `batch_rows` of them: a recount that dies half-way leaves each row
/// as it was or as it must be, and the next one writes the rest. The job's own writers, and its flush after a
/// crash, neither see nor touch these columns.
///
/// One recount of a job at a time.
class FinalWriter {
 public:
  static constexpr size_t kBatchRows = 20'000;

  /// Opens the table and claims it. Errors: those of TableStore.
  static Result<FinalWriter> open(connect::table::WriterSpec spec, const checkpoint::Manifest& snapshot,
                                  std::unique_ptr<connect::table::TableStore> store,
                                  size_t batch_rows = kBatchRows);

  /// Sets `final_dirty` where the hour is dirty and the row does not say so yet, so that readers know before
  /// the recount has run. `found`: the table with its bookkeeping.
  Status mark_dirty(const std::vector<Hour>& hours, const connect::sqlite::TableRows& found);
  /// Writes every hour that is to be written. How many rows the store has taken.
  Result<int64_t> write(const std::vector<Hour>& hours);
  void close() { store_->close(); }

 private:
  struct Row {
    Key key;
    std::vector<std::optional<int64_t>> values;  // as spec_.values
  };
  FinalWriter(connect::table::WriterSpec spec, std::unique_ptr<connect::table::TableStore> store,
              size_t batch_rows)
      : spec_(std::move(spec)), store_(std::move(store)), batch_rows_(batch_rows) {}

  Result<int64_t> apply(const std::vector<Row>& rows);
  Result<connect::table::BatchPtr> batch(std::span<const Row> rows) const;

  connect::table::WriterSpec spec_;
  std::unique_ptr<connect::table::TableStore> store_;
  size_t batch_rows_;
  connect::table::WriteTag tag_;  // its sequence stays 0: another recount may write the row with the same tag
};

}  // namespace strand::engine
