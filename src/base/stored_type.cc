#include "base/stored_type.h"

#include <algorithm>
#include <array>

namespace strand {

namespace {

/// Names of numbers, narrow ones first; each may become a later one of its kind.
constexpr std::array<std::string_view, 4> kSigned = {"int8", "int16", "int32", "int64"};
constexpr std::array<std::string_view, 4> kUnsigned = {"uint8", "uint16", "uint32", "uint64"};
constexpr std::array<std::string_view, 2> kFloating = {"float", "double"};

template <size_t kSize>
bool widens(const std::array<std::string_view, kSize>& kind, std::string_view from, std::string_view to) {
  const auto narrow = std::ranges::find(kind, from);
  const auto wide = std::ranges::find(kind, to);
  return narrow != kind.end() && wide != kind.end() && narrow <= wide;
}

class TypeParser {
 public:
  explicit TypeParser(std::string_view text) : text_(text) {}
  Result<StoredType> all() {
    STRAND_TRY(StoredType type, one());
    if (at_ != text_.size()) return broken();
    return type;
  }

 private:
  Status broken() const {
    return Status(ErrorCode::kCheckpointUnreadable,
                  "expected the type of a stored value, found '" + std::string(text_) + "'");
  }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string word() {
    const size_t end = std::min(text_.find_first_of("<>{},:", at_), text_.size());
    std::string found(text_.substr(at_, end - at_));
    at_ = end;
    return found;
  }
  Result<StoredType> one() {
    StoredType type{word()};
    if (take('<')) {
      do {
        STRAND_TRY(StoredType argument, one());
        type.arguments.push_back(std::move(argument));
      } while (take(','));
      if (!take('>')) return broken();
    } else if (take('{')) {
      while (!take('}')) {
        std::string name = word();
        if (!take(':')) return broken();
        STRAND_TRY(StoredType field, one());
        type.fields.emplace_back(std::move(name), std::move(field));
        if (!take(',') && (at_ == text_.size() || text_[at_] != '}')) return broken();
      }
    }
    return type;
  }
  std::string_view text_;
  size_t at_ = 0;
};

const StoredType* field_of(const StoredType& row, const std::string& name) {
  const auto found = std::ranges::find(row.fields, name, [](const auto& field) { return field.first; });
  return found == row.fields.end() ? nullptr : &found->second;
}

/// What cannot become what; empty if all can.
std::string obstacle(const StoredType& from, const StoredType& to) {
  if (from == to) return {};
  const bool wider = widens(kSigned, from.name, to.name) || widens(kUnsigned, from.name, to.name) ||
                     widens(kFloating, from.name, to.name);
  if (wider) return {};
  if (to.name == "optional" && from.name != "optional") return obstacle(from, to.arguments[0]);
  if (from.name != to.name || from.arguments.size() != to.arguments.size())
    return from.text() + " cannot become " + to.text();
  for (size_t i = 0; i < from.arguments.size(); ++i) {
    if (auto inside = obstacle(from.arguments[i], to.arguments[i]); !inside.empty()) return inside;
  }
  for (const auto& [name, type] : to.fields) {
    const StoredType* old = field_of(from, name);
    if (old == nullptr && type.name != "optional") return "field '" + name + "' is new and not optional";
    if (old == nullptr) continue;
    if (auto inside = obstacle(*old, type); !inside.empty()) return "field '" + name + "': " + inside;
  }
  for (const auto& [name, type] : from.fields) {
    if (field_of(to, name) == nullptr) return "field '" + name + "' is gone";
  }
  return {};
}

size_t width_of(std::string_view name) {
  if (name == "bool" || name == "int8" || name == "uint8") return 1;
  if (name == "int16" || name == "uint16") return 2;
  if (name == "int32" || name == "uint32" || name == "float") return 4;
  if (name == "int64" || name == "uint64" || name == "double" || name == "timestamp" || name == "duration")
    return 8;
  return 0;
}

Status carry(const StoredType& from, const StoredType& to, ByteReader& in, ByteWriter& out);

template <class From, class To>
Status carry_number(ByteReader& in, ByteWriter& out) {
  STRAND_TRY(const From value, in.get<From>());
  out.put(static_cast<To>(value));
  return Status();
}

template <class From>
Status widen_integer(size_t to, bool is_signed, ByteReader& in, ByteWriter& out) {
  using Unsigned = std::make_unsigned_t<From>;
  if (!is_signed) {
    if (to == 2) return carry_number<Unsigned, uint16_t>(in, out);
    return to == 4 ? carry_number<Unsigned, uint32_t>(in, out) : carry_number<Unsigned, uint64_t>(in, out);
  }
  if (to == 2) return carry_number<From, int16_t>(in, out);
  return to == 4 ? carry_number<From, int32_t>(in, out) : carry_number<From, int64_t>(in, out);
}

Status carry_scalar(const StoredType& from, const StoredType& to, ByteReader& in, ByteWriter& out) {
  const size_t width = width_of(from.name);
  if (from.name == to.name) {
    STRAND_TRY(const std::string_view raw, in.get_raw(width));
    out.put_raw(raw.data(), raw.size());
    return Status();
  }
  if (from.name == "float") return carry_number<float, double>(in, out);
  const bool is_signed = from.name[0] == 'i';
  if (width == 1) return widen_integer<int8_t>(width_of(to.name), is_signed, in, out);
  if (width == 2) return widen_integer<int16_t>(width_of(to.name), is_signed, in, out);
  return widen_integer<int32_t>(width_of(to.name), is_signed, in, out);
}

Status carry_row(const StoredType& from, const StoredType& to, ByteReader& in, ByteWriter& out) {
  std::vector<std::pair<std::string, std::string>> carried;
  for (const auto& [name, type] : from.fields) {
    ByteWriter field;
    STRAND_OK(carry(type, *field_of(to, name), in, field));
    carried.emplace_back(name, field.take());
  }
  for (const auto& [name, type] : to.fields) {
    const auto found = std::ranges::find(carried, name, [](const auto& field) { return field.first; });
    if (found == carried.end()) {
      out.put(uint8_t{0});
    } else {
      out.put_raw(found->second.data(), found->second.size());
    }
  }
  return Status();
}

Status carry_each(const StoredType& from, const StoredType& to, ByteReader& in, ByteWriter& out) {
  STRAND_TRY(const uint32_t size, in.get<uint32_t>());
  out.put(size);
  for (uint32_t i = 0; i < size; ++i) {
    for (size_t part = 0; part < from.arguments.size(); ++part)
      STRAND_OK(carry(from.arguments[part], to.arguments[part], in, out));
  }
  return Status();
}

Status carry(const StoredType& from, const StoredType& to, ByteReader& in, ByteWriter& out) {
  if (to.name == "optional" && from.name != "optional") {
    out.put(uint8_t{1});
    return carry(from, to.arguments[0], in, out);
  }
  if (from.name == "optional") {
    STRAND_TRY(const uint8_t there, in.get<uint8_t>());
    out.put(there);
    return there == 0 ? Status() : carry(from.arguments[0], to.arguments[0], in, out);
  }
  if (from.name == "row") return carry_row(from, to, in, out);
  if (from.name == "list" || from.name == "map") return carry_each(from, to, in, out);
  if (from.name == "string") {
    STRAND_TRY(const std::string_view text, in.get_string());
    out.put_string(text);
    return Status();
  }
  if (width_of(from.name) > 0) return carry_scalar(from, to, in, out);
  return Status(ErrorCode::kStateMismatch,
                "a value of type " + from.text() + " cannot be carried over inside another");
}

}  // namespace

Result<StoredType> StoredType::parse(std::string_view text) { return TypeParser(text).all(); }

std::string StoredType::text() const {
  std::string out = name;
  for (size_t i = 0; i < arguments.size(); ++i) out += (i == 0 ? "<" : ",") + arguments[i].text();
  if (!arguments.empty()) out += ">";
  if (name != "row") return out;
  for (size_t i = 0; i < fields.size(); ++i)
    out += (i == 0 ? "{" : ",") + fields[i].first + ":" + fields[i].second.text();
  return out + (fields.empty() ? "{}" : "}");
}

Result<TypeChange> TypeChange::between(std::string_view from, std::string_view to) {
  STRAND_TRY(StoredType old, StoredType::parse(from));
  STRAND_TRY(StoredType wanted, StoredType::parse(to));
  if (const std::string stops = obstacle(old, wanted); !stops.empty())
    return Status(ErrorCode::kStateMismatch, stops)
        .hint("give the new state another name, or start without the old state");
  return TypeChange(std::move(old), std::move(wanted));
}

Result<std::string> TypeChange::apply(std::string_view value) const {
  ByteReader in(value);
  ByteWriter out;
  STRAND_OK(carry(from_, to_, in, out));
  return out.take();
}

}  // namespace strand
