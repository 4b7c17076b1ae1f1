#include "api/state_cells.h"

#include <gmock/gmock.h>

#include "strandline/state.h"

namespace strand::api {
namespace {

struct Rules : strandline::StateOwner {
  strandline::BroadcastState<std::string, int64_t> limits{*this, "limits"};
};

// Every subtask must hold the same: what one of them wrote for itself was lost when the job was rescaled.
TEST(BroadcastState, ChangesOnlyWithAnElementOfItsStream) {
  Rules rules;
  OperatorState of_subtask;
  StateHome home;
  home.of_subtask = &of_subtask;
  ASSERT_TRUE(bind_states(rules, home).ok());

  home.in_broadcast = true;
  rules.limits.put("a", 1);
  home.in_broadcast = false;
  EXPECT_EQ(rules.limits.get("a"), 1);
  const std::vector<std::function<void()>> writes = {
      [&] { rules.limits.put("b", 2); }, [&] { rules.limits.remove("a"); }, [&] { rules.limits.clear(); }};
  for (const auto& write : writes) {
    EXPECT_THAT(write, ::testing::ThrowsMessage<std::logic_error>(
                           ::testing::HasSubstr("broadcast state `limits` is written where no element")));
  }
  EXPECT_EQ(rules.limits.entries().size(), 1U);
}

}  // namespace
}  // namespace strand::api
