#include "connect/table/flush_work.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace strand::connect::table {

namespace {

/// A later row of the same key takes the place of an earlier one; the key's text stays where it is.
void replace(Request& earlier, Request later) {
  later.rows += earlier.rows;
  later.key.swap(earlier.key);
  std::swap(earlier, later);
}

}  // namespace

FlushWork::FlushWork(WriterSpec spec, std::unique_ptr<TableStore> store, env::Env env, FlushOptions options)
    : spec_(std::move(spec)),
      store_(std::move(store)),
      env_(env),
      options_(options),
      key_columns_(spec_.key->size()) {
  std::iota(key_columns_.begin(), key_columns_.end(), size_t{0});
  if (!store_->fences() && options_.rules.f7) sweep_ = Sweep::kDue;
}

void FlushWork::then(Status (FlushWork::*step)()) {
  if (const auto lane = lane_.lock())
    lane->add([self = shared_from_this(), step] { return (self.get()->*step)(); });
}

// ---- from the task

Status FlushWork::check(const flow::SinkStart& start) {
  if (start.elders) sweep_ = Sweep::kDue;
  return store_->check(spec_);
}

void FlushWork::start(const flow::SinkStart& start, const std::shared_ptr<Lane>& lane) {
  start_ = start;
  if (start.elders) sweep_ = Sweep::kDue;
  sweep_from_ = env_.clock->steady_nanos() + options_.request_life.millis * 1'000'000;
  lane_ = lane;
  then(&FlushWork::open);
}

void FlushWork::hold(BatchPtr rows) {
  const std::lock_guard lock(mutex_);
  held_.push_back(std::move(rows));
}

void FlushWork::flush() {
  {
    const std::lock_guard lock(mutex_);
    flushing_ = true;
  }
  then(&FlushWork::list);
}

void FlushWork::write(const BatchPtr& rows, WriteTag first) {
  const auto rows_max = static_cast<int64_t>(options_.batch_rows);
  const int64_t effective = effective_rows(*rows);
  {
    const std::lock_guard lock(mutex_);
    counts_.rows_in += effective;
    counts_.pending += effective;
    for (int64_t from = 0; from < rows->rows(); from += rows_max) {
      const int64_t n = std::min(rows_max, rows->rows() - from);
      waiting_.push_back({std::make_shared<const columnar::Batch>(rows->slice(from, n)), first});
      first.sequence += n;
    }
    if (draining_) return;
    draining_ = true;
  }
  then(&FlushWork::drain);
}

void FlushWork::committed() {
  {
    const std::lock_guard lock(mutex_);
    if (flushing_ || sweep_ != Sweep::kDue) return;
    if (start_.elders && !elders_ended_) return;
    if (options_.rules.f7w && !store_->fences() && env_.clock->steady_nanos() < sweep_from_) return;
    sweep_ = Sweep::kUnderWay;
  }
  then(&FlushWork::sweep);
}

void FlushWork::elders_ended(Epoch highest) {
  const std::lock_guard lock(mutex_);
  elders_ended_ = highest;
  // Its last requests may be under way still.
  sweep_from_ = env_.clock->steady_nanos() + options_.request_life.millis * 1'000'000;
}

void FlushWork::close() {
  const auto lane = lane_.lock();
  if (lane == nullptr) return;
  lane->add([self = shared_from_this()] {
    self->store_->close();
    const std::lock_guard lock(self->mutex_);
    self->closed_ = true;
    return Status();
  });
}

bool FlushWork::flushing() const {
  const std::lock_guard lock(mutex_);
  return flushing_;
}

bool FlushWork::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

flow::SinkCounts FlushWork::counts() const {
  const std::lock_guard lock(mutex_);
  flow::SinkCounts counts = counts_;
  counts.flushing = flushing_;
  counts.sweep_due = sweep_ != Sweep::kNone;
  return counts;
}

// ---- steps

Status FlushWork::open() {
  STRAND_OK(store_->open(spec_));
  return claim(start_.elders.has_value());
}

Status FlushWork::claim(bool elders_run) {
  WriterClaim claim{start_.generation, start_.attempt, elders_run, {}, start_.history};
  if (options_.closed_rows) claim.closed_row = start_.restored.value_or(Epoch{0});
  return store_->claim(claim);
}

/// What to visit follows from the rows that are held.
Status FlushWork::hold_all() {
  flush_ = std::make_unique<Flush>(spec_, start_, options_.rules);
  std::vector<BatchPtr> held;
  {
    const std::lock_guard lock(mutex_);
    held = held_;
  }
  for (const BatchPtr& rows : held) STRAND_OK(flush_->hold(rows));
  return Status();
}

/// Always, but in tests that take a rule away.
bool FlushWork::flushes() const {
  if (!options_.rules.f1) return false;
  if (start_.history.size() < 2) return true;
  const AttemptRecord& before = start_.history[start_.history.size() - 2];
  const bool again = before.restored == start_.restored;
  const bool upgrade = before.generation < start_.generation;
  return (options_.rules.f5 || !again) && (options_.rules.f8 || !upgrade);
}

Status FlushWork::list() {
  flush_began_ = env_.clock->steady_nanos();
  STRAND_OK(hold_all());
  const Epoch to = std::max(flush_->history().flush_to(), start_.elders.value_or(Epoch{0}));
  const Epoch from = options_.rules.f9 ? flush_->history().flush_from() : to;
  if (flushes()) {
    STRAND_TRY(const Listing listing, store_->list(from, to));
    flush_->plan(listing);
  }
  begin_visits();
  return Status();
}

