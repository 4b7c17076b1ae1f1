// The five kinds of keyed state that functions use, with time to live.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "state/keyed/keyed_state.h"

namespace strand::state {

/// How long values live, in processing time. An expired value is removed when it is next read, or by then.
/// Source: Flink StateTtlConfig, AbstractTtlDecorator.
struct Ttl {
  Duration life;
  bool renew_on_read = false;   // a read starts the time anew, not only a write
  bool return_expired = false;  // an expired value that is still there may be returned once
  bool drop_in_snapshot = false;
  /// Also without a read: some at a time in memory, and as a compaction meets them on the disk.
  bool clean_up = false;
  int64_t entries_per_clock_reading = 1'000;  // of a compaction
};

/// A value and when it was last written (or read).
template <class T>
struct Timed {
  T value;
  WallTime touched;
};

template <class T>
struct Codec<Timed<T>> {
  static std::string name() { return Codec<T>::name(); }
  static void encode(const Timed<T>& timed, ByteWriter& out) {
    out.put(timed.touched.millis);
    Codec<T>::encode(timed.value, out);
  }
  static Result<Timed<T>> decode(ByteReader& in) {
    STRAND_TRY(const int64_t touched, in.get<int64_t>());
    STRAND_TRY(T value, Codec<T>::decode(in));
    return Timed<T>{std::move(value), {touched}};
  }
};

inline Status change_type(Timed<std::string>& timed, const TypeChange& change) {
  STRAND_TRY(timed.value, change.apply(timed.value));
  return Status();
}
inline Status change_type(std::vector<Timed<std::string>>& list, const TypeChange& change) {
  const TypeChange element = change.argument(0);
  for (Timed<std::string>& timed : list) STRAND_OK(change_type(timed, element));
  return Status();
}
inline Status change_type(std::map<std::string, Timed<std::string>>& map, const TypeChange& change) {
  std::map<std::string, Timed<std::string>> changed;
  for (auto& [key, timed] : map) {
    STRAND_TRY(std::string new_key, change.argument(0).apply(key));
    STRAND_OK(change_type(timed, change.argument(1)));
    changed.emplace(std::move(new_key), std::move(timed));
  }
  map = std::move(changed);
  return Status();
}

template <class T>
int64_t held_bytes(const Timed<T>& timed)
  requires(!std::is_trivially_copyable_v<Timed<T>>)
{
  return held_bytes(timed.value);
}

/// What the kinds share: a table, the current key, and the rule of expiry.
template <class Stored>
class KeyedHandle {
 public:
  void clear(Namespace space = {}) { table_->erase(state_->at(space)); }

 protected:
  KeyedHandle(KeyedState& state, Table<Stored>& table, std::optional<Ttl> ttl)
      : state_(&state), table_(&table), ttl_(ttl) {}

  static bool expired(const std::optional<Ttl>& ttl, WallTime touched, WallTime now) {
    return ttl && touched + ttl->life <= now;
  }
  bool expired(WallTime touched) const { return expired(ttl_, touched, state_->now()); }
  template <class T>
  Timed<T> stamped(T value) const {
    return {std::move(value), state_->now()};
  }
  /// Reads one value: `remove` is called where it has expired. Null: nothing to show.
  template <class T, class Remove>
  std::optional<T> read(Timed<T>& timed, Remove&& remove) const {
    if (expired(timed.touched)) {
      std::optional<T> last;
      if (ttl_->return_expired) last = std::move(timed.value);
      remove();
      return last;
    }
    if (ttl_ && ttl_->renew_on_read) timed.touched = state_->now();
    return timed.value;
  }
  Stored* find(Namespace space) const { return table_->find(state_->at(space)); }
  Stored& at(Namespace space) const { return table_->at(state_->at(space)); }
  /// The value that an addition goes on from, or null to start over.
  template <class T>
  const T* to_extend(const Timed<T>* timed) const {
    if (timed == nullptr || (expired(timed->touched) && !ttl_->return_expired)) return nullptr;
    return &timed->value;
  }

