// State of functions: members that a checkpoint holds.
#pragma once

#include <algorithm>
#include <functional>

#include "strandline/detail/call.h"

namespace strandline {

/// How a state is kept: `{.ttl = StateTtl{1h}}`; in a window function `{.of_window = true}` for state that
/// belongs to the window and goes with it.
struct StateOptions {
  std::optional<StateTtl> ttl = std::nullopt;
  bool of_window = false;
};

namespace detail {
template <class Cell>
class StateHandle {
 public:
  StateHandle(const StateHandle&) = delete;
  StateHandle& operator=(const StateHandle&) = delete;

 protected:
  StateHandle(StateOwner& owner, StateKind kind, std::string name, std::string type,
              StateOptions options = {})
      : slot_(owner.declare({kind, std::move(name), std::move(type), options.ttl,
                             options.of_window ? StateScope::kWindow : StateScope::kKey})) {}
  Cell& cell() const { return static_cast<Cell&>(*slot_.cell); }

 private:
  StateSlot& slot_;
};
}  // namespace detail

/// One value for each key:
///
///     class Count : public KeyedProcessFunction<std::string, Click, int64_t> {
///       ValueState<int64_t> seen_{*this, "seen"};
template <Storable T>
class ValueState : detail::StateHandle<detail::ValueCell> {
 public:
  ValueState(StateOwner& owner, std::string name, StateOptions options = {})
      : StateHandle(owner, detail::StateKind::kValue, std::move(name), Codec<T>::name(), options) {}
  std::optional<T> value() const {
    const auto bytes = cell().get();
    return bytes ? std::optional<T>(detail::decoded<T>(*bytes)) : std::nullopt;
  }
  T value_or(T otherwise) const {
    auto value = this->value();
    return value ? *std::move(value) : std::move(otherwise);
  }
  void update(const T& value) { cell().set(detail::encoded(value)); }
  void clear() { cell().clear(); }
  /// Calls f(key, value) for every key of this subtask that has one; for elements of a broadcast stream.
  template <Storable K, class F>
  void for_each_key(F&& f) {
    cell().for_each_key([&](std::string_view key, std::string_view value) {
      f(detail::decoded<K>(key), detail::decoded<T>(value));
    });
  }
};

template <Storable T>
class ListState : detail::StateHandle<detail::ListCell> {
 public:
  ListState(StateOwner& owner, std::string name, StateOptions options = {})
      : StateHandle(owner, detail::StateKind::kList, std::move(name), Codec<T>::name(), options) {}
  /// In the order in which they were added.
  std::vector<T> get() const {
    std::vector<T> values;
    for (const std::string& bytes : cell().get()) values.push_back(detail::decoded<T>(bytes));
    return values;
  }
  void add(const T& value) { cell().add(detail::encoded(value)); }
  void add_all(const std::vector<T>& values) {
    for (const T& value : values) add(value);
  }
  void update(const std::vector<T>& values) {
    std::vector<std::string> bytes;
    for (const T& value : values) bytes.push_back(detail::encoded(value));
    cell().set(std::move(bytes));
  }
  void clear() { cell().set({}); }
};

template <Storable K, Storable V>
class MapState : detail::StateHandle<detail::MapCell> {
 public:
  MapState(StateOwner& owner, std::string name, StateOptions options = {})
      : MapState(owner, detail::StateKind::kMap, std::move(name), options) {}
  std::optional<V> get(const K& key) const {
    const auto bytes = cell().get(detail::encoded(key));
    return bytes ? std::optional<V>(detail::decoded<V>(*bytes)) : std::nullopt;
  }
  bool contains(const K& key) const { return cell().get(detail::encoded(key)).has_value(); }
  void put(const K& key, const V& value) { cell().put(detail::encoded(key), detail::encoded(value)); }
  void remove(const K& key) { cell().remove(detail::encoded(key)); }
  /// In the order of keys.
  std::vector<std::pair<K, V>> entries() const {
    std::vector<std::pair<K, V>> all;
    for (const auto& [key, value] : cell().entries())
      all.emplace_back(detail::decoded<K>(key), detail::decoded<V>(value));
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return all;
  }
  bool empty() const { return cell().empty(); }
  void clear() { cell().clear(); }

