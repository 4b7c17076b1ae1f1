// Lengths, positions and LIKE.
#include <optional>

#include "expr/kernels.h"
#include "expr/registry.h"
#include "expr/utf8.h"

namespace strand::expr {

namespace {

using std::string_view;

Result<NodePtr> build_length(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<int32_t, string_view>(e.type, std::move(args), [](int32_t& out, string_view text) {
    out = static_cast<int32_t>(count_characters(text));
    return true;
  });
}

/// The 1-based position of `needle` at or behind character `from`, 0 if it is not there.
int32_t position(string_view needle, string_view text, int64_t from) {
  if (from <= 0) return 0;
  const size_t start = byte_of(text, from - 1);
  const size_t at = text.find(needle, start);
  if (at == string_view::npos) return 0;
  return static_cast<int32_t>(count_characters(text.substr(0, at))) + 1;
}

Result<NodePtr> build_position(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 2) {
    return make_row_call<int32_t, string_view, string_view>(
        e.type, std::move(args), [](int32_t& out, string_view needle, string_view text) {
          out = position(needle, text, 1);
          return true;
        });
  }
  return make_row_call<int32_t, string_view, string_view, int32_t>(
      e.type, std::move(args), [](int32_t& out, string_view needle, string_view text, int32_t from) {
        out = position(needle, text, from);
        return true;
      });
}

Result<ExprPtr> resolve_locate(const Function&, Args args) {
  return resolve_call("POSITION", std::move(args));
}
Result<ExprPtr> resolve_instr(const Function&, Args args) {
  return resolve_call("POSITION", {args[1], args[0]});
}
Result<ExprPtr> resolve_character_length(const Function&, Args args) {
  return resolve_call("CHAR_LENGTH", std::move(args));
}

/// BOOLEAN of two STRINGs or two BYTES.
Result<TypePtr> both_texts(const Args& args) {
  const TypeKind a = args[0]->type->kind;
  const TypeKind b = args[1]->type->kind;
  if (!is_text(a == TypeKind::kNull ? b : a) || (a != b && a != TypeKind::kNull && b != TypeKind::kNull))
    return does_not_take("STARTSWITH and ENDSWITH", args);
  return columnar::make_type(TypeKind::kBoolean, any_nullable(args));
}

template <bool kStart>
Result<NodePtr> build_begins(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<bool, string_view, string_view>(
      e.type, std::move(args), [](auto&& out, string_view text, string_view part) {
        out = kStart ? text.starts_with(part) : text.ends_with(part);
        return true;
      });
}

/// A LIKE pattern: `%` any text, `_` one character, the escape character makes the next one plain.
class LikePattern {
 public:
  /// Nothing where the escape character stands before anything but `%`, `_` or itself, or at the end.
  static std::optional<LikePattern> parse(string_view pattern, string_view escape) {
    LikePattern out;
    for (size_t i = 0; i < pattern.size();) {
      const string_view c = pattern.substr(i, character_size(pattern.substr(i)));
      i += c.size();
      if (!escape.empty() && c == escape) {
        if (i >= pattern.size()) return std::nullopt;
        const string_view next = pattern.substr(i, character_size(pattern.substr(i)));
        if (next != "%" && next != "_" && next != escape) return std::nullopt;
        out.add_text(next);
        i += next.size();
      } else if (c == "%") {
        out.tokens_.push_back({Kind::kAny, {}});
      } else if (c == "_") {
        out.tokens_.push_back({Kind::kOne, {}});
      } else {
        out.add_text(c);
      }
    }
    out.classify();
    return out;
  }

  bool matches(string_view text) const {
    switch (shape_) {
      case Shape::kExact:
        return text == fixed_;
      case Shape::kPrefix:
        return text.starts_with(fixed_);
      case Shape::kSuffix:
        return text.ends_with(fixed_);
      case Shape::kInside:
        return text.find(fixed_) != string_view::npos;
      case Shape::kGeneral:
        break;
    }
    return matches_from(text, 0);
  }

 private:
  enum class Kind : uint8_t { kText, kOne, kAny };
  enum class Shape : uint8_t { kExact, kPrefix, kSuffix, kInside, kGeneral };
  struct Token {
    Kind kind;
    std::string text;
  };

  void add_text(string_view text) {
    if (tokens_.empty() || tokens_.back().kind != Kind::kText) tokens_.push_back({Kind::kText, {}});
    tokens_.back().text += text;
  }

