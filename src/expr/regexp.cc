// Functions of regular expressions. What is no regular expression gives NULL, or matches nothing, as in
// Flink.
#include "expr/built.h"
#include "expr/pattern.h"
#include "expr/registry.h"
#include "expr/utf8.h"

namespace strand::expr {

namespace {

using std::string_view;

using Groups = std::vector<string_view>;

/// Where the next match may begin: behind this one, and behind one character where it is empty.
size_t behind(string_view text, string_view match) {
  const auto end = static_cast<size_t>(match.data() - text.data()) + match.size();
  return match.empty() ? end + (end < text.size() ? character_size(text.substr(end)) : 1) : end;
}

/// Calls f(groups) for each match that does not overlap the one before, until it returns false.
template <class F>
void each_match(Pattern& regexp, string_view text, Groups& groups, F f) {
  size_t from = 0;
  while (from <= text.size() && regexp.find(text, from, groups)) {
    if (!f()) return;
    from = behind(text, groups[0]);
  }
}

Result<NodePtr> build_regexp(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<bool, string_view, string_view>(
      e.type, std::move(args),
      [last = LastPattern(), groups = Groups(1)](auto&& out, string_view text, string_view pattern) mutable {
        Pattern* regexp = last.get(pattern);
        out = !pattern.empty() && regexp != nullptr && regexp->find(text, 0, groups);
        return true;
      });
}

/// Group `group` of the first match (0: all of it); NULL without a match, group or valid pattern.
Result<NodePtr> build_extract(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 2) args.push_back(make_literal(int64_t{0}, columnar::make_type(TypeKind::kInt, false)));
  return make_row_call<std::string, string_view, string_view, int32_t>(
      e.type, std::move(args),
      [last = LastPattern(), groups = Groups()](TextWriter& out, string_view text, string_view pattern,
                                                int32_t group) mutable {
        Pattern* regexp = last.get(pattern);
        if (regexp == nullptr || group < 0 || group > regexp->groups()) return false;
        groups.resize(static_cast<size_t>(group) + 1);
        if (!regexp->find(text, 0, groups) || groups.back().data() == nullptr) return false;
        out.append(groups.back());
        return true;
      });
}

/// The replacement stands as it is written: no group references, as in Flink.
Result<NodePtr> build_replace(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view, string_view, string_view>(
      e.type, std::move(args),
      [last = LastPattern(), groups = Groups(1)](TextWriter& out, string_view text, string_view pattern,
                                                 string_view by) mutable {
        Pattern* regexp = last.get(pattern);
        if (regexp == nullptr) return false;
        size_t from = 0;
        each_match(*regexp, text, groups, [&] {
          const auto at = static_cast<size_t>(groups[0].data() - text.data());
          out.append(text.substr(from, at - from));
          out.append(by);
          from = at + groups[0].size();
          return true;
        });
        if (from < text.size()) out.append(text.substr(from));
        return true;
      });
}

/// NULL for what is no regular expression.
Result<NodePtr> build_count(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<int32_t, string_view, string_view>(
      e.type, std::move(args),
      [last = LastPattern(), groups = Groups(1)](int32_t& out, string_view text,
                                                 string_view pattern) mutable {
        Pattern* regexp = last.get(pattern);
        if (regexp == nullptr) return false;
        out = 0;
        each_match(*regexp, text, groups, [&] { return ++out, true; });
        return true;
      });
}

/// The position of the first match in characters, from 1; 0 without one.
Result<NodePtr> build_instr(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<int32_t, string_view, string_view>(
      e.type, std::move(args),
      [last = LastPattern(), groups = Groups(1)](int32_t& out, string_view text,
                                                 string_view pattern) mutable {
        Pattern* regexp = last.get(pattern);
        if (regexp == nullptr) return false;
        out = 0;
        each_match(*regexp, text, groups, [&] {
          const auto at = static_cast<size_t>(groups[0].data() - text.data());
          out = static_cast<int32_t>(count_characters(text.substr(0, at))) + 1;
          return false;
        });
        return true;
      });
}

Result<NodePtr> build_substr(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view, string_view>(
      e.type, std::move(args),
      [last = LastPattern(), groups = Groups(1)](TextWriter& out, string_view text,
                                                 string_view pattern) mutable {
        Pattern* regexp = last.get(pattern);
        bool any = false;
        if (regexp == nullptr) return false;
        each_match(*regexp, text, groups, [&] {
          out.append(groups[0]);
          any = true;
          return false;
        });
        return any;
      });
}

/// Group `group` (1 where it is not given) of every match.
Result<NodePtr> build_extract_all(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 2) args.push_back(make_literal(int64_t{1}, columnar::make_type(TypeKind::kInt, false)));
  return make_built_call(e.type, std::move(args), {},
                         [last = LastPattern()](columnar::ColumnBuilder& out, std::span<const Value> v,
                                                int64_t row) mutable -> Result<bool> {
                           const string_view text = v[0].column->string(v[0].row(row));
                           Pattern* regexp = last.get(v[1].column->string(v[1].row(row)));
                           const int32_t group = v[2].column->values<int32_t>()[v[2].row(row)];
                           if (regexp == nullptr || group < 0 || group > regexp->groups()) return false;
                           Groups groups(static_cast<size_t>(group) + 1);
                           each_match(*regexp, text, groups, [&] {
                             const string_view found = groups.back();
                             if (found.data() == nullptr) {
                               out.child(0).append_null();
                             } else {
                               out.child(0).append_string(found);
                             }
                             return true;
                           });
                           out.close_nested();
                           return true;
                         });
}

