// JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_QUOTE, JSON_UNQUOTE: values to JSON text.
#include <algorithm>

#include "columnar/print.h"
#include "expr/built.h"
#include "expr/json_value.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

using columnar::ColumnBuilder;
using Values = std::span<const Value>;
using std::string_view;

void print_cell(const Column& column, int64_t row, std::string& out);

/// As java.time writes it: the decimals that there are, none where they are 0.
void print_moment(const Column& column, int64_t row, std::string& out) {
  std::string text;
  columnar::print_timestamp(column.values<int64_t>()[row], column.type()->precision, 'T', text);
  if (text.find('.') != std::string::npos) {
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
  }
  out += '"' + text + (column.type()->kind == TypeKind::kTimestampLtz ? "Z\"" : "\"");
}

void print_elements(const Column& column, int64_t row, std::string& out) {
  out.push_back('[');
  for (int32_t i = column.offsets()[row]; i < column.offsets()[row + 1]; ++i) {
    if (i > column.offsets()[row]) out.push_back(',');
    print_cell(*column.child(0), i, out);
  }
  out.push_back(']');
}

void print_entries(const Column& column, int64_t row, std::string& out) {
  out.push_back('{');
  for (int32_t i = column.offsets()[row]; i < column.offsets()[row + 1]; ++i) {
    if (i > column.offsets()[row]) out.push_back(',');
    print_json_text(columnar::value_to_string(*column.child(0), i), out);
    out.push_back(':');
    print_cell(*column.child(1), i, out);
  }
  out.push_back('}');
}

void print_fields(const Column& column, int64_t row, std::string& out) {
  out.push_back('{');
  for (size_t i = 0; i < column.type()->children.size(); ++i) {
    if (i > 0) out.push_back(',');
    print_json_text(column.type()->children[i].name, out);
    out.push_back(':');
    print_cell(*column.child(i), row, out);
  }
  out.push_back('}');
}

void print_base64(string_view bytes, std::string& out) {
  static constexpr string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out.push_back('"');
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k)
      out.push_back(i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63]);
  }
  out.push_back('"');
}

void print_cell(const Column& column, int64_t row, std::string& out) {
  if (column.type()->kind == TypeKind::kNull || column.is_null(row)) {
    out += "null";
    return;
  }
  switch (column.type()->kind) {
    case TypeKind::kBoolean:
      out += column.boolean(row) ? "true" : "false";
      break;
    case TypeKind::kString:
      print_json_text(column.string(row), out);
      break;
    case TypeKind::kBytes:
      print_base64(column.string(row), out);
      break;
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      print_moment(column, row, out);
      break;
    case TypeKind::kArray:
      print_elements(column, row, out);
      break;
    case TypeKind::kMap:
      print_entries(column, row, out);
      break;
    case TypeKind::kRow:
      print_fields(column, row, out);
      break;
    default:
      columnar::print_value(column, row, out);
  }
}

/// A value of JSON_OBJECT or JSON_ARRAY: JSON itself where the letter is `j`.
void print_member(const Value& value, char form, int64_t row, std::string& out) {
  if (form == 'j' && !value.is_null(row)) {
    out += value.column->string(value.row(row));
  } else {
    print_cell(*value.column, value.row(row), out);
  }
}

// Arguments: NULL or ABSENT, a letter for each value, then the values.

Result<bool> array_text(ColumnBuilder& out, Values v, int64_t row) {
  const bool absent = v[0].column->string(0) == "ABSENT";
  const string_view forms = v[1].column->string(0);
  std::string text = "[";
  for (size_t i = 2; i < v.size(); ++i) {
    if (absent && v[i].is_null(row)) continue;
    if (text.size() > 1) text.push_back(',');
    print_member(v[i], forms[i - 2], row, text);
  }
  out.append_string(text + "]");
  return true;
}

