// Regular expressions, by RE2 (linear time; no look-around and no back-references, unlike Java's).
#include <re2/re2.h>

#include <memory>

#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

using std::string_view;

re2::StringPiece piece(string_view text) { return {text.data(), text.size()}; }

/// The last pattern compiled, which is nearly always a literal; null if it is no regular expression.
class LastPattern {
 public:
  const RE2* get(string_view pattern) {
    if (regexp_ == nullptr || pattern != text_) {
      text_ = pattern;
      RE2::Options options;
      options.set_log_errors(false);
      regexp_ = std::make_shared<RE2>(piece(pattern), options);
    }
    return regexp_->ok() ? regexp_.get() : nullptr;
  }

 private:
  std::string text_;
  std::shared_ptr<RE2> regexp_;
};

Result<NodePtr> build_regexp(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<bool, string_view, string_view>(
      e.type, std::move(args),
      [last = LastPattern()](auto&& out, string_view text, string_view pattern) mutable {
        const RE2* regexp = last.get(pattern);
        out = !pattern.empty() && regexp != nullptr && RE2::PartialMatch(piece(text), *regexp);
        return true;
      });
}

/// Group `group` of the first match (0: all of it); NULL without a match, group or valid pattern.
Result<NodePtr> build_extract(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 2) args.push_back(make_literal(int64_t{0}, columnar::make_type(TypeKind::kInt, false)));
  return make_row_call<std::string, string_view, string_view, int32_t>(
      e.type, std::move(args),
      [last = LastPattern(), groups = std::vector<re2::StringPiece>()](
          TextWriter& out, string_view text, string_view pattern, int32_t group) mutable {
        const RE2* regexp = last.get(pattern);
        if (regexp == nullptr || group < 0 || group > regexp->NumberOfCapturingGroups()) return false;
        groups.resize(static_cast<size_t>(group) + 1);
        if (!regexp->Match(piece(text), 0, text.size(), RE2::UNANCHORED, groups.data(), group + 1))
          return false;
        const re2::StringPiece& found = groups.back();
        if (found.data() == nullptr) return false;
        out.append({found.data(), found.size()});
        return true;
      });
}

/// The replacement stands as it is written: no group references, as in Flink.
Result<NodePtr> build_replace(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view, string_view, string_view>(
      e.type, std::move(args),
      [last = LastPattern()](TextWriter& out, string_view text, string_view pattern, string_view by) mutable {
        const RE2* regexp = last.get(pattern);
        if (regexp == nullptr) return false;
        size_t from = 0;
        re2::StringPiece found;
        while (from <= text.size() &&
               regexp->Match(piece(text), from, text.size(), RE2::UNANCHORED, &found, 1)) {
          const auto at = static_cast<size_t>(found.data() - text.data());
          out.append(text.substr(from, at - from));
          out.append(by);
          from = at + found.size();
          if (found.empty()) {
            if (at < text.size()) out.push_back(text[at]);
            ++from;
          }
        }
        if (from < text.size()) out.append(text.substr(from));
        return true;
      });
}

constexpr Function kFunctions[] = {
    {.name = "REGEXP", .params = "tt", .type = returns<TypeKind::kBoolean>, .build = build_regexp},
    {.name = "REGEXP_EXTRACT",
     .params = "tt[i",
     .type = returns_nullable<TypeKind::kString>,
     .build = build_extract},
    {.name = "REGEXP_REPLACE", .params = "ttt", .type = returns<TypeKind::kString>, .build = build_replace},
};

}  // namespace

std::span<const Function> regexp_functions() { return kFunctions; }

}  // namespace strand::expr
