// Tables side by side in FROM.
#include "sql/parser_core.h"

namespace strand::sql {

namespace {

ast::TableRefPtr make_join(ast::Join join, const Place& place) {
  auto table = std::make_shared<ast::TableRef>();
  table->place = place;
  table->source = std::move(join);
  return table;
}

}  // namespace

Result<ast::TableRefPtr> Parser::table_reference() {
  STRAND_TRY(ast::TableRefPtr left, joined_tables());
  for (int links = 1; is_symbol(","); ++links) {
    STRAND_OK(check_chain(links));
    const Place place = here();
    take();
    STRAND_TRY(ast::TableRefPtr right, joined_tables());
    left = make_join({ast::Join::Kind::kInner, left, std::move(right), nullptr}, place);
  }
  if (is_word("TABLESAMPLE")) return unsupported(here(), "TABLESAMPLE is not supported", "leave it out");
  return left;
}

/// Takes the words up to JOIN; nothing where there are none.
Result<std::optional<ast::Join::Kind>> Parser::join_kind(bool& crossed, bool& natural) {
  using Kind = ast::Join::Kind;
  natural = take_word("NATURAL");
  crossed = is_word("CROSS");
  std::optional<Kind> kind;
  if (is_word("JOIN") || take_word("INNER") || take_word("CROSS")) {
    kind = Kind::kInner;
  } else {
    for (const auto& [word, outer] :
         {std::pair{"LEFT", Kind::kLeft}, {"RIGHT", Kind::kRight}, {"FULL", Kind::kFull}}) {
      if (!kind && take_word(word)) {
        kind = outer;
        take_word("OUTER");
      }
    }
  }
  if (kind || natural) STRAND_OK(expect_word("JOIN"));
  return kind;
}

/// ON condition, or USING (columns).
Status Parser::join_condition(ast::Join& join) {
  if (!take_word("USING")) {
    STRAND_OK(expect_word("ON"));
    STRAND_TRY(join.condition, expression());
    return Status();
  }
  STRAND_OK(expect_symbol("(", "behind USING"));
  do {
    const Place place = here();
    STRAND_TRY(std::string name, identifier("a column name"));
    join.common.emplace_back(std::move(name), place);
  } while (take_symbol(","));
  return expect_symbol(")", "behind the columns");
}

Result<ast::TableRefPtr> Parser::joined_tables() {
  STRAND_TRY(ast::TableRefPtr left, table_primary());
  for (int links = 1;; ++links) {
    STRAND_OK(check_chain(links));
    const Place place = here();
    bool crossed = false;
    bool natural = false;
    STRAND_TRY(const auto kind, join_kind(crossed, natural));
    if (!kind) return left;
    ast::Join join{*kind, left, nullptr, nullptr};
    join.natural = natural;
    STRAND_TRY(join.right, table_primary());
    if (!crossed && !natural) STRAND_OK(join_condition(join));
    left = make_join(std::move(join), place);
  }
}

}  // namespace strand::sql
