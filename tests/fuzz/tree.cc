#include "tests/fuzz/tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "expr/registry.h"
#include "tests/fuzz/sample.h"

namespace strand::fuzz {

namespace {

using columnar::TypeKind;
using expr::Args;
using expr::ExprPtr;

using Pool = std::vector<std::string_view>;

const Pool kUnits = {"YEAR",   "QUARTER", "MONTH",       "WEEK",        "DAY",     "HOUR",
                     "MINUTE", "SECOND",  "MILLISECOND", "MICROSECOND", "DOW",     "DOY",
                     "EPOCH",  "ISODOW",  "ISOYEAR",     "DECADE",      "CENTURY", "MILLENNIUM"};
const Pool kFormats = {"yyyy-MM-dd HH:mm:ss",
                       "yyyy-MM-dd",
                       "HH:mm:ss.SSS",
                       "yy/M/d h a",
                       "EEE, d MMM yyyy",
                       "''",
                       "q",
                       "yyyyMMdd",
                       "DDD w",
                       "yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS"};
const Pool kZones = {"UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "GMT+08:00", "nowhere"};
const Pool kPaths = {"$",    "$.a",  "lax $.b[0]", "strict $.b[*]", "lax $.a.b",
                     "$..b", "$[0]", "x",          "lax $[last]"};
const Pool kPatterns = {"a",       "%b%",  "_",   "%",    "a%c", "",    "[a-c]+",
                        "(a)(b)?", "\\d+", "x%_", "^.*$", "(",   "b|c", "\\s"};
const Pool kCharsets = {"UTF-8", "UTF-16", "US-ASCII", "ISO-8859-1", "utf-16le", "none"};

/// Arguments that must come from a list, or nearly.
const Pool* pool_of(std::string_view function, size_t argument) {
  static const std::map<std::pair<std::string_view, size_t>, const Pool*> pools = {
      {{"EXTRACT", 0}, &kUnits},
      {{"TIMESTAMPADD", 0}, &kUnits},
      {{"TIMESTAMPDIFF", 0}, &kUnits},
      {{"TIME_BETWEEN", 0}, &kUnits},
      {{"FLOOR_TIME", 1}, &kUnits},
      {{"CEIL_TIME", 1}, &kUnits},
      {{"DATE_FORMAT", 1}, &kFormats},
      {{"TO_TIMESTAMP", 1}, &kFormats},
      {{"TO_DATE", 1}, &kFormats},
      {{"FROM_UNIXTIME", 1}, &kFormats},
      {{"CONVERT_TZ", 1}, &kZones},
      {{"CONVERT_TZ", 2}, &kZones},
      {{"JSON_EXISTS", 1}, &kPaths},
      {{"JSON_VALUE", 1}, &kPaths},
      {{"JSON_QUERY", 1}, &kPaths},
      {{"LIKE", 1}, &kPatterns},
      {{"SIMILAR", 1}, &kPatterns},
      {{"REGEXP", 1}, &kPatterns},
      {{"REGEXP_REPLACE", 1}, &kPatterns},
      {{"REGEXP_COUNT", 1}, &kPatterns},
      {{"REGEXP_SUBSTR", 1}, &kPatterns},
      {{"REGEXP_INSTR", 1}, &kPatterns},
      {{"REGEXP_EXTRACT_ALL", 1}, &kPatterns},
      {{"ENCODE", 1}, &kCharsets},
      {{"DECODE", 1}, &kCharsets}};
  const auto found = pools.find({function, argument});
  return found == pools.end() ? nullptr : found->second;
}

/// What the binder makes itself, with arguments of its own kind.
bool is_internal(std::string_view function) {
  static constexpr std::array<std::string_view, 10> kInternal = {
      "JSON_ARRAY_OF", "JSON_OBJECT_OF", "SINGLE_ROW",  "NOT_NULL", "WINDOW_BOUND",
      "JSON_VALUE",    "JSON_QUERY",     "JSON_EXISTS", "IS JSON",  "IS NOT JSON"};
  return std::find(kInternal.begin(), kInternal.end(), function) != kInternal.end();
}

class Grower {
 public:
  Grower(const columnar::Schema& schema, Random& random) : schema_(schema), random_(random) {}

  ExprPtr any(int depth) {
    if (depth <= 0 || random_.chance(0.15)) return leaf('a');
    for (int attempt = 0; attempt < 6; ++attempt) {
      if (ExprPtr grown = random_.chance(0.2) ? cast(depth) : call(depth)) return grown;
    }
    return leaf('a');
  }

 private:
  static bool fits(char letter, TypeKind kind) {
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
        return kind == TypeKind::kTimestamp || kind == TypeKind::kTimestampLtz;
      case 'm':
        return fits('s', kind) || kind == TypeKind::kDate || kind == TypeKind::kTime;
      default:
        return true;
    }
  }

  ExprPtr leaf(char letter) {
    if (random_.chance(0.03)) return expr::literal(std::monostate{}, columnar::make_type(TypeKind::kNull));
    for (;;) {
      const size_t i = random_.below(schema_.size());
      const columnar::TypePtr& type = schema_[i].type;
      if (!fits(letter, type->kind)) continue;
      const bool nested = type->kind >= TypeKind::kArray;
      if (nested || random_.chance(0.65)) return expr::column(i, type);
      if (random_.chance(0.1)) return expr::literal(std::monostate{}, columnar::with_nullable(type, true));
      return expr::literal(random_scalar(*type, random_), columnar::with_nullable(type, false));
    }
  }

  ExprPtr fitting(char letter, int depth) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      ExprPtr grown = any(depth);
      if (fits(letter, grown->type->kind)) return grown;
    }
    return leaf(letter);
  }

