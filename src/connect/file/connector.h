// The `filesystem` connector.
#pragma once

#include "connect/registry.h"

namespace strand::connect::file {

/// Adds `filesystem`: a source of files and folders, and a sink in transaction mode.
void add_file_connector(Registry& registry);

}  // namespace strand::connect::file
