// Shared libraries of users.
#pragma once

#include <string>

#include "base/status.h"

namespace strand::env {

/// What a shared library exports under a name. The library is loaded once and stays until the process ends:
/// whoever holds an address in it need not hold the library. Thread-safe. Errors: kFileNotFound; kBadLibrary,
/// if the file cannot be loaded or exports no such name.
Result<const void*> library_symbol(const std::string& path, const std::string& symbol);

}  // namespace strand::env
