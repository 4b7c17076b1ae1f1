#include "sim/world/table_kinds.h"

#include <algorithm>

namespace strand::sim {

namespace {

// ---- semi and anti join: ads by whether one of their odd clicks was dear

bool has_dear_odd(const Clicks& of_ad, int64_t dear) {
  return std::ranges::any_of(of_ad, [&](const ClickLine* c) { return !even(*c) && c->spend > dear; });
}

TableRows evens_of(const Clicks& clicks, const TableShape& shape, bool with_dear_odd) {
  TableRows rows;
  for (const auto& [ad, of_ad] : by_ad(clicks)) {
    int64_t n = 0;
    int64_t spend = 0;
    for (const ClickLine* click : of_ad) {
      if (!even(*click)) continue;
      ++n;
      spend += click->spend;
    }
    if (n > 0 && has_dear_odd(of_ad, shape.dear) == with_dear_odd)
      rows[ad] = std::to_string(n) + " " + std::to_string(spend);
  }
  return rows;
}

std::string semi_sql(const TableShape& shape) {
  return "SELECT ad_id, COUNT(*), SUM(spend_micros) FROM evens WHERE ad_id IN (SELECT ad_id FROM odds WHERE "
         "spend_micros > " +
         std::to_string(shape.dear) + ") GROUP BY ad_id";
}
TableRows semi_recount(const Clicks& clicks, const TableShape& shape) {
  return evens_of(clicks, shape, true);
}

std::string anti_sql(const TableShape& shape) {
  return "SELECT a.ad_id, COUNT(*), SUM(a.spend_micros) FROM evens a WHERE NOT EXISTS (SELECT 1 FROM odds b "
         "WHERE b.ad_id = a.ad_id AND b.spend_micros > " +
         std::to_string(shape.dear) + ") GROUP BY a.ad_id";
}
TableRows anti_recount(const Clicks& clicks, const TableShape& shape) {
  return evens_of(clicks, shape, false);
}

// ---- MATCH_RECOGNIZE

std::string pattern_sql(const TableShape&) {
  return "SELECT a, c, n FROM clicks MATCH_RECOGNIZE (PARTITION BY ad_id ORDER BY ts MEASURES A.click_id AS "
         "a, "
         "C.click_id AS c, COUNT(B.spend_micros) AS n ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
         "PATTERN "
         "(A B* C) DEFINE A AS MOD(A.spend_micros, 2) = 0, B AS B.spend_micros < A.spend_micros, C AS "
         "C.spend_micros >= A.spend_micros)";
}

TableRows pattern_recount(const Clicks& clicks, const TableShape&) {
  TableRows rows;
  for (auto& [ad, of_ad] : by_ad(clicks)) {
    Clicks sorted = of_ad;
    std::ranges::sort(sorted, {}, [](const ClickLine* c) { return c->event_millis; });
    // A match that does not end stands before all that begin behind it.
    for (size_t first = 0; first < sorted.size(); ++first) {
      if (!even(*sorted[first])) continue;
      size_t last = first + 1;
      while (last < sorted.size() && sorted[last]->spend < sorted[first]->spend) ++last;
      if (last == sorted.size()) break;
      rows[sorted[first]->click_id + " " + sorted[last]->click_id] = std::to_string(last - first - 1);
      first = last;
    }
  }
  return rows;
}

constexpr const char* kAdTotals = "ad STRING, n BIGINT, spend BIGINT, PRIMARY KEY (ad)";

}  // namespace

const TableKind kSemiJoin{"semi join", kAdTotals, false, semi_sql, semi_recount};
const TableKind kAntiJoin{"anti join", kAdTotals, false, anti_sql, anti_recount};
const TableKind kPattern{
    "pattern", "a STRING, c STRING, n BIGINT, PRIMARY KEY (a, c)", true, pattern_sql, pattern_recount, true};

Clicks good_clicks(const ClickInput& input) {
  Clicks clicks;
  for (const ClickLine& line : input.lines) {
    if (!line.bad) clicks.push_back(&line);
  }
  return clicks;
}

std::map<std::string, Clicks> by_ad(const Clicks& clicks) {
  std::map<std::string, Clicks> out;
  for (const ClickLine* click : clicks) out[click->ad].push_back(click);
  return out;
}

TableRows result_rows(const SimTables& store) {
  TableRows found;
  for (const auto& [key, row] : store.rows("result")) {
    for (const auto& [writer, cell] : row.writers) {
      std::string& line = found[row.name];
      for (const auto& value : cell.values) line += (line.empty() ? "" : " ") + value.value_or("null");
    }
  }
  return found;
}

std::vector<std::string> differing_rows(const TableRows& recount, TableRows found) {
  std::vector<std::string> out;
  for (const auto& [key, values] : recount) {
    const auto at = found.find(key);
    if (at == found.end()) {
      out.push_back(key + ": no row, recount " + values);
    } else if (at->second != values) {
      out.push_back(key + ": " + at->second + ", recount " + values);
    }
    found.erase(key);
  }
  for (const auto& [key, values] : found) out.push_back(key + ": " + values + ", which the recount lacks");
  return out;
}

}  // namespace strand::sim
