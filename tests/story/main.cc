// The tests of the story. `--facts` counts facts instead of tests: one is passed when every test of it
// passes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <regex>

#include "tests/story/story.h"

namespace strand::story {
namespace {

std::string by_subtasks(const ::testing::TestParamInfo<int32_t>& at) {
  return "p" + std::to_string(at.param);
}
const auto kParallelisms = ::testing::Values(1, 2, 4);

INSTANTIATE_TEST_SUITE_P(Parallelism, A, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Boundary, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, CL, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, End, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, FreeChoices, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, G, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Guard, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, K, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Lag, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Later, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Main, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, NF, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, NI, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, NoCrash, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, P1, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, P2, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Payments, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, ProcessingTime, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, R1x, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Recount, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Seeds, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Session, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, SecondWindow, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Sliding, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, SlowWrites, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, Sql, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, U, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, W, kParallelisms, by_subtasks);
INSTANTIATE_TEST_SUITE_P(Parallelism, X, kParallelisms, by_subtasks);

class CountFacts final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const ::testing::TestInfo& info) override {
    static const std::regex kFact("[FC]\\d{3}");
    const std::string name = info.name();
    for (std::sregex_iterator at(name.begin(), name.end(), kFact), end; at != end; ++at) {
      const auto known = passed_.emplace(at->str(), true).first;
      known->second = known->second && info.result()->Passed();
      if (info.value_param() != nullptr) parallelisms_[at->str()].insert(info.value_param());
    }
  }

  /// False if a fact failed, is unknown, or is neither tested nor said to be missing.
  bool report() const {
    const std::map<std::string, std::string> missing = not_built();
    size_t passed = 0;
    std::vector<std::string> failed;
    for (const auto& [id, ok] : passed_) {
      if (ok && facts().contains(id) && !missing.contains(id)) {
        ++passed;
      } else {
        failed.push_back(id);
      }
    }
    for (const auto& [id, known] : facts()) {
      if (!passed_.contains(id) && !missing.contains(id)) failed.push_back(id);
    }
    failed_at_parallelisms(failed);
    std::map<std::string, std::string> by_reason;
    for (const auto& [id, reason] : missing) by_reason[reason] += " " + id;
    std::printf("facts: %zu passed, %zu failed, %zu not yet built\n", passed, failed.size(), missing.size());
    std::printf(
        "at parallelism 1, 2 and 4: %zu; at one: %zu, of which tests/story/one_parallelism.cc says why\n",
        everywhere(), passed_.size() - everywhere());
    for (const std::string& id : failed) {
      const auto known = facts().find(id);
      std::printf("  failed %s  %s\n", id.c_str(),
                  known == facts().end() ? "no such fact" : known->second.what.c_str());
    }
    if (!missing.empty()) std::printf("not yet built, by what they wait for:\n");
    for (const auto& [reason, ids] : by_reason) std::printf("  %s:\n   %s\n", reason.c_str(), ids.c_str());
    return failed.empty();
  }

 private:
  bool everywhere(const std::string& id) const {
    const auto found = parallelisms_.find(id);
    return found != parallelisms_.end() && found->second == std::set<std::string>{"1", "2", "4"};
  }
  size_t everywhere() const {
    return static_cast<size_t>(
        std::ranges::count_if(passed_, [&](const auto& fact) { return everywhere(fact.first); }));
  }
  /// Adds facts that are read at one parallelism and are not said to be, and the other way round.
  void failed_at_parallelisms(std::vector<std::string>& failed) const {
    const std::map<std::string, std::string> once = told_once();
    for (const auto& [id, ok] : passed_) {
      if (everywhere(id) == once.contains(id)) failed.push_back(id);
    }
  }

  std::map<std::string, bool> passed_;
  std::map<std::string, std::set<std::string>> parallelisms_;
};

}  // namespace
}  // namespace strand::story

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const bool count = argc > 1 && std::strcmp(argv[1], "--facts") == 0;
  if (!count) return RUN_ALL_TESTS();
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  auto* counter = new strand::story::CountFacts;
  listeners.Append(counter);
  const int failed = RUN_ALL_TESTS();
  return counter->report() && failed == 0 ? 0 : 1;
}
