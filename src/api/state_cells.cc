#include "api/state_cells.h"

#include <algorithm>
#include <stdexcept>

#include "base/bytes.h"
#include "state/keyed/states.h"

namespace strand::api {

using strandline::detail::StateCell;
using strandline::detail::StateKind;
using strandline::detail::StateScope;
using strandline::detail::StateSlot;

namespace {

/// Of the current key; which of its namespaces, the scope says.
class KeyedPlace {
 public:
  KeyedPlace(const StateHome& home, const StateSlot& slot) : home_(home), slot_(slot) {}
  state::Namespace space() const {
    if (!home_.has_key)
      throw std::logic_error("state `" + slot_.name + "` belongs to a key, and here is no current key");
    if (slot_.scope == StateScope::kKey) return {};
    if (home_.merging)
      throw std::logic_error("state `" + slot_.name +
                             "` belongs to a window, and windows that merge have none");
    return home_.window.value_or(state::Namespace{});
  }

 private:
  const StateHome& home_;
  const StateSlot& slot_;
};

class KeyedValue final : public strandline::detail::ValueCell {
 public:
  KeyedValue(StateHome& home, KeyedPlace place, state::ValueState<std::string> state)
      : home_(home), place_(place), state_(state) {}
  std::optional<std::string> get() override { return state_.get(place_.space()); }
  void set(std::string value) override { state_.set(std::move(value), place_.space()); }
  void clear() override { state_.clear(place_.space()); }
  void for_each_key(const std::function<void(std::string_view, std::string_view)>& f) override {
    const bool had_key = std::exchange(home_.has_key, true);
    const std::string key = home_.keyed->key();
    const int32_t group = home_.keyed->group();
    state_.for_each_key([&](const std::string& each, const std::optional<std::string>& value) {
      if (value) f(each, *value);
    });
    home_.has_key = had_key;
    if (had_key) home_.keyed->set_key(group, key);
  }

 private:
  StateHome& home_;
  KeyedPlace place_;
  state::ValueState<std::string> state_;
};

class KeyedList final : public strandline::detail::ListCell {
 public:
  KeyedList(KeyedPlace place, state::ListState<std::string> state) : place_(place), state_(state) {}
  std::vector<std::string> get() override { return state_.get(place_.space()); }
  void add(std::string value) override { state_.add(std::move(value), place_.space()); }
  void set(std::vector<std::string> values) override { state_.set(values, place_.space()); }

 private:
  KeyedPlace place_;
  state::ListState<std::string> state_;
};

class KeyedMap final : public strandline::detail::MapCell {
 public:
  KeyedMap(KeyedPlace place, state::MapState<std::string, std::string> state)
      : place_(place), state_(state) {}
  std::optional<std::string> get(const std::string& key) override { return state_.get(key, place_.space()); }
  void put(const std::string& key, std::string value) override {
    state_.put(key, std::move(value), place_.space());
  }
  void remove(const std::string& key) override { state_.remove(key, place_.space()); }
  std::vector<std::pair<std::string, std::string>> entries() override {
    return state_.entries(place_.space());
  }
  bool empty() override { return state_.empty(place_.space()); }
  void clear() override { state_.clear(place_.space()); }

 private:
  KeyedPlace place_;
  state::MapState<std::string, std::string> state_;
};

class SubtaskList final : public strandline::detail::ListCell {
 public:
  explicit SubtaskList(OperatorState::Entry& entry) : entry_(entry) {}
  std::vector<std::string> get() override { return entry_.list; }
  void add(std::string value) override { entry_.list.push_back(std::move(value)); }
  void set(std::vector<std::string> values) override { entry_.list = std::move(values); }

 private:
  OperatorState::Entry& entry_;
};

class SubtaskMap final : public strandline::detail::MapCell {
 public:
  SubtaskMap(OperatorState::Entry& entry, const StateHome& home, std::string name)
      : entry_(entry), home_(home), name_(std::move(name)) {}
  std::optional<std::string> get(const std::string& key) override {
    const auto found = entry_.map.find(key);
    return found == entry_.map.end() ? std::nullopt : std::optional(found->second);
  }
  void put(const std::string& key, std::string value) override { for_writing()[key] = std::move(value); }
  void remove(const std::string& key) override { for_writing().erase(key); }
  std::vector<std::pair<std::string, std::string>> entries() override {
    return {entry_.map.begin(), entry_.map.end()};
  }
  bool empty() override { return entry_.map.empty(); }
  void clear() override { for_writing().clear(); }

