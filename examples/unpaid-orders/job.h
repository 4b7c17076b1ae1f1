// A process function with a timer: tells of every order that nobody has paid for within fifteen minutes.
#pragma once

#include <map>
#include <string>

#include "strandline/stream.h"

namespace unpaid_orders {

using Options = std::map<std::string, std::string>;

enum class What : int8_t { kOrdered, kPaid };

struct Event {
  int64_t order = 0;
  What what = What::kOrdered;
  int64_t cents = 0;
  static auto fields() {
    return strandline::fields("order_id", &Event::order, "what", &Event::what, "cents", &Event::cents);
  }
};

struct Unpaid {
  int64_t order = 0;
  int64_t cents = 0;
  strandline::Timestamp since;
  static auto fields() {
    return strandline::fields("order_id", &Unpaid::order, "cents", &Unpaid::cents, "since", &Unpaid::since);
  }
};

/// A payment of an order that is not waited for: never placed, paid before, or given up.
struct Stray {
  int64_t order = 0;
  int64_t cents = 0;
  static auto fields() { return strandline::fields("order_id", &Stray::order, "cents", &Stray::cents); }
};

/// Reads `events`; writes `unpaid` and `strays`.
strandline::Job make(const Options& events, const Options& unpaid, const Options& strays);

}  // namespace unpaid_orders
