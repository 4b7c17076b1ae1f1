// The values of one named state, for all keys and namespaces.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/stored_type.h"
#include "state/keyed/codec.h"
#include "state/keyed/cold_table.h"
#include "state/keyed/held_bytes.h"
#include "state/keyed/state_key.h"

namespace strand::state {

/// A saved value whose type is not known yet.
struct RawEntry {
  StateKey key;
  std::string value;
};

/// The values of a table as they were at a freeze. Encoded once, from any thread.
class FrozenTable {
 public:
  virtual ~FrozenTable() = default;
  /// Appends the number of values, then each with its key, in the order of StateKey. A value without a byte
  /// says that the key has none, whatever was handed over of it before.
  virtual void encode(ByteWriter& out) = 0;
};

class TableBase {
 public:
  virtual ~TableBase() = default;
  virtual std::string type() const = 0;
  virtual int64_t entries() const = 0;
  /// `now`: for time to live.
  virtual std::unique_ptr<FrozenTable> freeze(WallTime now) const = 0;
  /// `change`: the value was saved as another type; null: as this one.
  virtual Status load(const RawEntry& entry, const TypeChange* change) = 0;
  /// Whether the value of a key is in memory.
  virtual bool has(const StateKeyView& key) const = 0;

  /// Whether values may go when they have expired, and gives up those among the next `n`, going round.
  virtual bool expires() const = 0;
  virtual void sweep(int64_t n, WallTime now) = 0;

  // For a table that keeps part of its values elsewhere.
  virtual void spill_to(ColdTable& cold) = 0;
  /// Tells how many bytes it has.
  virtual void measure() = 0;
  /// The keys of a group whose values are in memory, sorted.
  virtual std::vector<const StateKey*> sorted(int32_t group) const = 0;
  virtual std::string encoded(const StateKey& key) const = 0;
  /// A value that `encoded` gave is here again.
  virtual Status bring_back(const StateKeyView& key, std::string_view value) = 0;
  /// Gives up all values in memory, without a trace.
  virtual void clear() = 0;
  /// Whether snapshots leave values out, and what such a snapshot would hold of an encoded value: empty if
  /// nothing.
  virtual bool prunes() const = 0;
  virtual Result<std::string> pruned(std::string_view value, WallTime now) const = 0;
  /// An encoded value as one of this type.
  virtual Result<std::string> changed(std::string_view value, const TypeChange& change) const = 0;
};

/// Makes a stored value one of the new type. Overloaded for what can be: values that are bytes of the C++
/// API.
template <class V>
Status change_type(V&, const TypeChange&) {
  return Status(ErrorCode::kStateMismatch, "values of this state cannot be carried over to another type");
}
inline Status change_type(std::string& value, const TypeChange& change) {
  STRAND_TRY(value, change.argument(0).apply(value));
  return Status();
}

/// Values by key and namespace: a hash table for each key group. Whoever iterates gets them in the order of
/// StateKey.
///
/// A freeze copies nothing: it marks the groups as being read. Whoever gets a value of a marked group for the
/// first time has the group copied before, so that the reader, on another thread, has it as it was.
///
/// With a ColdTable it holds some of its values only: what is asked for and not here is fetched. It then
/// counts its bytes; the value that was touched last may still grow, and is measured when another one is
/// touched. Belongs to one task; a frozen table outlives it.
template <class V>
class Table : public TableBase {
 public:
  /// Says whether a snapshot should hold a value, and may change what it holds of it.
  using Prune = std::function<bool(V&, WallTime now)>;

  explicit Table(std::string type = Codec<V>::name()) : type_(std::move(type)) {}

  V* find(const StateKeyView& key) {
    if (!has(key) && (cold_ == nullptr || !cold_->fetch(key))) return nullptr;
    V& value = writable(key.group).values.find(key)->second;
    if (cold_ != nullptr) touch(value);
    return &value;
  }
  V& at(const StateKeyView& key) {
    Values& values = writable(key.group).values;
    auto found = values.find(key);
    if (found == values.end() && cold_ != nullptr && cold_->fetch(key)) found = values.find(key);
    V& value = found != values.end() ? found->second : add(values, key);
    if (cold_ != nullptr) touch(value);
    return value;
  }
  void erase(const StateKeyView& key) {
    const V* value = find(key);
    if (value == nullptr) return;
    if (cold_ != nullptr) {
      measure();
      cold_->grow(-entry_bytes(key, *value));
      cold_->erased(key);
    }
    Values& values = writable(key.group).values;
    values.erase(values.find(key));
    --entries_;
  }
  bool has(const StateKeyView& key) const override {
    const Group* group = existing(key.group);
    return group != nullptr && group->values.find(key) != group->values.end();
  }
  /// By default a snapshot holds all values as they are.
  void on_save(Prune prune) { prune_ = std::move(prune); }

