// How much room a text takes on a terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace strand::sql {

/// Columns: two for characters of East Asian scripts and pictures, none for marks that stand on the one
/// before. Bytes that are no UTF-8 count one each.
size_t text_width(std::string_view text);
/// The longest beginning that has room in `columns`, and ends with a whole character.
std::string_view within_width(std::string_view text, size_t columns);

}  // namespace strand::sql
