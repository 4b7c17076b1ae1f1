// Interval join: each payment with the orders of the same customer that were placed up to ten minutes before.
#pragma once

#include <map>
#include <string>

#include "strandline/stream.h"

namespace payments {

using Options = std::map<std::string, std::string>;

struct Order {
  std::string customer;
  int64_t order = 0;
  static auto fields() { return strandline::fields("customer", &Order::customer, "order_id", &Order::order); }
};
struct Payment {
  std::string customer;
  int64_t cents = 0;
  static auto fields() {
    return strandline::fields("customer", &Payment::customer, "cents", &Payment::cents);
  }
};
struct Paid {
  std::string customer;
  int64_t order = 0;
  int64_t cents = 0;
  static auto fields() {
    return strandline::fields("customer", &Paid::customer, "order_id", &Paid::order, "cents", &Paid::cents);
  }
};

/// Reads `orders` and `payments`; writes `paid`, and into `late` the payments that came too late to find an
/// order.
strandline::Job make(const Options& orders, const Options& payments, const Options& paid,
                     const Options& late);

}  // namespace payments
