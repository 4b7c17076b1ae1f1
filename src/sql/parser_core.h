// The recursive-descent parser; its methods are spread over parse_*.cc by topic.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/ast.h"
#include "sql/interval.h"
#include "sql/lexer.h"
#include "sql/parser.h"

namespace strand::sql {

/// Reads tokens from front to back, one statement after the other. Looks ahead, never back.
class Parser {
 public:
  Parser(const SourceText& source, std::vector<Token> tokens, CatalogFiles* files)
      : source_(source), tokens_(std::move(tokens)), files_(files) {}

  Result<std::vector<ast::Statement>> script();
  Result<ast::ExprPtr> single_expression();
  /// What its catalogs of files hold beside tables and views.
  void keep_names();

 private:
  // Tokens (parser_core.cc).
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_word(std::string_view word, size_t ahead = 0) const;
  bool is_symbol(std::string_view symbol, size_t ahead = 0) const;
  bool take_word(std::string_view word);
  bool take_words(std::initializer_list<std::string_view> words);
  bool take_symbol(std::string_view symbol);
  Place here() const { return {&source_, peek().offset}; }
  Status expected(const std::string& what) const;
  Status unsupported(const Place& place, const std::string& what, const std::string& hint) const;
  Status expect_word(std::string_view word);
  Status expect_symbol(std::string_view symbol, const std::string& after = "");
  Result<std::string> identifier(const std::string& what);
  Result<std::string> string_literal(const std::string& what);
  /// Reads over COMMENT '...', if it is next.
  Status skip_comment();
  Result<int> small_number(const std::string& what);
  bool at_identifier(size_t ahead = 0) const;
  /// Names without quotes of the current and the next tokens, for messages.
  static std::string token_text(const Token& token);

  /// Counts nesting while it lives.
  struct Deeper {
    explicit Deeper(Parser& parser) : owner(parser) { ++owner.depth_; }
    ~Deeper() { --owner.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& owner;
  };
  Status check_depth() const;
  /// A chain such as a || b || c is a tree as deep as it is long.
  Status check_chain(int links) const;
  /// An operand that is copied, inside one that is copied, and so on, is a tree without end.
  Status check_copied(const ast::ExprPtr& operand, const Place& place) const;

  // Statements (parse_statement.cc, parse_table.cc).
  Result<ast::Statement> statement();
  Result<ast::Statement> create();
  Result<ast::Statement> set();
  Result<ast::Statement> drop();
  Result<std::vector<std::pair<Place, ast::Insert>>> inserts_to_end();
  Status insert_partition(ast::Insert& insert);
  // Catalogs and databases (parse_catalog.cc).
  Result<ast::Statement> create_catalog(const Place& place);
  Result<ast::Statement> open_catalog(const std::string& name, const std::string& path, const Place& place);
  Result<std::vector<ast::Statement>> read_catalog(OpenCatalog& file);
  bool is_open(const std::string& catalog) const;
  Result<ast::Statement> create_database(const Place& place);
  Result<ast::Statement> drop_catalog(const Place& place);
  Result<ast::Statement> drop_database(const Place& place);
  Result<ast::Statement> alter_database(const Place& place);
  Result<ast::Statement> use();
  /// What is named in front of a table; where nothing is, the current one.
  struct Home {
    std::string catalog;
    std::string database;
  };
  Result<Home> database_name();
  Status check_home(const Home& home, const Place& place) const;
  std::string full_name(const Home& home, const std::string& name) const;
  // Own functions (parse_function.cc).
  struct FunctionName {
    std::string key;
    std::string written;  // as a call can name it from anywhere
    Place place;
  };
  bool at_function() const;
  Result<FunctionName> function_name(bool system);
  Result<ast::Statement> create_function(const Place& place, bool alter);
  Result<ast::Statement> drop_function(const Place& place);
  Status library_of(ast::OwnFunction& function);
  /// The own function that a call of these parts is of, or null.
  const ast::OwnFunction* own_function(const std::vector<std::string>& parts, std::string& written) const;
  Status drop_functions(const ast::DropDatabase& dropped);
  std::vector<std::string> own_function_names() const;
  Result<ast::ExprPtr> own_call(const std::vector<std::string>& parts, const Place& place, bool& found);
  // SHOW, DESCRIBE, EXPLAIN (parse_show.cc).
  Result<ast::Statement> show();
  Status show_target(ast::Show& show);
  Result<std::optional<ast::NameFilter>> name_filter();
  Result<ast::Statement> describe();
  Result<ast::Statement> explain();
  Result<ast::Statement> alter_view(const Place& place);
  // ALTER TABLE (parse_alter.cc).
  Result<ast::Statement> alter();
  Status alter_elements(ast::AlterTable& parsed);
  Status alter_drop(ast::AlterTable& parsed);
  Status alter_options(ast::AlterTable& parsed);
  Result<ast::Insert> insert();
  Result<ast::Statement> statement_set();
  Result<ast::CreateView> create_view();
  Result<ast::CreateTable> create_table();
  Result<ast::TableLike> table_like();
  Status table_element(ast::CreateTable& table);
  Status column_definition(ast::CreateTable& table);
  Status table_watermark(ast::CreateTable& table);
  Status primary_key(ast::CreateTable& table);
  Status partitioned_by(ast::CreateTable& table);
  Status with_options(ast::CreateTable& table);
  Result<std::string> table_name(const std::string& what);
  Result<std::vector<std::string>> name_list(const std::string& what);
  Result<bool> if_not_exists();

