// JSON as a tree, with numbers as they were written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strand::expr {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kTrue, kFalse, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string text;                                        // numbers as written, texts decoded
  std::vector<JsonValue> items;                            // of an array
  std::vector<std::pair<std::string, JsonValue>> members;  // of an object, in their order; no name twice

  bool is_scalar() const { return kind != Kind::kArray && kind != Kind::kObject; }
  const JsonValue* member(std::string_view name) const;
};

/// Nothing for what is no JSON, or is nested deeper than 1000 levels.
std::optional<JsonValue> parse_json(std::string_view text);
/// Compact text, appended.
void print_json(const JsonValue& value, std::string& out);
/// A text in quotes, with escapes where JSON asks for them.
void print_json_text(std::string_view text, std::string& out);
/// A number as Java's BigDecimal writes it: `1E+3` of `1e3`.
std::string json_number_text(const std::string& written);

}  // namespace strand::expr
