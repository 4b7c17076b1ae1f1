#include "sql/parser_core.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utf8.h"

namespace strand::sql {

bool is_clause_word(std::string_view upper) {
  static constexpr std::array kWords = {
      "ALL",    "AND",     "AS",          "BETWEEN",        "CASE",  "CREATE", "CROSS", "DROP",  "ELSE",
      "END",    "EXCEPT",  "EXISTS",      "FETCH",          "FOR",   "FROM",   "FULL",  "GROUP", "HAVING",
      "IN",     "INNER",   "INSERT",      "INTERSECT",      "INTO",  "IS",     "JOIN",  "LEFT",  "LIKE",
      "LIMIT",  "NATURAL", "NOT",         "OFFSET",         "ON",    "OR",     "ORDER", "OUTER", "QUALIFY",
      "RIGHT",  "SELECT",  "THEN",        "UNION",          "USING", "VALUES", "VALUE", "WHEN",  "WHERE",
      "WINDOW", "WITH",    "TABLESAMPLE", "MATCH_RECOGNIZE"};
  return std::find(kWords.begin(), kWords.end(), upper) != kWords.end();
}

bool Parser::is_word(std::string_view word, size_t ahead) const {
  return peek(ahead).kind == Token::Kind::kWord && peek(ahead).upper == word;
}

bool Parser::is_symbol(std::string_view symbol, size_t ahead) const {
  return peek(ahead).kind == Token::Kind::kSymbol && peek(ahead).text == symbol;
}

bool Parser::take_word(std::string_view word) {
  if (!is_word(word)) return false;
  take();
  return true;
}

bool Parser::take_words(std::initializer_list<std::string_view> words) {
  size_t ahead = 0;
  for (const std::string_view word : words) {
    if (!is_word(word, ahead++)) return false;
  }
  at_ += words.size();
  return true;
}

bool Parser::take_symbol(std::string_view symbol) {
  if (!is_symbol(symbol)) return false;
  take();
  return true;
}

namespace {
/// For messages: whole characters.
std::string beginning(const std::string& text) {
  const std::string part = text.substr(0, 40);
  return part.substr(0, valid_utf8_bytes(part));
}
}  // namespace

std::string Parser::token_text(const Token& token) {
  switch (token.kind) {
    case Token::Kind::kEnd:
      return "the end of the text";
    case Token::Kind::kQuoted:
      return "`" + token.text + "`";
    case Token::Kind::kString:
      return "the text '" + beginning(token.text) + "'";
    case Token::Kind::kBytes:
      return "the bytes x'…'";
    default:
      return "'" + beginning(token.text) + "'";
  }
}

Status Parser::expected(const std::string& what) const {
  Status error = error_at(ErrorCode::kSyntax, here(), "expected " + what + ", found " + token_text(peek()));
  if (peek().kind == Token::Kind::kWord && is_clause_word(peek().upper) &&
      what.find("name") != std::string::npos) {
    return std::move(error).hint("a name that is also a keyword stands in backticks: `" + peek().text + "`");
  }
  return error;
}

Status Parser::unsupported(const Place& place, const std::string& what, const std::string& hint) const {
  return error_at(ErrorCode::kUnsupportedSql, place, what).hint(hint);
}

Status Parser::expect_word(std::string_view word) {
  if (take_word(word)) return Status();
  Status error = expected(std::string(word));
  if (peek().kind == Token::Kind::kWord && peek().upper != word && edit_distance(peek().upper, word) <= 2) {
    return std::move(error).hint("did you mean " + std::string(word) + "?");
  }
  return error;
}

Status Parser::expect_symbol(std::string_view symbol, const std::string& after) {
  if (take_symbol(symbol)) return Status();
  return expected("'" + std::string(symbol) + "'" + (after.empty() ? "" : " " + after));
}

bool Parser::at_identifier(size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == Token::Kind::kQuoted ||
         (token.kind == Token::Kind::kWord && !is_clause_word(token.upper));
}

Result<std::string> Parser::identifier(const std::string& what) {
  if (!at_identifier()) return expected(what);
  return take().text;
}

Result<std::string> Parser::string_literal(const std::string& what) {
  if (peek().kind != Token::Kind::kString) return expected(what);
  return take().text;
}

Status Parser::skip_comment() {
  if (!take_word("COMMENT")) return Status();
  Result<std::string> comment = string_literal("the comment in single quotes");
  return comment.ok() ? Status() : std::move(comment).status();
}

Result<int> Parser::small_number(const std::string& what) {
  if (peek().kind != Token::Kind::kNumber || peek().text.size() > 9 ||
      peek().text.find_first_not_of("0123456789") != std::string::npos) {
    return expected(what);
  }
  return std::stoi(take().text);
}

Status Parser::check_depth() const {
  if (depth_ <= kNestingMax) return Status();
  return error_at(ErrorCode::kLimitExceeded, here(),
                  "the statement is nested more than " + std::to_string(kNestingMax) + " levels deep")
      .hint("put inner parts into views");
}

Status Parser::check_chain(int links) const {
  if (links <= kChainMax) return Status();
  return error_at(ErrorCode::kLimitExceeded, here(),
                  "more than " + std::to_string(kChainMax) + " operators follow each other")
      .hint("use CONCAT or IN, or compute parts of it in a view");
}

namespace {
/// Takes the parts of the expression from `left`; whether there were enough.
bool take_parts(const ast::Expr& e, size_t& left) {
  if (left == 0) return false;
  --left;
  return std::all_of(e.args.begin(), e.args.end(),
                     [&](const ast::ExprPtr& arg) { return take_parts(*arg, left); });
}
}  // namespace

Status Parser::check_copied(const ast::ExprPtr& operand, const Place& place) const {
  size_t left = kCopiedPartsMax;
  if (take_parts(*operand, left)) return Status();
  return error_at(
             ErrorCode::kLimitExceeded, place,
             "the operand of BETWEEN or CASE has more than " + std::to_string(kCopiedPartsMax) + " parts")
      .hint("compute it in a view, and compare its column");
}

Result<std::vector<ast::Statement>> parse_script(const SourceText& source) {
  CatalogFiles none;
  return parse_script(source, none);
}

Result<std::vector<ast::Statement>> parse_script(const SourceText& source, CatalogFiles& files) {
  if (source.text().size() > kTextBytesMax) {
    return Status(ErrorCode::kLimitExceeded, "the file has " + std::to_string(source.text().size()) +
                                                 " bytes, " + std::to_string(kTextBytesMax) +
                                                 " are the limit")
        .at(source.file())
        .hint("split the job into several files");
  }
  STRAND_TRY(std::vector<Token> tokens, tokenize(source));
  Parser parser(source, std::move(tokens), &files);
  STRAND_TRY(std::vector<ast::Statement> statements, parser.script());
  parser.keep_names();
  return statements;
}

Result<ast::ExprPtr> parse_expression(const SourceText& source) {
  STRAND_TRY(std::vector<Token> tokens, tokenize(source));
  return Parser(source, std::move(tokens), nullptr).single_expression();
}

}  // namespace strand::sql
