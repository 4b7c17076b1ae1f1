// SIMILAR TO: SQL's regular expressions, which must match the whole text.
#include <re2/re2.h>

#include <memory>
#include <optional>

#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

using std::string_view;

/// `%` is any text, `_` any character; `.`, `^`, `$` and `\` stand for themselves; the rest is as in other
/// regular expressions. Nothing where the escape character stands at the end.
std::optional<std::string> to_regexp(string_view pattern, char escape) {
  std::string out;
  bool in_set = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (escape != '\0' && c == escape) {
      if (++i == pattern.size()) return std::nullopt;
      out += RE2::QuoteMeta(pattern.substr(i, 1));
    } else if (in_set) {
      in_set = c != ']';
      out += c == '\\' ? "\\\\" : string_view(&c, 1);
    } else if (c == '%') {
      out += "(?:.*)";
    } else if (c == '_') {
      out += '.';
    } else if (c == '.' || c == '^' || c == '$' || c == '\\') {
      out += {'\\', c};
    } else {
      in_set = c == '[';
      out += c;
    }
  }
  return out;
}

/// The last pattern compiled; null if it is none.
class LastSimilar {
 public:
  const RE2* get(string_view pattern, string_view escape) {
    if (regexp_ != nullptr && pattern == pattern_ && escape == escape_)
      return regexp_->ok() ? regexp_.get() : nullptr;
    pattern_ = pattern;
    escape_ = escape;
    RE2::Options options;
    options.set_log_errors(false);
    options.set_dot_nl(true);
    const auto text = to_regexp(pattern, escape.empty() ? '\0' : escape[0]);
    regexp_ = std::make_shared<RE2>(text.value_or("["), options);
    return regexp_->ok() ? regexp_.get() : nullptr;
  }

 private:
  std::string pattern_;
  std::string escape_;
  std::shared_ptr<RE2> regexp_;
};

Result<NodePtr> build_similar(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 2)
    args.push_back(make_literal(std::string(), columnar::make_type(TypeKind::kString, false)));
  return make_failing_call<bool, string_view, string_view, string_view>(
      e.type, std::move(args), "SIMILAR TO", ErrorCode::kBadValue, "this is no pattern",
      [last = LastSimilar()](auto&& out, string_view text, string_view pattern, string_view escape) mutable {
        const RE2* regexp = last.get(pattern, escape);
        if (regexp == nullptr) return Row::kFailed;
        out = RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *regexp);
        return Row::kValue;
      });
}

constexpr Function kFunctions[] = {
    {.name = "SIMILAR", .params = "tt[t", .type = returns<TypeKind::kBoolean>, .build = build_similar},
};

}  // namespace

std::span<const Function> similar_functions() { return kFunctions; }

}  // namespace strand::expr
