// Small JSON files that say themselves whether they are whole.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace strand::checkpoint {

/// The text of an object whose first field is `format`, with a checksum of everything before it as the last
/// field.
std::string seal(const nlohmann::ordered_json& object);

/// Reads a sealed text. `what` names it in messages ("a manifest"). A text that was cut, changed or is of
/// another kind is kCheckpointUnreadable; a whole one of a format above `newest` is kNewerFormat.
Result<nlohmann::json> unseal(std::string_view text, std::string_view what, int newest);

/// A string of any bytes: as it is where it is UTF-8, else {"hex": ...}.
nlohmann::ordered_json json_text(const std::string& bytes);
/// Throws if the value is neither form; for readers that catch what a damaged text throws.
std::string text_of(const nlohmann::json& value);

std::string hex16(uint64_t number);

}  // namespace strand::checkpoint
