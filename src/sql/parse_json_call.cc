// SQL/JSON calls, which have words between and behind their arguments. The words become texts among the
// arguments.
#include "sql/parser_core.h"

namespace strand::sql {

/// What a call gives where a path finds nothing, or cannot be followed.
struct Parser::JsonBehavior {
  std::string word = "NULL";
  ast::ExprPtr otherwise;  // DEFAULT: this
};

ast::ExprPtr Parser::make_null(columnar::TypePtr type, const Place& place) const {
  auto value = std::make_shared<ast::Expr>();
  value->place = place;
  auto cast = std::make_shared<ast::Expr>();
  cast->kind = ast::Expr::Kind::kCast;
  cast->place = place;
  cast->text = "CAST";
  cast->type = std::move(type);
  cast->args.push_back(std::move(value));
  return cast;
}

Result<ast::ExprPtr> Parser::json_call(const std::string& function, const Place& place, bool& found) {
  found = true;
  if (function == "JSON_VALUE" || function == "JSON_QUERY" || function == "JSON_EXISTS") {
    return json_reader(function, place);
  }
  if (function == "JSON_OBJECT" || function == "JSON_ARRAY") return json_constructor(function, place);
  if (function == "JSON_OBJECTAGG" || function == "JSON_ARRAYAGG") return json_aggregate(function, place);
  found = false;
  return ast::ExprPtr();
}

/// `… ON EMPTY` or `… ON ERROR`, if one stands here.
Result<bool> Parser::json_behavior(JsonBehavior& empty, JsonBehavior& error) {
  JsonBehavior behavior;
  if (take_words({"EMPTY", "ARRAY"})) {
    behavior.word = "EMPTY ARRAY";
  } else if (take_words({"EMPTY", "OBJECT"})) {
    behavior.word = "EMPTY OBJECT";
  } else if (take_word("DEFAULT")) {
    behavior.word = "DEFAULT";
    STRAND_TRY(behavior.otherwise, additive());
  } else {
    const bool known =
        is_word("NULL") || is_word("ERROR") || is_word("TRUE") || is_word("FALSE") || is_word("UNKNOWN");
    if (!known || !is_word("ON", 1)) return false;
    behavior.word = take().upper;
  }
  STRAND_OK(expect_word("ON"));
  const bool on_empty = take_word("EMPTY");
  if (!on_empty) STRAND_OK(expect_word("ERROR"));
  (on_empty ? empty : error) = std::move(behavior);
  return true;
}

/// WITHOUT | WITH [CONDITIONAL | UNCONDITIONAL], [ARRAY] WRAPPER.
Status Parser::json_wrapper(std::string& wrapper) {
  wrapper = "WITHOUT";
  if (take_word("WITH")) {
    wrapper = take_word("CONDITIONAL") ? "CONDITIONAL" : "UNCONDITIONAL";
    take_word("UNCONDITIONAL");
  } else if (!take_word("WITHOUT")) {
    return Status();
  }
  take_word("ARRAY");
  return expect_word("WRAPPER");
}

Result<ast::ExprPtr> Parser::json_reader(const std::string& function, const Place& place) {
  STRAND_TRY(ast::ExprPtr text, expression());
  STRAND_OK(expect_symbol(",", "before the path"));
  STRAND_TRY(ast::ExprPtr path, expression());
  std::vector<ast::ExprPtr> args = {std::move(text), std::move(path)};
  columnar::TypePtr returning = columnar::make_type(columnar::TypeKind::kString);
  if (take_word("RETURNING")) {
    STRAND_TRY(returning, type_without_null());
  }
  std::string wrapper;
  STRAND_OK(json_wrapper(wrapper));
  JsonBehavior empty;
  JsonBehavior error;
  if (function == "JSON_EXISTS") error.word = "FALSE";
  for (bool more = true; more;) {
    STRAND_TRY(more, json_behavior(empty, error));
  }
  STRAND_OK(expect_symbol(")", "behind " + function));
  const auto otherwise = [&](const JsonBehavior& behavior) {
    return behavior.otherwise ? behavior.otherwise : make_null(returning, place);
  };
  if (function != "JSON_EXISTS") args.push_back(make_null(returning, place));
  if (function == "JSON_QUERY") args.push_back(make_string(wrapper, place));
  if (function != "JSON_EXISTS") args.push_back(make_string(empty.word, place));
  if (function == "JSON_VALUE") args.push_back(otherwise(empty));
  args.push_back(make_string(error.word, place));
  if (function == "JSON_VALUE") args.push_back(otherwise(error));
  return make_call(function, std::move(args), place);
}

/// JSON_OBJECT([KEY] k VALUE v, …  [NULL | ABSENT ON NULL]), JSON_ARRAY(v, … [NULL | ABSENT ON NULL]).
Result<ast::ExprPtr> Parser::json_constructor(const std::string& function, const Place& place) {
  const bool object = function == "JSON_OBJECT";
  std::vector<ast::ExprPtr> args;
  std::string nulls = object ? "NULL" : "ABSENT";
  const auto at_behavior = [&] { return (is_word("NULL") || is_word("ABSENT")) && is_word("ON", 1); };
  while (!is_symbol(")") && !at_behavior()) {
    if (!args.empty()) STRAND_OK(expect_symbol(",", "or ')'"));
    if (object && is_word("KEY") && !is_symbol(",", 1)) take();
    STRAND_TRY(ast::ExprPtr next, expression());
    args.push_back(std::move(next));
    if (!object) continue;
    if (!take_symbol(":")) STRAND_OK(expect_word("VALUE"));
    STRAND_TRY(ast::ExprPtr value, expression());
    args.push_back(std::move(value));
  }
  if (at_behavior()) {
    nulls = take().upper;
    take();
    STRAND_OK(expect_word("NULL"));
  }
  STRAND_OK(expect_symbol(")", "behind " + function));
  args.insert(args.begin(), make_string(nulls, place));
  return make_call(function, std::move(args), place);
}

/// JSON_OBJECTAGG([KEY] k VALUE v [NULL | ABSENT ON NULL]), JSON_ARRAYAGG(v [NULL | ABSENT ON NULL]). The
/// last argument of the call says which.
Result<ast::ExprPtr> Parser::json_aggregate(const std::string& function, const Place& place) {
  const bool object = function == "JSON_OBJECTAGG";
  auto call = std::make_shared<ast::Expr>();
  call->kind = ast::Expr::Kind::kCall;
  call->place = place;
  call->text = function;
  call->distinct = take_word("DISTINCT");
  if (object && is_word("KEY")) take();
  STRAND_TRY(ast::ExprPtr first, expression());
  call->args.push_back(std::move(first));
  if (object) {
    if (!take_symbol(":")) STRAND_OK(expect_word("VALUE"));
    STRAND_TRY(ast::ExprPtr value, expression());
    call->args.push_back(std::move(value));
  }
  std::string nulls = object ? "NULL" : "ABSENT";
  if ((is_word("NULL") || is_word("ABSENT")) && is_word("ON", 1)) {
    nulls = take().upper;
    take();
    STRAND_OK(expect_word("NULL"));
  }
  STRAND_OK(expect_symbol(")", "behind " + function));
  call->args.push_back(make_string(nulls, place));
  STRAND_OK(call_tail(*call));
  return ast::ExprPtr(call);
}

}  // namespace strand::sql
