// Functions that make text of text.
#include <algorithm>

#include "expr/kernels.h"
#include "expr/registry.h"
#include "expr/utf8.h"

namespace strand::expr {

namespace {

using std::string_view;

// --- Concatenation
// ------------------------------------------------------------------------------------------------

Result<NodePtr> build_concat(const Expr& e, Nodes args, const Environment&) {
  return make_call(e.type, std::move(args), {},
                   [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     const BufferPtr present = combined_validity(v, scope.length);
                     const std::vector<Reader<string_view>> in(v.begin(), v.end());
                     TextWriter out(scope.length);
                     each_present(scope, present, [&](int64_t row) {
                       out.begin(row);
                       for (const auto& part : in) out.append(part[row]);
                       return true;
                     });
                     return out.finish(type, present);
                   });
}

/// `a || b || c` is one call; the result is as long as the parts may be together, if all are bounded.
Result<ExprPtr> resolve_bars(const Function&, Args args) {
  Args flat;
  int length = 0;
  bool bounded = true;
  bool fixed = true;
  for (const ExprPtr& arg : args) {
    fixed = fixed && arg->type->fixed;
    bounded = bounded && arg->type->precision > 0;
    length += arg->type->precision;
    if (arg->kind == Expr::Kind::kCall && arg->function == "||") {
      flat.insert(flat.end(), arg->args.begin(), arg->args.end());
    } else {
      flat.push_back(arg);
    }
  }
  const bool nullable = any_nullable(flat);
  const TypePtr type =
      columnar::text_type(TypeKind::kString, bounded ? length : 0, bounded && fixed, nullable);
  return call("||", std::move(flat), type);
}

/// The first argument between the others, of which NULLs are left out.
Result<NodePtr> build_concat_ws(const Expr& e, Nodes args, const Environment&) {
  return make_call(e.type, std::move(args), {.strict = false},
                   [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     if (v[0].always_null()) return null_value(type);
                     const BufferPtr present = combined_validity(v.first(1), scope.length);
                     const std::vector<Reader<string_view>> in(v.begin(), v.end());
                     TextWriter out(scope.length);
                     each_present(scope, present, [&](int64_t row) {
                       out.begin(row);
                       bool first = true;
                       for (size_t i = 1; i < in.size(); ++i) {
                         if (v[i].is_null(row)) continue;
                         if (!first) out.append(in[0][row]);
                         out.append(in[i][row]);
                         first = false;
                       }
                       return true;
                     });
                     return out.finish(type, present);
                   });
}

// --- Case
// ---------------------------------------------------------------------------------------------------------

template <bool kUpper>
void change_case(TextWriter& out, string_view text) {
  char* to = out.extend(text.size());
  uint8_t any = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    any |= static_cast<uint8_t>(c);
    const bool flip = kUpper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
    to[i] = static_cast<char>(c ^ (flip ? 0x20 : 0));
  }
  if (any < 0x80) return;
  out.shrink(text.size());
  std::string changed;
  for (size_t i = 0; i < text.size();) {
    const size_t size = character_size(text.substr(i));
    const uint32_t from = decode_character(text.substr(i));
    const uint32_t mapped = kUpper ? to_upper(from) : to_lower(from);
    if (kUpper && from == 0xDF) {
      changed += "SS";
    } else if (mapped != from) {
      append_character(mapped, changed);
    } else {
      changed.append(text.substr(i, size));
    }
    i += size;
  }
  out.append(changed);
}

template <bool kUpper>
Result<NodePtr> build_case_change(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view>(e.type, std::move(args),
                                                 [](TextWriter& out, string_view text) {
                                                   change_case<kUpper>(out, text);
                                                   return true;
                                                 });
}

// --- Parts
// --------------------------------------------------------------------------------------------------------

/// 1-based; 0 is 1, a negative position counts from the end; a negative length gives NULL.
bool substring(TextWriter& out, string_view text, int64_t from, int64_t length) {
  if (length < 0) return false;
  if (from < 0) {
    from += count_characters(text);
    if (from < 0) return true;
  } else if (from > 0) {
    --from;
  }
  out.append(prefix(text.substr(byte_of(text, from)), length));
  return true;
}

Result<NodePtr> build_substring(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 2) {
    return make_row_call<std::string, string_view, int32_t>(
        e.type, std::move(args), [](TextWriter& out, string_view text, int32_t from) {
          return substring(out, text, from, static_cast<int64_t>(text.size()));
        });
  }
  return make_row_call<std::string, string_view, int32_t, int32_t>(
      e.type, std::move(args), [](TextWriter& out, string_view text, int32_t from, int32_t length) {
        return substring(out, text, from, length);
      });
}