  /// Values of which this is true may go, also if nobody asks for them.
  using Expired = std::function<bool(const V&, WallTime now)>;
  void expires(Expired expired, int64_t entries_per_clock_reading) {
    expired_ = std::move(expired);
    if (cold_ == nullptr) return;
    const auto of_bytes = [each = expired_](std::string_view bytes, WallTime now) {
      ByteReader in(bytes);
      const Result<V> value = Codec<V>::decode(in);
      // A value of an older type stays until it is read.
      return value.ok() && in.remaining() == 0 && each(*value, now);
    };
    cold_->expires({of_bytes, entries_per_clock_reading});
  }

  /// The keys of all values in memory, in order.
  std::vector<StateKey> keys() const {
    std::vector<StateKey> keys;
    for (const GroupPtr& group : groups_) {
      if (group == nullptr) continue;
      for (const StateKey* key : ordered(group->values)) keys.push_back(*key);
    }
    return keys;
  }

  std::string type() const override { return type_; }
  int64_t entries() const override { return entries_; }
  std::unique_ptr<FrozenTable> freeze(WallTime now) const override {
    auto frozen = std::make_unique<Frozen>(prune_, now, cold_ != nullptr && cold_->stored());
    for (const GroupPtr& group : groups_) {
      if (group != nullptr && !group->values.empty()) frozen->groups.emplace_back(group);
    }
    return frozen;
  }
  Status load(const RawEntry& entry, const TypeChange* change) override {
    ByteReader bytes(entry.value);
    STRAND_TRY(V value, Codec<V>::decode(bytes));
    if (change != nullptr) STRAND_OK(change_type(value, *change));
    at(entry.key.view()) = std::move(value);
    return {};
  }

  bool expires() const override { return expired_ != nullptr; }
  void sweep(int64_t n, WallTime now) override {
    std::vector<StateKey> gone;
    for (size_t groups = 0; n > 0 && groups <= groups_.size() && !groups_.empty();) {
      if (swept_group_ >= groups_.size()) swept_group_ = 0;
      const Group* group = groups_[swept_group_].get();
      if (group == nullptr || swept_bucket_ >= group->values.bucket_count()) {
        ++swept_group_;
        swept_bucket_ = 0;
        ++groups;
        continue;
      }
      for (auto at = group->values.begin(swept_bucket_); at != group->values.end(swept_bucket_); ++at, --n)
        if (expired_(at->second, now)) gone.push_back(at->first);
      ++swept_bucket_;
      --n;  // also of an empty bucket
    }
    for (const StateKey& key : gone) erase(key.view());
  }

  void spill_to(ColdTable& cold) override { cold_ = &cold; }
  void measure() override {
    if (touched_ != nullptr) cold_->grow(held_bytes(*touched_) - touched_bytes_);
    touched_ = nullptr;
  }
  std::vector<const StateKey*> sorted(int32_t group) const override {
    const Group* there = existing(group);
    return there == nullptr ? std::vector<const StateKey*>() : ordered(there->values);
  }
  std::string encoded(const StateKey& key) const override {
    ByteWriter bytes;
    Codec<V>::encode(existing(key.group)->values.find(key.view())->second, bytes);
    return bytes.take();
  }
  Status bring_back(const StateKeyView& key, std::string_view bytes) override {
    ByteReader in(bytes);
    STRAND_TRY(V value, Codec<V>::decode(in));
    V& added = add(writable(key.group).values, key);
    added = std::move(value);
    cold_->grow(held_bytes(added));
    return {};
  }
  void clear() override {
    touched_ = nullptr;
    groups_.clear();
    entries_ = 0;
  }
  bool prunes() const override { return prune_ != nullptr; }
  Result<std::string> pruned(std::string_view bytes, WallTime now) const override {
    ByteReader in(bytes);
    STRAND_TRY(V value, Codec<V>::decode(in));
    if (!prune_(value, now)) return std::string();
    ByteWriter out;
    Codec<V>::encode(value, out);
    return out.take();
  }
  Result<std::string> changed(std::string_view bytes, const TypeChange& change) const override {
    ByteReader in(bytes);
    STRAND_TRY(V value, Codec<V>::decode(in));
    STRAND_OK(change_type(value, change));
    ByteWriter out;
    Codec<V>::encode(value, out);
    return out.take();
  }

