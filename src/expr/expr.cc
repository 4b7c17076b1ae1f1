#include "expr/expr.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "expr/library.h"
#include "expr/node.h"
#include "expr/types.h"

namespace strand::expr {

ExprPtr column(size_t index, TypePtr type) {
  return std::make_shared<const Expr>(Expr{Expr::Kind::kColumn, std::move(type), index, {}, {}, {}});
}

ExprPtr literal(Scalar value, TypePtr type) {
  return std::make_shared<const Expr>(
      Expr{Expr::Kind::kLiteral, std::move(type), 0, std::move(value), {}, {}});
}

ExprPtr call(std::string function, std::vector<ExprPtr> args, TypePtr type) {
  return std::make_shared<const Expr>(
      Expr{Expr::Kind::kCall, std::move(type), 0, {}, std::move(function), std::move(args)});
}

bool equal(const Expr& a, const Expr& b) {
  if (a.kind != b.kind || !(*a.type == *b.type)) return false;
  switch (a.kind) {
    case Expr::Kind::kColumn:
      return a.column == b.column;
    case Expr::Kind::kLiteral:
      return a.literal == b.literal;
    case Expr::Kind::kCall:
      break;
  }
  return a.function == b.function &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                    [](const ExprPtr& x, const ExprPtr& y) { return equal(*x, *y); });
}

namespace {

bool is_operator(const std::string& f) {
  static constexpr std::array kOperators = {"+",
                                            "-",
                                            "*",
                                            "/",
                                            "%",
                                            "=",
                                            "<>",
                                            "<",
                                            "<=",
                                            ">",
                                            ">=",
                                            "||",
                                            "AND",
                                            "OR",
                                            "LIKE",
                                            "IS DISTINCT FROM",
                                            "IS NOT DISTINCT FROM"};
  return std::find(kOperators.begin(), kOperators.end(), f) != kOperators.end();
}

std::string bytes_to_string(std::string_view bytes) {
  std::string out = "x'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  }
  return out + "'";
}

std::string literal_to_string(const Expr& e) {
  using columnar::TypeKind;
  if (std::holds_alternative<std::monostate>(e.literal)) return "NULL";
  const std::string text = columnar::value_to_string(*scalar_to_column(e.literal, e.type), 0);
  switch (e.type->kind) {
    case TypeKind::kBoolean:
      return std::get<bool>(e.literal) ? "TRUE" : "FALSE";
    case TypeKind::kString: {
      if (!valid_utf8(text)) return "CAST(" + bytes_to_string(text) + " AS STRING)";
      std::string quoted = "'";
      for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
      return quoted + "'";
    }
    case TypeKind::kBytes:
      return bytes_to_string(text);
    case TypeKind::kDate:
      return "DATE '" + text + "'";
    case TypeKind::kTime:
      return "TIME '" + text + "'";
    case TypeKind::kTimestamp:
      return "TIMESTAMP '" + text + "'";
    case TypeKind::kTimestampLtz:
      return "TIMESTAMP_LTZ '" + text + "'";
    case TypeKind::kIntervalMillis:
      return "INTERVAL '" + text + "' DAY TO SECOND";
    case TypeKind::kIntervalMonths:
      return "INTERVAL '" + text + "' YEAR TO MONTH";
    default:
      return text;
  }
}

std::string joined(const Expr& e, const std::string& separator, const columnar::Schema* schema) {
  std::string out;
  for (size_t i = 0; i < e.args.size(); ++i) out += (i > 0 ? separator : "") + to_string(*e.args[i], schema);
  return out;
}

std::string case_to_string(const Expr& e, const columnar::Schema* schema) {
  std::string out = "CASE";
  size_t i = 0;
  for (; i + 1 < e.args.size(); i += 2) {
    out += " WHEN " + to_string(*e.args[i], schema) + " THEN " + to_string(*e.args[i + 1], schema);
  }
  if (i < e.args.size()) out += " ELSE " + to_string(*e.args[i], schema);
  return out + " END";
}

/// With the revision, so that a plan shows when the function has become another one.
std::string library_call_to_string(const Expr& e, const columnar::Schema* schema) {
  std::string out = *literal_text(*e.args[0]) + "[" + to_string(*e.args[3]) + "](";
  for (size_t i = kLibraryCallHead; i < e.args.size(); ++i)
    out += (i > kLibraryCallHead ? ", " : "") + to_string(*e.args[i], schema);
  return out + ")";
}

std::string call_to_string(const Expr& e, const columnar::Schema* schema) {
  if (e.function == "CAST" || e.function == "TRY_CAST") {
    return e.function + "(" + joined(e, ", ", schema) + " AS " +
           to_string(*columnar::with_nullable(e.type, true)) + ")";
  }
  if (e.function == "CASE") return case_to_string(e, schema);
  if (e.function == kLibraryCall) return library_call_to_string(e, schema);
  if (e.function.starts_with("IS ") && e.args.size() == 1) return joined(e, "", schema) + " " + e.function;
  if (e.function == "NOT") return "NOT (" + joined(e, "", schema) + ")";
  if (e.function == "IN") {
    std::string items;
    for (size_t i = 1; i < e.args.size(); ++i) items += (i > 1 ? ", " : "") + to_string(*e.args[i], schema);
    return to_string(*e.args[0], schema) + " IN (" + items + ")";
  }
  if (e.args.size() > 1 && is_operator(e.function))
    return "(" + joined(e, " " + e.function + " ", schema) + ")";
  return e.function + "(" + joined(e, ", ", schema) + ")";
}

void collect_columns(const Expr& e, std::vector<size_t>& out) {
  if (e.kind == Expr::Kind::kColumn) out.push_back(e.column);
  for (const ExprPtr& arg : e.args) collect_columns(*arg, out);
}

template <class F>
bool any_call(const Expr& e, const F& f) {
  if (e.kind == Expr::Kind::kCall && f(e)) return true;
  return std::any_of(e.args.begin(), e.args.end(), [&](const ExprPtr& arg) { return any_call(*arg, f); });
}

}  // namespace

