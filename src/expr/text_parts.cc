// Text taken apart and put together: splitting, translating, characters by number, tests of all characters.
#include <algorithm>

#include "expr/built.h"
#include "expr/registry.h"
#include "expr/utf8.h"

namespace strand::expr {

namespace {

using columnar::ColumnBuilder;
using std::string_view;
using Values = std::span<const Value>;

// --- Characters

bool is_ascii_alphanumeric(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_letter(uint32_t c) { return (c < 0x80 ? is_ascii_alphanumeric(c) && c > '9' : c >= 0xAA); }
bool is_digit_character(uint32_t c) { return c >= '0' && c <= '9'; }

/// Words are runs of ASCII letters and digits: their first letter upper case, the others lower case.
bool initcap(TextWriter& out, string_view text) {
  bool inside = false;
  std::string result;
  for (; !text.empty(); text.remove_prefix(character_size(text))) {
    const uint32_t c = decode_character(text);
    append_character(inside ? to_lower(c) : to_upper(c), result);
    inside = is_ascii_alphanumeric(c) || c >= 0x80;
  }
  out.append(result);
  return true;
}

Result<NodePtr> build_initcap(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view>(e.type, std::move(args), initcap);
}

/// The first byte, as a signed number.
Result<NodePtr> build_ascii(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<int32_t, string_view>(e.type, std::move(args), [](int32_t& out, string_view text) {
    out = text.empty() ? 0 : static_cast<int8_t>(text[0]);
    return true;
  });
}

/// Numbers above 255 count modulo 256; below 0 there is no character.
Result<NodePtr> build_chr(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, int64_t>(e.type, std::move(args), [](TextWriter& out, int64_t code) {
    if (code < 0) return true;
    std::string character;
    append_character(static_cast<uint32_t>(code & 0xFF), character);
    out.append(character);
    return true;
  });
}

template <bool (*test)(uint32_t)>
bool all_characters(string_view text) {
  if (text.empty()) return false;
  for (; !text.empty(); text.remove_prefix(character_size(text))) {
    if (!test(decode_character(text))) return false;
  }
  return true;
}

/// `-1.5`, `.5`, `1e3`.
bool is_decimal_text(string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  size_t digits = 0;
  size_t i = 0;
  for (bool point = false; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (is_digit_character(static_cast<uint8_t>(text[i]))) {
      ++digits;
    } else {
      break;
    }
  }
  if (digits == 0) return false;
  if (i == text.size()) return true;
  if (text[i] != 'e' && text[i] != 'E') return false;
  text.remove_prefix(i + 1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return all_characters<is_digit_character>(text);
}

/// FALSE, never NULL, where there is no text.
template <bool (*test)(string_view)>
Result<NodePtr> build_test(const Expr& e, Nodes args, const Environment&) {
  return make_call(e.type, std::move(args), {.strict = false},
                   [type = e.type](const Scope& scope, Values v) -> Result<Value> {
                     Bits found = test_rows(scope, [&](int64_t row) {
                       return !v[0].is_null(row) && test(v[0].column->string(v[0].row(row)));
                     });
                     return make_value(type, scope.length, nullptr, found.take());
                   });
}

// --- Replacing

/// Characters of `from` become those at the same place of `to`, or go where `to` is shorter.
bool translate(TextWriter& out, string_view text, string_view from, string_view to) {
  std::vector<string_view> replacements;
  for (string_view rest = to; !rest.empty(); rest.remove_prefix(character_size(rest)))
    replacements.push_back(rest.substr(0, character_size(rest)));
  for (; !text.empty(); text.remove_prefix(character_size(text))) {
    const string_view c = text.substr(0, character_size(text));
    size_t index = 0;
    bool found = false;
    for (string_view rest = from; !rest.empty() && !found; rest.remove_prefix(character_size(rest))) {
      found = rest.substr(0, character_size(rest)) == c;
      if (!found) ++index;
    }
    if (!found) out.append(c);
    if (found && index < replacements.size()) out.append(replacements[index]);
  }
  return true;
}

Result<NodePtr> build_translate(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view, string_view, string_view>(e.type, std::move(args),
                                                                           translate);
}

/// Text stays as it is where the position lies outside of it.
bool overlay(TextWriter& out, string_view text, string_view by, int32_t from, int32_t length) {
  const int64_t characters = count_characters(text);
  if (from < 1 || from > characters) {
    out.append(text);
    return true;
  }
  const size_t begin = byte_of(text, from - 1);
  const int64_t after = length < 0 ? characters : from - 1 + int64_t{length};
  out.append(text.substr(0, begin));
  out.append(by);
  out.append(text.substr(byte_of(text, std::min(after, characters))));
  return true;
}

Result<NodePtr> build_overlay(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 3) {
    return make_row_call<std::string, string_view, string_view, int32_t>(
        e.type, std::move(args), [](TextWriter& out, string_view text, string_view by, int32_t from) {
          return overlay(out, text, by, from, static_cast<int32_t>(count_characters(by)));
        });
  }
  return make_row_call<std::string, string_view, string_view, int32_t, int32_t>(e.type, std::move(args),
                                                                                overlay);
}

// --- Splitting

/// Every piece between separators; each character where the separator is empty.
Result<bool> split(ColumnBuilder& out, Values v, int64_t row) {
  string_view text = v[0].column->string(v[0].row(row));
  const string_view separator = v[1].column->string(v[1].row(row));
  if (separator.empty()) {
    for (; !text.empty(); text.remove_prefix(character_size(text)))
      out.child(0).append_string(text.substr(0, character_size(text)));
  } else {
    for (size_t at = text.find(separator); at != string_view::npos; at = text.find(separator)) {
      out.child(0).append_string(text.substr(0, at));
      text.remove_prefix(at + separator.size());
    }
    out.child(0).append_string(text);
  }
  out.close_nested();
  return true;
}

Result<NodePtr> build_split(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {}, split);
}

/// Value number `index`, from 1; NULL where there is none.
Result<NodePtr> build_elt(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.strict = false},
                         [](ColumnBuilder& out, Values v, int64_t row) -> Result<bool> {
                           if (v[0].is_null(row)) return false;
                           const int64_t index = v[0].column->values<int64_t>()[v[0].row(row)];
                           if (index < 1 || static_cast<size_t>(index) >= v.size()) return false;
                           const Value& chosen = v[static_cast<size_t>(index)];
                           if (chosen.is_null(row)) return false;
                           out.append_from(*chosen.column, chosen.row(row));
                           return true;
                         });
}

