// A simulated database server: tables behind connections that can fail in every way a network can.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/store/sim_tables.h"
#include "sim/store/store_faults.h"

namespace strand::sim {

/// Outlives the processes that write to it. A fault plan decides about each call; requests that it delays or
/// copies stay under way, also after their sender has died, until the driver delivers or drops them. Where
/// the store has no transactions over two rows, every row travels on its own and they arrive in any order.
///
/// After a crash fault the process is dead inside that call: every further call does nothing and says kIo,
/// until the driver calls `crash`. Belongs to the driver's thread, as do its connections, which must not
/// outlive it.
class SimStore {
 public:
  struct Options {
    bool attempt_rows = true;  // W6
    table::Rules rules;
  };
  explicit SimStore(const Options& options)
      : tables_(options.rules, options.attempt_rows), options_(options) {}
  SimStore() : SimStore(Options{}) {}

  std::unique_ptr<table::TableStore> connect();
  std::unique_ptr<table::TransactionStore> connect_transactions();

  void set_plan(StoreFaultPlan plan) { plan_ = std::move(plan); }
  uint64_t calls() const { return calls_; }
  const StoreFaultCounts& counts() const { return counts_; }

  /// A crash fault has hit and `crash` was not called since.
  bool dead() const { return dead_; }
  /// The process is gone: its connections stay dead, new ones work. What is under way stays under way.
  void crash();

  size_t under_way() const { return under_way_.size(); }
  /// Lets one request arrive. False: none is under way.
  bool deliver_one(Random& random);
  void drop_under_way() { under_way_.clear(); }
  /// A new attempt has started: what is under way now was sent by the dead.
  void start_attempt() { of_the_dead_ = sent_; }
  /// The longest life of a request is over: what the dead have sent has arrived.
  void deliver_of_the_dead();

  const SimTables& tables() const { return tables_; }
  /// `ad_7 H10: late_valid=1 [7.2.41]`, one line a row and writer, in the order of the keys' texts. With
  /// tags: generation, attempt and epoch.
  std::vector<std::string> dump(const std::string& table, bool tags = false) const;

 private:
  class TableConnection;
  class TransactionConnection;

  /// Runs `effect` and answers as the fault says. `arrive_later` is what a delayed or copied request does on
  /// arrival.
  template <class T>
  Result<T> call(StoreCall call, uint64_t life, const std::function<Result<T>()>& effect,
                 const std::function<void()>& arrive_later);
  StoreFault next_fault(StoreCall call);

  SimTables tables_;
  const Options options_;
  StoreFaultPlan plan_ = [](const StoreCallInfo&) { return StoreFault::kNone; };
  StoreFaultCounts counts_;
  uint64_t calls_ = 0;
  uint64_t life_ = 0;
  bool dead_ = false;
  struct UnderWay {
    std::function<void()> arrive;
    uint64_t number;
  };
  void send(std::function<void()> arrive) { under_way_.push_back({std::move(arrive), ++sent_}); }
  std::vector<UnderWay> under_way_;
  uint64_t sent_ = 0;
  uint64_t of_the_dead_ = 0;  // numbers up to here
};

}  // namespace strand::sim
