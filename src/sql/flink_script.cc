#include "sql/flink_script.h"

#include <algorithm>
#include <memory>

#include "plan/explain.h"
#include "sql/lexer.h"
#include "sql/parser.h"
#include "sql/unparse.h"

namespace strand::sql {

namespace {

bool is_ours(const std::string& key) { return key.starts_with("strand.") || key == "sink.mode"; }

class FlinkScript {
 public:
  FlinkScript(const SqlInput& input, const SourceText& source, const std::vector<Token>& tokens)
      : input_(input), source_(source), tokens_(tokens) {}

  Result<std::string> write(const std::vector<ast::Statement>& statements) {
    for (const auto& [key, setting] : input_.settings) {
      if (!is_ours(key)) out_ += to_sql(ast::Statement{{}, ast::SetStatement{key, setting.value}}) + ";\n";
    }
    for (size_t i = 0; i < statements.size(); ++i) {
      STRAND_TRY(const std::optional<std::string> changed, change(statements[i]));
      const size_t next = i + 1 < statements.size() ? statements[i + 1].place.offset : source_.text().size();
      if (changed) replace(statements[i].place.offset, next, *changed);
    }
    out_ += source_.text().substr(copied_);
    return std::move(out_);
  }

 private:
  /// The statement in other words, "" to leave it out; nothing where it stays as it is.
  Result<std::optional<std::string>> change(const ast::Statement& statement) {
    if (const auto* set = std::get_if<ast::SetStatement>(&statement.body)) {
      const bool given = input_.settings.contains(set->key);
      return given || is_ours(set->key) ? std::optional<std::string>("") : std::nullopt;
    }
    if (const auto* table = std::get_if<ast::CreateTable>(&statement.body))
      return change_table(statement, *table);
    if (const auto* insert = std::get_if<ast::Insert>(&statement.body)) {
      const auto [changed, without] = without_ours(*insert);
      return changed ? std::optional(to_sql(ast::Statement{statement.place, without})) : std::nullopt;
    }
    if (const auto* set = std::get_if<ast::StatementSet>(&statement.body)) return change_set(statement, *set);
    return std::optional<std::string>();
  }

  Result<std::optional<std::string>> change_table(const ast::Statement& statement,
                                                  const ast::CreateTable& table) {
    ast::CreateTable made = table;
    bool changed = std::erase_if(made.options, [](const ast::Option& each) { return is_ours(each.key); }) > 0;
    for (const TableOverride& override : input_.tables) {
      if (override.table != table.name) continue;
      changed = true;
      if (override.replaces_all) made.options.clear();
      for (const auto& [key, value] : override.options) {
        if (is_ours(key)) continue;
        set_option(made.options, key, value);
      }
      if (!override.watermark || !made.watermark) continue;
      texts_.push_back(std::make_unique<SourceText>(*override.watermark, override.origin));
      STRAND_TRY(made.watermark, parse_expression(*texts_.back()));
    }
    if (!changed) return std::optional<std::string>();
    for (ast::Option& each : made.options) {
      if (plan::is_secret(each.key)) each.value = "****";
    }
    return std::optional(to_sql(ast::Statement{statement.place, std::move(made)}));
  }

  static void set_option(std::vector<ast::Option>& options, const std::string& key,
                         const std::optional<std::string>& value) {
    const auto at = std::ranges::find(options, key, &ast::Option::key);
    if (at != options.end() && value)
      at->value = *value;
    else if (at != options.end())
      options.erase(at);
    else if (value)
      options.push_back({key, *value, {}});
  }

  /// Without options of ours behind the table's name.
  static std::pair<bool, ast::Insert> without_ours(const ast::Insert& insert) {
    ast::Insert made = insert;
    bool changed = false;
    for (ast::Hint& hint : made.hints)
      changed |= std::erase_if(hint.options, [](const auto& each) { return is_ours(each.key); }) > 0;
    std::erase_if(made.hints, [](const ast::Hint& hint) { return hint.options.empty(); });
    return {changed, std::move(made)};
  }

  Result<std::optional<std::string>> change_set(const ast::Statement& statement,
                                                const ast::StatementSet& set) {
    const Token* first = token_at(statement.place.offset);
    bool changed = first != nullptr && first->upper == "BEGIN";
    ast::StatementSet made;
    for (const auto& [place, insert] : set.inserts) {
      auto [other, without] = without_ours(insert);
      changed |= other;
      made.inserts.emplace_back(place, std::move(without));
    }
    return changed ? std::optional(to_sql(ast::Statement{statement.place, std::move(made)})) : std::nullopt;
  }

  const Token* token_at(size_t offset) const {
    const auto at = std::ranges::lower_bound(tokens_, offset, {}, &Token::offset);
    return at == tokens_.end() ? nullptr : &*at;
  }

  /// Behind the `;` in front of what begins at `next`.
  size_t end_before(size_t next) const {
    auto at = std::ranges::lower_bound(tokens_, next, {}, &Token::offset);
    if (at != tokens_.begin()) --at;
    const bool ends = at->kind == Token::Kind::kSymbol && at->text == ";";
    return ends ? at->offset + 1 : source_.text().size();
  }

  void replace(size_t offset, size_t next, const std::string& text) {
    out_ += source_.text().substr(copied_, offset - copied_);
    copied_ = end_before(next);
    if (!text.empty())
      out_ += text + ";";
    else if (copied_ < source_.text().size() && source_.text()[copied_] == '\n')
      ++copied_;
  }

  const SqlInput& input_;
  const SourceText& source_;
  const std::vector<Token>& tokens_;
  std::vector<std::unique_ptr<SourceText>> texts_;  // watermarks of profiles
  std::string out_;
  size_t copied_ = 0;  // of the source
};

}  // namespace

Result<std::string> flink_script(const SqlInput& input) {
  const SourceText source(input.text, input.file);
  CatalogFiles files{.read = input.read_catalog};
  STRAND_TRY(const std::vector<ast::Statement> statements, parse_script(source, files));
  STRAND_TRY(const std::vector<Token> tokens, tokenize(source));
  return FlinkScript(input, source, tokens).write(statements);
}

}  // namespace strand::sql