  // Queries (parse_query.cc).
  Result<ast::QueryPtr> query();
  bool at_query() const { return is_word("SELECT") || is_word("WITH") || is_word("VALUES"); }
  Result<ast::QueryPtr> query_term();
  Result<ast::QueryPtr> values();
  Result<std::vector<ast::CommonTable>> common_tables();
  Result<ast::QueryPtr> select();
  Status select_clauses(ast::Select& select);
  Status group_by(ast::Select& select);
  using GroupingSets = std::vector<std::vector<ast::ExprPtr>>;
  Result<GroupingSets> grouping_element(bool& plain);
  Result<GroupingSets> grouping_sets();
  Result<std::vector<ast::ExprPtr>> grouping_keys();
  Result<ast::SelectItem> select_item();
  Result<ast::TableRefPtr> table_reference();
  Result<ast::TableRefPtr> joined_tables();
  Result<std::optional<ast::Join::Kind>> join_kind(bool& crossed, bool& natural);
  Status join_condition(ast::Join& join);
  Result<ast::TableRefPtr> table_primary();
  Result<ast::Unnest> unnest();
  Status table_alias(ast::TableRef& table);
  Result<ast::WindowCall> window_call();
  struct WindowSyntax;
  static const WindowSyntax* window_syntax(std::string_view function);
  Status window_argument(ast::WindowCall& call, const WindowSyntax& syntax, size_t position);
  Status window_table(ast::WindowCall& call);
  Result<std::vector<ast::Hint>> hints();
  Result<ast::Hint> hint();

  // MATCH_RECOGNIZE (parse_match.cc).
  Result<ast::TableRefPtr> match_recognize(ast::TableRefPtr table);
  Status match_body(ast::Match& match);
  Status match_measures(ast::Match& match);
  Status match_rows(ast::Match& match);
  Status match_skip(ast::Match& match);
  Status match_pattern(ast::Match& match);
  Status match_quantifier(ast::Match::Variable& variable);
  Result<uint32_t> match_times();
  Status match_definitions(ast::Match& match);

  // UNION, INTERSECT, EXCEPT, and what stands behind them (parse_set_operation.cc).
  Result<ast::QueryPtr> query_body();
  Result<ast::QueryPtr> intersected_terms();
  bool set_quantifier();
  Result<ast::QueryPtr> query_tail(ast::QueryPtr body);
  Status limit_clause(ast::Limit& limit, bool& limited);
  Result<int64_t> row_count(const std::string& what);

