// Values in the JSON of the recorded cases.
#pragma once

#include "columnar/column.h"
#include "conformance/family.h"

namespace strand::conformance::sql {

Json value_to_json(const columnar::Column& column, int64_t row);
/// A recorded value in the form that value_to_json gives: entries of maps in the order of their text.
Json normalized(const Json& value, const columnar::Type& type);
/// A type as the cases name it, without what is only information: NOT NULL, and the mark of a time attribute.
std::string plain_type(std::string name);

}  // namespace strand::conformance::sql
