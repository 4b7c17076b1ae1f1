// What tests of typed streams have in common: clicks of users, and where their results go.
#pragma once

#include "strandline/stream.h"
#include "tests/api/job_runner.h"

namespace strandline::testing {

struct Click {
  std::string user;
  int64_t spend = 0;
  Timestamp at;
  static auto fields() {
    return strandline::fields("user", &Click::user, "spend", &Click::spend, "at", &Click::at);
  }
};

inline DataStream<Click> clicks(Job& job, const std::string& connector = "script", Millis bound = Millis(0)) {
  const Table table{
      connector, {{"user", "STRING"}, {"spend", "BIGINT"}, {"ms", "BIGINT"}}, {{"connector", connector}}};
  return job
      .source(table, {col("user"), col("spend"), call("TO_TIMESTAMP_LTZ", {col("ms"), lit(3)}).as("at")},
              EventTime{"at", bound})
      .as<Click>();
}
inline std::string click(const std::string& user, int64_t second, int64_t spend = 1) {
  return R"({"user":")" + user + R"(","spend":)" + std::to_string(spend) + R"(,"ms":)" +
         std::to_string(second * 1000) + "}";
}
/// Into the table whose rows JobRunner::rows tells.
template <class T>
void log(const DataStream<T>& stream, const std::string& table = "log") {
  stream.write(table_of<T>(table, {{"connector", "simlog"}}), "strand");
}

/// Runs a job over the lines of `script` (and `script2`) to its end and returns the rows of `log`.
inline std::vector<std::string> rows_of(const std::function<void(Job&)>& build,
                                        const std::vector<std::string>& lines,
                                        const std::vector<std::string>& more = {}) {
  strand::testing::JobRunner runner([&] {
    Job job("job");
    build(job);
    return job;
  });
  runner.feed("script", lines);
  runner.feed("script2", more);
  runner.run();
  return runner.rows("log");
}

struct Sum {
  int64_t create_accumulator() const { return 0; }
  void add(int64_t& sum, const Click& click) const { sum += click.spend; }
  int64_t get_result(const int64_t& sum) const { return sum; }
  void merge(int64_t& sum, const int64_t& other) const { sum += other; }
};

/// `user start: spends`
class Spends : public ProcessWindowFunction<std::string, Click, std::string> {
 public:
  void process(WindowContext<std::string>& context, const std::vector<Click>& clicks,
               Collector<std::string>& out) override {
    std::string text = context.current_key();
    if (const auto window = context.window()) text += " " + std::to_string(millis_of(window->start) / 1000);
    text += ":";
    for (const Click& click : clicks) text += " " + std::to_string(click.spend);
    out.collect(text);
  }
};

}  // namespace strandline::testing
