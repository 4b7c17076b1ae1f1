#include "sim/store/sim_store.h"

#include <algorithm>

namespace strand::sim {

using table::Request;

namespace {

struct Done {};

Status unavailable() { return Status(ErrorCode::kSinkUnavailable, "the store did not answer in time"); }
Status process_died() { return Status(ErrorCode::kIo, "the process has died"); }

Status to_status(Result<Done> result) { return result.ok() ? Status() : std::move(result).status(); }
Result<Done> to_result(Status status) {
  if (!status.ok()) return status;
  return Done{};
}

}  // namespace

StoreFault SimStore::next_fault(StoreCall call) {
  const StoreFault planned = plan_({call, ++calls_});
  const StoreFault fault = can_hit(planned, call) ? planned : StoreFault::kNone;
  counts_.add(call, fault);
  return fault;
}

template <class T>
Result<T> SimStore::call(StoreCall call, uint64_t life, const std::function<Result<T>()>& effect,
                         const std::function<void()>& arrive_later) {
  if (dead_ || life != life_) return process_died();
  switch (next_fault(call)) {
    case StoreFault::kNone:
      return effect();
    case StoreFault::kUnavailable:
      return unavailable();
    case StoreFault::kLostAnswer: {
      Result<T> lost = effect();
      return lost.ok() ? Result<T>(unavailable()) : lost;
    }
    case StoreFault::kDelayed:
      arrive_later();
      return unavailable();
    case StoreFault::kCopied: {
      Result<T> answer = effect();
      arrive_later();
      return answer;
    }
    case StoreFault::kCrashBefore:
      dead_ = true;
      return process_died();
    case StoreFault::kCrashAfter: {
      [[maybe_unused]] const Result<T> unheard = effect();
      dead_ = true;
      return process_died();
    }
  }
  return process_died();
}

void SimStore::crash() {
  dead_ = false;
  ++life_;
}

bool SimStore::deliver_one(Random& random) {
  if (under_way_.empty()) return false;
  const auto at = under_way_.begin() + static_cast<int64_t>(random.below(under_way_.size()));
  const std::function<void()> arrive = std::move(at->arrive);
  under_way_.erase(at);
  arrive();
  return true;
}

void SimStore::deliver_of_the_dead() {
  for (size_t i = 0; i < under_way_.size();) {
    if (under_way_[i].number > of_the_dead_) {
      ++i;
      continue;
    }
    const std::function<void()> arrive = std::move(under_way_[i].arrive);
    under_way_.erase(under_way_.begin() + static_cast<int64_t>(i));
    arrive();
  }
}

/// A connection of the flush protocol.
class SimStore::TableConnection final : public table::TableStore {
 public:
  explicit TableConnection(SimStore& store) : store_(store), life_(store.life_) {}

  Status open(const table::WriterSpec& spec) override {
    sender_.spec = spec;
    return simple(StoreCall::kOpen, [&] { return store_.tables_.open(spec); });
  }

  Status claim(const table::WriterClaim& claim) override {
    sender_.claim = claim;
    sender_.history = table::RestoreHistory(claim.history, claim.generation, claim.attempt);
    return simple(StoreCall::kClaim, [&] { return store_.tables_.claim(sender_); });
  }

  Result<std::vector<table::Answer>> apply(const std::vector<Request>& requests) override {
    std::vector<SimRequest> wire;
    for (const Request& request : requests) wire.push_back({request, what_it_adds(request)});
    const bool flush = !requests.empty() && (requests[0].kind == Request::Kind::kRewrite ||
                                             requests[0].kind == Request::Kind::kRemove);
    return store_.call<std::vector<table::Answer>>(
        flush ? StoreCall::kFlush : StoreCall::kWrite, life_,
        [&] { return store_.tables_.apply(sender_, wire); }, [&] { travel(wire); });
  }

  Result<table::Listing> list(Epoch low, Epoch high) override {
    return store_.call<table::Listing>(
        StoreCall::kList, life_,
        [&]() -> Result<table::Listing> { return store_.tables_.list(sender_, low, high); }, [] {});
  }

  bool fences() const override { return store_.options_.attempt_rows; }
  void close() override {}