// --- Types

Result<TypePtr> same_type(const Args& args) {
  return columnar::with_nullable(args[0]->type, any_nullable(args));
}
Result<TypePtr> overlay_type(const Args& args) {
  const int a = args[0]->type->precision;
  const int b = args[1]->type->precision;
  return columnar::text_type(TypeKind::kString, a == 0 || b == 0 ? 0 : a + b, false, any_nullable(args));
}
Result<TypePtr> split_type(const Args& args) {
  return columnar::array_type(columnar::make_type(TypeKind::kString), any_nullable(args));
}

Result<ExprPtr> resolve_elt(const Function&, Args args) {
  std::vector<TypePtr> types;
  for (size_t i = 1; i < args.size(); ++i) types.push_back(args[i]->type);
  const TypePtr type = common_type(types);
  if (type == nullptr || !is_text(type->kind)) return does_not_take("ELT", args);
  const bool widened = args[0]->kind == Expr::Kind::kCall && args[0]->function == "CAST";
  const int64_t* index = literal_integer(widened ? *args[0]->args[0] : *args[0]);
  if (index != nullptr && *index < 0) return does_not_take("ELT", args, "its index counts from 1");
  for (size_t i = 1; i < args.size(); ++i) args[i] = coerce(args[i], type);
  return call("ELT", std::move(args), columnar::with_nullable(type, true));
}

/// Characters that are NULL are none.
Result<ExprPtr> resolve_translate(const Function& function, Args args) {
  const TypePtr type = columnar::make_type(TypeKind::kString, args[0]->type->nullable);
  const ExprPtr none = literal(std::string(), columnar::make_type(TypeKind::kString, false));
  for (size_t i = 1; i < args.size(); ++i) {
    if (!args[i]->type->nullable) continue;
    STRAND_TRY(args[i], resolve_call("COALESCE", {args[i], none}));
  }
  return call(std::string(function.name), std::move(args), type);
}

/// The type of the argument, as text. With TRUE behind it, in the long form.
Result<ExprPtr> resolve_typeof(const Function&, Args args) {
  std::string text = columnar::to_string(*args[0]->type);
  return literal(std::move(text), columnar::make_type(TypeKind::kString, false));
}

constexpr auto kText = returns<TypeKind::kString>;
constexpr auto kAlways = returns_not_null<TypeKind::kBoolean>;

constexpr Function kFunctions[] = {
    {.name = "INITCAP", .params = "t", .type = same_type, .build = build_initcap},
    {.name = "ASCII", .params = "t", .type = returns<TypeKind::kInt>, .build = build_ascii},
    {.name = "CHR", .params = "l", .type = returns_nullable<TypeKind::kString>, .build = build_chr},
    {.name = "TRANSLATE", .params = "ttt", .build = build_translate, .resolve = resolve_translate},
    {.name = "OVERLAY", .params = "tti[i", .type = overlay_type, .build = build_overlay},
    {.name = "SPLIT", .params = "tt", .type = split_type, .build = build_split},
    {.name = "ELT", .params = "la[a*", .build = build_elt, .resolve = resolve_elt},
    {.name = "IS_ALPHA", .params = "t", .type = kAlways, .build = build_test<all_characters<is_letter>>},
    {.name = "IS_DIGIT",
     .params = "t",
     .type = kAlways,
     .build = build_test<all_characters<is_digit_character>>},
    {.name = "IS_DECIMAL", .params = "t", .type = kAlways, .build = build_test<is_decimal_text>},
    {.name = "TYPEOF", .params = "a[b", .resolve = resolve_typeof},
};

}  // namespace

std::span<const Function> text_part_functions() { return kFunctions; }

}  // namespace strand::expr
