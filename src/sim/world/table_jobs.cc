#include "sim/world/table_jobs.h"

#include <algorithm>
#include <functional>

#include "sim/world/click_log.h"
#include "sim/world/table_kinds.h"
#include "sql/compile.h"

namespace strand::sim {

namespace {

using Rows = TableRows;

std::string text(int64_t number) { return std::to_string(number); }

TableShape table_shape_of(uint64_t seed) {
  Random random(seed ^ 0x7AB1E);
  TableShape shape{};
  shape.back = random.between(200, 3'000);
  shape.ahead = random.between(0, 3'000);
  shape.log = random.chance(0.5);
  shape.parallel = random.chance(0.5);
  shape.outer = random.chance(0.5);
  shape.last = random.chance(0.5);
  shape.dear = random.between(930, 980);
  return shape;
}

constexpr const char* kEven = "(SELECT * FROM clicks WHERE MOD(spend_micros, 2) = 0)";
constexpr const char* kOdd = "(SELECT * FROM clicks WHERE MOD(spend_micros, 2) = 1)";

// ---- OVER: what was spent for the ad in the seconds up to each click

std::string over_sql(const TableShape& shape) {
  return "SELECT click_id, COUNT(*) OVER w, SUM(spend_micros) OVER w FROM clicks WINDOW w AS (PARTITION BY "
         "ad_id "
         "ORDER BY ts RANGE BETWEEN " +
         sql_seconds(shape.back) + " PRECEDING AND CURRENT ROW)";
}

Rows over_recount(const Clicks& clicks, const TableShape& shape) {
  Rows rows;
  for (const ClickLine* click : clicks) {
    int64_t n = 0;
    int64_t spend = 0;
    for (const ClickLine* other : clicks) {
      const int64_t before = click->event_millis - other->event_millis;
      if (other->ad != click->ad || before < 0 || before > shape.back) continue;
      ++n;
      spend += other->spend;
    }
    rows[click->click_id] = text(n) + " " + text(spend);
  }
  return rows;
}

// ---- the first or last click of each ad in event time

std::string edge_sql(const TableShape& shape) {
  return std::string(
             "SELECT ad_id, CAST(ts AS STRING) FROM (SELECT ad_id, ts FROM clicks QUALIFY ROW_NUMBER() OVER "
             "(PARTITION BY ad_id ORDER BY ts ") +
         (shape.last ? "DESC" : "ASC") + ") = 1)";
}

Rows edge_recount(const Clicks& clicks, const TableShape& shape) {
  Rows rows;
  for (const auto& [ad, of_ad] : by_ad(clicks)) {
    const auto [first, last] =
        std::ranges::minmax(of_ad, {}, [](const ClickLine* c) { return c->event_millis; });
    rows[ad] = sql_instant((shape.last ? last : first)->event_millis);
  }
  return rows;
}

// ---- Top-N: the three dearest clicks of each ad

std::string top_sql(const TableShape&) {
  return "SELECT ad_id, place, click_id, spend_micros FROM (SELECT ad_id, click_id, spend_micros, "
         "ROW_NUMBER() OVER "
         "(PARTITION BY ad_id ORDER BY spend_micros DESC, click_id ASC) AS place FROM clicks) WHERE place <= "
         "3";
}

Rows top_recount(const Clicks& clicks, const TableShape&) {
  Rows rows;
  for (auto& [ad, of_ad] : by_ad(clicks)) {
    Clicks sorted = of_ad;
    std::ranges::sort(sorted, {}, [](const ClickLine* c) { return std::pair(-c->spend, c->click_id); });
    for (size_t i = 0; i < std::min<size_t>(3, sorted.size()); ++i)
      rows[ad + " " + text(static_cast<int64_t>(i) + 1)] = sorted[i]->click_id + " " + text(sorted[i]->spend);
  }
  return rows;
}

// ---- regular join of two totals that change

std::string join_sql(const TableShape& shape) {
  return std::string("SELECT a.ad_id, a.n, b.high FROM (SELECT ad_id, COUNT(*) AS n FROM ") + kEven +
         " GROUP BY ad_id) a " + (shape.outer ? "LEFT " : "") +
         "JOIN (SELECT ad_id, MAX(spend_micros) AS high FROM " + kOdd +
         " GROUP BY ad_id) b ON a.ad_id = b.ad_id";
}

Rows join_recount(const Clicks& clicks, const TableShape& shape) {
  Rows rows;
  for (const auto& [ad, of_ad] : by_ad(clicks)) {
    int64_t n = 0;
    int64_t high = 0;
    for (const ClickLine* click : of_ad)
      (even(*click) ? n : high) = even(*click) ? n + 1 : std::max(high, click->spend);
    if (n == 0 || (high == 0 && !shape.outer)) continue;
    rows[ad] = text(n) + " " + (high == 0 ? "null" : text(high));
  }
  return rows;
}

// ---- joins in event time: pairs of an even and an odd click

Rows pairs(const Clicks& clicks, const std::function<bool(const ClickLine&, const ClickLine&)>& match) {
  Rows rows;
  for (const ClickLine* a : clicks) {
    for (const ClickLine* b : clicks) {
      if (even(*a) && !even(*b) && a->ad == b->ad && match(*a, *b))
        rows[a->click_id + " " + b->click_id] = text(a->spend + b->spend);
    }
  }
  return rows;
}

std::string interval_sql(const TableShape& shape) {
  return std::string("SELECT a.click_id, b.click_id, a.spend_micros + b.spend_micros FROM ") + kEven +
         " a JOIN " + kOdd + " b ON a.ad_id = b.ad_id AND b.ts BETWEEN a.ts - " + sql_seconds(shape.back) +
         " AND a.ts + " + sql_seconds(shape.ahead);
}

Rows interval_recount(const Clicks& clicks, const TableShape& shape) {
  return pairs(clicks, [&](const ClickLine& a, const ClickLine& b) {
    return b.event_millis >= a.event_millis - shape.back && b.event_millis <= a.event_millis + shape.ahead;
  });
}

std::string window_join_sql(const TableShape& shape) {
  const auto side = [&](const char* view) {
    return std::string("(SELECT * FROM TABLE(TUMBLE(TABLE ") + view + ", DESCRIPTOR(ts), " +
           sql_seconds(shape.back / 1000 * 1000 + 1000) + ")))";
  };
  return "SELECT a.click_id, b.click_id, a.spend_micros + b.spend_micros FROM " + side("evens") + " a JOIN " +
         side("odds") +
         " b ON a.ad_id = b.ad_id AND a.window_start = b.window_start AND a.window_end = b.window_end";
}

Rows window_join_recount(const Clicks& clicks, const TableShape& shape) {
  const int64_t size = shape.back / 1000 * 1000 + 1000;
  return pairs(clicks, [size](const ClickLine& a, const ClickLine& b) {
    return a.event_millis / size == b.event_millis / size;
  });
}

// ---- GROUP BY over totals that change: how many ads have been clicked so often

std::string regroup_sql(const TableShape&) {
  return "SELECT n, COUNT(*), MAX(ad_id) FROM (SELECT ad_id, COUNT(*) AS n FROM clicks GROUP BY ad_id) GROUP "
         "BY n";
}

Rows regroup_recount(const Clicks& clicks, const TableShape&) {
  std::map<int64_t, std::vector<std::string>> ads;
  for (const auto& [ad, of_ad] : by_ad(clicks)) ads[static_cast<int64_t>(of_ad.size())].push_back(ad);
  Rows rows;
  for (const auto& [n, names] : ads)
    rows[text(n)] = text(static_cast<int64_t>(names.size())) + " " + names.back();
  return rows;
}

// ---- HAVING: totals that come into the table and leave it again

std::string having_sql(const TableShape&) {
  return "SELECT ad_id, COUNT(*), SUM(spend_micros) FROM clicks GROUP BY ad_id HAVING MOD(COUNT(*), 3) <> 0";
}

Rows having_recount(const Clicks& clicks, const TableShape&) {
  Rows rows;
  for (const auto& [ad, of_ad] : by_ad(clicks)) {
    int64_t spend = 0;
    for (const ClickLine* click : of_ad) spend += click->spend;
    const auto n = static_cast<int64_t>(of_ad.size());
    if (n % 3 != 0) rows[ad] = text(n) + " " + text(spend);
  }
  return rows;
}

const TableKind kKinds[kTableJobKinds] = {
    {"over", "id STRING, n BIGINT, spend BIGINT, PRIMARY KEY (id)", true, over_sql, over_recount},
    {"first and last rows", "ad STRING, t STRING, PRIMARY KEY (ad)", true, edge_sql, edge_recount},
    {"top-n", "ad STRING, place BIGINT, id STRING, spend BIGINT, PRIMARY KEY (ad, place)", false, top_sql,
     top_recount},
    {"regular join", "ad STRING, n BIGINT, high BIGINT, PRIMARY KEY (ad)", false, join_sql, join_recount},
    {"interval join", "a STRING, b STRING, spend BIGINT, PRIMARY KEY (a, b)", true, interval_sql,
     interval_recount},
    {"window join", "a STRING, b STRING, spend BIGINT, PRIMARY KEY (a, b)", true, window_join_sql,
     window_join_recount},
    {"group by over changes", "n BIGINT, ads BIGINT, ad STRING, PRIMARY KEY (n)", false, regroup_sql,
     regroup_recount},
    kSemiJoin,
    kAntiJoin,
    kPattern,
    {"having", "ad STRING, n BIGINT, spend BIGINT, PRIMARY KEY (ad)", false, having_sql, having_recount,
     false, ""},
};

const TableKind& kind_of(uint64_t seed) { return kKinds[seed % kTableJobKinds]; }

class TableJudge final : public Judge {
 public:
  explicit TableJudge(uint64_t seed) : kind_(kind_of(seed)), shape_(table_shape_of(seed)) {}

  std::vector<std::string> differences(const ClickInput& input, const Tables& tables) const override {
    std::vector<std::string> out =
        differing_rows(kind_.recount(good_clicks(input), shape_), result_rows(tables.store));
    if (shape_.log) compare_log(input, tables.store, out);
    return out;
  }

 private:
  const TableKind& kind_;
  TableShape shape_;
};

}  // namespace

std::string table_job_sql(uint64_t seed) {
  const TableKind& kind = kind_of(seed);
  const TableShape shape = table_shape_of(seed);
  std::string sql = create_clicks();
  sql += std::string("CREATE TABLE result (") + kind.columns + " NOT ENFORCED) WITH ('connector' = '" +
         (shape.parallel ? "simshared" : "simstore") + "');\n";
  if (shape.log) sql += create_log();
  sql += std::string("CREATE VIEW evens AS SELECT * FROM ") + kEven +
         ";\nCREATE VIEW odds AS SELECT * FROM " + kOdd +
         ";\nEXECUTE STATEMENT SET BEGIN\nINSERT INTO result " + kind.select(shape) + kind.conflict + ";\n";
  if (shape.log) sql += kInsertLog;
  return sql + "END;\n";
}

Result<SimulatedJob> table_job(uint64_t seed) {
  sql::SqlInput input;
  input.file = "table-job-" + std::to_string(seed) + ".sql";
  input.text = table_job_sql(seed);
  STRAND_TRY(auto compiled, sql::compile(input));
  SimulatedJob job;
  job.name = kind_of(seed).name;
  job.plan = std::move(compiled.plan);
  job.plan.job = "table-job";
  job.judge = std::make_shared<TableJudge>(seed);
  job.punctual = kind_of(seed).timed;
  if (kind_of(seed).ordered) {
    job.make_input = [](uint64_t input_seed, WallTime start, ClickShape shape) {
      shape.one_at_a_time = true;
      return make_clicks(input_seed, start, shape);
    };
  }
  job.drains = false;
  job.goes_back = !table_shape_of(seed).log;
  return job;
}

}  // namespace strand::sim
