// Names of tables, views and functions with what stands in front of them: `catalog.database.table`. A dot or
// percent sign inside one part is written %2E or %25, so that a full name is told apart at its dots.
#pragma once

#include <string>

namespace strand::sql {

/// A part as it stands in a full name.
std::string part_of_name(const std::string& part);
/// The last part, as the user has written it.
std::string last_part(const std::string& full_name);
/// Whether a full name is `prefix` and this many parts behind it.
bool is_inside(const std::string& full_name, const std::string& prefix, int parts);
/// The name as SQL text, each part in backticks where it needs them.
std::string name_to_sql(const std::string& full_name);

}  // namespace strand::sql
