// What a window of the C++ API keeps of its elements, and what it makes of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ops/stream/record.h"
#include "state/keyed/keyed_state.h"
#include "window/evictor.h"
#include "window/window.h"

namespace strand::ops {

/// One firing (or the end) of a window, as its function sees it.
class Firing {
 public:
  struct Facts {
    std::optional<window::Window> window;  // none: the global window
    EventTime watermark;
    WallTime now;
    EventTime timestamp;  // of results
    bool merging = false;
  };
  Firing(Facts facts, state::KeyedState& state, StreamOutput& out)
      : facts_(facts), state_(state), out_(out) {}

  const std::string& key() const { return state_.key(); }
  const Facts& facts() const { return facts_; }
  /// State of the key, over all windows.
  state::KeyedState& state() const { return state_; }
  /// The namespace of state that belongs to this window alone. Errors: kBadWindow where windows merge,
  /// because then no window stays what it is.
  Result<state::Namespace> window_space() const;
  void emit(int64_t value, std::string payload) const {
    out_.record({key(), value, std::move(payload), facts_.timestamp});
  }

 private:
  Facts facts_;
  state::KeyedState& state_;
  StreamOutput& out_;
};

/// The contents of all windows of an operator. They are kept under a namespace of the current key.
class WindowContents {
 public:
  virtual ~WindowContents() = default;
  virtual Status open(state::KeyedState& state) = 0;
  virtual void add(const Record& record, state::Namespace space) = 0;
  virtual void merge(state::Namespace to, const std::vector<state::Namespace>& from) = 0;
  virtual void clear(state::Namespace space) = 0;
  /// Tells the result, if there are contents.
  virtual Status fire(const Firing& firing, state::Namespace space) = 0;
  /// The window is over: gives up what the function has kept for it.
  virtual Status close(const Firing&) { return {}; }
};

/// Elements folded into one value as they come.
template <class Acc>
class FoldContents : public WindowContents {
 public:
  struct Functions {
    std::function<Acc(const Record&)> first;
    std::function<Acc(const Acc&, const Record&)> add;
    std::function<Acc(const Acc&, const Acc&)> merge;
    std::function<Status(const Firing&, const Acc&)> result;
  };
  explicit FoldContents(Functions functions) : functions_(std::move(functions)) {}

  Status open(state::KeyedState& state) override {
    state_ = &state;
    STRAND_TRY(table_, state.table<Acc>("window-contents"));
    return {};
  }
  void add(const Record& record, state::Namespace space) override {
    const state::StateKeyView at = state_->at(space);
    const Acc* old = table_->find(at);
    Acc next = old == nullptr ? functions_.first(record) : functions_.add(*old, record);
    table_->at(at) = std::move(next);
  }
  void merge(state::Namespace to, const std::vector<state::Namespace>& from) override {
    for (const state::Namespace space : from) {
      const Acc* source = table_->find(state_->at(space));
      if (source == nullptr) continue;
      const Acc* target = table_->find(state_->at(to));
      Acc next = target == nullptr ? *source : functions_.merge(*target, *source);
      table_->erase(state_->at(space));
      table_->at(state_->at(to)) = std::move(next);
    }
  }
  void clear(state::Namespace space) override { table_->erase(state_->at(space)); }
  Status fire(const Firing& firing, state::Namespace space) override {
    const Acc* contents = table_->find(state_->at(space));
    if (contents == nullptr) return {};
    return functions_.result(firing, Acc(*contents));
  }

 private:
  Functions functions_;
  state::KeyedState* state_ = nullptr;
  state::Table<Acc>* table_ = nullptr;
};

/// All elements, for functions that must see each of them and for evictors.
class ListContents : public WindowContents {
 public:
  struct Functions {
    std::function<Status(state::KeyedState&)> open = {};
    std::function<Status(const Firing&, const std::vector<Record>&)> result;
    std::function<Status(const Firing&)> close = {};
  };
  ListContents(Functions functions, std::optional<window::EvictorOptions> evictor)
      : functions_(std::move(functions)), evictor_(evictor) {}

  Status open(state::KeyedState& state) override;
  void add(const Record& record, state::Namespace space) override;
  void merge(state::Namespace to, const std::vector<state::Namespace>& from) override;
  void clear(state::Namespace space) override { table_->erase(state_->at(space)); }
  Status fire(const Firing& firing, state::Namespace space) override;
  Status close(const Firing& firing) override {
    return functions_.close ? functions_.close(firing) : Status();
  }

 private:
  Functions functions_;
  std::optional<window::EvictorOptions> evictor_;
  state::KeyedState* state_ = nullptr;
  state::Table<std::vector<Record>>* table_ = nullptr;
};

}  // namespace strand::ops
