#include "unpaid-orders/job.h"

namespace unpaid_orders {

using namespace strandline;
using namespace std::chrono_literals;

namespace {

constexpr Millis kPatience = 15min;
const OutputTag<Stray> kStrays{"strays"};

/// Waits for the payment of each order: the order itself is the state, a timer ends the wait.
class Wait : public KeyedProcessFunction<int64_t, Event, Unpaid> {
 public:
  void process_element(const Event& event, KeyedContext<int64_t>& context, Collector<Unpaid>&) override {
    if (event.what == What::kOrdered) {
      const Timestamp since = *context.timestamp();
      waiting_.update({event.order, event.cents, since});
      context.register_event_time_timer(since + kPatience);
      return;
    }
    const auto order = waiting_.value();
    if (!order) return context.output(kStrays, Stray{event.order, event.cents});
    waiting_.clear();
    context.delete_event_time_timer(order->since + kPatience);
  }
  void on_timer(OnTimerContext<int64_t>&, Collector<Unpaid>& out) override {
    out.collect(*waiting_.value());
    waiting_.clear();
  }

 private:
  ValueState<Unpaid> waiting_{*this, "waiting"};
};

}  // namespace

Job make(const Options& events, const Options& unpaid, const Options& strays) {
  Job job("unpaid-orders");
  const Table table{"events",
                    {{"order_id", "BIGINT"}, {"what", "TINYINT"}, {"cents", "BIGINT"}, {"at_ms", "BIGINT"}},
                    events};
  const auto waited = job.source(table,
                                 {col("order_id"), col("what"), col("cents"),
                                  call("TO_TIMESTAMP_LTZ", {col("at_ms"), lit(3)}).as("at")},
                                 EventTime{"at", /*bound=*/2s, /*idle_timeout=*/60s})
                          .as<Event>()
                          .key_by(&Event::order)
                          .process<Wait>()
                          .uid("wait");
  waited.write(table_of<Unpaid>("unpaid", unpaid), "unpaid");
  waited.side_output(kStrays).write(table_of<Stray>("strays", strays), "strays");
  return job;
}

}  // namespace unpaid_orders
