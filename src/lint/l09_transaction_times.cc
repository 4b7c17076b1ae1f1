#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

constexpr const char* kOption = "properties.transaction.timeout.ms";
/// Flink's default, which Kafka's brokers refuse (15 minutes at most, unless they are set otherwise).
constexpr int64_t kFlinksDefault = 3'600'000;
constexpr int64_t kRestart = 50'000;  // from a crash to the commit that was under way

std::string text_of(int64_t millis) { return format_duration(Duration{millis}); }

}  // namespace

void transaction_times(const plan::Plan& plan, const Facts& facts, std::vector<Finding>& found) {
  const int64_t needed = setting_millis(plan, "execution.checkpointing.interval", "10 s") +
                         setting_millis(plan, "execution.checkpointing.timeout", "10 min") + kRestart;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* sink = std::get_if<plan::SinkWrite>(&node->detail);
    if (sink == nullptr || sink->table.option("sink.delivery-guarantee") != "exactly-once") continue;
    const auto given = whole_number(sink->table.option(kOption));
    if (given && facts.broker_transaction_longest && *given > facts.broker_transaction_longest->millis) {
      found.push_back(at(*node,
                         std::string("'") + kOption + "' = " + text_of(*given) + ", and the broker allows " +
                             text_of(facts.broker_transaction_longest->millis),
                         "the broker refuses such transactions: the job does not start",
                         "set it to at most the broker's transaction.max.timeout.ms, and to at least " +
                             text_of(needed) + " for a Flink cluster"));
      continue;
    }
    const int64_t timeout = given.value_or(kFlinksDefault);
    if (given && timeout >= needed) continue;
    found.push_back(at(
        *node,
        given ? std::string("'") + kOption + "' = " + text_of(timeout) +
                    " is less than interval + checkpoint timeout + restart, " + text_of(needed)
              : std::string("'") + kOption + "' is not set",
        given ? "here nothing is lost by it, because transactions live for milliseconds; on a Flink cluster "
                "rows "
                "that were prepared are lost after a longer outage"
              : "here transactions live for milliseconds; on a Flink cluster its default of 1 h is more than "
                "brokers allow",
        std::string("'") + kOption +
            "' = '900000', if the broker allows 15 min; readers of the topic: "
            "isolation.level = read_committed"));
    found.back().severity = Severity::kNote;
  }
}

}  // namespace strand::lint
