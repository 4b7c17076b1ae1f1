// TUMBLE, HOP, CUMULATE, SESSION.
#include <algorithm>
#include <array>
#include <cctype>

#include "sql/parser_core.h"

namespace strand::sql {

namespace {

std::string lower(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

struct Parser::WindowSyntax {
  std::string_view function;
  std::vector<std::string_view> intervals;  // by their names, in order
  std::string_view example;
};

const Parser::WindowSyntax* Parser::window_syntax(std::string_view function) {
  static const std::array<WindowSyntax, 4> kSyntax = {{
      {"TUMBLE", {"SIZE", "OFFSET"}, "TUMBLE(TABLE t, DESCRIPTOR(time), INTERVAL '1' MINUTE)"},
      {"HOP",
       {"SLIDE", "SIZE", "OFFSET"},
       "HOP(TABLE t, DESCRIPTOR(time), INTERVAL '1' MINUTE, INTERVAL '10' MINUTES): the slide, then the "
       "size"},
      {"CUMULATE",
       {"STEP", "SIZE", "OFFSET"},
       "CUMULATE(TABLE t, DESCRIPTOR(time), INTERVAL '1' HOUR, INTERVAL '1' DAY): the step, then the size"},
      {"SESSION", {"GAP"}, "SESSION(TABLE t PARTITION BY key, DESCRIPTOR(time), INTERVAL '1' MINUTE)"},
  }};
  const auto found = std::find_if(kSyntax.begin(), kSyntax.end(), [function](const WindowSyntax& syntax) {
    return syntax.function == function;
  });
  return found == kSyntax.end() ? nullptr : &*found;
}

Result<ast::WindowCall> Parser::window_call() {
  ast::WindowCall call;
  const Place place = here();
  if (peek().kind != Token::Kind::kWord) return expected("a window function such as TUMBLE");
  call.function = take().upper;
  const WindowSyntax* syntax = window_syntax(call.function);
  if (syntax == nullptr) {
    return unsupported(
        place, call.function + " is not a window function",
        "use TUMBLE, HOP, CUMULATE or SESSION: " + std::string(window_syntax("TUMBLE")->example));
  }
  STRAND_OK(expect_symbol("(", "behind " + call.function));
  size_t position = 0;
  do {
    STRAND_OK(window_argument(call, *syntax, position++));
  } while (take_symbol(","));
  STRAND_OK(expect_symbol(")", "or ',' behind an argument"));
  const auto missing = [&](const std::string& what) {
    return error_at(ErrorCode::kSyntax, place, call.function + " has no " + what)
        .hint("write " + std::string(syntax->example));
  };
  if (!call.table) return missing("TABLE");
  if (call.column.empty()) return missing("DESCRIPTOR");
  call.intervals.resize(syntax->intervals.size());
  for (size_t i = 0; i < syntax->intervals.size(); ++i) {
    if (!call.intervals[i] && syntax->intervals[i] != "OFFSET") return missing(lower(syntax->intervals[i]));
  }
  if (!call.intervals.back()) call.intervals.pop_back();
  return call;
}

Status Parser::window_argument(ast::WindowCall& call, const WindowSyntax& syntax, size_t position) {
  const Place place = here();
  if (peek().kind == Token::Kind::kWord && is_symbol("=>", 1)) {
    std::vector<std::string_view> names = {"DATA", "TIMECOL"};
    names.insert(names.end(), syntax.intervals.begin(), syntax.intervals.end());
    const auto named = std::find(names.begin(), names.end(), peek().upper);
    if (named == names.end()) {
      std::string all;
      for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
      return expected("one of " + all);
    }
    position = static_cast<size_t>(named - names.begin());
    take();
    take();
  }
  if (position == 0) return window_table(call);
  if (position == 1) {
    STRAND_OK(expect_word("DESCRIPTOR"));
    STRAND_OK(expect_symbol("(", "behind DESCRIPTOR"));
    call.column_place = here();
    STRAND_TRY(call.column, identifier("the time column"));
    return expect_symbol(")", "behind the time column");
  }
  const size_t index = position - 2;
  if (index >= syntax.intervals.size()) {
    return error_at(
               ErrorCode::kSyntax, place,
               call.function + " takes " + std::to_string(syntax.intervals.size() + 2) + " arguments at most")
        .hint("write " + std::string(syntax.example));
  }
  if (call.intervals.size() <= index) call.intervals.resize(index + 1);
  STRAND_TRY(call.intervals[index], expression());
  return Status();
}

/// TABLE t or (SELECT …), and PARTITION BY behind it.
Status Parser::window_table(ast::WindowCall& call) {
  auto table = std::make_shared<ast::TableRef>();
  table->place = here();
  if (take_symbol("(")) {
    if (!at_query()) return expected("a query");
    STRAND_TRY(table->source, query());
    STRAND_OK(expect_symbol(")", "behind the query"));
  } else {
    STRAND_OK(expect_word("TABLE"));
    if (is_symbol("("))
      return expected("a table or view").hint("a query stands there without TABLE: (SELECT …)");
    table->place = here();
    STRAND_TRY(std::string name, table_name("a table or view"));
    table->source = std::move(name);
    STRAND_TRY(table->hints, hints());
  }
  call.table = table;
  const Place place = here();
  if (!take_words({"PARTITION", "BY"})) return Status();
  if (call.function != "SESSION") {
    return error_at(ErrorCode::kSyntax, place, call.function + " takes no PARTITION BY")
        .hint("the windows of all keys are the same: put the keys into GROUP BY");
  }
  const bool list = take_symbol("(");
  do {
    const Place at = here();
    STRAND_TRY(std::string column, identifier("a column"));
    call.partition_by.emplace_back(std::move(column), at);
  } while (list && take_symbol(","));
  return list ? expect_symbol(")", "behind the columns") : Status();
}

}  // namespace strand::sql
