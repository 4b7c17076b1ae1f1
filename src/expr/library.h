// Own functions, in shared libraries (include/strandline/function_abi.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "expr/expr.h"

namespace strand::expr {

/// A call of an own function: `CALL(name, path, entry, revision, arguments...)`. The first four are literals,
/// so that expressions which differ in any of them differ; `path` is not printed.
inline constexpr std::string_view kLibraryCall = "CALL";
inline constexpr size_t kLibraryCallHead = 4;

/// Where an own function lies.
struct LibraryFunction {
  std::string name;   // in SQL
  std::string path;   // of the library
  std::string entry;  // in the library
};

/// Loads it. Errors: kFileNotFound; kBadLibrary; kUnknownFunction where the library has no such entry.
Status check_library_function(const LibraryFunction& function);
/// Its call. Arguments widen as Flink's do; errors as above, and kUnknownFunction or kTypeMismatch for
/// arguments that do not fit.
Result<ExprPtr> resolve_library_call(const LibraryFunction& function, std::vector<ExprPtr> args);

}  // namespace strand::expr