Result<bool> object_text(ColumnBuilder& out, Values v, int64_t row) {
  const bool absent = v[0].column->string(0) == "ABSENT";
  const string_view forms = v[1].column->string(0);
  std::string text = "{";
  for (size_t i = 2; i < v.size(); i += 2) {
    if (absent && v[i + 1].is_null(row)) continue;
    if (text.size() > 1) text.push_back(',');
    print_json_text(v[i].column->string(v[i].row(row)), text);
    text.push_back(':');
    print_member(v[i + 1], forms[i - 1], row, text);
  }
  out.append_string(text + "}");
  return true;
}

/// The elements of an array; none of NULL.
Result<bool> array_of_text(ColumnBuilder& out, Values v, int64_t row) {
  std::string text = "[";
  if (!v[0].is_null(row)) {
    const Elements elements(v[0], row);
    for (int64_t i = elements.begin; i < elements.end; ++i) {
      if (text.size() > 1) text.push_back(',');
      print_cell(elements.child, i, text);
    }
  }
  out.append_string(text + "]");
  return true;
}

/// The pairs of an array, the last of each key in the place of its first.
Result<bool> object_of_text(ColumnBuilder& out, Values v, int64_t row) {
  const bool absent = v[1].column->string(0) == "ABSENT";
  std::vector<std::pair<string_view, int64_t>> members;
  if (!v[0].is_null(row)) {
    const Elements pairs(v[0], row);
    for (int64_t i = pairs.begin; i < pairs.end; ++i) {
      const string_view key = pairs.child.child(0)->string(i);
      const auto same = std::ranges::find(members, key, &std::pair<string_view, int64_t>::first);
      if (same != members.end()) {
        same->second = i;
      } else {
        members.emplace_back(key, i);
      }
    }
  }
  std::string text = "{";
  for (const auto& [key, i] : members) {
    const Column& values = *Elements(v[0], row).child.child(1);
    if (absent && values.is_null(i)) continue;
    if (text.size() > 1) text.push_back(',');
    print_json_text(key, text);
    text.push_back(':');
    print_cell(values, i, text);
  }
  out.append_string(text + "}");
  return true;
}

template <Result<bool> (*f)(ColumnBuilder&, Values, int64_t)>
Result<NodePtr> build_loose(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.strict = false}, f);
}

Result<NodePtr> build_string(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {},
                         [](ColumnBuilder& out, Values v, int64_t row) -> Result<bool> {
                           std::string text;
                           print_cell(*v[0].column, v[0].row(row), text);
                           out.append_string(text);
                           return true;
                         });
}

Result<NodePtr> build_quote(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view>(e.type, std::move(args),
                                                 [](TextWriter& out, string_view text) {
                                                   std::string quoted;
                                                   print_json_text(text, quoted);
                                                   out.append(quoted);
                                                   return true;
                                                 });
}

/// Text that is not a JSON text in quotes stays as it is.
Result<NodePtr> build_unquote(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view>(
      e.type, std::move(args), [](TextWriter& out, string_view text) {
        const bool quoted = text.size() > 1 && text.starts_with('"') && text.ends_with('"');
        const auto json = quoted ? parse_json(text) : std::nullopt;
        out.append(json ? string_view(json->text) : text);
        return true;
      });
}

/// JSON('…') inside JSON_OBJECT and JSON_ARRAY: text that is JSON already.
Result<NodePtr> build_json(const Expr& e, Nodes args, const Environment&) {
  return make_failing_call<std::string, string_view>(e.type, std::move(args), "JSON", ErrorCode::kBadValue,
                                                     "the text is not JSON",
                                                     [](TextWriter& out, string_view text) {
                                                       const auto json = parse_json(text);
                                                       if (!json) return Row::kFailed;
                                                       std::string compact;
                                                       print_json(*json, compact);
                                                       out.append(compact);
                                                       return Row::kValue;
                                                     });
}

bool is_json_call(const Expr& e) {
  return e.kind == Expr::Kind::kCall &&
         (e.function == "JSON" || e.function == "JSON_OBJECT" || e.function == "JSON_ARRAY");
}

