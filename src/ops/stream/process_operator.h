// A C++ function over a keyed stream: state, timers, anything.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ops/stream/keyed_operator.h"

namespace strand::ops {

/// What a function is given for one element or timer.
class ProcessContext {
 public:
  struct Times {
    EventTime watermark;
    std::optional<int64_t> timestamp;      // of the element or the timer
    std::optional<EventTime> output_time;  // of what is emitted: none from a processing timer
  };
  ProcessContext(state::KeyedState& state, Times times, StreamOutput& out)
      : state_(state), times_(times), out_(out) {}

  const std::string& key() const { return state_.key(); }
  /// Of the element, if it has one, or of the timer, in the timer's own domain.
  std::optional<int64_t> timestamp() const { return times_.timestamp; }
  EventTime watermark() const { return times_.watermark; }
  WallTime now() const { return state_.now(); }

  void set_event_timer(EventTime time) { timers(state::TimeDomain::kEvent).set(state_.at({}), time.millis); }
  void erase_event_timer(EventTime time) {
    timers(state::TimeDomain::kEvent).erase(state_.at({}), time.millis);
  }
  void set_processing_timer(WallTime time) {
    timers(state::TimeDomain::kProcessing).set(state_.at({}), time.millis);
  }
  void erase_processing_timer(WallTime time) {
    timers(state::TimeDomain::kProcessing).erase(state_.at({}), time.millis);
  }
  /// Emits under the current key. The result has the time of the element or event timer.
  void emit(int64_t value, std::string payload) {
    out_.record({key(), value, std::move(payload), times_.output_time});
  }

 private:
  state::Timers& timers(state::TimeDomain domain) { return state_.timers(domain); }
  state::KeyedState& state_;
  Times times_;
  StreamOutput& out_;
};

/// What a user writes. One object a subtask; called from one thread.
class KeyedFunction {
 public:
  virtual ~KeyedFunction() = default;
  /// Opens the states it uses.
  virtual Status open(state::KeyedState&) { return {}; }
  virtual Status on_element(int input, const Record& record, ProcessContext& context) = 0;
  virtual Status on_timer(state::TimeDomain, int64_t, ProcessContext&) { return {}; }
};

/// Runs a KeyedFunction over one or two keyed inputs.
/// Source: Flink KeyedProcessOperator, KeyedCoProcessOperator.
class ProcessOperator : public KeyedOperator {
 public:
  ProcessOperator(KeyGroupRange own, std::unique_ptr<KeyedFunction> function)
      : KeyedOperator(own), function_(std::move(function)) {}

  Status open() override { return function_->open(state_); }

 private:
  Status on_element(int input, const Record& record, StreamOutput& out) override;
  Status on_timer(state::TimeDomain domain, const state::Timer& timer, StreamOutput& out) override;

  std::unique_ptr<KeyedFunction> function_;
};

/// State that every subtask holds alike, because its input is sent to all of them.
using BroadcastState = std::map<std::string, int64_t>;

/// A KeyedFunction whose elements see a broadcast state, and which is told of every element of the broadcast
/// input.
class BroadcastFunction : public KeyedFunction {
 public:
  /// May change the broadcast state; `context` has no key. Keyed state may be read over all keys.
  virtual Status on_broadcast(const Record& record, BroadcastState& broadcast, ProcessContext& context) = 0;
  /// Set before anything else is called; changes only in on_broadcast.
  void attach(const BroadcastState& broadcast) { broadcast_ = &broadcast; }

 protected:
  const BroadcastState& broadcast() const { return *broadcast_; }

 private:
  const BroadcastState* broadcast_ = nullptr;
};

/// Source: Flink CoBroadcastWithKeyedOperator.
class BroadcastOperator : public KeyedOperator {
 public:
  BroadcastOperator(KeyGroupRange own, std::unique_ptr<BroadcastFunction> function);

  Status open() override { return function_->open(state_); }
  Status broadcast(const Record& record, StreamOutput& out);
  std::string save_broadcast() const;
  /// One old subtask's copy.
  Status load_broadcast(std::string_view bytes);

 private:
  Status on_element(int input, const Record& record, StreamOutput& out) override;
  Status on_timer(state::TimeDomain domain, const state::Timer& timer, StreamOutput& out) override;

  std::unique_ptr<BroadcastFunction> function_;
  BroadcastState broadcast_;
};

}  // namespace strand::ops
