// Profiles: the same job file on other systems.
#pragma once

#include <map>
#include <string>

#include "env/env.h"
#include "sql/compile.h"

namespace strand::engine {

/// Reads a YAML profile into `input`:
///
///     set:    settings, dotted or nested keys
///     tables: per table connector options (naming a connector replaces all WITH options; null removes one)
///     and
///             `watermark`, an expression
///
/// `${NAME}` comes from the environment or `env_file`, `$${` is `${`. Unknown top-level keys and unknown
/// variables are kBadProfile with file and line.
Status apply_profile(const std::string& file, const std::string& env_file, env::FileSystem& files,
                     const std::map<std::string, std::string>& environment, sql::SqlInput& input);

/// Puts variables in. Errors: kBadProfile for a name without value.
Result<std::string> substitute(const std::string& text, const std::map<std::string, std::string>& variables);

}  // namespace strand::engine
