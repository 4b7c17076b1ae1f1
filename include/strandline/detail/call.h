// What the engine gives a function of the program, without types.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strandline/detail/row_type.h"

namespace strandline {

/// How long values of a state live, in processing time: a guard for memory, not a meaning, because a job that
/// is replayed finds other values than the first run did. A value that was written (or read, with
/// `renew_on_read`) this long ago is gone; with `return_expired` it may be returned while it is still there.
///
/// What is gone leaves memory and disk when it is next read and, with `clean_up`, also if nobody reads it:
/// some values are looked at with each element, and all that lie on the local disk whenever its files are
/// merged, by one reading of the clock for so many entries.
struct StateTtl {
  Millis life{0};
  bool renew_on_read = false;
  bool return_expired = false;
  bool clean_up = true;
  int64_t entries_per_clock_reading = 1'000;  // at least 1
};

namespace detail {

enum class TimeDomain : uint8_t { kEvent, kProcessing };

/// One element, timer or firing, while a function works on it.
class Call {
 public:
  virtual ~Call() = default;
  virtual std::string_view key() const = 0;  // encoded
  virtual std::optional<int64_t> timestamp() const = 0;
  virtual int64_t watermark() const = 0;
  /// Is counted: what a function does with it, a replay does otherwise.
  virtual int64_t processing_time() = 0;
  virtual void set_timer(TimeDomain domain, int64_t time) = 0;
  virtual void delete_timer(TimeDomain domain, int64_t time) = 0;
  virtual void emit(const void* element) = 0;
  /// With a timestamp of its own.
  virtual void emit_at(const void* element, int64_t timestamp) = 0;
  virtual void emit_side(const std::string& tag, const RowType& type, const void* element) = 0;
};

/// One firing of a window, or its end.
class WindowCall : public Call {
 public:
  /// Start and end; nothing for the global window.
  virtual std::optional<std::pair<int64_t, int64_t>> window() const = 0;
};

/// A named state of the current key (and window). Values are bytes.
class StateCell {
 public:
  virtual ~StateCell() = default;
};
class ValueCell : public StateCell {
 public:
  virtual std::optional<std::string> get() = 0;
  virtual void set(std::string value) = 0;
  virtual void clear() = 0;
  /// Every key that has a value, in the order of key groups. Leaves no current key.
  virtual void for_each_key(const std::function<void(std::string_view key, std::string_view value)>& f) = 0;
};
class ListCell : public StateCell {
 public:
  virtual std::vector<std::string> get() = 0;
  virtual void add(std::string value) = 0;
  virtual void set(std::vector<std::string> values) = 0;
};
class MapCell : public StateCell {
 public:
  virtual std::optional<std::string> get(const std::string& key) = 0;
  virtual void put(const std::string& key, std::string value) = 0;
  virtual void remove(const std::string& key) = 0;
  virtual std::vector<std::pair<std::string, std::string>> entries() = 0;
  virtual bool empty() = 0;
  virtual void clear() = 0;
};

enum class StateKind : uint8_t { kValue, kList, kMap, kOperatorList, kUnionList, kBroadcast };
enum class StateScope : uint8_t { kKey, kWindow };

/// A state that a function has declared. The engine binds the cell before it calls the function.
struct StateSlot {
  StateKind kind;
  std::string name;
  std::string type;  // of what it holds
  std::optional<StateTtl> ttl;
  StateScope scope = StateScope::kKey;
  std::unique_ptr<StateCell> cell = {};
};

}  // namespace detail

/// Base of everything that declares states. Its states are members that name it: they must not move.
class StateOwner {
 public:
  StateOwner(const StateOwner&) = delete;
  StateOwner& operator=(const StateOwner&) = delete;
  const std::vector<std::unique_ptr<detail::StateSlot>>& states() const { return states_; }
  detail::StateSlot& declare(detail::StateSlot state) {
    states_.push_back(std::make_unique<detail::StateSlot>(std::move(state)));
    return *states_.back();
  }

 protected:
  StateOwner() = default;
  ~StateOwner() = default;

 private:
  std::vector<std::unique_ptr<detail::StateSlot>> states_;
};

}  // namespace strandline
