#include "engine/rest_file.h"

#include <gmock/gmock.h>

#include "engine/client.h"
#include "engine/exit.h"

namespace strand::engine {
namespace {

using ::testing::HasSubstr;

const Endpoint kClicks{"ad-clicks", "127.0.0.1", 8081, 100};
const Endpoint kPayments{"payments", "127.0.0.1", 8082, 101};

Result<Endpoint> find(const std::vector<Endpoint>& known, const std::string& job,
                      const std::vector<Endpoint>& alive) {
  return find_endpoint(
      known, job, [&](const Endpoint& e) { return std::find(alive.begin(), alive.end(), e) != alive.end(); },
      "/state");
}

TEST(RestFile, ReadsWhatItWrites) { EXPECT_EQ(parse_endpoint(to_text(kClicks)), kClicks); }

TEST(RestFile, ATornFileIsNoEndpoint) {
  const std::string whole = to_text(kClicks);
  for (size_t size = 0; size + 2 < whole.size(); ++size)
    EXPECT_FALSE(parse_endpoint(whole.substr(0, size))) << size;
  EXPECT_FALSE(parse_endpoint("[1]"));
}

TEST(FindJob, TheOnlyOneThatAnswersNeedsNoName) {
  const auto found = find({kClicks, kPayments}, "", {kPayments});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, kPayments);
}

TEST(FindJob, SeveralAreListed) {
  const auto found = find({kClicks, kPayments}, "", {kClicks, kPayments});
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.status().message(), HasSubstr("ad-clicks (127.0.0.1:8081), payments (127.0.0.1:8082)"));
  EXPECT_EQ(exit_of(found.status()), kNoSuchJob);
}

TEST(FindJob, ANameChoosesOne) {
  const auto found = find({kClicks, kPayments}, "payments", {kClicks, kPayments});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, kPayments);
}

TEST(FindJob, NoneIsExitCodeFive) {
  const auto found = find({}, "", {});
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.status().message(), HasSubstr("/state"));
  EXPECT_EQ(exit_of(found.status()), 5);
}

TEST(FindJob, AnUnknownNameHearsTheNearest) {
  const auto found = find({kClicks}, "ad-click", {kClicks});
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.status().hint(), HasSubstr("did you mean ad-clicks?"));
}

TEST(FindJob, AJobThatDiedIsSaidNotToAnswer) {
  const auto found = find({kClicks}, "ad-clicks", {});
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.status().message(), HasSubstr("does not answer at 127.0.0.1:8081 (pid 100)"));
}

TEST(ErrorFromJson, KeepsNumberPlaceAndHint) {
  const Status error = error_from_json(R"({"code":5007,"message":"late","where":"here","hint":"wait"})");
  EXPECT_EQ(error.code(), ErrorCode::kCheckpointTimeout);
  EXPECT_EQ(error.to_string(), "STRAND-5007  here: late\n  wait");
}

TEST(ErrorFromJson, AnUnknownNumberOrNoJsonIsOurFault) {
  EXPECT_EQ(error_from_json(R"({"code":77,"message":"x"})").code(), ErrorCode::kInternal);
  EXPECT_EQ(error_from_json("<html>").code(), ErrorCode::kInternal);
}

}  // namespace
}  // namespace strand::engine
