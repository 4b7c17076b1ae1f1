// CREATE, ALTER and DROP FUNCTION, and calls of own functions. Functions are names, which the parser alone
// looks up: a view keeps those that were there when it was written.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "expr/catalogue.h"
#include "sql/aggregate_call.h"
#include "sql/full_name.h"
#include "sql/parser_core.h"

namespace strand::sql {

namespace {

constexpr std::string_view kSystem = "%.";  // no database has this name

std::string capitals(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

/// Whether a call of this name means something without an own function.
bool is_taken(const std::string& name) {
  static constexpr std::array<std::string_view, 14> kForms = {
      "EXISTS", "ROW_NUMBER", "RANK",    "DENSE_RANK", "NTILE",  "LAG",     "LEAD",
      "TUMBLE", "HOP",        "SESSION", "CUMULATE",   "UNNEST", "CEILING", "DESCRIPTOR"};
  const std::vector<std::string> functions = expr::function_names();
  const auto catalogue = expr::catalogue();
  return std::ranges::find(kForms, name) != kForms.end() || is_aggregate_name(name) ||
         std::ranges::find(functions, name) != functions.end() ||
         std::ranges::find(catalogue, name, &expr::CatalogueEntry::name) != catalogue.end();
}

std::string life_hint(const std::string& word, bool temporary) {
  return "write " + word + (temporary ? " FUNCTION" : " TEMPORARY FUNCTION");
}

/// A TEMPORARY statement about a function that is not temporary, or the other way round.
Status of_another_life(const std::string& name, const Place& place, bool temporary) {
  return error_at(ErrorCode::kUnknownFunction, place,
                  "function '" + name + "' is " + (temporary ? "not temporary" : "temporary"));
}

}  // namespace

/// At [TEMPORARY [SYSTEM]] FUNCTION.
bool Parser::at_function() const {
  const size_t at = is_word("TEMPORARY") ? (is_word("SYSTEM", 1) ? 2 : 1) : 0;
  return is_word("FUNCTION", at);
}

/// [catalog.][database.]name; of a system function the name alone.
Result<Parser::FunctionName> Parser::function_name(bool system) {
  FunctionName parsed{.key = {}, .written = {}, .place = here()};
  if (system) {
    STRAND_TRY(const std::string name, identifier("the function's name"));
    parsed.written = capitals(name);
    parsed.key = std::string(kSystem) + parsed.written;
  } else {
    STRAND_TRY(const std::string name, table_name("the function's name"));
    const size_t dot = name.rfind('.') + 1;  // npos + 1 is 0
    parsed.written = name.substr(0, dot) + capitals(name.substr(dot));
    parsed.key = parsed.written;
  }
  const std::string alone = parsed.written.substr(parsed.written.rfind('.') + 1);
  if (!is_taken(alone)) return parsed;
  return error_at(ErrorCode::kDuplicateName, parsed.place, alone + " is a function already")
      .hint("give it another name: those of Flink keep theirs");
}

/// AS 'entry' [LANGUAGE C | CPP] USING LIBRARY 'path'.
Status Parser::library_of(ast::OwnFunction& function) {
  STRAND_OK(expect_word("AS"));
  Result<std::string> entry = string_literal("the function's name in the library, in single quotes");
  if (!entry.ok()) return std::move(entry).status();
  function.entry = *std::move(entry);
  static constexpr const char* kHint =
      "functions are made in C or C++: AS 'name' LANGUAGE CPP USING LIBRARY 'path.so' "
      "(docs/sql/own_functions.md)";
  if (take_word("LANGUAGE") && !take_word("C") && !take_word("CPP"))
    return unsupported(here(), "there are no functions of language " + peek().text, kHint);
  if (!is_word("USING"))
    return unsupported(here(), "a function of a class is not supported: it needs a library", kHint);
  take();
  if (!take_word("LIBRARY")) return unsupported(here(), "a function lies in a LIBRARY", kHint);
  Result<std::string> path = string_literal("the library's path in single quotes");
  if (!path.ok()) return std::move(path).status();
  function.path = *std::move(path);
  return Status();
}

Result<ast::Statement> Parser::create_function(const Place& place, bool alter) {
  ast::CreateFunction parsed{
      .words = alter ? "ALTER " : "CREATE ", .name = {}, .entry_place = {}, .function = {}};
  const bool temporary = take_word("TEMPORARY");
  const bool system = temporary && take_word("SYSTEM");
  parsed.words += std::string(temporary ? "TEMPORARY " : "") + (system ? "SYSTEM " : "") + "FUNCTION ";
  STRAND_OK(expect_word("FUNCTION"));
  bool forgiven = false;
  if (alter) {
    forgiven = take_words({"IF", "EXISTS"});
  } else {
    STRAND_TRY(forgiven, if_not_exists());
  }
  if (forgiven) parsed.words += alter ? "IF EXISTS " : "IF NOT EXISTS ";
  STRAND_TRY(const FunctionName name, function_name(system));
  parsed.name = name.written;
  parsed.entry_place = here();
  STRAND_OK(library_of(parsed.function));
  parsed.function.temporary = temporary;
  parsed.function.name = name.written.substr(name.written.rfind('.') + 1);
  const auto there = functions_.find(name.key);
  const bool known = there != functions_.end();
  if (known && alter && there->second->temporary != temporary)
    return of_another_life(name.written, name.place, temporary).hint(life_hint("ALTER", temporary));
  if (known == alter) {
    functions_[name.key] = std::make_shared<const ast::OwnFunction>(parsed.function);
  } else if (!forgiven && known) {
    return error_at(ErrorCode::kDuplicateName, name.place,
                    "there is a function '" + name.written + "' already")
        .hint("write IF NOT EXISTS, or ALTER FUNCTION");
  } else if (!forgiven) {
    return error_at(ErrorCode::kUnknownFunction, name.place, "there is no function '" + name.written + "'")
        .hint("CREATE FUNCTION makes one");
  }
  return ast::Statement{place, std::move(parsed)};
}

Result<ast::Statement> Parser::drop_function(const Place& place) {
  ast::DropFunction parsed{.words = "DROP ", .name = {}};
  const bool temporary = take_word("TEMPORARY");
  const bool system = temporary && take_word("SYSTEM");
  STRAND_OK(expect_word("FUNCTION"));
  const bool if_exists = take_words({"IF", "EXISTS"});
  parsed.words += std::string(temporary ? "TEMPORARY " : "") + (system ? "SYSTEM " : "") + "FUNCTION " +
                  (if_exists ? "IF EXISTS " : "");
  STRAND_TRY(const FunctionName name, function_name(system));
  parsed.name = name.written;
  const auto there = functions_.find(name.key);
  if (there != functions_.end() && there->second->temporary != temporary) {
    if (temporary && if_exists) return ast::Statement{place, std::move(parsed)};
    return of_another_life(name.written, name.place, temporary).hint(life_hint("DROP", temporary));
  }
  if (functions_.erase(name.key) == 1 || if_exists) return ast::Statement{place, std::move(parsed)};
  const auto near = nearest(parsed.name, own_function_names());
  return error_at(ErrorCode::kUnknownFunction, name.place, "there is no function '" + name.written + "'")
      .hint(near ? "did you mean '" + *near + "'?" : "SHOW USER FUNCTIONS lists those that there are");
}

const ast::OwnFunction* Parser::own_function(const std::vector<std::string>& parts,
                                             std::string& written) const {
  const std::string name = capitals(parts.back());
  Home home = home_;
  if (parts.size() == 2) home.database = parts[0];
  if (parts.size() == 3) home = {parts[0], parts[1]};
  if (parts.size() == 1) {
    const auto system = functions_.find(std::string(kSystem) + name);
    written = name;
    if (system != functions_.end()) return system->second.get();
  }
  written = full_name(home, name);
  const auto found = functions_.find(written);
  return found == functions_.end() ? nullptr : found->second.get();
}

/// DROP DATABASE and DROP CATALOG: a name that would be there again with the next database of this name is
/// none. RESTRICT refuses while there are some.
Status Parser::drop_functions(const ast::DropDatabase& dropped) {
  std::vector<std::string> inside;
  for (const auto& [key, function] : functions_) {
    if (is_inside(key, dropped.prefix, dropped.catalog ? 2 : 1)) inside.push_back(key);
  }
  if (!inside.empty() && !dropped.cascade) {
    return error_at(ErrorCode::kDuplicateName, dropped.name_place,
                    "database '" + dropped.name + "' is not empty: it holds function '" + inside[0] + "'")
        .hint("write CASCADE behind it");
  }
  for (const std::string& key : inside) functions_.erase(key);
  return Status();
}

/// Those that a call can name alone, in small letters.
std::vector<std::string> Parser::own_function_names() const {
  std::vector<std::string> names;
  const std::string prefix = full_name(home_, "");
  for (const auto& [key, function] : functions_) {
    const bool here = key.starts_with(prefix) && key.find('.', prefix.size()) == std::string::npos;
    if (!here && !key.starts_with(kSystem)) continue;
    std::string name = function->name;
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

/// The arguments of a call whose name was read, if it is one of an own function.
Result<ast::ExprPtr> Parser::own_call(const std::vector<std::string>& parts, const Place& place,
                                      bool& found) {
  auto expr = std::make_shared<ast::Expr>();
  const ast::OwnFunction* function = own_function(parts, expr->text);
  found = function != nullptr;
  if (!found) return ast::ExprPtr();
  const Deeper deeper(*this);
  STRAND_OK(check_depth());
  take();
  expr->kind = ast::Expr::Kind::kCall;
  expr->place = place;
  expr->own = std::make_shared<const ast::OwnFunction>(*function);
  if (!is_symbol(")")) {
    STRAND_TRY(expr->args, expression_list());
  }
  STRAND_OK(expect_symbol(")", "or ',' behind an argument of " + function->name));
  STRAND_OK(call_tail(*expr));
  return ast::ExprPtr(expr);
}

}  // namespace strand::sql
