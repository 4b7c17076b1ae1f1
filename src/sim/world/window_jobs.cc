#include "sim/world/window_jobs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "sim/world/click_log.h"
#include "sql/compile.h"

namespace strand::sim {

namespace {

enum class Kind : uint8_t { kTumble, kHop, kCumulate, kSession };

/// What a seed draws.
struct Shape {
  Kind kind;
  int64_t size;  // or gap, ms
  int64_t step;
  bool by_ad;
  bool distinct;  // the first click with each id
  bool log;
  bool parallel;  // tables are written by several subtasks
  bool mini_batch;
};

Shape shape_of(uint64_t seed) {
  Random random(seed ^ 0x3B1D);
  Shape shape{};
  shape.kind = static_cast<Kind>(seed % 4);
  shape.step = random.between(2, 12) * 1000;
  shape.size = shape.step * random.between(2, 5);
  if (shape.kind == Kind::kSession) shape.size = random.between(300, 3'000);
  shape.by_ad = random.chance(0.8);
  shape.distinct = shape.kind != Kind::kSession && random.chance(0.5);
  shape.log = random.chance(0.5);
  shape.parallel = random.chance(0.5);
  shape.mini_batch = random.chance(0.5);
  return shape;
}

std::string window_function(const Shape& shape) {
  const std::string table = shape.distinct ? "firsts" : "clicks";
  const std::string partition = shape.kind == Kind::kSession && shape.by_ad ? " PARTITION BY ad_id" : "";
  const std::string begin = "TABLE " + table + partition + ", DESCRIPTOR(ts), ";
  switch (shape.kind) {
    case Kind::kTumble:
      return "TUMBLE(" + begin + sql_seconds(shape.size) + ")";
    case Kind::kHop:
      return "HOP(" + begin + sql_seconds(shape.step) + ", " + sql_seconds(shape.size) + ")";
    case Kind::kCumulate:
      return "CUMULATE(" + begin + sql_seconds(shape.step) + ", " + sql_seconds(shape.size) + ")";
    case Kind::kSession:
      return "SESSION(" + begin + sql_seconds(shape.size) + ")";
  }
  return {};
}

// ---- the recount

struct Totals {
  int64_t n = 0;
  int64_t spend = 0;
  int64_t low = 0;
  int64_t high = 0;

  void add(const Totals& other) {
    if (other.n == 0) return;
    low = n == 0 ? other.low : std::min(low, other.low);
    high = n == 0 ? other.high : std::max(high, other.high);
    n += other.n;
    spend += other.spend;
  }
  friend bool operator==(const Totals&, const Totals&) = default;
};

std::string print(const Totals& t) {
  return std::to_string(t.n) + " clicks, spend " + std::to_string(t.spend) + " (" + std::to_string(t.low) +
         " to " + std::to_string(t.high) + ")";
}

struct Window {
  int64_t start;
  int64_t end;
};

/// The windows of one instant; not of sessions.
std::vector<Window> windows_of(const Shape& shape, int64_t time) {
  std::vector<Window> out;
  const int64_t step = shape.kind == Kind::kHop ? shape.step : shape.size;
  for (int64_t start = time - time % step; start > time - shape.size; start -= step) {
    if (shape.kind != Kind::kCumulate) {
      out.push_back({start, start + shape.size});
      continue;
    }
    for (int64_t end = start + shape.step; end <= start + shape.size; end += shape.step) {
      if (time < end) out.push_back({start, end});
    }
  }
  return out;
}

using Windows = std::map<std::string, Totals>;  // by "ad start end"

std::string name_of(const std::string& ad, const Window& window) {
  return ad + " " + sql_instant(window.start) + " " + sql_instant(window.end);
}

/// Clicks whose distance is no more than the gap are one session.
void add_sessions(const std::string& ad, std::vector<const ClickLine*> clicks, int64_t gap, Windows& out) {
  std::ranges::sort(clicks, {}, [](const ClickLine* click) { return click->event_millis; });
  std::optional<Window> session;
  Totals totals;
  const auto close = [&] {
    if (session) out[name_of(ad, *session)] = std::exchange(totals, {});
    session.reset();
  };
  for (const ClickLine* click : clicks) {
    if (session && click->event_millis > session->end) close();
    if (!session) session = Window{click->event_millis, 0};
    session->end = click->event_millis + gap;
    totals.add({1, click->spend, click->spend, click->spend});
  }
  close();
}

Windows expected(const Shape& shape, const ClickInput& input) {
  std::map<std::string, std::vector<const ClickLine*>> by_ad;
  std::set<std::string> seen;
  for (const ClickLine& line : input.lines) {
    if (line.bad || (shape.distinct && !seen.insert(line.click_id).second)) continue;
    by_ad[shape.by_ad ? line.ad : "all"].push_back(&line);
  }
  Windows out;
  for (const auto& [ad, clicks] : by_ad) {
    if (shape.kind == Kind::kSession) {
      add_sessions(ad, clicks, shape.size, out);
      continue;
    }
    for (const ClickLine* click : clicks) {
      for (const Window& window : windows_of(shape, click->event_millis))
        out[name_of(ad, window)].add({1, click->spend, click->spend, click->spend});
    }
  }
  return out;
}

Windows found(const SimTables& store, const std::string& table) {
  Windows out;
  for (const auto& [key, row] : store.rows(table)) {
    for (const auto& [writer, cell] : row.writers) {
      if (cell.gone) continue;
      int64_t values[4] = {};
      for (size_t i = 0; i < cell.values.size() && i < 4; ++i)
        values[i] = std::stoll(cell.values[i].value_or("0"));
      out[row.name] = {values[0], values[1], values[2], values[3]};
    }
  }
  return out;
}

class WindowJudge final : public Judge {
 public:
  explicit WindowJudge(const Shape& shape) : shape_(shape) {}

  /// What windows hold and what came late for them are together what their clicks come to.
  std::vector<std::string> differences(const ClickInput& input, const Tables& tables) const override {
    std::vector<std::string> out;
    Windows truth = expected(shape_, input);
    Windows both = found(tables.store, "windows");
    for (const auto& [name, totals] : found(tables.store, "late")) both[name].add(totals);
    for (const auto& [name, totals] : both) {
      const Totals should = truth[name];
      if (!(totals == should)) out.push_back(name + ": " + print(totals) + ", recount " + print(should));
      truth.erase(name);
    }
    for (const auto& [name, totals] : truth) out.push_back(name + ": no row, recount " + print(totals));
    if (shape_.log) compare_log(input, tables.store, out);
    return out;
  }

 private:
  Shape shape_;
};

}  // namespace

std::string window_job_sql(uint64_t seed) {
  const Shape shape = shape_of(seed);
  const std::string key = shape.by_ad ? "ad_id" : "'all'";
  const std::string group = std::string(shape.by_ad ? "ad_id, " : "") + "window_start, window_end";
  const std::string columns =
      "(ad STRING, s STRING, e STRING, n BIGINT, spend BIGINT, low BIGINT, high BIGINT, PRIMARY KEY (ad, s, "
      "e) NOT "
      "ENFORCED) WITH ('connector' = '" +
      std::string(shape.parallel ? "simshared" : "simstore") + "');\n";
  const std::string totals = "COUNT(*), SUM(spend_micros), MIN(spend_micros), MAX(spend_micros)";
  std::string sql;
  if (shape.mini_batch) {
    sql +=
        "SET 'table.exec.mini-batch.enabled' = 'true';\nSET 'table.exec.mini-batch.allow-latency' = '700 "
        "ms';\n";
  }
  sql += create_clicks();
  sql += "CREATE TABLE windows " + columns + "CREATE TABLE late " + columns;
  if (shape.log) sql += create_log();
  if (shape.distinct) {
    sql +=
        "CREATE VIEW firsts AS SELECT click_id, ad_id, spend_micros, ts FROM clicks"
        " QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;\n";
  }
  sql += "CREATE VIEW w AS SELECT " + group +
         ", COUNT(*) AS n, SUM(spend_micros) AS spend, MIN(spend_micros) AS low,"
         " MAX(spend_micros) AS high FROM TABLE(" +
         window_function(shape) + ") GROUP BY " + group + ";\n";
  const std::string bounds = ", CAST(window_start AS STRING), CAST(window_end AS STRING), ";
  sql += "EXECUTE STATEMENT SET BEGIN\n";
  sql += "INSERT INTO windows SELECT " + key + bounds + "n, spend, low, high FROM w;\n";
  sql += "INSERT INTO late SELECT " + key + bounds + totals + " FROM w$late GROUP BY " + group + ";\n";
  if (shape.log) sql += kInsertLog;
  return sql + "END;\n";
}

Result<SimulatedJob> window_job(uint64_t seed) {
  const Shape shape = shape_of(seed);
  sql::SqlInput input;
  input.file = "window-job-" + std::to_string(seed) + ".sql";
  input.text = window_job_sql(seed);
  STRAND_TRY(auto compiled, sql::compile(input));
  SimulatedJob job;
  static constexpr const char* kNames[] = {"tumble", "hop", "cumulate", "session"};
  job.name = kNames[static_cast<size_t>(shape.kind)];
  job.plan = std::move(compiled.plan);
  job.plan.job = "windows";
  job.judge = std::make_shared<WindowJudge>(shape);
  job.punctual = shape.kind == Kind::kSession;
  job.drains = shape.kind != Kind::kSession;
  job.goes_back = !shape.log;
  return job;
}

}  // namespace strand::sim
