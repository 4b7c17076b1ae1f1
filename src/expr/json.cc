// JSON_EXISTS, JSON_VALUE, JSON_QUERY, IS JSON.
//
// A path without results is "empty" in lax mode and an error in strict mode; text that is no JSON is nothing
// in lax mode and an error in strict mode. Source: Flink's documentation of the functions, and its recorded
// answers.
#include <charconv>
#include <limits>

#include "expr/built.h"
#include "expr/json_path.h"
#include "expr/json_value.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

using columnar::ColumnBuilder;
using Values = std::span<const Value>;
using std::string_view;

/// What a path finds in a text.
struct Found {
  std::string error;  // why the path cannot be followed; else there may be a value
  std::optional<JsonValue> value;
  bool lax = false;
};

Found find(string_view text, string_view path_text) {
  Found found;
  const auto path = JsonPath::parse(path_text);
  if (!path) return {"'" + std::string(path_text) + "' is not a JSON path", {}, false};
  found.lax = path->lax();
  const auto root = parse_json(text);
  if (!root) {
    if (!found.lax) found.error = "the text is not JSON";
    return found;
  }
  found.value = path->read(*root);
  if (!found.value && !found.lax) found.error = "nothing lies at the path " + std::string(path_text);
  return found;
}

string_view text_at(const Value& value, int64_t row) { return value.column->string(value.row(row)); }

Status json_error(const std::string& what, const char* function, Values v, int64_t row) {
  return row_error(ErrorCode::kBadValue, what, function, v.first(2), row);
}

// JSON_EXISTS(text, path, on error): TRUE, FALSE, UNKNOWN or ERROR.
Result<bool> exists(ColumnBuilder& out, Values v, int64_t row) {
  const Found found = find(text_at(v[0], row), text_at(v[1], row));
  if (found.error.empty()) {
    out.append_boolean(found.value && found.value->kind != JsonValue::Kind::kNull);
    return true;
  }
  const string_view behavior = text_at(v[2], row);
  if (behavior == "ERROR") return json_error(found.error, "JSON_EXISTS", v, row);
  if (behavior == "UNKNOWN") return false;
  out.append_boolean(behavior == "TRUE");
  return true;
}

/// A scalar in the type of the result; false where it is of another kind.
bool append_scalar(ColumnBuilder& out, const JsonValue& value) {
  const bool boolean = value.kind == JsonValue::Kind::kTrue || value.kind == JsonValue::Kind::kFalse;
  const bool number = value.kind == JsonValue::Kind::kNumber;
  switch (out.type()->kind) {
    case TypeKind::kBoolean:
      if (boolean) out.append_boolean(value.kind == JsonValue::Kind::kTrue);
      return boolean;
    case TypeKind::kInt: {
      int32_t parsed = 0;
      const char* end = value.text.data() + value.text.size();
      const auto [at, error] = std::from_chars(value.text.data(), end, parsed);
      const bool fits = number && error == std::errc() && at == end;
      if (fits) out.append<int32_t>(parsed);
      return fits;
    }
    case TypeKind::kDouble:
      if (number) out.append<double>(std::strtod(value.text.c_str(), nullptr));
      return number;
    default:
      if (boolean) {
        out.append_string(value.kind == JsonValue::Kind::kTrue ? "true" : "false");
      } else {
        out.append_string(number ? json_number_text(value.text) : value.text);
      }
      return true;
  }
}

/// The default value (argument `at`) in the type of the result; NULL as it is.
bool append_default(ColumnBuilder& out, const Value& given, int64_t row) {
  if (given.is_null(row)) return false;
  out.append_from(*given.column, given.row(row));
  return true;
}

// JSON_VALUE(text, path, type, on empty, default, on error, default).
Result<bool> value_of(ColumnBuilder& out, Values v, int64_t row) {
  if (v[0].is_null(row) || v[1].is_null(row)) return false;
  const Found found = find(text_at(v[0], row), text_at(v[1], row));
  std::string error = found.error;
  if (error.empty()) {
    const bool null = !found.value || found.value->kind == JsonValue::Kind::kNull;
    const bool scalar = !null && found.value->is_scalar();
    if (scalar) {
      if (append_scalar(out, *found.value)) return true;
      return json_error("the value is not of the type behind RETURNING", "JSON_VALUE", v, row);
    }
    if (found.lax) {
      const string_view on_empty = text_at(v[3], row);
      if (on_empty == "ERROR") return json_error("there is no value", "JSON_VALUE", v, row);
      return on_empty == "DEFAULT" && append_default(out, v[4], row);
    }
    if (null) return false;
    error = "a scalar is expected at the path";
  }
  const string_view on_error = text_at(v[5], row);
  if (on_error == "ERROR") return json_error(error, "JSON_VALUE", v, row);
  return on_error == "DEFAULT" && append_default(out, v[6], row);
}

bool append_json(ColumnBuilder& out, const JsonValue& value) {
  std::string text;
  if (out.type()->kind != TypeKind::kArray) {
    print_json(value, text);
    out.append_string(text);
    return true;
  }
  if (value.kind != JsonValue::Kind::kArray) return false;
  for (const JsonValue& item : value.items) {
    text.clear();
    if (item.kind == JsonValue::Kind::kNull) {
      out.child(0).append_null();
      continue;
    }
    if (item.kind == JsonValue::Kind::kString) {
      text = item.text;
    } else {
      print_json(item, text);
    }
    out.child(0).append_string(text);
  }
  out.close_nested();
  return true;
}

