#include "expr/registry.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"

namespace strand::expr {

namespace {

using Registry = std::map<std::string_view, const Function*>;

const Registry& registry() {
  static const Registry all = [] {
    Registry functions;
    for (const auto family :
         {arithmetic_functions,   array_functions,       cast_functions,        clock_functions,
          comparison_functions,   conditional_functions, constructor_functions, encoding_functions,
          in_functions,           json_functions,        json_text_functions,   library_functions,
          logic_functions,        map_functions,         math_functions,        nested_functions,
          printf_functions,       random_functions,      regexp_functions,      rounding_functions,
          text_functions,         text_part_functions,   similar_functions,     text_search_functions,
          time_between_functions, time_field_functions,  time_text_functions,   window_bound_functions}) {
      for (const Function& function : family()) {
        const bool fresh = functions.emplace(function.name, &function).second;
        STRAND_CHECK(fresh);
      }
    }
    return functions;
  }();
  return all;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

/// The letter of parameter `i`, 0 if there can be none.
char parameter(std::string_view params, size_t i) {
  std::string letters;
  for (const char c : params) {
    if (c != '[' && c != '*') letters += c;
  }
  if (i < letters.size()) return letters[i];
  return params.ends_with('*') && !letters.empty() ? letters.back() : '\0';
}

size_t parameters_min(std::string_view params) {
  size_t n = 0;
  for (const char c : params) {
    if (c == '[' || c == '*') return n;
    ++n;
  }
  return n;
}

bool accepts(char letter, TypeKind kind) {
  switch (letter) {
    case 't':
      return kind == TypeKind::kString;
    case 'i':
    case 'l':
      return columnar::is_integer(kind);
    case 'd':
    case 'n':
      return columnar::is_numeric(kind);
    case 'b':
      return kind == TypeKind::kBoolean;
    case 's':
      return is_timestamp(kind);
    case 'm':
      return is_timestamp(kind) || kind == TypeKind::kDate || kind == TypeKind::kTime;
    default:
      return true;
  }
}

ExprPtr as_parameter(char letter, const ExprPtr& arg) {
  switch (letter) {
    case 't':
      return is_null_literal(*arg) ? coerce(arg, columnar::make_type(TypeKind::kString)) : arg;
    case 'i':
      return coerce(arg, columnar::make_type(TypeKind::kInt));
    case 'l':
      return coerce(arg, columnar::make_type(TypeKind::kBigInt));
    case 'd':
      return coerce(arg, columnar::make_type(TypeKind::kDouble));
    case 'b':
      return coerce(arg, columnar::make_type(TypeKind::kBoolean));
    case 'n':
      return is_null_literal(*arg) ? coerce(arg, columnar::make_type(TypeKind::kInt)) : arg;
    case 's':
    case 'm':
      return is_null_literal(*arg) ? coerce(arg, columnar::timestamp_type(3, false)) : arg;
    default:
      return arg;
  }
}

std::string argument_types(const Args& args) {
  std::string out = "(";
  for (size_t i = 0; i < args.size(); ++i) {
    out += (i > 0 ? ", " : "") + to_string(*columnar::with_nullable(args[i]->type, true));
  }
  return out + ")";
}

}  // namespace

Status does_not_take(std::string_view function, const Args& args, const std::string& hint) {
  Status status(ErrorCode::kTypeMismatch, std::string(function) + " does not take " + argument_types(args));
  return hint.empty() ? std::move(status).hint("CAST the arguments to types that fit")
                      : std::move(status).hint(hint);
}

const Function* find_function(std::string_view name) {
  const auto found = registry().find(name);
  return found == registry().end() ? nullptr : found->second;
}

bool is_constant(const Expr& e) {
  if (e.kind != Expr::Kind::kCall) return e.kind == Expr::Kind::kLiteral;
  const Function* function = find_function(e.function);
  if (function == nullptr || function->varies) return false;
  const Expr alone{e.kind, e.type, 0, {}, e.function, {}};  // the arguments are asked once, below
  return !reads_clock(alone) && !reads_watermark(alone) &&
         std::all_of(e.args.begin(), e.args.end(), [](const ExprPtr& arg) { return is_constant(*arg); });
}

Result<Value> constant_value(Node& node) {
  const EvalContext context;
  const Batch none(std::make_shared<columnar::Schema>(), {}, 1);
  return node.eval({&none, &context, 1, true, {}});
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const auto& [name, function] : registry()) names.emplace_back(name);
  return names;
}

Result<ExprPtr> resolve_call(const std::string& function, std::vector<ExprPtr> args) {
  const std::string name = upper(function);
  const Function* found = find_function(name);
  if (found == nullptr) {
    Status status(ErrorCode::kUnknownFunction, "there is no function " + name);
    if (name == "PARSE_JSON" || name == "TRY_PARSE_JSON") {
      return std::move(status).hint(
          "there is no type VARIANT here: keep the text, and read it with JSON_VALUE, JSON_QUERY and "
          "JSON_EXISTS");
    }
    if (const auto near = nearest(name, function_names()))
      return std::move(status).hint("did you mean " + *near + "?");
    return status;
  }
  const size_t most = found->params.ends_with('*') ? args.size() : [&] {
    size_t n = 0;
    while (parameter(found->params, n) != '\0') ++n;
    return n;
  }();
  const size_t least = parameters_min(found->params);
  if (args.size() < least || args.size() > most) {
    const std::string wanted = least == most ? std::to_string(least)
                               : found->params.ends_with('*')
                                   ? "at least " + std::to_string(least)
                                   : std::to_string(least) + " to " + std::to_string(most);
    return Status(ErrorCode::kUnknownFunction, name + " takes " + wanted +
                                                   (most == 1 && least == 1 ? " argument" : " arguments") +
                                                   ", found " + std::to_string(args.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const char letter = parameter(found->params, i);
    if (!is_null_literal(*args[i]) && !accepts(letter, args[i]->type->kind)) return does_not_take(name, args);
    args[i] = as_parameter(letter, args[i]);
  }
  if (found->resolve != nullptr) return found->resolve(*found, std::move(args));
  STRAND_TRY(TypePtr type, found->type(args));
  return call(std::string(found->name), std::move(args), std::move(type));
}

Result<NodePtr> build_node(const Expr& e, const Environment& environment) {
  switch (e.kind) {
    case Expr::Kind::kColumn:
      return make_column(e.column, e.type);
    case Expr::Kind::kLiteral:
      return make_literal(e.literal, e.type);
    case Expr::Kind::kCall:
      break;
  }
  const Function* function = find_function(e.function);
  if (function == nullptr || function->build == nullptr) {
    return Status(ErrorCode::kUnknownFunction, "there is no function " + e.function);
  }
  Nodes args;
  for (const ExprPtr& arg : e.args) {
    STRAND_TRY(NodePtr node, build_node(*arg, environment));
    args.push_back(std::move(node));
  }
  return function->build(e, std::move(args), environment);
}

}  // namespace strand::expr