/// Pieces of `text` between the matches of a delimiter; empty ones at the end are left out, as Java does.
std::vector<string_view> pieces(Pattern& delimiter, string_view text, size_t most) {
  std::vector<string_view> out;
  Groups groups(1);
  size_t from = 0;
  each_match(delimiter, text, groups, [&] {
    const auto at = static_cast<size_t>(groups[0].data() - text.data());
    if (groups[0].empty() && (at == 0 || at == text.size())) return true;
    out.push_back(text.substr(from, at - from));
    from = at + groups[0].size();
    return out.size() + 1 != most;
  });
  out.push_back(text.substr(from));
  while (most == 0 && out.size() > 1 && out.back().empty()) out.pop_back();
  return out;
}

/// STR_TO_MAP(text[, between pairs, between key and value]); of equal keys the last one counts.
Result<NodePtr> build_to_map(const Expr& e, Nodes args, const Environment&) {
  const TypePtr text = columnar::make_type(TypeKind::kString, false);
  if (args.size() == 1) args.push_back(make_literal(std::string(","), text));
  if (args.size() == 2) args.push_back(make_literal(std::string("="), text));
  return make_built_call(
      e.type, std::move(args), {},
      [between = LastPattern(), inside = LastPattern()](
          columnar::ColumnBuilder& out, std::span<const Value> v, int64_t row) mutable -> Result<bool> {
        Pattern* pair = between.get(v[1].column->string(v[1].row(row)));
        Pattern* value = inside.get(v[2].column->string(v[2].row(row)));
        if (pair == nullptr || value == nullptr) return false;
        std::vector<std::vector<string_view>> entries;
        for (const string_view entry : pieces(*pair, v[0].column->string(v[0].row(row)), 0)) {
          std::vector<string_view> parts = pieces(*value, entry, 2);
          std::erase_if(entries, [&](const auto& other) { return other[0] == parts[0]; });
          entries.push_back(std::move(parts));
        }
        for (const auto& parts : entries) {
          out.child(0).append_string(parts[0]);
          if (parts.size() > 1) {
            out.child(1).append_string(parts[1]);
          } else {
            out.child(1).append_null();
          }
        }
        out.close_nested();
        return true;
      });
}

Result<TypePtr> texts_type(const Args&) {
  return columnar::array_type(columnar::make_type(TypeKind::kString));
}
Result<TypePtr> map_of_texts(const Args&) {
  return columnar::map_type(columnar::make_type(TypeKind::kString), columnar::make_type(TypeKind::kString));
}

constexpr auto kMaybeInt = returns_nullable<TypeKind::kInt>;
constexpr auto kMaybeText = returns_nullable<TypeKind::kString>;

constexpr Function kFunctions[] = {
    {.name = "REGEXP_COUNT", .params = "tt", .type = kMaybeInt, .build = build_count},
    {.name = "REGEXP_INSTR", .params = "tt", .type = kMaybeInt, .build = build_instr},
    {.name = "REGEXP_SUBSTR", .params = "tt", .type = kMaybeText, .build = build_substr},
    {.name = "REGEXP_EXTRACT_ALL", .params = "tt[i", .type = texts_type, .build = build_extract_all},
    {.name = "STR_TO_MAP", .params = "t[tt", .type = map_of_texts, .build = build_to_map},
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
