// Files that nobody has written before.
#pragma once

#include <string>
#include <string_view>

#include "env/env.h"

namespace strand::env {

/// Writes and syncs a file of its own: one that stands at `path` is removed first, because it may be what a
/// failed sync has left, and a later sync of the same file proves nothing. After an error a part may stand
/// there.
Status write_fresh(FileSystem& files, const std::string& path, std::string_view bytes);

}  // namespace strand::env
