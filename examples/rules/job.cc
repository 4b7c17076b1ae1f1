#include "rules/job.h"

namespace rules {

using namespace strandline;

namespace {

/// Every subtask knows all limits; how often a sensor has been above its limit is kept by sensor.
class Check : public KeyedBroadcastProcessFunction<std::string, Reading, Rule, Alarm> {
 public:
  void process_element(const Reading& reading, KeyedContext<std::string>&, Collector<Alarm>& out) override {
    const auto limit = limits_.get(reading.kind);
    if (!limit || reading.value <= *limit) return in_a_row_.clear();
    const int64_t count = in_a_row_.value_or(0) + 1;
    in_a_row_.update(count);
    out.collect({reading.sensor, reading.value, count});
  }
  void process_broadcast_element(const Rule& rule, Context&, Collector<Alarm>&) override {
    if (rule.limit) return limits_.put(rule.kind, *rule.limit);
    limits_.remove(rule.kind);
  }

 private:
  BroadcastState<std::string, double> limits_{*this, "limits"};
  ValueState<int64_t> in_a_row_{*this, "in-a-row"};
};

Stream source(Job& job, Table table, std::vector<Expression> columns) {
  columns.push_back(call("TO_TIMESTAMP_LTZ", {col("at_ms"), lit(3)}).as("at"));
  return job.source(std::move(table), std::move(columns), EventTime{"at"});
}

}  // namespace

Job make(const Options& readings, const Options& limits, const Options& alarms) {
  Job job("rules");
  const auto values =
      source(job,
             {"readings",
              {{"sensor", "STRING"}, {"kind", "STRING"}, {"value", "DOUBLE"}, {"at_ms", "BIGINT"}},
              readings},
             {col("sensor"), col("kind"), col("value")})
          .as<Reading>();
  const auto rules =
      source(job, {"limits", {{"kind", "STRING"}, {"limit_value", "DOUBLE"}, {"at_ms", "BIGINT"}}, limits},
             {col("kind"), col("limit_value")})
          .as<Rule>();
  values.key_by(&Reading::sensor)
      .connect(rules.broadcast())
      .process<Check>()
      .uid("check")
      .write(table_of<Alarm>("alarms", alarms), "alarms");
  return job;
}

}  // namespace rules
