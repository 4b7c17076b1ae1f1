// Random expressions: however the rows are cut into batches, hidden or made constants, a row has one value.
#pragma once

#include <cstdint>
#include <string>

namespace strand::fuzz {

/// What is wrong with the values of the expression of case `number`; nothing if nothing is. `tell`: prints it
/// first.
std::string wrong_with_expression(uint64_t number, bool tell);

}  // namespace strand::fuzz
