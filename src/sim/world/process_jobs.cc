#include "sim/world/process_jobs.h"

#include <set>

#include "api/build.h"
#include "sim/world/click_log.h"
#include "sim/world/simulation.h"
#include "sim/world/table_kinds.h"
#include "strandline/stream.h"

namespace strand::sim {

namespace {

using strandline::KeyedContext;
using strandline::OnTimerContext;
using strandline::StateOwner;

constexpr int64_t kTellAfter = 1'000;  // ms of event time

struct SpentClick {
  std::string click_id;
  std::string ad_id;
  int64_t spend_micros = 0;
  strandline::Timestamp ts;
  static auto fields() {
    return strandline::fields("click_id", &SpentClick::click_id, "ad_id", &SpentClick::ad_id, "spend_micros",
                              &SpentClick::spend_micros, "ts", &SpentClick::ts);
  }
};
struct AdTotal {
  std::string ad;
  int64_t n = 0;
  int64_t spend = 0;
  static auto fields() {
    return strandline::fields("ad", &AdTotal::ad, "n", &AdTotal::n, "spend", &AdTotal::spend);
  }
};
using ClickTotal = std::pair<int64_t, int64_t>;  // clicks, spend

// ---- the states: what each adds, and what its total is

class InValue {
 public:
  explicit InValue(StateOwner& owner) : total_(owner, "total") {}
  void add(const SpentClick& click) {
    const ClickTotal total = total_.value_or({0, 0});
    total_.update({total.first + 1, total.second + click.spend_micros});
  }
  ClickTotal total() const { return total_.value_or({0, 0}); }

 private:
  strandline::ValueState<ClickTotal> total_;
};

class InList {
 public:
  explicit InList(StateOwner& owner) : spends_(owner, "spends") {}
  void add(const SpentClick& click) { spends_.add(click.spend_micros); }
  ClickTotal total() const {
    ClickTotal total{0, 0};
    for (const int64_t spend : spends_.get()) total = {total.first + 1, total.second + spend};
    return total;
  }

 private:
  strandline::ListState<int64_t> spends_;
};

/// Copies of a click are one entry: they count once.
class InMap {
 public:
  explicit InMap(StateOwner& owner) : spends_(owner, "spends") {}
  void add(const SpentClick& click) { spends_.put(click.click_id, click.spend_micros); }
  ClickTotal total() const {
    ClickTotal total{0, 0};
    for (const auto& [id, spend] : spends_.entries()) total = {total.first + 1, total.second + spend};
    return total;
  }

 private:
  strandline::MapState<std::string, int64_t> spends_;
};

class InReducing {
 public:
  explicit InReducing(StateOwner& owner)
      : total_(owner, "total", [](const ClickTotal& a, const ClickTotal& b) {
          return ClickTotal{a.first + b.first, a.second + b.second};
        }) {}
  void add(const SpentClick& click) { total_.add({1, click.spend_micros}); }
  ClickTotal total() const { return total_.get().value_or(ClickTotal{0, 0}); }

 private:
  strandline::ReducingState<ClickTotal> total_;
};

struct TotalOfClicks {
  ClickTotal create_accumulator() const { return {0, 0}; }
  void add(ClickTotal& total, const SpentClick& click) const {
    total = {total.first + 1, total.second + click.spend_micros};
  }
  ClickTotal get_result(const ClickTotal& total) const { return total; }
  void merge(ClickTotal& total, const ClickTotal& other) const {
    total = {total.first + other.first, total.second + other.second};
  }
};
class InAggregating {
 public:
  explicit InAggregating(StateOwner& owner) : total_(owner, "total") {}
  void add(const SpentClick& click) { total_.add(click); }
  ClickTotal total() const { return total_.get().value_or(ClickTotal{0, 0}); }

 private:
  strandline::AggregatingState<SpentClick, TotalOfClicks> total_;
};

// ---- the functions

void tell_later(const SpentClick& click, KeyedContext<std::string>& context) {
  context.register_event_time_timer(strandline::timestamp_of(strandline::millis_of(click.ts) + kTellAfter));
}

template <class State>
class ProcessTotals : public strandline::KeyedProcessFunction<std::string, SpentClick, AdTotal> {
 public:
  void process_element(const SpentClick& click, KeyedContext<std::string>& context,
                       strandline::Collector<AdTotal>&) override {
    state_.add(click);
    tell_later(click, context);
  }
  void on_timer(OnTimerContext<std::string>& context, strandline::Collector<AdTotal>& out) override {
    const auto [n, spend] = state_.total();
    out.collect({context.current_key(), n, spend});
  }

 private:
  State state_{*this};
};

/// Counts the even clicks and sums up the odd ones, in one value.
class TotalsOfTwo : public strandline::KeyedCoProcessFunction<std::string, SpentClick, SpentClick, AdTotal> {
 public:
  void process_element1(const SpentClick& click, KeyedContext<std::string>& context,
                        strandline::Collector<AdTotal>&) override {
    add({1, 0}, click, context);
  }
  void process_element2(const SpentClick& click, KeyedContext<std::string>& context,
                        strandline::Collector<AdTotal>&) override {
    add({0, click.spend_micros}, click, context);
  }
  void on_timer(OnTimerContext<std::string>& context, strandline::Collector<AdTotal>& out) override {
    const auto [n, spend] = total_.value_or({0, 0});
    out.collect({context.current_key(), n, spend});
  }

