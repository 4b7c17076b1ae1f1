// Whether what the engine answered is what was recorded.
#pragma once

#include <string>

#include "conformance/sql/case.h"
#include "conformance/sql/play.h"

namespace strand::conformance::sql {

/// How the tables that two runs have left differ, or nothing.
std::string tables_differ(const Received& one, const Received& other);

/// Nothing if the rows that `received` holds are those of the section, under the case's rules of order; else
/// what differs first. `by_line`: they must also have come after the same lines of the input.
std::string difference(const Case& test_case, const Section& expected, const Received& received,
                       bool by_line);
/// The same for names and types of the columns.
std::string columns_differ(const Section& expected, const columnar::Schema& schema);
/// Nothing if the job was refused where, and with the words that, the case says.
std::string refusal_differs(const Case& test_case, const Section& expected, const Played& played);

}  // namespace strand::conformance::sql
