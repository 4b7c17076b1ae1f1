#include "expr/catalogue.h"

#include "expr/registry.h"

namespace strand::expr {

namespace {

constexpr std::string_view kComparison = "Comparison";
constexpr std::string_view kLogic = "Logic";
constexpr std::string_view kArithmetic = "Arithmetic";
constexpr std::string_view kString = "Text";
constexpr std::string_view kTemporal = "Time";
constexpr std::string_view kConditional = "Conditions";
constexpr std::string_view kConversion = "Conversion";
constexpr std::string_view kCollection = "Collections";
constexpr std::string_view kJson = "JSON";
constexpr std::string_view kHash = "Hashes";

// Source: Flink's documentation of its SQL functions.
constexpr CatalogueEntry kEntries[] = {
    {kComparison, "=", ""},
    {kComparison, "<>", ""},
    {kComparison, "<", ""},
    {kComparison, "<=", ""},
    {kComparison, ">", ""},
    {kComparison, ">=", ""},
    {kComparison, "IS NULL", ""},
    {kComparison, "IS NOT NULL", ""},
    {kComparison, "IS DISTINCT FROM", ""},
    {kComparison, "IS NOT DISTINCT FROM", ""},
    {kComparison, "BETWEEN", ">="},
    {kComparison, "BETWEEN SYMMETRIC", ">="},
    {kComparison, "LIKE", ""},
    {kComparison, "SIMILAR TO", "SIMILAR"},
    {kComparison, "IN", ""},
    {kLogic, "OR", ""},
    {kLogic, "AND", ""},
    {kLogic, "NOT", ""},
    {kLogic, "IS TRUE", ""},
    {kLogic, "IS NOT TRUE", ""},
    {kLogic, "IS FALSE", ""},
    {kLogic, "IS NOT FALSE", ""},
    {kLogic, "IS UNKNOWN", ""},
    {kLogic, "IS NOT UNKNOWN", ""},
    {kArithmetic, "+", ""},
    {kArithmetic, "-", ""},
    {kArithmetic, "*", ""},
    {kArithmetic, "/", ""},
    {kArithmetic, "%", ""},
    {kArithmetic, "MOD", ""},
    {kArithmetic, "POWER", ""},
    {kArithmetic, "ABS", ""},
    {kArithmetic, "SQRT", ""},
    {kArithmetic, "LN", ""},
    {kArithmetic, "LOG10", ""},
    {kArithmetic, "LOG2", ""},
    {kArithmetic, "LOG", ""},
    {kArithmetic, "EXP", ""},
    {kArithmetic, "CEIL", ""},
    {kArithmetic, "FLOOR", ""},
    {kArithmetic, "SIN", ""},
    {kArithmetic, "SINH", ""},
    {kArithmetic, "COS", ""},
    {kArithmetic, "COSH", ""},
    {kArithmetic, "TAN", ""},
    {kArithmetic, "TANH", ""},
    {kArithmetic, "COT", ""},
    {kArithmetic, "ASIN", ""},
    {kArithmetic, "ACOS", ""},
    {kArithmetic, "ATAN", ""},
    {kArithmetic, "ATAN2", ""},
    {kArithmetic, "DEGREES", ""},
    {kArithmetic, "RADIANS", ""},
    {kArithmetic, "SIGN", ""},
    {kArithmetic, "ROUND", ""},
    {kArithmetic, "PI", ""},
    {kArithmetic, "E", ""},
    {kArithmetic, "RAND", ""},
    {kArithmetic, "RAND_INTEGER", ""},
    {kArithmetic, "UUID", ""},
    {kArithmetic, "BIN", ""},
    {kArithmetic, "HEX", ""},
    {kArithmetic, "TRUNCATE", ""},
    {kArithmetic, "UNHEX", ""},
    {kArithmetic, "GREATEST", ""},
    {kArithmetic, "LEAST", ""},
    {kString, "||", ""},
    {kString, "CHAR_LENGTH", ""},
    {kString, "CHARACTER_LENGTH", ""},
    {kString, "UPPER", ""},
    {kString, "LOWER", ""},
    {kString, "POSITION", ""},
    {kString, "TRIM", ""},
    {kString, "LTRIM", ""},
    {kString, "RTRIM", ""},
    {kString, "BTRIM", ""},
    {kString, "REPEAT", ""},
    {kString, "REGEXP_REPLACE", ""},
    {kString, "OVERLAY", ""},
    {kString, "SUBSTRING", ""},
    {kString, "SUBSTR", ""},
    {kString, "REPLACE", ""},
    {kString, "TRANSLATE", ""},
    {kString, "REGEXP", ""},
    {kString, "REGEXP_COUNT", ""},
    {kString, "REGEXP_EXTRACT", ""},
    {kString, "REGEXP_EXTRACT_ALL", ""},
    {kString, "REGEXP_INSTR", ""},
    {kString, "REGEXP_SUBSTR", ""},
    {kString, "INITCAP", ""},
    {kString, "CONCAT", ""},
    {kString, "CONCAT_WS", ""},
    {kString, "LPAD", ""},
    {kString, "RPAD", ""},
    {kString, "FROM_BASE64", ""},
    {kString, "TO_BASE64", ""},
    {kString, "ASCII", ""},
    {kString, "CHR", ""},
    {kString, "DECODE", ""},
    {kString, "ENCODE", ""},
    {kString, "INSTR", ""},
    {kString, "LEFT", ""},
    {kString, "RIGHT", ""},
    {kString, "LOCATE", ""},
    {kString, "PARSE_URL", ""},
    {kString, "PRINTF", ""},
    {kString, "REVERSE", ""},
    {kString, "SPLIT", ""},
    {kString, "SPLIT_INDEX", ""},
    {kString, "STR_TO_MAP", ""},
    {kString, "STARTSWITH", ""},
    {kString, "ENDSWITH", ""},
    {kString, "ELT", ""},
    {kString, "URL_ENCODE", ""},
    {kString, "URL_DECODE", ""},
    {kTemporal, "LOCALTIME", ""},
    {kTemporal, "LOCALTIMESTAMP", ""},
    {kTemporal, "CURRENT_TIME", ""},
    {kTemporal, "CURRENT_DATE", ""},
    {kTemporal, "CURRENT_TIMESTAMP", ""},
    {kTemporal, "NOW", ""},
    {kTemporal, "CURRENT_ROW_TIMESTAMP", ""},
    {kTemporal, "EXTRACT", ""},
    {kTemporal, "YEAR", ""},
    {kTemporal, "QUARTER", ""},
    {kTemporal, "MONTH", ""},
    {kTemporal, "WEEK", ""},
    {kTemporal, "DAYOFYEAR", ""},
    {kTemporal, "DAYOFMONTH", ""},
    {kTemporal, "DAYOFWEEK", ""},
    {kTemporal, "HOUR", ""},
    {kTemporal, "MINUTE", ""},
    {kTemporal, "SECOND", ""},
    {kTemporal, "FLOOR(… TO …)", "FLOOR_TIME"},
    {kTemporal, "CEIL(… TO …)", "CEIL_TIME"},
    {kTemporal, "OVERLAPS", ""},
    {kTemporal, "DATE_FORMAT", ""},
    {kTemporal, "TIMESTAMPADD", ""},
    {kTemporal, "TIMESTAMPDIFF", ""},
    {kTemporal, "CONVERT_TZ", ""},
    {kTemporal, "FROM_UNIXTIME", ""},
    {kTemporal, "UNIX_TIMESTAMP", ""},
    {kTemporal, "TO_DATE", ""},
    {kTemporal, "TO_TIMESTAMP", ""},
    {kTemporal, "TO_TIMESTAMP_LTZ", ""},
    {kTemporal, "CURRENT_WATERMARK", ""},
    {kTemporal, "PROCTIME", ""},
    {kConditional, "CASE", ""},
    {kConditional, "NULLIF", ""},
    {kConditional, "COALESCE", ""},
    {kConditional, "IF", ""},
    {kConditional, "IFNULL", ""},
    {kConditional, "IS_ALPHA", ""},
    {kConditional, "IS_DECIMAL", ""},
    {kConditional, "IS_DIGIT", ""},
    {kConversion, "CAST", ""},
    {kConversion, "TRY_CAST", ""},
    {kConversion, "TYPEOF", ""},
    {kCollection, "ROW", ""},
    {kCollection, "ARRAY", ""},
    {kCollection, "MAP", ""},
    {kCollection, "CARDINALITY", ""},
    {kCollection, "array[…], map[…]", "ITEM"},
    {kCollection, "ELEMENT", ""},
    {kCollection, "ARRAY_APPEND", ""},
    {kCollection, "ARRAY_CONCAT", ""},
    {kCollection, "ARRAY_CONTAINS", ""},
    {kCollection, "ARRAY_DISTINCT", ""},
    {kCollection, "ARRAY_EXCEPT", ""},
    {kCollection, "ARRAY_INTERSECT", ""},
    {kCollection, "ARRAY_JOIN", ""},
    {kCollection, "ARRAY_MAX", ""},
    {kCollection, "ARRAY_MIN", ""},
    {kCollection, "ARRAY_POSITION", ""},
    {kCollection, "ARRAY_PREPEND", ""},
    {kCollection, "ARRAY_REMOVE", ""},
    {kCollection, "ARRAY_REVERSE", ""},
    {kCollection, "ARRAY_SLICE", ""},
    {kCollection, "ARRAY_SORT", ""},
    {kCollection, "ARRAY_UNION", ""},
    {kCollection, "MAP_ENTRIES", ""},
    {kCollection, "MAP_FROM_ARRAYS", ""},
    {kCollection, "MAP_KEYS", ""},
    {kCollection, "MAP_UNION", ""},
    {kCollection, "MAP_VALUES", ""},
    {kJson, "IS JSON", ""},
    {kJson, "IS NOT JSON", ""},
    {kJson, "JSON_EXISTS", ""},
    {kJson, "JSON_STRING", ""},
    {kJson, "JSON_VALUE", ""},
    {kJson, "JSON_QUERY", ""},
    {kJson, "JSON_OBJECT", ""},
    {kJson, "JSON_ARRAY", ""},
    {kJson, "JSON", ""},
    {kJson, "JSON_QUOTE", ""},
    {kJson, "JSON_UNQUOTE", ""},
    {kJson, "PARSE_JSON", ""},
    {kJson, "TRY_PARSE_JSON", ""},
    {kHash, "MD5", ""},
    {kHash, "SHA1", ""},
    {kHash, "SHA224", ""},
    {kHash, "SHA256", ""},
    {kHash, "SHA384", ""},
    {kHash, "SHA512", ""},
    {kHash, "SHA2", ""},
};

}  // namespace

std::span<const CatalogueEntry> catalogue() { return kEntries; }

bool has_function(const CatalogueEntry& entry) {
  return find_function(entry.call.empty() ? entry.name : entry.call) != nullptr;
}

std::string catalogue_text() {
  std::string text =
      "# Functions\n\n"
      "The scalar functions of Flink 2.3, and whether they are there. Names, arguments, types and NULL rules "
      "are\n"
      "Flink's. This page comes from the registry: `conformance functions > docs/sql/functions.md`.\n";
  std::string_view family;
  for (const CatalogueEntry& entry : kEntries) {
    if (entry.family != family) {
      family = entry.family;
      text += "\n## " + std::string(family) + "\n\n| function | |\n|---|---|\n";
    }
    std::string name;
    for (const char c : entry.name) name += c == '|' ? std::string("\\|") : std::string(1, c);
    text += "| `" + name + "` | " + (has_function(entry) ? "yes" : "no") + " |\n";
  }
  return text;
}

}  // namespace strand::expr
