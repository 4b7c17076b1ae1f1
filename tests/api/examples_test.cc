// The examples as jobs: what they say, wherever they are killed or stopped and at any parallelism.
#include "payments/job.h"
#include "rules/job.h"
#include "sessions/job.h"
#include "tests/api/job_runner.h"
#include "unpaid-orders/job.h"

namespace strand {
namespace {

using ::testing::ElementsAre;
using testing::expect_same_rows_wherever_it_is_killed;
using testing::JobRunner;
using testing::Leg;

using Options = std::map<std::string, std::string>;
const Options kLog = {{"connector", "simlog"}};
Options from(const std::string& script) { return {{"connector", script}}; }

constexpr int64_t kTen = JobRunner::kStart.millis;
int64_t at(int64_t minute, int64_t second = 0) { return kTen + (minute * 60 + second) * 1000; }
std::string number(int64_t value) { return std::to_string(value); }

// ---- sessions

std::string click(const std::string& user, int64_t minute) {
  return R"({"user":")" + user + R"(","page":"/","at_ms":)" + number(at(minute)) + "}";
}
std::unique_ptr<JobRunner> sessions_runner() {
  auto runner = std::make_unique<JobRunner>([] { return sessions::make(from("script"), kLog, kLog); });
  runner->feed("script",
               {click("ann", 0), click("bob", 1), click("ann", 5), click("ann", 12), click("bob", 25),
                click("bob", 2),  // its session was over at 10:11, allowed until 10:12
                click("cid", 26), click("cid", 40), click("ann", 41), click("ann", 60), click("cid", 7)});
  return runner;
}

TEST(Examples, SessionsAreCountedAndLateClicksAreKept) {
  const auto runner = sessions_runner();
  runner->run();
  EXPECT_THAT(runner->rows("sessions"),
              ElementsAre("+I[ann, 2026-02-08 10:00:00.000Z, 2026-02-08 10:22:00.000Z, 3]",
                          "+I[ann, 2026-02-08 10:41:00.000Z, 2026-02-08 10:51:00.000Z, 1]",
                          "+I[ann, 2026-02-08 11:00:00.000Z, 2026-02-08 11:10:00.000Z, 1]",
                          "+I[bob, 2026-02-08 10:01:00.000Z, 2026-02-08 10:11:00.000Z, 1]",
                          "+I[bob, 2026-02-08 10:25:00.000Z, 2026-02-08 10:35:00.000Z, 1]",
                          "+I[cid, 2026-02-08 10:26:00.000Z, 2026-02-08 10:36:00.000Z, 1]",
                          "+I[cid, 2026-02-08 10:40:00.000Z, 2026-02-08 10:50:00.000Z, 1]"));
  EXPECT_THAT(runner->rows("late_clicks"),
              ElementsAre("+I[bob, /, 2026-02-08 10:02:00.000Z]", "+I[cid, /, 2026-02-08 10:07:00.000Z]"));
  EXPECT_TRUE(runner->ledger("sessions").balanced());
  EXPECT_EQ(runner->ledger("sessions")[obs::Entry::kLate], 2);
}

TEST(Examples, SessionsAreTheSameWhereverTheJobIsKilledStoppedOrRescaled) {
  expect_same_rows_wherever_it_is_killed(sessions_runner, {"sessions", "late_clicks"}, 1'100);
}

// ---- unpaid orders

std::string event(int64_t order, int what, int64_t cents, int64_t minute) {
  return R"({"order_id":)" + number(order) + R"(,"what":)" + number(what) + R"(,"cents":)" + number(cents) +
         R"(,"at_ms":)" + number(at(minute)) + "}";
}
std::unique_ptr<JobRunner> orders_runner() {
  auto runner = std::make_unique<JobRunner>([] { return unpaid_orders::make(from("script"), kLog, kLog); });
  runner->feed("script", {event(1, 0, 500, 0), event(2, 0, 900, 1), event(3, 0, 100, 4), event(2, 1, 900, 5),
                          event(9, 1, 50, 6), event(4, 0, 700, 16), event(1, 1, 500, 17),
                          event(3, 1, 100, 18), event(5, 0, 300, 30)});
  return runner;
}

TEST(Examples, AnOrderIsToldOfWhenItsTimerFires) {
  const auto runner = orders_runner();
  runner->run();
  EXPECT_THAT(runner->rows("unpaid"),
              ElementsAre("+I[1, 500, 2026-02-08 10:00:00.000Z]", "+I[4, 700, 2026-02-08 10:16:00.000Z]",
                          "+I[5, 300, 2026-02-08 10:30:00.000Z]"));
  EXPECT_THAT(runner->rows("strays"), ElementsAre("+I[1, 500]", "+I[9, 50]"));
}

TEST(Examples, TimersFireOnceWhereverTheJobIsKilledStoppedOrRescaled) {
  expect_same_rows_wherever_it_is_killed(orders_runner, {"unpaid", "strays"}, 1'000);
}

// ---- rules

std::string reading(const std::string& sensor, double value, int64_t second) {
  return R"({"sensor":")" + sensor + R"(","kind":"heat","value":)" + std::to_string(value) + R"(,"at_ms":)" +
         number(at(0, second)) + "}";
}
std::unique_ptr<JobRunner> rules_runner() {
  auto runner =
      std::make_unique<JobRunner>([] { return rules::make(from("script"), from("script2"), kLog); });
  runner->feed("script2", {R"({"kind":"heat","limit_value":50.0,"at_ms":)" + number(at(0)) + "}"});
  std::vector<std::string> readings;
  for (int64_t i = 0; i < 12; ++i)
    readings.push_back(reading(i % 2 == 0 ? "s1" : "s2", 40.0 + 2.0 * static_cast<double>(i), i));
  runner->feed("script", readings);
  return runner;
}

TEST(Examples, EverySubtaskKnowsTheBroadcastLimits) {
  const auto runner = rules_runner();
  runner->run({}, 3);
  EXPECT_THAT(runner->rows("alarms"), ElementsAre("+I[s1, 52.0, 1]", "+I[s1, 56.0, 2]", "+I[s1, 60.0, 3]",
                                                  "+I[s2, 54.0, 1]", "+I[s2, 58.0, 2]", "+I[s2, 62.0, 3]"));
}

TEST(Examples, LimitsAreKnownWhereverTheJobIsKilledStoppedOrRescaled) {
  expect_same_rows_wherever_it_is_killed(rules_runner, {"alarms"}, 1'300);
}

// ---- payments

std::string order(const std::string& customer, int64_t id, int64_t minute) {
  return R"({"customer":")" + customer + R"(","order_id":)" + number(id) + R"(,"at_ms":)" +
         number(at(minute)) + "}";
}
std::string payment(const std::string& customer, int64_t cents, int64_t minute) {
  return R"({"customer":")" + customer + R"(","cents":)" + number(cents) + R"(,"at_ms":)" +
         number(at(minute)) + "}";
}
std::unique_ptr<JobRunner> payments_runner() {
  auto runner =
      std::make_unique<JobRunner>([] { return payments::make(from("script"), from("script2"), kLog, kLog); });
  runner->feed("script", {order("ann", 1, 0), order("bob", 2, 1), order("ann", 3, 8), order("bob", 4, 20),
                          order("ann", 5, 40), order("ann", 6, 41)});
  runner->feed("script2", {payment("ann", 100, 3), payment("ann", 200, 9), payment("bob", 300, 12),
                           payment("bob", 400, 30), payment("ann", 500, 49), payment("bob", 600, 51)});
  return runner;
}

TEST(Examples, APaymentFindsTheOrdersOfTheTenMinutesBefore) {
  const auto runner = payments_runner();
  runner->run({}, 2);
  EXPECT_THAT(runner->rows("paid"), ElementsAre("+I[ann, 1, 100]", "+I[ann, 1, 200]", "+I[ann, 3, 200]",
                                                "+I[ann, 5, 500]", "+I[ann, 6, 500]", "+I[bob, 4, 400]"));
}

TEST(Examples, PaymentsFindTheirOrdersWhereverTheJobIsKilledStoppedOrRescaled) {
  expect_same_rows_wherever_it_is_killed(payments_runner, {"paid", "late"}, 800);
}

}  // namespace
}  // namespace strand