template <bool kLeft>
Result<NodePtr> build_end(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view, int32_t>(
      e.type, std::move(args), [](TextWriter& out, string_view text, int32_t n) {
        if (n <= 0) return true;
        if (kLeft)
          out.append(prefix(text, n));
        else
          out.append(text.substr(byte_of(text, count_characters(text) - n)));
        return true;
      });
}

bool contains_character(string_view set, string_view character) {
  return set.find(character) != string_view::npos;
}

/// Takes characters of `set` off the ends.
template <bool kLeading, bool kTrailing>
string_view trim(string_view text, string_view set) {
  while (kLeading && !text.empty()) {
    const size_t size = character_size(text);
    if (!contains_character(set, text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  while (kTrailing && !text.empty()) {
    size_t size = 1;
    while (size < text.size() && !begins_character(text[text.size() - size])) ++size;
    if (!contains_character(set, text.substr(text.size() - size))) break;
    text.remove_suffix(size);
  }
  return text;
}

template <bool kLeading, bool kTrailing>
Result<NodePtr> build_trim(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 1)
    args.push_back(make_literal(std::string(" "), columnar::make_type(TypeKind::kString, false)));
  return make_row_call<std::string, string_view, string_view>(
      e.type, std::move(args), [](TextWriter& out, string_view text, string_view set) {
        out.append(trim<kLeading, kTrailing>(text, set));
        return true;
      });
}

/// Piece `index` (from 0) of text between separators.
bool split_index(TextWriter& out, string_view text, string_view separator, int32_t index) {
  if (index < 0 || text.empty()) return false;
  if (separator.empty()) {
    if (index > 0) return false;
    out.append(text);
    return true;
  }
  size_t from = 0;
  for (;;) {
    const size_t to = text.find(separator, from);
    if (index-- == 0) {
      out.append(text.substr(from, to == string_view::npos ? string_view::npos : to - from));
      return true;
    }
    if (to == string_view::npos) return false;
    from = to + separator.size();
  }
}

Result<NodePtr> build_split_index(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view, string_view, int32_t>(e.type, std::move(args), split_index);
}

// --- Replacement and padding
// --------------------------------------------------------------------------------------

/// An empty `from` stands before every character and at the end, as in Java.
bool replace(TextWriter& out, string_view text, string_view from, string_view to) {
  if (from.empty()) {
    while (!text.empty()) {
      const size_t size = character_size(text);
      out.append(to);
      out.append(text.substr(0, size));
      text.remove_prefix(size);
    }
    out.append(to);
    return true;
  }
  for (size_t at = text.find(from); at != string_view::npos; at = text.find(from)) {
    out.append(text.substr(0, at));
    out.append(to);
    text.remove_prefix(at + from.size());
  }
  out.append(text);
  return true;
}

Result<NodePtr> build_replace(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view, string_view, string_view>(e.type, std::move(args), replace);
}

// What a few bytes are blown up to: of one row, and of all rows of a batch.
constexpr int64_t kBlownTextMax = 16 << 20;
constexpr int64_t kBlownColumnMax = 1 << 30;
constexpr const char* kTooLong =
    "the text is longer than 16 MiB, or those of a batch are together longer than 1 GiB";

bool is_too_long(const TextWriter& out, int64_t bytes) {
  return bytes > kBlownTextMax || static_cast<int64_t>(out.size()) + bytes > kBlownColumnMax;
}

/// NULL for a negative length or an empty pad.
template <bool kLeft>
Row pad(TextWriter& out, string_view text, int32_t length, string_view with) {
  if (length < 0 || with.empty()) return Row::kNull;
  const int64_t has = count_characters(text);
  if (has >= length) {
    out.append(prefix(text, length));
    return Row::kValue;
  }
  const int64_t unit = count_characters(with);
  if (unit == 0) return Row::kNull;  // decoded bytes without a character
  const auto bytes =
      static_cast<int64_t>(text.size()) + (length - has) * static_cast<int64_t>(character_size(with));
  if (is_too_long(out, bytes)) return Row::kFailed;
  if (!kLeft) out.append(text);
  int64_t missing = length - has;
  for (; missing >= unit; missing -= unit) out.append(with);
  out.append(prefix(with, missing));
  if (kLeft) out.append(text);
  return Row::kValue;
}

template <bool kLeft>
Result<NodePtr> build_pad(const Expr& e, Nodes args, const Environment&) {
  return make_failing_call<std::string, string_view, int32_t, string_view>(
      e.type, std::move(args), kLeft ? "LPAD" : "RPAD", ErrorCode::kOverflow, kTooLong, pad<kLeft>);
}

Result<NodePtr> build_repeat(const Expr& e, Nodes args, const Environment&) {
  return make_failing_call<std::string, string_view, int32_t>(
      e.type, std::move(args), "REPEAT", ErrorCode::kOverflow, kTooLong,
      [](TextWriter& out, string_view text, int32_t n) {
        if (is_too_long(out, std::max(n, 0) * static_cast<int64_t>(text.size()))) return Row::kFailed;
        for (; n > 0 && !text.empty(); --n) out.append(text);
        return Row::kValue;
      });
}

Result<NodePtr> build_reverse(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view>(e.type, std::move(args),
                                                 [](TextWriter& out, string_view text) {
                                                   while (!text.empty()) {
                                                     const size_t size = text.size() - [&] {
                                                       size_t at = text.size() - 1;
                                                       while (at > 0 && !begins_character(text[at])) --at;
                                                       return at;
                                                     }();
                                                     out.append(text.substr(text.size() - size));
                                                     text.remove_suffix(size);
                                                   }
                                                   return true;
                                                 });
}

// --- Types
// --------------------------------------------------------------------------------------------------------

Result<TypePtr> same_text(const Args& args) {
  return columnar::with_nullable(args[0]->type, any_nullable(args));
}
/// At most as long as the first argument.
Result<TypePtr> shorter_text(const Args& args) {
  return columnar::text_type(TypeKind::kString, args[0]->type->precision, false, any_nullable(args));
}
Result<TypePtr> shorter_text_or_null(const Args& args) {
  return columnar::text_type(TypeKind::kString, args[0]->type->precision, false, true);
}
constexpr auto kText = returns<TypeKind::kString>;
constexpr auto kMaybe = returns_nullable<TypeKind::kString>;

template <const char* const& canonical>
Result<ExprPtr> resolve_as(const Function&, Args args) {
  return resolve_call(canonical, std::move(args));
}
constexpr const char* kSubstring = "SUBSTRING";

Result<TypePtr> concat_ws_type(const Args& args) {
  return columnar::make_type(TypeKind::kString, any_nullable(args));
}

constexpr Function kFunctions[] = {
    {.name = "||", .params = "tt[t*", .build = build_concat, .resolve = resolve_bars},
    {.name = "CONCAT", .params = "t[t*", .type = kText, .build = build_concat},
    {.name = "CONCAT_WS", .params = "tt[t*", .type = concat_ws_type, .build = build_concat_ws},
    {.name = "UPPER", .params = "t", .type = same_text, .build = build_case_change<true>},
    {.name = "LOWER", .params = "t", .type = same_text, .build = build_case_change<false>},
    {.name = "SUBSTRING", .params = "ti[i", .type = shorter_text_or_null, .build = build_substring},
    {.name = "SUBSTR", .params = "ti[i", .resolve = resolve_as<kSubstring>},
    {.name = "LEFT", .params = "ti", .type = shorter_text_or_null, .build = build_end<true>},
    {.name = "RIGHT", .params = "ti", .type = shorter_text_or_null, .build = build_end<false>},
    {.name = "TRIM", .params = "t[t", .type = shorter_text, .build = build_trim<true, true>},
    {.name = "BTRIM", .params = "t[t", .type = kText, .build = build_trim<true, true>},
    {.name = "LTRIM", .params = "t[t", .type = shorter_text, .build = build_trim<true, false>},
    {.name = "RTRIM", .params = "t[t", .type = shorter_text, .build = build_trim<false, true>},
    {.name = "SPLIT_INDEX", .params = "tti", .type = kMaybe, .build = build_split_index},
    {.name = "REPLACE", .params = "ttt", .type = kText, .build = build_replace},
    {.name = "LPAD", .params = "tit", .type = kText, .build = build_pad<true>},
    {.name = "RPAD", .params = "tit", .type = kText, .build = build_pad<false>},
    {.name = "REPEAT", .params = "ti", .type = kText, .build = build_repeat},
    {.name = "REVERSE", .params = "t", .type = kMaybe, .build = build_reverse},
};

}  // namespace

std::span<const Function> text_functions() { return kFunctions; }

}  // namespace strand::expr
