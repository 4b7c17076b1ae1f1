// OVER, WINDOW, and the order of rows.
#include "sql/parser_core.h"

namespace strand::sql {

Result<std::vector<ast::OrderItem>> Parser::order_list() {
  std::vector<ast::OrderItem> list;
  do {
    ast::OrderItem item;
    STRAND_TRY(item.expr, expression());
    item.descending = is_word("DESC");
    if (item.descending || is_word("ASC")) take();
    if (take_word("NULLS")) {
      item.nulls_last = !take_word("FIRST");
      if (*item.nulls_last) STRAND_OK(expect_word("LAST"));
    }
    list.push_back(std::move(item));
  } while (take_symbol(","));
  return list;
}

/// What follows OVER: a window, or the name of one.
Result<ast::OverPtr> Parser::over() {
  if (at_identifier() && !is_symbol("(")) {
    auto named = std::make_shared<ast::Over>();
    named->place = here();
    STRAND_TRY(named->window, identifier("the name of a window"));
    return ast::OverPtr(named);
  }
  return over_window();
}

Result<ast::OverPtr> Parser::over_window() {
  auto over = std::make_shared<ast::Over>();
  over->place = here();
  STRAND_OK(expect_symbol("(", "before the window"));
  if (take_word("PARTITION")) {
    STRAND_OK(expect_word("BY"));
    STRAND_TRY(over->partition_by, expression_list());
  }
  if (take_word("ORDER")) {
    STRAND_OK(expect_word("BY"));
    STRAND_TRY(over->order_by, order_list());
  }
  if (is_word("ROWS") || is_word("RANGE")) {
    STRAND_TRY(over->frame, frame());
  }
  STRAND_OK(expect_symbol(")", "behind the window"));
  return ast::OverPtr(over);
}

/// ROWS BETWEEN start AND CURRENT ROW, or ROWS start; RANGE likewise.
Result<ast::Frame> Parser::frame() {
  ast::Frame frame;
  frame.place = here();
  frame.range = take().upper == "RANGE";
  const bool between = take_word("BETWEEN");
  STRAND_TRY(frame.preceding, frame_start());
  if (!between) return frame;
  STRAND_OK(expect_word("AND"));
  if (take_words({"CURRENT", "ROW"})) return frame;
  return unsupported(here(), "a frame ends with the row itself: what follows is not known yet",
                     "write AND CURRENT ROW");
}

Result<ast::ExprPtr> Parser::frame_start() {
  const Place place = here();
  if (take_words({"UNBOUNDED", "PRECEDING"})) return ast::ExprPtr();
  if (take_words({"CURRENT", "ROW"})) {
    auto zero = std::make_shared<ast::Expr>();
    zero->kind = ast::Expr::Kind::kNumber;
    zero->place = place;
    zero->text = "0";
    return ast::ExprPtr(zero);
  }
  STRAND_TRY(ast::ExprPtr bound, additive());
  STRAND_OK(expect_word("PRECEDING"));
  return bound;
}

Status Parser::window_clause(ast::Select& select) {
  do {
    STRAND_TRY(std::string name, identifier("the name of a window"));
    STRAND_OK(expect_word("AS"));
    STRAND_TRY(ast::OverPtr window, over_window());
    select.windows.emplace_back(std::move(name), std::move(window));
  } while (take_symbol(","));
  return Status();
}

}  // namespace strand::sql
