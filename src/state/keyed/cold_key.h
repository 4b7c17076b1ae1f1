// Keys of keyed state in a spill store.
#pragma once

#include <string>
#include <string_view>

#include "state/keyed/state_key.h"

namespace strand::state {

/// The name of a state as a part of such keys; of two, the shorter name sorts first.
std::string cold_name(std::string_view name);

/// Appends key group, name, key, namespace. Of one name they sort as StateKey does.
void append_cold_key(std::string_view cold_name, const StateKeyView& key, std::string& out);

struct ColdKey {
  std::string_view name;  // as `cold_name` gave it
  StateKey key;
};
/// What `append_cold_key` wrote.
ColdKey read_cold_key(std::string_view bytes);
/// Its name alone.
std::string_view cold_name_of(std::string_view bytes);

/// The name that `cold_name` was given.
std::string_view plain_name(std::string_view cold_name);

}  // namespace strand::state
