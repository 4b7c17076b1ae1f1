// Types of stored values as text, and how a value of one type becomes one of another.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace strand {

/// A type as the C++ API writes it beside its values: `int64`, `string`, `optional<T>`, `list<T>`,
/// `map<K,V>`, `row{name:T,...}`, or a name of a program's own.
struct StoredType {
  std::string name;
  std::vector<StoredType> arguments = {};
  std::vector<std::pair<std::string, StoredType>> fields = {};  // of a row

  static Result<StoredType> parse(std::string_view text);
  std::string text() const;
  friend bool operator==(const StoredType&, const StoredType&) = default;
};

/// Carries values over where nothing is lost: integers and float are widened, a value becomes an optional
/// one, a row gains fields that are optional (they are empty) and may have its fields in another order. So it
/// goes inside lists, maps and optionals. Everything else is refused. Immutable.
class TypeChange {
 public:
  /// Errors: kStateMismatch, which says what cannot become what.
  static Result<TypeChange> between(std::string_view from, std::string_view to);
  /// A value of the old type as one of the new type.
  Result<std::string> apply(std::string_view value) const;
  /// The change of an argument: the elements of a list, the keys (0) and values (1) of a map.
  TypeChange argument(size_t i) const { return {from_.arguments[i], to_.arguments[i]}; }

 private:
  TypeChange(StoredType from, StoredType to) : from_(std::move(from)), to_(std::move(to)) {}
  StoredType from_;
  StoredType to_;
};

}  // namespace strand
