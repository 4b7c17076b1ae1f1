#include "payments/job.h"

namespace payments {

using namespace strandline;
using namespace std::chrono_literals;

namespace {

Stream source(Job& job, const std::string& name, Column second, const Options& options) {
  return job.source(
      {name, {{"customer", "STRING"}, second, {"at_ms", "BIGINT"}}, options},
      {col("customer"), col(second.name), call("TO_TIMESTAMP_LTZ", {col("at_ms"), lit(3)}).as("at")},
      EventTime{"at", /*bound=*/5s, /*idle_timeout=*/60s});
}

}  // namespace

Job make(const Options& orders, const Options& payments, const Options& paid, const Options& late) {
  Job job("payments");
  const auto placed = source(job, "orders", {"order_id", "BIGINT"}, orders).as<Order>();
  const auto received = source(job, "payments", {"cents", "BIGINT"}, payments).as<Payment>();
  const auto joined = placed.key_by(&Order::customer)
                          .interval_join(received.key_by(&Payment::customer))
                          .between(0ms, 10min)
                          .process([](const Order& order, const Payment& payment) {
                            return Paid{order.customer, order.order, payment.cents};
                          })
                          .uid("paid");
  joined.write(table_of<Paid>("paid", paid), "paid");
  joined.late_right().write(table_of<Payment>("late", late), "late");
  return job;
}

}  // namespace payments
