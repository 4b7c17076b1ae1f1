// What a catalog in a file may keep.
#pragma once

#include <vector>

#include "sql/ast.h"
#include "sql/source_text.h"

namespace strand::sql {

/// Tables and views that are kept call no temporary function: whoever opens the catalog next does not have
/// it. kUnknownFunction.
Status check_lasting(const std::vector<ast::Statement>& script);

}  // namespace strand::sql
