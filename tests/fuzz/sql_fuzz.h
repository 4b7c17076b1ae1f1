// The parser and the binder on texts that nobody would write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strand::fuzz {

/// What is wrong with how the text is taken; nothing if nothing is. It may compile, and then EXPLAIN and lint
/// take the plan, and its statements written out parse to themselves; or it is refused, with a number and a
/// place that is in the text. What it must not do - crash, throw, take seconds - is for the guard.
std::string wrong_with_sql(const std::string& text);

/// The text of case `number`: the same for the same seeds.
std::string sql_case(const std::vector<std::string>& seeds, uint64_t number);

}  // namespace strand::fuzz