std::string to_string(const Expr& e, const columnar::Schema* schema) {
  switch (e.kind) {
    case Expr::Kind::kColumn:
      return schema != nullptr && e.column < schema->size() ? (*schema)[e.column].name
                                                            : "$" + std::to_string(e.column);
    case Expr::Kind::kLiteral:
      return literal_to_string(e);
    case Expr::Kind::kCall:
      return call_to_string(e, schema);
  }
  return {};
}

std::vector<size_t> columns_of(const Expr& e) {
  std::vector<size_t> out;
  collect_columns(e, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ExprPtr remap(const ExprPtr& e, const std::vector<size_t>& mapping) {
  if (e->kind == Expr::Kind::kColumn) {
    STRAND_CHECK(e->column < mapping.size());
    return column(mapping[e->column], e->type);
  }
  if (e->args.empty()) return e;
  Expr copy = *e;
  for (ExprPtr& arg : copy.args) arg = remap(arg, mapping);
  return std::make_shared<const Expr>(std::move(copy));
}

bool reads_watermark(const Expr& e) {
  return any_call(e, [](const Expr& c) { return c.function == "CURRENT_WATERMARK"; });
}

bool reads_clock(const Expr& e) {
  static constexpr std::array kClocks = {"PROCTIME",     "CURRENT_TIMESTAMP", "CURRENT_ROW_TIMESTAMP",
                                         "NOW",          "LOCALTIMESTAMP",    "CURRENT_DATE",
                                         "CURRENT_TIME", "LOCALTIME"};
  return any_call(e, [](const Expr& c) {
    if (c.function == "UNIX_TIMESTAMP") return c.args.empty();
    return std::find(kClocks.begin(), kClocks.end(), c.function) != kClocks.end();
  });
}

}  // namespace strand::expr