 protected:
  MapState(StateOwner& owner, detail::StateKind kind, std::string name, StateOptions options)
      : StateHandle(owner, kind, std::move(name), Codec<std::map<K, V>>::name(), options) {}
};

/// Folds what is added into one value of the same type.
template <Storable T>
class ReducingState {
 public:
  using Reduce = std::function<T(const T&, const T&)>;
  ReducingState(StateOwner& owner, std::string name, Reduce reduce, StateOptions options = {})
      : value_(owner, std::move(name), options), reduce_(std::move(reduce)) {}
  std::optional<T> get() const { return value_.value(); }
  void add(const T& value) {
    const auto old = value_.value();
    value_.update(old ? reduce_(*old, value) : value);
  }
  void clear() { value_.clear(); }

 private:
  ValueState<T> value_;
  Reduce reduce_;
};

/// An aggregate over elements: how it begins, takes an element in, is made one with another, and is told.
/// Windows and AggregatingState use it.
///
///     struct Mean {
///       std::pair<int64_t, int64_t> create_accumulator() const { return {0, 0}; }
///       void add(std::pair<int64_t, int64_t>& sum, const Click& click) const { ... }
///       double get_result(const std::pair<int64_t, int64_t>& sum) const { ... }
///       void merge(std::pair<int64_t, int64_t>& sum, const std::pair<int64_t, int64_t>& other) const { ... }
///     };
template <class A, class In>
concept AggregateFunction = requires(const A& a, const In& in) {
  { a.create_accumulator() } -> Storable;
  a.get_result(a.create_accumulator());
} && requires(const A& a, const In& in, decltype(a.create_accumulator()) accumulator) {
  a.add(accumulator, in);
  a.merge(accumulator, accumulator);
};

template <class In, AggregateFunction<In> A>
class AggregatingState {
 public:
  using Accumulator = decltype(std::declval<const A&>().create_accumulator());
  AggregatingState(StateOwner& owner, std::string name, A aggregate = {}, StateOptions options = {})
      : value_(owner, std::move(name), options), aggregate_(std::move(aggregate)) {}
  auto get() const {
    const auto accumulator = value_.value();
    using Out = decltype(aggregate_.get_result(*accumulator));
    return accumulator ? std::optional<Out>(aggregate_.get_result(*accumulator)) : std::nullopt;
  }
  void add(const In& value) {
    auto accumulator = value_.value_or(aggregate_.create_accumulator());
    aggregate_.add(accumulator, value);
    value_.update(accumulator);
  }
  void clear() { value_.clear(); }

 private:
  ValueState<Accumulator> value_;
  A aggregate_;
};

/// State of a subtask, not of a key. After a restore the elements of all old subtasks are dealt out anew.
template <Storable T>
class OperatorListState : detail::StateHandle<detail::ListCell> {
 public:
  enum class Redistribution : uint8_t {
    kSplit,  // each element to one subtask
    kUnion,  // all elements to every subtask
  };
  OperatorListState(StateOwner& owner, std::string name, Redistribution how = Redistribution::kSplit)
      : StateHandle(
            owner,
            how == Redistribution::kSplit ? detail::StateKind::kOperatorList : detail::StateKind::kUnionList,
            std::move(name), Codec<T>::name()) {}
  std::vector<T> get() const {
    std::vector<T> values;
    for (const std::string& bytes : cell().get()) values.push_back(detail::decoded<T>(bytes));
    return values;
  }
  void add(const T& value) { cell().add(detail::encoded(value)); }
  void update(const std::vector<T>& values) {
    std::vector<std::string> bytes;
    for (const T& value : values) bytes.push_back(detail::encoded(value));
    cell().set(std::move(bytes));
  }
  void clear() { cell().set({}); }
};

/// State that every subtask holds alike, because its stream is broadcast. Changes only where an element of
/// that stream is processed, and must change by nothing but that element.
template <Storable K, Storable V>
class BroadcastState : public MapState<K, V> {
 public:
  BroadcastState(StateOwner& owner, std::string name)
      : MapState<K, V>(owner, detail::StateKind::kBroadcast, std::move(name), {}) {}
};

}  // namespace strandline
