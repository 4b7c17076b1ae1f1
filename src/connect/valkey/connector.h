#pragma once

#include "connect/registry.h"

namespace strand::connect::valkey {

/// `valkey`, and the same as `redis`: tables that are written in mode flush and looked up.
void add_valkey_connectors(Registry& registry);

}  // namespace strand::connect::valkey