  // Expressions (parse_expression.cc, parse_primary.cc, parse_call.cc).
  Result<ast::ExprPtr> expression();
  Result<ast::ExprPtr> disjunction();
  Result<ast::ExprPtr> conjunction();
  Result<ast::ExprPtr> negation();
  Result<ast::ExprPtr> predicate();
  Result<ast::ExprPtr> is_predicate(ast::ExprPtr left);
  Result<ast::ExprPtr> range_predicate(ast::ExprPtr left, const Place& place, bool& found);
  Result<ast::ExprPtr> additive();
  Result<ast::ExprPtr> multiplicative();
  Result<ast::ExprPtr> unary();
  Result<ast::ExprPtr> primary();
  Result<ast::ExprPtr> primary_alone();
  Result<ast::ExprPtr> in_brackets();
  Result<ast::ExprPtr> subquery();
  Result<ast::ExprPtr> collection();
  Result<ast::ExprPtr> literal(bool& found);
  Result<ast::ExprPtr> interval();
  Result<ast::ExprPtr> case_expression();
  Result<ast::ExprPtr> cast(const std::string& function);
  Result<ast::ExprPtr> name_or_call();
  Result<ast::ExprPtr> call(const std::string& function, const Place& place);
  Result<ast::ExprPtr> special_call(const std::string& function, const Place& place, bool& found);
  Result<ast::ExprPtr> trim(const Place& place);
  Status call_tail(ast::Expr& call);
  void null_treatment(ast::Expr& call);
  // SQL/JSON (parse_json_call.cc).
  Result<ast::ExprPtr> json_call(const std::string& function, const Place& place, bool& found);
  Result<ast::ExprPtr> json_reader(const std::string& function, const Place& place);
  Result<ast::ExprPtr> json_constructor(const std::string& function, const Place& place);
  Result<ast::ExprPtr> json_aggregate(const std::string& function, const Place& place);
  Status json_wrapper(std::string& wrapper);
  struct JsonBehavior;
  Result<bool> json_behavior(JsonBehavior& empty, JsonBehavior& error);
  ast::ExprPtr make_null(columnar::TypePtr type, const Place& place) const;
  Result<std::vector<ast::ExprPtr>> expression_list();
  // Windows of OVER (parse_over.cc).
  Result<std::vector<ast::OrderItem>> order_list();
  Result<ast::OverPtr> over();
  Result<ast::OverPtr> over_window();
  Result<ast::Frame> frame();
  Result<ast::ExprPtr> frame_start();
  Status window_clause(ast::Select& select);
  ast::ExprPtr make_call(std::string function, std::vector<ast::ExprPtr> args, const Place& place) const;
  ast::ExprPtr make_string(std::string text, const Place& place) const;
  /// A unit such as MINUTE, as a text for EXTRACT, FLOOR, TIMESTAMPDIFF.
  Result<ast::ExprPtr> time_unit();

  // Types (parse_type.cc).
  Result<columnar::TypePtr> type();
  Result<columnar::TypePtr> type_without_null();
  Result<columnar::TypePtr> timestamp_type();
  Result<columnar::TypePtr> row_type();
  Result<int> optional_length(int fallback, int most);

  const SourceText& source_;
  std::vector<Token> tokens_;
  CatalogFiles* files_;  // or null
  size_t at_ = 0;
  int depth_ = 0;
  Home home_ = {"default_catalog", "default_database"};  // of names without one
  std::map<std::string, std::vector<std::string>> catalogs_ = {{"default_catalog", {"default_database"}}};
  /// By name in capitals, with the database in front as of tables; `%.` in front of those that are of
  /// none.
  std::map<std::string, std::shared_ptr<const ast::OwnFunction>> functions_;
};

/// Whether a word cannot be a name without backticks, because a clause begins with it.
bool is_clause_word(std::string_view upper);

}  // namespace strand::sql
