#include "connect/table/transaction_work.h"

#include <algorithm>

namespace strand::connect::table {

TransactionWork::TransactionWork(WriterSpec spec, std::unique_ptr<TransactionStore> store, const Rules& rules)
    : spec_(std::move(spec)), schema_(row_schema(spec_)), store_(std::move(store)), rules_(rules) {}

void TransactionWork::then(Lane::Step step) {
  if (const auto lane = lane_.lock()) lane->add(std::move(step));
}

void TransactionWork::start(const flow::SinkStart& start, const std::shared_ptr<Lane>& lane) {
  start_ = start;
  lane_ = lane;
  then([self = shared_from_this()] { return self->open(); });
}

void TransactionWork::commit(Commit commit) {
  then([self = shared_from_this(), commit = std::move(commit)] {
    STRAND_OK(self->send(commit));
    const std::lock_guard lock(self->mutex_);
    self->acknowledged_ = std::max(self->acknowledged_, commit.marker.epoch);
    return Status();
  });
}

void TransactionWork::close() {
  then([self = shared_from_this()] {
    self->store_->close();
    const std::lock_guard lock(self->mutex_);
    self->closed_ = true;
    return Status();
  });
}

bool TransactionWork::started() const {
  const std::lock_guard lock(mutex_);
  return started_;
}

bool TransactionWork::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

Epoch TransactionWork::acknowledged() const {
  const std::lock_guard lock(mutex_);
  return acknowledged_;
}

Status TransactionWork::open() {
  STRAND_OK(store_->open(spec_));
  STRAND_TRY(std::vector<EpochRows> restored, restored_rows());
  SinkClaim claim{start_.generation, start_.attempt, start_.subtask, start_.parallelism,
                  start_.restored.value_or(Epoch{0})};
  for (const EpochRows& rows : restored) {
    for (const auto& [epoch, batches] : rows.epochs) {
      for (const BatchPtr& batch : batches) claim.unsettled[rows.subtask] += batch->rows();
    }
  }
  if (rules_.x3c) STRAND_OK(store_->claim(claim));
  STRAND_TRY(std::vector<Marker> markers, store_->markers());
  if (!rules_.x3a) std::erase_if(markers, [&](const Marker& m) { return m.subtask >= start_.parallelism; });
  if (rules_.x3) STRAND_OK(check_ahead(markers, start_.restored));
  resend(markers, std::move(restored));
  then([self = shared_from_this()] {
    const std::lock_guard lock(self->mutex_);
    self->started_ = true;
    return Status();
  });
  return Status();
}

Status TransactionWork::check(const flow::SinkStart& start) {
  STRAND_TRY(const std::vector<Marker> markers, store_->check(spec_));
  const bool shared =
      std::ranges::any_of(markers, [&](const Marker& m) { return m.generation < start.generation; });
  if (start.elders && shared) {
    return Status(ErrorCode::kSinkAhead,
                  "table " + spec_.table +
                      ": expected a place without commits for a version beside another, "
                      "found those of the other version")
        .hint("give this version a place of its own (--with " + spec_.table +
              ".path=..., or another .sink.transactional-id-prefix), or stop the other one and run "
              "without --beside");
  }
  return rules_.x3 ? check_ahead(markers, start.restored) : Status();
}

Status TransactionWork::check_ahead(const std::vector<Marker>& markers,
                                    std::optional<Epoch> from_epoch) const {
  const Epoch restored = from_epoch.value_or(Epoch{0});
  for (const Marker& marker : markers) {
    if (marker.epoch <= restored) continue;
    const std::string from = from_epoch ? "checkpoint " + std::to_string(restored.value) : "the beginning";
    return Status(ErrorCode::kSinkAhead, "table " + spec_.table + ": expected commits up to " + from +
                                             ", found rows of checkpoint " +
                                             std::to_string(marker.epoch.value) +
                                             ", which would be written twice")
        .hint("go on from checkpoint " + std::to_string(marker.epoch.value) +
              " or a later one (--from latest), or write to a new table");
  }
  return Status();
}

Result<std::vector<EpochRows>> TransactionWork::restored_rows() const {
  std::vector<EpochRows> restored;
  for (const state::Section& section : start_.state) {
    STRAND_TRY(EpochRows rows, decode_epoch_rows(section.bytes(), schema_));
    restored.push_back(std::move(rows));
  }
  return restored;
}

void TransactionWork::resend(const std::vector<Marker>& markers, std::vector<EpochRows> restored) {
  for (EpochRows& rows : restored) {
    if (rows.subtask % start_.parallelism != start_.subtask) continue;
    const auto marker = std::find_if(markers.begin(), markers.end(),
                                     [&](const Marker& m) { return m.subtask == rows.subtask; });
    const Epoch reached = marker == markers.end() || !rules_.x3e ? Epoch{-1} : marker->epoch;
    resend_above(reached, std::move(rows));
  }
}

void TransactionWork::resend_above(Epoch marker, EpochRows rows) {
  Commit commit;
  for (auto& [epoch, batches] : rows.epochs) {
    if (epoch <= marker || epoch > start_.restored.value_or(Epoch{0})) continue;
    commit.marker = {rows.subtask, start_.generation, start_.attempt, epoch};
    for (BatchPtr& batch : batches) commit.rows.push_back(std::move(batch));
  }
  if (commit.rows.empty()) return;
  then([self = shared_from_this(), commit = std::move(commit)] { return self->send(commit); });
}

Status TransactionWork::send(const Commit& commit) {
  // kHad is success: an earlier try had reached the store and its answer was lost.
  STRAND_TRY([[maybe_unused]] const CommitOutcome outcome, store_->commit(commit));
  return Status();
}

}  // namespace strand::connect::table