 private:
  using Values = std::unordered_map<StateKey, V, StateKeyHash, StateKeyEqual>;
  struct Group {
    Values values;
    std::atomic<int> readers{0};
  };
  using GroupPtr = std::shared_ptr<Group>;

  /// Holds a group as it is until it has been read.
  class Reading {
   public:
    explicit Reading(GroupPtr group) : group_(std::move(group)) { group_->readers.fetch_add(1); }
    ~Reading() {
      if (group_ != nullptr) group_->readers.fetch_sub(1, std::memory_order_release);
    }
    Reading(Reading&&) noexcept = default;
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    Reading& operator=(Reading&&) = delete;
    const Values& values() const { return group_->values; }

   private:
    GroupPtr group_;
  };

  class Frozen final : public FrozenTable {
   public:
    Frozen(Prune prune, WallTime now, bool handed_over)
        : prune_(std::move(prune)), now_(now), handed_over_(handed_over) {}
    void encode(ByteWriter& out) override {
      uint64_t count = 0;
      ByteWriter entries;
      for (const Reading& group : groups) {
        for (const StateKey* key : ordered(group.values()))
          count += encode_one(group.values(), *key, entries);
      }
      groups.clear();
      out.put(count);
      const std::string bytes = entries.take();
      out.put_raw(bytes.data(), bytes.size());
    }
    std::vector<Reading> groups;

   private:
    uint64_t encode_one(const Values& values, const StateKey& key, ByteWriter& out) const {
      const V& value = values.find(key.view())->second;
      ByteWriter bytes;
      if (prune_) {
        V kept = value;
        const bool any = prune_(kept, now_);
        if (!any && !handed_over_) return 0;
        if (any) Codec<V>::encode(kept, bytes);
      } else {
        Codec<V>::encode(value, bytes);
      }
      save_key(key, out);
      out.put_string(bytes.take());
      return 1;
    }
    Prune prune_;
    WallTime now_;
    bool handed_over_;  // older values of these keys may be elsewhere
  };

  static std::vector<const StateKey*> ordered(const Values& values) {
    std::vector<const StateKey*> keys;
    keys.reserve(values.size());
    for (const auto& entry : values) keys.push_back(&entry.first);
    std::sort(keys.begin(), keys.end(), [](const StateKey* a, const StateKey* b) { return *a < *b; });
    return keys;
  }
  /// Of a value and its place in the hash table.
  static int64_t entry_bytes(const StateKeyView& key, const V& value) {
    constexpr int64_t kPlace = 40;  // links, block, bucket
    constexpr size_t kInside = 15;
    const auto long_key = static_cast<int64_t>(key.key.size() > kInside ? key.key.size() + 16 : 0);
    return static_cast<int64_t>(sizeof(typename Values::value_type)) + kPlace + long_key + held_bytes(value);
  }
  V& add(Values& values, const StateKeyView& key) {
    ++entries_;
    V& value = values[StateKey{key.group, std::string(key.key), key.space}];
    if (cold_ != nullptr) cold_->grow(entry_bytes(key, value));
    return value;
  }
  void touch(V& value) {
    if (&value == touched_) return;
    measure();
    touched_ = &value;
    touched_bytes_ = held_bytes(value);
  }
  const Group* existing(int32_t group) const {
    const auto i = static_cast<size_t>(group);
    return i < groups_.size() ? groups_[i].get() : nullptr;
  }
  Group& writable(int32_t group) {
    const auto i = static_cast<size_t>(group);
    if (i >= groups_.size()) groups_.resize(i + 1);
    GroupPtr& at = groups_[i];
    if (at == nullptr) {
      at = std::make_shared<Group>();
    } else if (at->readers.load(std::memory_order_acquire) != 0) {
      auto copy = std::make_shared<Group>();
      copy->values = at->values;
      at = std::move(copy);
    }
    return *at;
  }

  std::string type_;
  std::vector<GroupPtr> groups_;
  int64_t entries_ = 0;
  Prune prune_;
  Expired expired_;
  size_t swept_group_ = 0;  // where the next sweep begins
  size_t swept_bucket_ = 0;
  ColdTable* cold_ = nullptr;  // null: all values are in memory
  V* touched_ = nullptr;       // last
  int64_t touched_bytes_ = 0;
};

}  // namespace strand::state