  void classify() {
    std::string kinds;
    for (const Token& token : tokens_) kinds += "t_%"[static_cast<size_t>(token.kind)];
    if (kinds.empty())
      shape_ = Shape::kExact;
    else if (kinds == "t")
      set(Shape::kExact, 0);
    else if (kinds == "t%")
      set(Shape::kPrefix, 0);
    else if (kinds == "%t")
      set(Shape::kSuffix, 1);
    else if (kinds == "%t%")
      set(Shape::kInside, 1);
    else if (kinds == "%")
      shape_ = Shape::kInside;
  }
  void set(Shape shape, size_t token) {
    shape_ = shape;
    fixed_ = tokens_[token].text;
  }

  /// Greedy with one place to come back to: the last `%`.
  bool matches_from(string_view text, size_t token) const {
    size_t back_token = tokens_.size() + 1;
    string_view back_text;
    for (;;) {
      if (token < tokens_.size() && tokens_[token].kind == Kind::kAny) {
        back_token = ++token;
        back_text = text;
        continue;
      }
      if (token == tokens_.size() && text.empty()) return true;
      if (token < tokens_.size() && take(tokens_[token], text)) {
        ++token;
        continue;
      }
      if (back_token > tokens_.size() || back_text.empty()) return false;
      back_text.remove_prefix(character_size(back_text));
      text = back_text;
      token = back_token;
    }
  }
  static bool take(const Token& token, string_view& text) {
    if (token.kind == Kind::kOne) {
      if (text.empty()) return false;
      text.remove_prefix(character_size(text));
      return true;
    }
    if (!text.starts_with(token.text)) return false;
    text.remove_prefix(token.text.size());
    return true;
  }

  std::vector<Token> tokens_;
  Shape shape_ = Shape::kGeneral;
  std::string fixed_;
};

/// Keeps the last pattern, which is nearly always a literal. Fails for a pattern that escapes wrongly.
class Like {
 public:
  template <class Out>
  Row operator()(Out&& out, string_view text, string_view pattern, string_view escape) {
    if (!pattern_ || pattern != pattern_text_ || escape != escape_text_) {
      pattern_ = LikePattern::parse(pattern, escape);
      if (!pattern_) return Row::kFailed;
      pattern_text_ = pattern;
      escape_text_ = escape;
    }
    out = pattern_->matches(text);
    return Row::kValue;
  }

 private:
  std::optional<LikePattern> pattern_;
  std::string pattern_text_;
  std::string escape_text_;
};

Result<NodePtr> build_like(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 2)
    args.push_back(make_literal(std::string(), columnar::make_type(TypeKind::kString, false)));
  const Value* literal = args[1]->literal();
  const Value* escape = args[2]->literal();
  if (literal != nullptr && escape != nullptr && !literal->column->is_null(0) &&
      !escape->column->is_null(0)) {
    if (auto pattern = LikePattern::parse(literal->column->string(0), escape->column->string(0))) {
      args.resize(1);
      return make_row_call<bool, string_view>(e.type, std::move(args),
                                              [pattern](auto&& out, string_view text) {
                                                out = pattern->matches(text);
                                                return true;
                                              });
    }
  }
  return make_failing_call<bool, string_view, string_view, string_view>(
      e.type, std::move(args), "LIKE", ErrorCode::kBadValue, "the escape character must stand before % or _",
      Like());
}

constexpr auto kInt = returns<TypeKind::kInt>;
constexpr auto kBool = returns<TypeKind::kBoolean>;

constexpr Function kFunctions[] = {
    {.name = "CHAR_LENGTH", .params = "t", .type = kInt, .build = build_length},
    {.name = "CHARACTER_LENGTH", .params = "t", .resolve = resolve_character_length},
    {.name = "POSITION", .params = "tt[i", .type = kInt, .build = build_position},
    {.name = "LOCATE", .params = "tt[i", .resolve = resolve_locate},
    {.name = "INSTR", .params = "tt", .resolve = resolve_instr},
    {.name = "STARTSWITH", .params = "aa", .type = both_texts, .build = build_begins<true>},
    {.name = "ENDSWITH", .params = "aa", .type = both_texts, .build = build_begins<false>},
    {.name = "LIKE", .params = "tt[t", .type = kBool, .build = build_like},
};

}  // namespace

std::span<const Function> text_search_functions() { return kFunctions; }

}  // namespace strand::expr