/// NULL, EMPTY ARRAY, EMPTY OBJECT or ERROR.
Result<bool> append_instead(ColumnBuilder& out, string_view behavior, const std::string& error, Values v,
                            int64_t row) {
  if (behavior == "ERROR") return json_error(error, "JSON_QUERY", v, row);
  JsonValue empty;
  empty.kind = behavior == "EMPTY ARRAY" ? JsonValue::Kind::kArray : JsonValue::Kind::kObject;
  return behavior != "NULL" && append_json(out, empty);
}

// JSON_QUERY(text, path, type, wrapper, on empty, on error).
Result<bool> query(ColumnBuilder& out, Values v, int64_t row) {
  if (v[0].is_null(row) || v[1].is_null(row)) return false;
  Found found = find(text_at(v[0], row), text_at(v[1], row));
  std::string error = found.error;
  if (error.empty()) {
    const string_view wrapper = text_at(v[3], row);
    const bool wrap = wrapper == "UNCONDITIONAL" || (wrapper == "CONDITIONAL" && found.value &&
                                                     found.value->kind != JsonValue::Kind::kArray);
    if (found.value && wrap) {
      JsonValue wrapped;
      wrapped.kind = JsonValue::Kind::kArray;
      wrapped.items.push_back(std::move(*found.value));
      found.value = std::move(wrapped);
    }
    const bool scalar = !found.value || found.value->is_scalar();
    if (!scalar) {
      if (append_json(out, *found.value)) return true;
      error = "an array is expected at the path";
    } else if (found.lax) {
      return append_instead(out, text_at(v[4], row), "there is no array or object", v, row);
    } else {
      error = "an array or object is expected at the path";
    }
  }
  return append_instead(out, text_at(v[5], row), error, v, row);
}

template <Result<bool> (*f)(ColumnBuilder&, Values, int64_t), bool kStrict>
Result<NodePtr> build(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.strict = kStrict, .fails = true}, f);
}

/// FALSE, never NULL, where there is no text.
template <bool kNot>
Result<NodePtr> build_is_json(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.strict = false},
                         [](ColumnBuilder& out, Values v, int64_t row) -> Result<bool> {
                           const auto json =
                               v[0].is_null(row) ? std::nullopt : parse_json(text_at(v[0], row));
                           const string_view kind = text_at(v[1], row);
                           bool is = json.has_value();
                           if (is && kind == "SCALAR") is = json->is_scalar();
                           if (is && kind == "ARRAY") is = json->kind == JsonValue::Kind::kArray;
                           if (is && kind == "OBJECT") is = json->kind == JsonValue::Kind::kObject;
                           out.append_boolean(is != kNot);
                           return true;
                         });
}

ExprPtr text_literal(const char* text) {
  return literal(std::string(text), columnar::make_type(TypeKind::kString, false));
}

Result<ExprPtr> resolve_exists(const Function& f, Args args) {
  if (args.size() == 2) args.push_back(text_literal("FALSE"));
  return call(std::string(f.name), std::move(args), columnar::make_type(TypeKind::kBoolean));
}

Result<ExprPtr> resolve_value(const Function& f, Args args) {
  const TypePtr text = columnar::make_type(TypeKind::kString);
  if (args.size() == 2) {
    const ExprPtr none = literal(std::monostate{}, text);
    args.insert(args.end(), {none, text_literal("NULL"), none, text_literal("NULL"), none});
  }
  if (args.size() != 7) return does_not_take(f.name, args);
  const TypePtr type = columnar::with_nullable(args[2]->type, true);
  const bool known = type->kind == TypeKind::kString || type->kind == TypeKind::kBoolean ||
                     type->kind == TypeKind::kInt || type->kind == TypeKind::kDouble;
  if (!known) {
    return Status(ErrorCode::kTypeMismatch, "JSON_VALUE cannot return " + to_string(*type))
        .hint("RETURNING STRING, BOOLEAN, INTEGER or DOUBLE, and a CAST around it");
  }
  for (const size_t at : {size_t{4}, size_t{6}}) {
    if (is_null_literal(*args[at])) args[at] = literal(std::monostate{}, type);
    STRAND_TRY(args[at], resolve_cast(args[at], type));
  }
  return call(std::string(f.name), std::move(args), type);
}

Result<ExprPtr> resolve_query(const Function& f, Args args) {
  if (args.size() == 2) {
    args.insert(args.end(), {literal(std::monostate{}, columnar::make_type(TypeKind::kString)),
                             text_literal("WITHOUT"), text_literal("NULL"), text_literal("NULL")});
  }
  if (args.size() != 6) return does_not_take(f.name, args);
  const TypePtr type = columnar::with_nullable(args[2]->type, true);
  const bool texts = type->kind == TypeKind::kArray && type->children[0].type->kind == TypeKind::kString;
  if (type->kind != TypeKind::kString && !texts) {
    return Status(ErrorCode::kTypeMismatch, "JSON_QUERY cannot return " + to_string(*type))
        .hint("RETURNING STRING or ARRAY<STRING>");
  }
  return call(std::string(f.name), std::move(args), type);
}

constexpr auto kTruth = returns_not_null<TypeKind::kBoolean>;

// The words behind the arguments come as texts (parse_json_call.cc).
constexpr Function kFunctions[] = {
    {.name = "JSON_EXISTS", .params = "tt[t", .build = build<exists, true>, .resolve = resolve_exists},
    {.name = "JSON_VALUE", .params = "tt[a*", .build = build<value_of, false>, .resolve = resolve_value},
    {.name = "JSON_QUERY", .params = "tt[a*", .build = build<query, false>, .resolve = resolve_query},
    {.name = "IS JSON", .params = "tt", .type = kTruth, .build = build_is_json<false>},
    {.name = "IS NOT JSON", .params = "tt", .type = kTruth, .build = build_is_json<true>},
};

}  // namespace

std::span<const Function> json_functions() { return kFunctions; }

}  // namespace strand::expr
