// The values of one named state, for all keys and namespaces.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "state/keyed/codec.h"
#include "state/keyed/state_key.h"

namespace strand::state {

/// A saved value whose type is not known yet.
struct RawEntry {
  StateKey key;
  std::string value;
};

class TableBase {
 public:
  virtual ~TableBase() = default;
  virtual std::string type() const = 0;
  virtual int64_t entries() const = 0;
  virtual std::vector<RawEntry> save() const = 0;
  virtual Status load(const RawEntry& entry) = 0;
};

/// Values by key and namespace, in a hash table. Whoever iterates gets them in the order of StateKey.
template <class V>
class Table : public TableBase {
 public:
  explicit Table(std::string type = Codec<V>::name()) : type_(std::move(type)) {}
  V* find(const StateKeyView& key) {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  V& at(const StateKeyView& key) {
    if (V* value = find(key)) return *value;
    return values_[StateKey{key.group, std::string(key.key), key.space}];
  }
  void erase(const StateKeyView& key) {
    const auto found = values_.find(key);
    if (found != values_.end()) values_.erase(found);
  }
  /// The value that a snapshot should hold; false: none. By default all as they are.
  void on_save(std::function<bool(V&)> prune) { prune_ = std::move(prune); }

  template <class F>
  void for_each(F&& f) {
    for (const StateKey* key : ordered()) f(*key, values_.find(key->view())->second);
  }

  std::string type() const override { return type_; }
  int64_t entries() const override { return static_cast<int64_t>(values_.size()); }
  std::vector<RawEntry> save() const override {
    std::vector<RawEntry> saved;
    for (const StateKey* key : ordered()) {
      V value = values_.find(key->view())->second;
      if (prune_ && !prune_(value)) continue;
      ByteWriter bytes;
      Codec<V>::encode(value, bytes);
      saved.push_back({*key, bytes.take()});
    }
    return saved;
  }
  Status load(const RawEntry& entry) override {
    ByteReader bytes(entry.value);
    STRAND_TRY(V value, Codec<V>::decode(bytes));
    values_.insert_or_assign(entry.key, std::move(value));
    return {};
  }

 private:
  std::string type_;
  std::vector<const StateKey*> ordered() const {
    std::vector<const StateKey*> keys;
    keys.reserve(values_.size());
    for (const auto& entry : values_) keys.push_back(&entry.first);
    std::sort(keys.begin(), keys.end(), [](const StateKey* a, const StateKey* b) { return *a < *b; });
    return keys;
  }
  std::unordered_map<StateKey, V, StateKeyHash, StateKeyEqual> values_;
  std::function<bool(V&)> prune_;
};

}  // namespace strand::state
