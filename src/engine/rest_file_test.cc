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
                      const std::vector<Endpoint>& alive, const std::vector<LastEnd>& ended = {}) {
  return find_endpoint({"/state", known, ended}, job, [&](const Endpoint& e) {
    return std::find(alive.begin(), alive.end(), e) != alive.end();
  });
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

JobEnd stopped(bool drained) {
  JobEnd end;
  end.kind = JobEnd::Kind::kStopped;
  end.savepoint = "/state/sp-7";
  end.drained = drained;
  return end;
}
constexpr WallTime kQuarterPast{1'770'545'700'000};

TEST(FindJob, AJobThatHasEndedIsSaidHow) {
  const auto found = find({}, "ad-clicks", {}, {last_end("ad-clicks", stopped(false), kQuarterPast)});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(
      found.status().message(),
      "job 'ad-clicks' does not run: it stopped at 2026-02-08T10:15:00.000Z with savepoint /state/sp-7");
  EXPECT_THAT(find({}, "", {}, {last_end("ad-clicks", stopped(true), kQuarterPast)}).status().message(),
              HasSubstr("\n    ad-clicks drained at 2026-02-08T10:15:00.000Z with savepoint /state/sp-7"));
}

TEST(LastEnd, SaysForEveryKindOfEndWhatHelps) {
  JobEnd end;
  for (const auto kind : {JobEnd::Kind::kInputEnded, JobEnd::Kind::kReadOnce, JobEnd::Kind::kStopped,
                          JobEnd::Kind::kAbandoned, JobEnd::Kind::kFailed, JobEnd::Kind::kRefused}) {
    end.kind = kind;
    end.error = Status(ErrorCode::kBadRow, "no JSON").at("clicks/S1 position 7");
    const LastEnd told = last_end("j", end, kQuarterPast);
    EXPECT_THAT(told.how, HasSubstr(" at 2026-02-08T10:15:00.000Z"));
    EXPECT_THAT(told.hint, HasSubstr("strandline run"));
    const bool fault = kind == JobEnd::Kind::kFailed || kind == JobEnd::Kind::kRefused;
    EXPECT_EQ(told.how.find("STRAND-3001  clicks/S1 position 7: no JSON") != std::string::npos, fault);
  }
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
