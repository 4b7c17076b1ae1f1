#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "tests/fuzz/seeds.h"

namespace strand::fuzz {

namespace {

constexpr size_t kTextMax = 60'000;

using Tokens = std::vector<std::string>;

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Words, numbers, quoted text, blanks and single signs; together they are the text.
Tokens tokens_of(const std::string& text) {
  Tokens tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (in_word(text[at])) {
      while (end < text.size() && in_word(text[end])) ++end;
    } else if (text[at] == '\'' || text[at] == '`' || text[at] == '"') {
      end = std::min(text.find(text[at], end), text.size() - 1) + 1;
    } else if (text[at] == ' ' || text[at] == '\n') {
      while (end < text.size() && (text[end] == ' ' || text[end] == '\n')) ++end;
    }
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::string joined(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::string repeated(std::string_view part, uint64_t times) {
  std::string text;
  for (uint64_t i = 0; i < times && text.size() < kTextMax; ++i) text += part;
  return text;
}

template <class List>
std::string one_of(const List& list, Random& random) {
  return std::string(list[random.below(std::size(list))]);
}

constexpr std::array kValues = {"0",
                                "-1",
                                "1e999",
                                "-0.0",
                                "1E-400",
                                "9223372036854775807",
                                "9223372036854775808",
                                "-9223372036854775808",
                                "99999999999999999999999999999999999999",
                                "0.00000000000000000000000000000000000001",
                                "340282366920938463463374607431768211456",
                                "2147483648",
                                "65536",
                                "NULL",
                                "''",
                                "'\xC3\xA4\xF0\x9F\x98\x80'",
                                "'%'",
                                "'\\'",
                                "x'00ff'",
                                "_UTF-16'a'",
                                "U&'\\d800'",
                                "TRUE",
                                "INTERVAL '999999999' DAY(9)",
                                "INTERVAL '-99' YEAR",
                                "DATE '0000-00-00'",
                                "DATE '9999-12-31'",
                                "TIMESTAMP '2024-02-30 25:61:61.9999999999'",
                                "TIMESTAMP '0001-01-01 00:00:00'",
                                "ARRAY[]",
                                "ARRAY[1, 2]",
                                "MAP['a', 1]",
                                "ROW(1, 'x')",
                                "*",
                                "(1, 2)"};

constexpr std::array kWords = {"SELECT",
                               "FROM",
                               "WHERE",
                               "GROUP BY",
                               "HAVING",
                               "ORDER BY",
                               "LIMIT",
                               "UNION ALL",
                               "INTERSECT",
                               "EXCEPT",
                               "IN",
                               "EXISTS",
                               "NOT",
                               "AND",
                               "OR",
                               "IS NULL",
                               "BETWEEN",
                               "LIKE",
                               "CASE WHEN",
                               "END",
                               "OVER",
                               "PARTITION BY",
                               "ROWS BETWEEN",
                               "RANGE",
                               "UNBOUNDED PRECEDING",
                               "CURRENT ROW",
                               "FILTER (WHERE",
                               "DISTINCT",
                               "JOIN",
                               "LEFT JOIN",
                               "CROSS JOIN",
                               "FULL JOIN",
                               "ON",
                               "USING",
                               "FOR SYSTEM_TIME AS OF",
                               "LATERAL TABLE",
                               "TABLE",
                               "DESCRIPTOR",
                               "TUMBLE",
                               "HOP",
                               "SESSION",
                               "CUMULATE",
                               "UNNEST",
                               "WITH ORDINALITY",
                               "MATCH_RECOGNIZE",
                               "PATTERN",
                               "DEFINE",
                               "MEASURES",
                               "WITH",
                               "AS",
                               "VALUES",
                               "INSERT INTO",
                               "CREATE TABLE",
                               "CREATE VIEW",
                               "TEMPORARY",
                               "IF NOT EXISTS",
                               "PRIMARY KEY",
                               "NOT ENFORCED",
                               "WATERMARK FOR",
                               "METADATA",
                               "VIRTUAL",
                               "DROP",
                               "ALTER TABLE",
                               "EXPLAIN",
                               "DESCRIBE",
                               "SHOW TABLES",
                               "SET",
                               "RESET",
                               "BEGIN",
                               "STATEMENT SET",
                               "GROUPING SETS",
                               "ROLLUP",
                               "CUBE",
                               "ROW",
                               "ARRAY",
                               "MAP",
                               "INTERVAL",
                               "DATE",
                               "TIMESTAMP",
                               "CAST",
                               "TRY_CAST",
                               "QUALIFY",
                               "ROW_NUMBER() OVER",
                               "COUNT(*)",
                               "LISTAGG",
                               "/*+ OPTIONS('a' = 'b') */",
                               "/*",
                               "*/",
                               "--",
                               ";",
                               ",",
                               "(",
                               ")",
                               "[",
                               "]",
                               ".",
                               "'",
                               "`",
                               "$late",
                               "$bad",
                               "$early",
                               "ON CONFLICT DO NOTHING",
                               "PROCTIME()",
                               "CURRENT_WATERMARK",
                               "LIKE t (INCLUDING ALL)"};

constexpr std::array kOpening = {"(",
                                 "NOT ",
                                 "- ",
                                 "CASE WHEN TRUE THEN ",
                                 "(SELECT ",
                                 "ARRAY[",
                                 "ROW(",
                                 "ABS(",
                                 "CAST(",
                                 "COALESCE(1, ",
                                 "(SELECT * FROM (",
                                 "EXISTS (SELECT 1 WHERE ",
                                 "x.",
                                 "ARRAY<",
                                 "ROW<a ",
                                 "WITH a AS (",
                                 "/*",
                                 "1 + ",
                                 "'a' || ",
                                 "1 = 1 AND ",
                                 "MAP['a', "};
constexpr std::array kClosing = {
    ")",    " END", "]",  ">", " UNION ALL SELECT 1", ", 1", " AS INT)", " IS NULL", " JOIN t ON TRUE",
    " + 1", "[1]",  ".f0"};

constexpr std::array<std::string_view, 9> kBytes = {
    "\xFF", "\xC3",     "\xED\xA0\x80", "\xF4\x90\x80\x80", std::string_view("\0", 1),
    "\x01", "\xC0\xAF", "\xE2\x80\xA8", "\xEF\xBB\xBF"};

uint64_t few(Random& random) {
  constexpr std::array<uint64_t, 8> kCounts = {1, 2, 3, 8, 40, 150, 250, 3'000};
  return kCounts[random.below(kCounts.size())];
}

struct Range {
  size_t from;
  size_t to;
};
Range range_of(size_t size, Random& random) {
  const size_t from = random.below(size);
  return {from, std::min(size, from + 1 + random.below(random.chance(0.7) ? 3 : 40))};
}

void change_tokens(Tokens& tokens, const Tokens& others, Random& random) {
  if (tokens.empty()) return;
  const auto [from, to] = range_of(tokens.size(), random);
  const auto at = [&](size_t i) { return tokens.begin() + static_cast<std::ptrdiff_t>(i); };
  switch (random.below(9)) {
    case 0:
      tokens.erase(at(from), at(to));
      break;
    case 1:
      std::swap(tokens[from], tokens[random.below(tokens.size())]);
      break;
    case 2: {
      const std::string part = joined(Tokens(at(from), at(to)));
      tokens[from] = repeated(part + (random.chance(0.3) ? ", " : ""), few(random)) + tokens[from];
      break;
    }
    case 3:
      if (!others.empty()) {
        const auto [a, b] = range_of(others.size(), random);
        tokens[from] = joined(Tokens(others.begin() + static_cast<std::ptrdiff_t>(a),
                                     others.begin() + static_cast<std::ptrdiff_t>(b)));
      }
      break;
    case 4:
      tokens[from] = one_of(kValues, random);
      break;
    case 5:
      tokens[from] = " " + one_of(kWords, random) + " ";
      break;
    case 6:
      tokens[from] += " " + one_of(kWords, random) + " ";
      break;
    case 7: {
      const uint64_t depth = few(random);
      tokens[from] = repeated(one_of(kOpening, random), depth) + tokens[from];
      if (random.chance(0.7)) tokens[to - 1] += repeated(one_of(kClosing, random), depth);
      break;
    }
    default: {
      // Numbers and texts become others of their kind.
      const auto literal = std::find_if(at(from), tokens.end(), [](const std::string& token) {
        return token[0] == '\'' || std::isdigit(static_cast<unsigned char>(token[0])) != 0;
      });
      if (literal != tokens.end()) *literal = one_of(kValues, random);
    }
  }
}

void change_bytes(std::string& text, Random& random) {
  if (text.empty()) return;
  const size_t at = random.below(text.size());
  switch (random.below(4)) {
    case 0:
      text[at] = static_cast<char>(random.below(256));
      break;
    case 1:
      text.insert(at, one_of(kBytes, random));
      break;
    case 2:
      text.erase(at, 1 + random.below(4));
      break;
    default:
      text.resize(at);
  }
}

}  // namespace

std::string mutated(const std::vector<std::string>& seeds, Random& random) {
  Tokens tokens = tokens_of(seeds[random.below(seeds.size())]);
  const Tokens others = tokens_of(seeds[random.below(seeds.size())]);
  if (random.chance(0.1) && !tokens.empty() && !others.empty()) {
    tokens.resize(random.below(tokens.size()));
    tokens.insert(tokens.end(), others.begin() + static_cast<std::ptrdiff_t>(random.below(others.size())),
                  others.end());
  }
  for (uint64_t left = 1 + random.below(4); left > 0; --left) change_tokens(tokens, others, random);
  std::string text = joined(tokens);
  if (random.chance(0.1)) change_bytes(text, random);
  if (text.size() > kTextMax) text.resize(kTextMax);
  return text;
}

}  // namespace strand::fuzz
