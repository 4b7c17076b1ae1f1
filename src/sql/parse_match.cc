// MATCH_RECOGNIZE.
#include "sql/parser_core.h"

namespace strand::sql {

Result<ast::TableRefPtr> Parser::match_recognize(ast::TableRefPtr table) {
  auto matched = std::make_shared<ast::TableRef>();
  matched->place = here();
  take();
  ast::Match match;
  match.table = std::move(table);
  STRAND_OK(expect_symbol("(", "behind MATCH_RECOGNIZE"));
  STRAND_OK(match_body(match));
  STRAND_OK(expect_symbol(")", "behind MATCH_RECOGNIZE (…"));
  matched->source = std::move(match);
  STRAND_OK(table_alias(*matched));
  return ast::TableRefPtr(matched);
}

Status Parser::match_body(ast::Match& match) {
  if (take_word("PARTITION")) {
    STRAND_OK(expect_word("BY"));
    STRAND_TRY(match.partition_by, expression_list());
  }
  if (take_word("ORDER")) {
    STRAND_OK(expect_word("BY"));
    STRAND_TRY(match.order_by, order_list());
  }
  if (take_word("MEASURES")) STRAND_OK(match_measures(match));
  STRAND_OK(match_rows(match));
  if (take_word("AFTER")) STRAND_OK(match_skip(match));
  STRAND_OK(expect_word("PATTERN"));
  STRAND_OK(match_pattern(match));
  if (take_word("WITHIN")) {
    STRAND_TRY(match.within, primary());
  }
  if (is_word("SUBSET")) {
    return unsupported(here(), "SUBSET is not supported", "name the variables themselves");
  }
  return match_definitions(match);
}

Status Parser::match_measures(ast::Match& match) {
  do {
    ast::SelectItem item;
    STRAND_TRY(item.expr, expression());
    STRAND_OK(expect_word("AS"));
    STRAND_TRY(item.alias, identifier("a name behind AS"));
    match.measures.push_back(std::move(item));
  } while (take_symbol(","));
  return Status();
}

/// ONE ROW PER MATCH, or nothing.
Status Parser::match_rows(ast::Match&) {
  if (is_word("ALL")) {
    return unsupported(here(), "ALL ROWS PER MATCH is not supported",
                       "write ONE ROW PER MATCH, with MEASURES");
  }
  if (!take_word("ONE")) return Status();
  for (const char* word : {"ROW", "PER", "MATCH"}) STRAND_OK(expect_word(word));
  return Status();
}

/// MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST variable, TO [LAST] variable.
Status Parser::match_skip(ast::Match& match) {
  using Skip = ast::Match::Skip;
  STRAND_OK(expect_word("MATCH"));
  STRAND_OK(expect_word("SKIP"));
  if (take_word("PAST")) {
    match.skip = Skip::kPastLastRow;
    STRAND_OK(expect_word("LAST"));
    return expect_word("ROW");
  }
  STRAND_OK(expect_word("TO"));
  if (is_word("NEXT") && is_word("ROW", 1)) {
    take();
    take();
    match.skip = Skip::kToNextRow;
    return Status();
  }
  match.skip = take_word("FIRST") ? Skip::kToFirst : Skip::kToLast;
  if (match.skip == Skip::kToLast) take_word("LAST");
  match.skip_place = here();
  STRAND_TRY(match.skip_to, identifier("a variable of the pattern"));
  return Status();
}

Status Parser::match_pattern(ast::Match& match) {
  STRAND_OK(expect_symbol("(", "behind PATTERN"));
  while (!is_symbol(")")) {
    if (is_symbol("(") || is_symbol("{") || is_word("PERMUTE")) {
      return unsupported(here(), "groups, PERMUTE and exclusions are not supported in a PATTERN",
                         "write variables behind each other: PATTERN (A B+ C)");
    }
    if (is_symbol("||")) {
      return unsupported(here(), "alternatives are not supported in a PATTERN",
                         "put the alternatives into the condition of one variable");
    }
    ast::Match::Variable variable;
    variable.place = here();
    STRAND_TRY(variable.name, identifier("a variable of the pattern"));
    STRAND_OK(match_quantifier(variable));
    match.pattern.push_back(std::move(variable));
  }
  if (match.pattern.empty()) return expected("a variable of the pattern");
  take();
  return Status();
}

/// ?, *, +, {n}, {n,}, {n,m}, {,m}, each with a ? behind it that makes it reluctant.
Status Parser::match_quantifier(ast::Match::Variable& variable) {
  const Place place = here();
  if (take_symbol("?")) {
    variable.min = 0;
    if (!is_symbol("?")) return Status();
    return unsupported(here(), "a reluctant optional variable is not supported", "write one ?");
  }
  if (take_symbol("*")) {
    variable.min = 0;
    variable.max.reset();
  } else if (take_symbol("+")) {
    variable.max.reset();
  } else if (take_symbol("{")) {
    variable.min = 0;
    if (!is_symbol(",")) {
      STRAND_TRY(variable.min, match_times());
      variable.max = variable.min;
    }
    if (take_symbol(",")) {
      variable.max.reset();
      if (!is_symbol("}")) {
        STRAND_TRY(variable.max, match_times());
      }
    }
    STRAND_OK(expect_symbol("}", "behind the number of rows"));
  }
  variable.reluctant = take_symbol("?");
  if (!variable.max || (*variable.max >= variable.min && *variable.max > 0)) return Status();
  return error_at(ErrorCode::kSyntax, place, "no row can be matched this often")
      .hint("write the lower number first: " + variable.name + "{2,3}");
}

Result<uint32_t> Parser::match_times() {
  constexpr int kTimesMax = 10'000;
  const Place place = here();
  STRAND_TRY(const int times, small_number("a number of rows"));
  if (times >= 0 && times <= kTimesMax) return static_cast<uint32_t>(times);
  return error_at(ErrorCode::kLimitExceeded, place,
                  "a variable takes at most " + std::to_string(kTimesMax) + " rows")
      .hint("or any number: A+");
}

Status Parser::match_definitions(ast::Match& match) {
  if (!take_word("DEFINE")) return Status();
  do {
    ast::Match::Definition definition;
    definition.place = here();
    STRAND_TRY(definition.variable, identifier("a variable of the pattern"));
    STRAND_OK(expect_word("AS"));
    STRAND_TRY(definition.condition, expression());
    match.definitions.push_back(std::move(definition));
  } while (take_symbol(","));
  return Status();
}

}  // namespace strand::sql