 private:
  void add(const ClickTotal& more, const SpentClick& click, KeyedContext<std::string>& context) {
    const ClickTotal total = total_.value_or({0, 0});
    total_.update({total.first + more.first, total.second + more.second});
    tell_later(click, context);
  }
  strandline::ValueState<ClickTotal> total_{*this, "total"};
};

// ---- the jobs

enum class ProcessKind : uint8_t { kValue, kList, kMap, kReducing, kAggregating, kTwo };
constexpr const char* kProcessNames[kProcessJobKinds] = {"process, value",       "process, list",
                                                         "process, map",         "process, reducing",
                                                         "process, aggregating", "co-process"};
ProcessKind kind_of_process(uint64_t seed) { return static_cast<ProcessKind>(seed % kProcessJobKinds); }

strandline::DataStream<SpentClick> read_clicks(strandline::Job& job) {
  using namespace strandline;
  std::map<std::string, std::string> options = click_files();
  options["json.ignore-parse-errors"] = "true";
  const Table table{"clicks",
                    {{"click_id", "STRING"},
                     {"ad_id", "STRING"},
                     {"spend_micros", "BIGINT"},
                     {"device_ms", "BIGINT"},
                     {"arrival_ms", "BIGINT"}},
                    options};
  const Expression time =
      call("TO_TIMESTAMP_LTZ", {call("LEAST", {col("device_ms"), col("arrival_ms")}), lit(3)}).as("ts");
  return job
      .source(table, {col("click_id"), col("ad_id"), col("spend_micros"), time},
              strandline::EventTime{"ts", Millis{5'000}, Millis{kIdleTimeout.millis}})
      .as<SpentClick>();
}

strandline::DataStream<AdTotal> totals_of(const strandline::DataStream<SpentClick>& clicks,
                                          ProcessKind kind) {
  const auto keyed = clicks.key_by(&SpentClick::ad_id);
  switch (kind) {
    case ProcessKind::kValue:
      return keyed.process<ProcessTotals<InValue>>();
    case ProcessKind::kList:
      return keyed.process<ProcessTotals<InList>>();
    case ProcessKind::kMap:
      return keyed.process<ProcessTotals<InMap>>();
    case ProcessKind::kReducing:
      return keyed.process<ProcessTotals<InReducing>>();
    case ProcessKind::kAggregating:
      return keyed.process<ProcessTotals<InAggregating>>();
    case ProcessKind::kTwo:
      break;
  }
  const auto half = [&](int64_t rest) {
    return clicks.filter([rest](const SpentClick& click) { return click.spend_micros % 2 == rest; })
        .key_by(&SpentClick::ad_id);
  };
  return half(0).connect(half(1)).process<TotalsOfTwo>();
}

TableRows recount_totals(const Clicks& clicks, ProcessKind kind) {
  TableRows rows;
  for (const auto& [ad, of_ad] : by_ad(clicks)) {
    ClickTotal total{0, 0};
    std::set<std::string> seen;
    for (const ClickLine* click : of_ad) {
      if (kind == ProcessKind::kMap && !seen.insert(click->click_id).second) continue;
      if (kind != ProcessKind::kTwo || even(*click)) ++total.first;
      if (kind != ProcessKind::kTwo || !even(*click)) total.second += click->spend;
    }
    rows[ad] = std::to_string(total.first) + " " + std::to_string(total.second);
  }
  return rows;
}

class ProcessJudge final : public Judge {
 public:
  ProcessJudge(ProcessKind kind, bool log) : kind_(kind), log_(log) {}
  std::vector<std::string> differences(const ClickInput& input, const Tables& tables) const override {
    std::vector<std::string> out =
        differing_rows(recount_totals(good_clicks(input), kind_), result_rows(tables.store));
    if (log_) compare_log(input, tables.store, out);
    return out;
  }

 private:
  ProcessKind kind_;
  bool log_;
};

struct LoggedClick {
  std::string click_id;
  static auto fields() { return strandline::fields("click_id", &LoggedClick::click_id); }
};

}  // namespace

Result<SimulatedJob> process_job(uint64_t seed) {
  Random random(seed ^ 0x9C0DE);
  const bool log = random.chance(0.5);
  const bool parallel = random.chance(0.5);
  const ProcessKind kind = kind_of_process(seed);
  strandline::Job built("process-job");
  const auto clicks = read_clicks(built);
  totals_of(clicks, kind)
      .write(strandline::table_of<AdTotal>("result", {{"connector", parallel ? "simshared" : "simstore"}},
                                           {"ad"}),
             "strand");
  if (log) {
    clicks.map([](const SpentClick& click) { return LoggedClick{click.click_id}; })
        .write(strandline::table_of<LoggedClick>("log", {{"connector", "simlog"}}), "strand");
  }
  SimulatedJob job;
  STRAND_TRY(job.plan, api::plan_of(built));
  job.name = kProcessNames[static_cast<size_t>(kind)];
  job.judge = std::make_shared<ProcessJudge>(kind, log);
  job.drains = false;
  job.goes_back = !log;
  return job;
}

}  // namespace strand::sim