Status FlushWork::sweep() {
  STRAND_OK(hold_all());
  Epoch to = flush_->history().flush_to();
  if (start_.elders) {
    STRAND_OK(claim(/*elders_run=*/false));  // closes their attempt row first
    const std::lock_guard lock(mutex_);
    to = std::max(to, elders_ended_.value_or(*start_.elders));
  }
  STRAND_TRY(const Listing listing, store_->list(flush_->history().flush_from(), to));
  flush_->plan_sweep(listing);
  begin_visits();
  return Status();
}

void FlushWork::begin_visits() {
  if (flush_->done()) {
    finish_visits();
  } else {
    then(&FlushWork::visit);
  }
}

void FlushWork::finish_visits() {
  flush_.reset();
  if (flushing()) {
    finish_flush();
  } else {
    finish_sweep();
  }
}

void FlushWork::finish_sweep() {
  const std::lock_guard lock(mutex_);
  held_.clear();
  sweep_ = Sweep::kNone;
}

Status FlushWork::visit() {
  const std::vector<Request> requests = flush_->next(options_.batch_rows);
  STRAND_TRY(const std::vector<Answer> answers, store_->apply(requests));
  flush_->advance(requests.size());
  book_flush(requests, answers);
  if (flush_->done()) {
    finish_visits();
    return Status();
  }
  if (options_.flush_rows_per_second > 0) {
    const auto rows = static_cast<int64_t>(requests.size());
    if (const auto lane = lane_.lock()) lane->pause(Duration{rows * 1000 / options_.flush_rows_per_second});
  }
  then(&FlushWork::visit);
  return Status();
}

void FlushWork::finish_flush() {
  flow::SinkCounts counts;
  {
    const std::lock_guard lock(mutex_);
    counts_.flush_millis = (env_.clock->steady_nanos() - flush_began_) / 1'000'000;
    if (sweep_ == Sweep::kNone) held_.clear();
    flushing_ = false;
    counts = counts_;
  }
  report_flush(counts);
}

Status FlushWork::drain() {
  if (sending_.empty()) fold(take());
  if (!sending_.empty()) {
    STRAND_TRY(const std::vector<Answer> answers, store_->apply(sending_));
    book_writes(answers);
    sending_.clear();
  }
  {
    const std::lock_guard lock(mutex_);
    draining_ = !waiting_.empty();
    if (!draining_) return Status();
  }
  then(&FlushWork::drain);
  return Status();
}

std::vector<FlushWork::Piece> FlushWork::take() {
  const std::lock_guard lock(mutex_);
  std::vector<Piece> pieces;
  int64_t rows = 0;
  while (!waiting_.empty()) {
    rows += waiting_.front().rows->rows();
    if (!pieces.empty() && rows > static_cast<int64_t>(options_.batch_rows)) break;
    pieces.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return pieces;
}

void FlushWork::fold(const std::vector<Piece>& pieces) {
  size_t rows = 0;
  for (const Piece& piece : pieces) rows += static_cast<size_t>(piece.rows->rows());
  sending_.reserve(rows);  // the keys below point into it
  std::unordered_map<std::string_view, size_t> last(rows);
  for (const Piece& piece : pieces) {
    WriteTag tag = piece.first;
    piece.rows->for_each_row([&](int64_t row) {
      const columnar::RowKind kind = piece.rows->kind(row);
      if (kind == columnar::RowKind::kUpdateBefore) return;
      Request request{Request::Kind::kPut, {}, piece.rows, row, tag, {}, 1};
      ++tag.sequence;
      if (kind == columnar::RowKind::kDelete) request.kind = Request::Kind::kDelete;
      columnar::encode_key(*piece.rows, key_columns_, row, request.key);
      if (const auto found = last.find(request.key); found != last.end()) {
        replace(sending_[found->second], std::move(request));
      } else {
        sending_.push_back(std::move(request));
        last.emplace(sending_.back().key, sending_.size() - 1);
      }
    });
  }
}

// ---- books

void FlushWork::book_flush(const std::vector<Request>& requests, const std::vector<Answer>& answers) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < requests.size(); ++i) {
    ++counts_.flushed_keys;
    if (answers[i] != Answer::kWritten) continue;
    ++(requests[i].kind == Request::Kind::kRewrite ? counts_.flushed_rewritten : counts_.flushed_removed);
  }
}

void FlushWork::book_writes(const std::vector<Answer>& answers) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < sending_.size(); ++i) {
    const int64_t rows = sending_[i].rows;
    counts_.pending -= rows;
    if (answers[i] == Answer::kRefusedClosed) {
      counts_.refused += rows;
      report_refusal(sending_[i]);
    } else if (answers[i] == Answer::kRefusedHigher) {
      counts_.overtaken += rows;
    } else {
      counts_.written += rows;
    }
  }
}

void FlushWork::report_refusal(const Request& request) {
  if (options_.events == nullptr) return;
  obs::Event event{
      obs::Level::kError, static_cast<int>(ErrorCode::kClosedRow), "row_refused", env_.clock->now(), {}};
  event.with("table", spec_.table).with("writer", spec_.writer);
  event.with("key", key_text(*request.batch, request.row, key_columns_.size()))
      .with("epoch", request.tag.epoch.value);
  options_.events->on_event(std::move(event));
}

void FlushWork::report_flush(const flow::SinkCounts& counts) {
  if (options_.events == nullptr || !start_.restored) return;
  obs::Event event{obs::Level::kInfo, 0, "flushed", env_.clock->now(), {}};
  event.with("table", spec_.table).with("writer", spec_.writer).with("subtask", start_.subtask);
  event.with("keys", counts.flushed_keys).with("rewritten", counts.flushed_rewritten);
  event.with("removed", counts.flushed_removed).with("duration_ms", counts.flush_millis);
  options_.events->on_event(std::move(event));
}

}  // namespace strand::connect::table
