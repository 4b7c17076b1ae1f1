// The states of functions, bound to the state of their operator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "state/keyed/keyed_state.h"
#include "strandline/detail/call.h"

namespace strand::api {

/// State of a subtask: lists that are dealt out anew after a restore, and what a broadcast stream says.
class OperatorState {
 public:
  struct Entry {
    strandline::detail::StateKind kind;
    std::string type;
    std::vector<std::string> list;
    std::map<std::string, std::string> map;
  };
  /// The state `name`, made at its first use.
  Entry& entry(const std::string& name) { return entries_[name]; }
  bool empty() const { return entries_.empty(); }
  std::string save() const;
  /// The parts of all old subtasks, in their order. Errors: kStateMismatch where a state has another kind or
  /// type.
  Status load(const std::vector<std::string_view>& parts, int32_t subtask, int32_t parallelism);
  int64_t values() const;

 private:
  std::map<std::string, Entry> entries_;
};

/// Where the states of one function live. Outlives the cells.
struct StateHome {
  state::KeyedState* keyed = nullptr;  // or null: the operator has no keys
  OperatorState* of_subtask = nullptr;
  bool has_key = false;  // a key is being worked on
  std::optional<state::Namespace> window;
  bool merging = false;       // windows merge, so none has state of its own
  bool in_broadcast = false;  // an element of the broadcast stream is being worked on
};

/// Gives each declared state its cell; keyed ones need `home.keyed`. Errors: kStateMismatch.
Status bind_states(strandline::StateOwner& owner, StateHome& home);

/// What the state of a function depends on, for the fingerprint; empty if it declares none.
std::map<std::string, std::string> states_text(const strandline::StateOwner& owner);

}  // namespace strand::api
