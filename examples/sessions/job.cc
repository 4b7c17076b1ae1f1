#include "sessions/job.h"

namespace sessions {

using namespace strandline;
using namespace std::chrono_literals;

namespace {

/// Counts clicks as they come: nothing else of them is kept.
struct Count {
  int64_t create_accumulator() const { return 0; }
  void add(int64_t& count, const Click&) const { ++count; }
  int64_t get_result(const int64_t& count) const { return count; }
  void merge(int64_t& count, const int64_t& other) const { count += other; }
};

/// Puts the window's bounds beside its count.
class Describe : public ProcessWindowFunction<std::string, int64_t, Session> {
 public:
  void process(WindowContext<std::string>& context, const std::vector<int64_t>& counts,
               Collector<Session>& out) override {
    const TimeWindow window = *context.window();
    out.collect({context.current_key(), window.start, window.end, counts.front()});
  }
};

}  // namespace

Job make(const Options& clicks, const Options& sessions, const Options& late_clicks) {
  Job job("sessions");
  const Table table{"clicks", {{"user", "STRING"}, {"page", "STRING"}, {"at_ms", "BIGINT"}}, clicks};
  const auto counted =
      job.source(table, {col("user"), col("page"), call("TO_TIMESTAMP_LTZ", {col("at_ms"), lit(3)}).as("at")},
                 EventTime{"at", /*bound=*/5s, /*idle_timeout=*/60s})
          .as<Click>()
          .key_by(&Click::user)
          .window(EventTimeSessionWindows::with_gap(10min))
          .allowed_lateness(1min)
          .aggregate_and_process<Describe>(Count())
          .uid("sessions");
  counted.write(table_of<Session>("sessions", sessions), "sessions");
  counted.late().write(table_of<Click>("late_clicks", late_clicks), "late");
  return job;
}

}  // namespace sessions