  KeyedState* state_;
  Table<Stored>* table_;
  std::optional<Ttl> ttl_;
};

/// Whether everything that is kept under a key has expired.
template <class T>
bool all_expired(const Timed<T>& timed, Duration life, WallTime now) {
  return timed.touched + life <= now;
}
template <class T>
bool all_expired(const std::vector<Timed<T>>& list, Duration life, WallTime now) {
  return std::ranges::all_of(list, [&](const Timed<T>& timed) { return all_expired(timed, life, now); });
}
template <class K, class V>
bool all_expired(const std::map<K, Timed<V>>& map, Duration life, WallTime now) {
  return std::ranges::all_of(map, [&](const auto& entry) { return all_expired(entry.second, life, now); });
}

/// Has what has expired go without a read, if asked for.
template <class Stored>
void clean_up_expired(Table<Stored>& table, const std::optional<Ttl>& ttl) {
  if (!ttl || !ttl->clean_up) return;
  const auto expired = [life = ttl->life](const Stored& stored, WallTime now) {
    return all_expired(stored, life, now);
  };
  table.expires(expired, ttl->entries_per_clock_reading);
}

/// Has single values that have expired go, and snapshots leave them out.
template <class T>
void drop_expired(Table<Timed<T>>& table, const std::optional<Ttl>& ttl) {
  clean_up_expired(table, ttl);
  if (!ttl || !ttl->drop_in_snapshot) return;
  table.on_save([life = ttl->life](Timed<T>& timed, WallTime now) { return timed.touched + life > now; });
}

template <class T>
class ValueState : public KeyedHandle<Timed<T>> {
 public:
  /// `type` says what the values are, where T alone does not; of all states below.
  static Result<ValueState> open(KeyedState& state, const std::string& name, std::optional<Ttl> ttl = {},
                                 const std::string& type = Codec<Timed<T>>::name()) {
    STRAND_TRY(auto* table, state.table<Timed<T>>(name, type));
    drop_expired(*table, ttl);
    return ValueState(state, *table, ttl);
  }
  std::optional<T> get(Namespace space = {}) {
    Timed<T>* timed = this->find(space);
    if (timed == nullptr) return std::nullopt;
    return this->read(*timed, [&] { this->clear(space); });
  }
  void set(T value, Namespace space = {}) { this->at(space) = this->stamped(std::move(value)); }
  /// Every key that has a value, in key order, with the value as `get` would give it.
  template <class F>
  void for_each_key(F&& f) {
    this->state_->for_each_key(*this->table_, [&](const StateKey& key) {
      this->state_->set_key(key.group, key.key);
      f(key.key, get(key.space));
    });
  }

 private:
  using KeyedHandle<Timed<T>>::KeyedHandle;
};

template <class T>
class ListState : public KeyedHandle<std::vector<Timed<T>>> {
 public:
  static Result<ListState> open(KeyedState& state, const std::string& name, std::optional<Ttl> ttl = {},
                                const std::string& type = Codec<std::vector<Timed<T>>>::name()) {
    STRAND_TRY(auto* table, state.table<std::vector<Timed<T>>>(name, type));
    clean_up_expired(*table, ttl);
    if (ttl && ttl->drop_in_snapshot) {
      table->on_save([life = ttl->life](std::vector<Timed<T>>& list, WallTime now) {
        std::erase_if(list, [&](const Timed<T>& timed) { return timed.touched + life <= now; });
        return !list.empty();
      });
    }
    return ListState(state, *table, ttl);
  }
  /// Elements expire one by one, and are removed when all have or, where reads renew, at every read.
  std::vector<T> get(Namespace space = {}) {
    std::vector<T> shown;
    std::vector<Timed<T>>* list = this->find(space);
    if (list == nullptr) return shown;
    std::vector<Timed<T>> live;
    for (const Timed<T>& timed : *list) {
      const bool gone = this->expired(timed.touched);
      if (!gone || this->ttl_->return_expired) shown.push_back(timed.value);
      if (!gone) live.push_back(this->stamped(timed.value));
    }
    if (live.empty()) {
      this->clear(space);
    } else if (this->ttl_ && this->ttl_->renew_on_read) {
      *list = std::move(live);
    }
    return shown;
  }
  void add(T value, Namespace space = {}) { this->at(space).push_back(this->stamped(std::move(value))); }
  void add_all(const std::vector<T>& values, Namespace space = {}) {
    for (const T& value : values) add(value, space);
  }
  /// Replaces the list; an empty one clears it.
  void set(const std::vector<T>& values, Namespace space = {}) {
    this->clear(space);
    add_all(values, space);
  }
  /// Appends the lists of `from` to that of `to`, in order, and removes them.
  void merge(Namespace to, const std::vector<Namespace>& from) {
    for (const Namespace space : from) {
      std::vector<Timed<T>>* list = this->find(space);
      if (list == nullptr) continue;
      std::vector<Timed<T>> moved = std::move(*list);
      this->clear(space);
      auto& target = this->at(to);
      target.insert(target.end(), std::make_move_iterator(moved.begin()),
                    std::make_move_iterator(moved.end()));
    }
  }