 private:
  template <class F>
  Status simple(StoreCall call, const F& effect) {
    return to_status(store_.call<Done>(call, life_, [&] { return to_result(effect()); }, [] {}));
  }

  void travel(const std::vector<SimRequest>& requests) {
    const auto send = [this](std::vector<SimRequest> part) {
      store_.send([tables = &store_.tables_, sender = sender_, part = std::move(part)] {
        [[maybe_unused]] const auto unheard = tables->apply(sender, part);
      });
    };
    if (store_.options_.attempt_rows) return send(requests);
    for (const SimRequest& request : requests) send({request});
  }

  /// Where values are not absolute (W1 taken away), a write adds what a number differs by from the last one
  /// sent. What is no number has no sum: it stays absolute.
  std::vector<std::optional<int64_t>> what_it_adds(const Request& request) {
    if (store_.options_.rules.w1 || request.kind == Request::Kind::kRemove ||
        request.kind == Request::Kind::kDelete)
      return {};
    std::vector<std::optional<int64_t>> added;
    std::vector<int64_t>& sent = sent_[request.key];
    sent.resize(sender_.spec.values->size());
    for (size_t i = 0; i < sent.size(); ++i) {
      const columnar::Column& column = request.batch->column(sender_.spec.key->size() + i);
      const std::optional<int64_t> value = number_in(columnar::value_to_string(column, request.row));
      added.push_back(value ? std::optional(*value - std::exchange(sent[i], *value)) : std::nullopt);
    }
    return added;
  }

  SimStore& store_;
  const uint64_t life_;
  SimSender sender_;
  std::map<std::string, std::vector<int64_t>> sent_;
};

/// A connection of the transaction protocol.
class SimStore::TransactionConnection final : public table::TransactionStore {
 public:
  explicit TransactionConnection(SimStore& store) : store_(store), life_(store.life_) {}

  Status open(const table::WriterSpec& spec) override {
    spec_ = spec;
    return simple(StoreCall::kOpen, [&] { return store_.tables_.open(spec); });
  }

  Status claim(const table::SinkClaim& claim) override {
    return simple(StoreCall::kClaim,
                  [&] { return store_.tables_.claim_sink(spec_, claim.generation, claim.attempt); });
  }

  Result<std::vector<table::Marker>> markers() override {
    return store_.call<std::vector<table::Marker>>(
        StoreCall::kMarkers, life_,
        [&]() -> Result<std::vector<table::Marker>> { return store_.tables_.markers(spec_); }, [] {});
  }

  Result<table::CommitOutcome> commit(const table::Commit& commit) override {
    return store_.call<table::CommitOutcome>(
        StoreCall::kCommit, life_, [&] { return store_.tables_.commit(spec_, commit); },
        [&] {
          store_.send([tables = &store_.tables_, spec = spec_, commit] {
            [[maybe_unused]] const auto unheard = tables->commit(spec, commit);
          });
        });
  }

  void close() override {}

 private:
  template <class F>
  Status simple(StoreCall call, const F& effect) {
    return to_status(store_.call<Done>(call, life_, [&] { return to_result(effect()); }, [] {}));
  }

  SimStore& store_;
  const uint64_t life_;
  table::WriterSpec spec_;
};

std::unique_ptr<table::TableStore> SimStore::connect() { return std::make_unique<TableConnection>(*this); }

std::unique_ptr<table::TransactionStore> SimStore::connect_transactions() {
  return std::make_unique<TransactionConnection>(*this);
}

std::vector<std::string> SimStore::dump(const std::string& table, bool tags) const {
  std::vector<std::string> lines;
  for (const auto& [key, row] : tables_.rows(table)) {
    for (const auto& [writer, cell] : row.writers) {
      std::string line = row.name + ":";
      for (size_t i = 0; i < cell.columns.size(); ++i) {
        line += " " + cell.columns[i] + "=" + cell.values[i].value_or("null");
      }
      if (tags) {
        line += " [" + std::to_string(cell.tag.generation.value) + "." +
                std::to_string(cell.tag.attempt.value) + "." + std::to_string(cell.tag.epoch.value) + "]";
      }
      lines.push_back(std::move(line));
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace strand::sim