  ExprPtr argument(const expr::Function& function, size_t i, char letter, const Args& before, int depth) {
    const Pool* pool = pool_of(function.name, i);
    if (pool != nullptr && random_.chance(0.9)) {
      return expr::literal(std::string((*pool)[random_.below(pool->size())]),
                           columnar::make_type(TypeKind::kString, false));
    }
    if (letter == 'a' && !before.empty() && random_.chance(0.6)) {
      // Of the type of another argument, or near it.
      const TypeKind wanted = before[random_.below(before.size())]->type->kind;
      for (int attempt = 0; attempt < 20; ++attempt) {
        ExprPtr same = attempt < 2 ? any(depth) : leaf('a');
        if (same->type->kind == wanted) return same;
      }
    }
    return fitting(letter, depth);
  }

  ExprPtr call(int depth) {
    static const std::vector<std::string> names = expr::function_names();
    static constexpr std::array kOften = {"+",
                                          "-",
                                          "*",
                                          "/",
                                          "%",
                                          "=",
                                          "<>",
                                          "<",
                                          ">=",
                                          "AND",
                                          "OR",
                                          "NOT",
                                          "CASE",
                                          "COALESCE",
                                          "IN",
                                          "IF",
                                          "NULLIF",
                                          "IS NULL",
                                          "IS DISTINCT FROM"};
    const std::string name =
        random_.chance(0.4) ? kOften[random_.below(kOften.size())] : names[random_.below(names.size())];
    const expr::Function& function = *expr::find_function(name);
    if (function.varies || is_internal(name)) return nullptr;
    Args args;
    bool may_end = false;
    char letter = 'a';
    for (const char c : function.params) {
      if (c == '[') {
        may_end = true;
      } else if (c == '*') {
        while (random_.chance(0.4)) args.push_back(argument(function, args.size(), letter, args, depth - 1));
      } else {
        if (may_end && random_.chance(0.4)) break;
        letter = c;
        args.push_back(argument(function, args.size(), letter, args, depth - 1));
      }
    }
    if (name == "JSON_OBJECT" || name == "JSON_ARRAY") args = json_parts(name == "JSON_OBJECT", depth);
    if (name == "GET_FIELD") args[1] = text_literal(random_.chance(0.5) ? "a" : "b");
    Result<ExprPtr> resolved = expr::resolve_call(name, std::move(args));
    return resolved.ok() ? *resolved : nullptr;
  }

  /// What the parser makes of them: the word for NULL, then keys and values.
  Args json_parts(bool object, int depth) {
    Args parts = {text_literal(random_.chance(0.5) ? "NULL" : "ABSENT")};
    for (uint64_t left = random_.below(4); left > 0; --left) {
      if (object) parts.push_back(text_literal(random_.chance(0.5) ? "k" : "q\""));
      parts.push_back(any(depth - 1));
    }
    return parts;
  }

  ExprPtr cast(int depth) {
    const auto& types = sample_types();
    const columnar::TypePtr& target = types[random_.below(types.size())];
    Result<ExprPtr> resolved = expr::resolve_cast(any(depth - 1), target, random_.chance(0.3));
    return resolved.ok() ? *resolved : nullptr;
  }

  static ExprPtr text_literal(const std::string& text) {
    return expr::literal(text, columnar::make_type(TypeKind::kString, false));
  }

  const columnar::Schema& schema_;
  Random& random_;
};

}  // namespace

ExprPtr random_tree(const columnar::Schema& schema, int depth, Random& random) {
  return Grower(schema, random).any(depth);
}

}  // namespace strand::fuzz