bool has_json_form(const columnar::Type& type) {
  if (type.kind == TypeKind::kDate || type.kind == TypeKind::kTime || is_interval(type.kind)) return false;
  for (const columnar::Field& field : type.children) {
    if (!has_json_form(*field.type)) return false;
  }
  return true;
}

Status no_json_form(std::string_view function, const Type& type) {
  return Status(ErrorCode::kTypeMismatch, std::string(function) + " does not take " + to_string(type))
      .hint("CAST it to STRING");
}

/// args[0]: the behaviour; then, in an object, keys and values, else values.
Result<ExprPtr> resolve_construct(const Function& f, Args args) {
  const TypePtr text = columnar::make_type(TypeKind::kString, false);
  const bool object = f.name == "JSON_OBJECT";
  std::string forms;
  for (size_t i = 1; i < args.size(); ++i) {
    const bool key = object && i % 2 == 1;
    if (key && args[i]->type->kind != TypeKind::kString)
      return does_not_take("a key of JSON_OBJECT", {args[i]});
    if (!has_json_form(*args[i]->type)) return no_json_form(f.name, *args[i]->type);
    forms.push_back(!key && is_json_call(*args[i]) ? 'j' : 'v');
    if (is_null_literal(*args[i]) && args[i]->type->kind == TypeKind::kNull) {
      args[i] = literal(std::monostate{}, columnar::make_type(TypeKind::kString));
    }
  }
  args.insert(args.begin() + 1, literal(std::move(forms), text));
  return call(std::string(f.name), std::move(args), text);
}

/// What JSON_ARRAYAGG and JSON_OBJECTAGG make of the values that were collected.
Result<ExprPtr> resolve_collected(const Function& f, Args args) {
  if (!columnar::is_list(args[0]->type->kind)) return does_not_take(f.name, args);
  const TypePtr& element = args[0]->type->children[0].type;
  if (f.name == "JSON_OBJECT_OF" && element->children.size() != 2) return does_not_take(f.name, args);
  if (!has_json_form(*element)) return no_json_form(f.name, *element);
  if (f.name == "JSON_OBJECT_OF" && element->children[0].type->kind != TypeKind::kString)
    return does_not_take("a key of JSON_OBJECTAGG", args);
  return call(std::string(f.name), std::move(args),
              columnar::text_type(TypeKind::kString, 2000, false, false));
}

Result<ExprPtr> resolve_string(const Function& f, Args args) {
  if (!has_json_form(*args[0]->type)) return no_json_form(f.name, *args[0]->type);
  const TypePtr type = columnar::make_type(TypeKind::kString, any_nullable(args));
  return call("JSON_STRING", std::move(args), type);
}

constexpr auto kText = returns<TypeKind::kString>;

constexpr Function kFunctions[] = {
    {.name = "JSON_OBJECT",
     .params = "t[a*",
     .build = build_loose<object_text>,
     .resolve = resolve_construct},
    {.name = "JSON_ARRAY", .params = "t[a*", .build = build_loose<array_text>, .resolve = resolve_construct},
    {.name = "JSON_ARRAY_OF",
     .params = "a",
     .build = build_loose<array_of_text>,
     .resolve = resolve_collected},
    {.name = "JSON_OBJECT_OF",
     .params = "at",
     .build = build_loose<object_of_text>,
     .resolve = resolve_collected},
    {.name = "JSON_STRING", .params = "a", .build = build_string, .resolve = resolve_string},
    {.name = "JSON", .params = "t", .type = kText, .build = build_json},
    {.name = "JSON_QUOTE", .params = "t", .type = kText, .build = build_quote},
    {.name = "JSON_UNQUOTE", .params = "t", .type = kText, .build = build_unquote},
};

}  // namespace

std::span<const Function> json_text_functions() { return kFunctions; }

}  // namespace strand::expr
