// JSON paths as SQL/JSON functions take them: `lax $.a[0].b`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/json_value.h"

namespace strand::expr {

/// `$`, then any of `.name`, `['name', …]`, `[0]`, `[-1]`, `[0, 2]`, `[1:3]`, `[*]`, `.*`, `..name`, `..[…]`.
/// Without a mode word it is strict.
class JsonPath {
 public:
  static std::optional<JsonPath> parse(std::string_view text);
  bool lax() const { return lax_; }
  /// What the path leads to: one value, or the array of all that an indefinite path (with a wildcard, a list
  /// or
  /// `..`) finds. Nothing if a definite path leads nowhere.
  std::optional<JsonValue> read(const JsonValue& root) const;

 private:
  struct Step {
    enum class Kind : uint8_t { kNames, kIndices, kSlice, kAll } kind = Kind::kAll;
    bool deep = false;  // behind `..`: at every level
    std::vector<std::string> names;
    std::vector<int64_t> indices;
    std::optional<int64_t> from, to;
  };
  class Reader;
  static void apply(const Step& step, const JsonValue& value, std::vector<const JsonValue*>& out);
  static void apply_deep(const Step& step, const JsonValue& value, std::vector<const JsonValue*>& out);
  bool lax_ = false;
  bool definite_ = true;
  std::vector<Step> steps_;
};

}  // namespace strand::expr
