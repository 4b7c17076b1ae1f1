// Types that meet: at an INSERT and in a UNION ALL.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "columnar/type.h"
#include "expr/expr.h"

namespace strand::sql {

/// Whether two types hold the same values in the same way; NOT NULL and names of fields do not count.
bool same_values(const columnar::Type& a, const columnar::Type& b);
/// Whether an INSERT may put a value of `from` into a column of `to` without being told to (Flink's implicit
/// casts).
bool can_assign(const columnar::Type& from, const columnar::Type& to);
/// The type that holds both, or null.
columnar::TypePtr common_type(const columnar::TypePtr& a, const columnar::TypePtr& b);
/// The expression as `type`: itself, or a cast.
Result<expr::ExprPtr> coerce(expr::ExprPtr value, const columnar::TypePtr& type);

/// The candidate that was probably meant: equal but for case, else the nearest.
std::string suggestion(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace strand::sql