 private:
  using KeyedHandle<std::vector<Timed<T>>>::KeyedHandle;
};

template <class K, class V>
class MapState : public KeyedHandle<std::map<K, Timed<V>>> {
 public:
  static Result<MapState> open(KeyedState& state, const std::string& name, std::optional<Ttl> ttl = {},
                               const std::string& type = Codec<std::map<K, Timed<V>>>::name()) {
    using Stored = std::map<K, Timed<V>>;
    STRAND_TRY(auto* table, state.table<Stored>(name, type));
    clean_up_expired(*table, ttl);
    if (ttl && ttl->drop_in_snapshot) {
      table->on_save([life = ttl->life](std::map<K, Timed<V>>& map, WallTime now) {
        std::erase_if(map, [&](const auto& entry) { return entry.second.touched + life <= now; });
        return !map.empty();
      });
    }
    return MapState(state, *table, ttl);
  }
  std::optional<V> get(const K& key, Namespace space = {}) {
    auto* map = this->find(space);
    if (map == nullptr) return std::nullopt;
    const auto found = map->find(key);
    if (found == map->end()) return std::nullopt;
    return this->read(found->second, [&] { remove(key, space); });
  }
  bool contains(const K& key, Namespace space = {}) { return get(key, space).has_value(); }
  void put(const K& key, V value, Namespace space = {}) {
    this->at(space).insert_or_assign(key, this->stamped(std::move(value)));
  }
  void remove(const K& key, Namespace space = {}) {
    auto* map = this->find(space);
    if (map == nullptr) return;
    map->erase(key);
    if (map->empty()) this->clear(space);
  }
  /// In key order.
  std::vector<std::pair<K, V>> entries(Namespace space = {}) {
    std::vector<std::pair<K, V>> shown;
    auto* map = this->find(space);
    if (map == nullptr) return shown;
    for (auto it = map->begin(); it != map->end();) {
      const auto at = it++;
      const K key = at->first;
      if (auto value = this->read(at->second, [&] { map->erase(at); }))
        shown.emplace_back(key, std::move(*value));
    }
    if (map->empty()) this->clear(space);
    return shown;
  }
  /// Counts entries that have expired and are still there.
  bool empty(Namespace space = {}) const { return this->find(space) == nullptr; }

 private:
  using KeyedHandle<std::map<K, Timed<V>>>::KeyedHandle;
};

/// Folds what is added into one value of the same type.
template <class T>
class ReducingState : public KeyedHandle<Timed<T>> {
 public:
  using Reduce = std::function<T(const T&, const T&)>;
  static Result<ReducingState> open(KeyedState& state, const std::string& name, Reduce reduce,
                                    std::optional<Ttl> ttl = {}) {
    STRAND_TRY(auto* table, state.table<Timed<T>>(name));
    drop_expired(*table, ttl);
    ReducingState made(state, *table, ttl);
    made.reduce_ = std::move(reduce);
    return made;
  }
  std::optional<T> get(Namespace space = {}) {
    Timed<T>* timed = this->find(space);
    if (timed == nullptr) return std::nullopt;
    return this->read(*timed, [&] { this->clear(space); });
  }
  void add(T value, Namespace space = {}) {
    const T* old = this->to_extend(this->find(space));
    Timed<T> next = this->stamped(old != nullptr ? reduce_(*old, value) : std::move(value));
    this->at(space) = std::move(next);
  }
  void merge(Namespace to, const std::vector<Namespace>& from) {
    for (const Namespace space : from) {
      Timed<T>* timed = this->find(space);
      if (timed == nullptr) continue;
      T value = std::move(timed->value);
      this->clear(space);
      add(std::move(value), to);
    }
  }

 private:
  using KeyedHandle<Timed<T>>::KeyedHandle;
  Reduce reduce_;
};

/// How an aggregate is computed.
template <class In, class Acc, class Out>
struct Aggregation {
  Acc initial;
  std::function<Acc(const Acc&, const In&)> add;
  std::function<Result<Out>(const Acc&)> result;
  std::function<Acc(const Acc&, const Acc&)> merge;
};

template <class In, class Acc, class Out>
class AggregatingState : public KeyedHandle<Timed<Acc>> {
 public:
  static Result<AggregatingState> open(KeyedState& state, const std::string& name,
                                       Aggregation<In, Acc, Out> aggregation, std::optional<Ttl> ttl = {}) {
    STRAND_TRY(auto* table, state.table<Timed<Acc>>(name));
    drop_expired(*table, ttl);
    AggregatingState made(state, *table, ttl);
    made.aggregation_ = std::move(aggregation);
    return made;
  }
  Result<std::optional<Out>> get(Namespace space = {}) {
    Timed<Acc>* timed = this->find(space);
    if (timed == nullptr) return std::optional<Out>();
    const auto accumulator = this->read(*timed, [&] { this->clear(space); });
    if (!accumulator) return std::optional<Out>();
    STRAND_TRY(Out result, aggregation_.result(*accumulator));
    return std::optional<Out>(std::move(result));
  }
  void add(const In& value, Namespace space = {}) {
    const Acc* old = this->to_extend(this->find(space));
    Timed<Acc> next = this->stamped(aggregation_.add(old != nullptr ? *old : aggregation_.initial, value));
    this->at(space) = std::move(next);
  }
  void merge(Namespace to, const std::vector<Namespace>& from) {
    for (const Namespace space : from) {
      Timed<Acc>* timed = this->find(space);
      if (timed == nullptr) continue;
      Acc value = std::move(timed->value);
      this->clear(space);
      Timed<Acc>* target = this->find(to);
      Timed<Acc> next = this->stamped(target != nullptr ? aggregation_.merge(target->value, value) : value);
      this->at(to) = std::move(next);
    }
  }

 private:
  using KeyedHandle<Timed<Acc>>::KeyedHandle;
  Aggregation<In, Acc, Out> aggregation_;
};

}  // namespace strand::state
