// The tests of the story. `--facts` counts facts instead of tests: one is passed when every test of it
// passes.
#include <cstdio>
#include <cstring>
#include <regex>

#include "tests/story/story.h"

namespace strand::story {
namespace {

class CountFacts final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const ::testing::TestInfo& info) override {
    static const std::regex kFact("[FC]\\d{3}");
    const std::string name = info.name();
    for (std::sregex_iterator at(name.begin(), name.end(), kFact), end; at != end; ++at) {
      const auto known = passed_.emplace(at->str(), true).first;
      known->second = known->second && info.result()->Passed();
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
    std::map<std::string, std::string> by_reason;
    for (const auto& [id, reason] : missing) by_reason[reason] += " " + id;
    std::printf("facts: %zu passed, %zu failed, %zu not yet built\n", passed, failed.size(), missing.size());
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
  std::map<std::string, bool> passed_;
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
