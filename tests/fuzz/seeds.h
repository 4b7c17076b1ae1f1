// The SQL that mutations begin with.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"

namespace strand::fuzz {

/// The texts of examples/, tests/sql/ and tests/conformance/sql/ below `root`, by path: each .sql file, each
/// case with its declarations and its query, and some of its expressions as queries. In the same order on
/// every machine.
std::vector<std::string> sql_seeds(const std::string& root);

/// One of the texts, changed a few times: tokens and bytes deleted, swapped, doubled and taken from other
/// texts, brackets and operators inside each other, numbers beyond all types, text that is no UTF-8.
std::string mutated(const std::vector<std::string>& seeds, Random& random);

}  // namespace strand::fuzz