 private:
  /// What one subtask alone would write, a rescale would lose.
  std::map<std::string, std::string>& for_writing() {
    if (!home_.in_broadcast)
      throw std::logic_error(
          "broadcast state `" + name_ +
          "` is written where no element of the broadcast stream is processed: it can only be "
          "read here, and changes in process_broadcast_element");
    return entry_.map;
  }
  OperatorState::Entry& entry_;
  const StateHome& home_;
  std::string name_;
};

std::optional<state::Ttl> ttl_of(const StateSlot& slot) {
  if (!slot.ttl) return std::nullopt;
  return state::Ttl{.life = Duration{slot.ttl->life.count()},
                    .renew_on_read = slot.ttl->renew_on_read,
                    .return_expired = slot.ttl->return_expired,
                    .drop_in_snapshot = true,
                    .clean_up = slot.ttl->clean_up,
                    .entries_per_clock_reading = std::max<int64_t>(1, slot.ttl->entries_per_clock_reading)};
}

bool is_of_subtask(StateKind kind) { return kind >= StateKind::kOperatorList; }

Result<std::unique_ptr<StateCell>> keyed_cell(const StateSlot& slot, StateHome& home) {
  const KeyedPlace place(home, slot);
  const auto ttl = ttl_of(slot);
  switch (slot.kind) {
    case StateKind::kValue: {
      STRAND_TRY(auto state, state::ValueState<std::string>::open(*home.keyed, slot.name, ttl, slot.type));
      return std::unique_ptr<StateCell>(new KeyedValue(home, place, state));
    }
    case StateKind::kList: {
      STRAND_TRY(auto state,
                 state::ListState<std::string>::open(*home.keyed, slot.name, ttl, "list<" + slot.type + ">"));
      return std::unique_ptr<StateCell>(new KeyedList(place, state));
    }
    default: {
      using Map = state::MapState<std::string, std::string>;
      STRAND_TRY(auto state, Map::open(*home.keyed, slot.name, ttl, slot.type));
      return std::unique_ptr<StateCell>(new KeyedMap(place, state));
    }
  }
}

std::unique_ptr<StateCell> subtask_cell(const StateSlot& slot, StateHome& home) {
  OperatorState::Entry& entry = home.of_subtask->entry(slot.name);
  entry.kind = slot.kind;
  entry.type = slot.type;
  if (slot.kind == StateKind::kBroadcast) return std::make_unique<SubtaskMap>(entry, home, slot.name);
  return std::make_unique<SubtaskList>(entry);
}

}  // namespace

Status bind_states(strandline::StateOwner& owner, StateHome& home) {
  for (const auto& slot : owner.states()) {
    if (is_of_subtask(slot->kind)) {
      slot->cell = subtask_cell(*slot, home);
    } else {
      STRAND_TRY(slot->cell, keyed_cell(*slot, home));
    }
  }
  return Status();
}

std::map<std::string, std::string> states_text(const strandline::StateOwner& owner) {
  static constexpr const char* kKinds[] = {"value",         "list",       "map",
                                           "operator list", "union list", "broadcast"};
  std::map<std::string, std::string> text;
  for (const auto& slot : owner.states())
    text["state " + slot->name] = std::string(kKinds[static_cast<size_t>(slot->kind)]) + " of " + slot->type;
  return text;
}

std::string OperatorState::save() const {
  ByteWriter out;
  out.put(static_cast<uint32_t>(entries_.size()));
  for (const auto& [name, entry] : entries_) {
    out.put_string(name);
    out.put(static_cast<uint8_t>(entry.kind));
    out.put_string(entry.type);
    out.put(static_cast<uint64_t>(entry.list.size()));
    for (const std::string& value : entry.list) out.put_string(value);
    out.put(static_cast<uint64_t>(entry.map.size()));
    for (const auto& [key, value] : entry.map) {
      out.put_string(key);
      out.put_string(value);
    }
  }
  return out.take();
}

namespace {

struct Loaded {
  std::string name;
  OperatorState::Entry entry;
};

Result<Loaded> load_entry(ByteReader& in) {
  Loaded loaded;
  STRAND_TRY(loaded.name, in.get_string());
  STRAND_TRY(const uint8_t kind, in.get<uint8_t>());
  loaded.entry.kind = static_cast<StateKind>(kind);
  STRAND_TRY(loaded.entry.type, in.get_string());
  STRAND_TRY(uint64_t left, in.get<uint64_t>());
  for (; left > 0; --left) {
    STRAND_TRY(const std::string_view value, in.get_string());
    loaded.entry.list.emplace_back(value);
  }
  STRAND_TRY(left, in.get<uint64_t>());
  for (; left > 0; --left) {
    STRAND_TRY(const std::string_view key, in.get_string());
    STRAND_TRY(const std::string_view value, in.get_string());
    loaded.entry.map.emplace(key, value);
  }
  return loaded;
}

}  // namespace

Status OperatorState::load(const std::vector<std::string_view>& parts, int32_t subtask, int32_t parallelism) {
  std::map<std::string, size_t> dealt;
  for (const std::string_view part : parts) {
    ByteReader in(part);
    STRAND_TRY(uint32_t left, in.get<uint32_t>());
    for (; left > 0; --left) {
      STRAND_TRY(Loaded loaded, load_entry(in));
      Entry& mine = entries_.try_emplace(loaded.name, Entry{loaded.entry.kind, loaded.entry.type, {}, {}})
                        .first->second;
      if (mine.type != loaded.entry.type || mine.kind != loaded.entry.kind) {
        return Status(ErrorCode::kStateMismatch, "state `" + loaded.name + "` holds " + loaded.entry.type +
                                                     ", but the function asks for " + mine.type)
            .hint("give the new state another name, or start without the old state");
      }
      if (mine.map.empty()) mine.map = std::move(loaded.entry.map);  // all copies are alike
      for (std::string& value : loaded.entry.list) {
        const bool to_all = mine.kind == StateKind::kUnionList;
        if (to_all || dealt[loaded.name]++ % static_cast<size_t>(parallelism) == static_cast<size_t>(subtask))
          mine.list.push_back(std::move(value));
      }
    }
  }
  return Status();
}

int64_t OperatorState::values() const {
  size_t values = 0;
  for (const auto& [name, entry] : entries_) values += entry.list.size() + entry.map.size();
  return static_cast<int64_t>(values);
}

}  // namespace strand::api
