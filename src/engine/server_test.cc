#include "engine/server.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/client.h"
#include "engine/exit.h"
#include "engine/reports/story_view_test.h"
#include "env/real.h"

namespace strand::engine {
namespace {

using ::testing::HasSubstr;

constexpr Duration kDeadline{60'000};

/// A server of the story's job on a port that the system chooses.
class Server : public ::testing::Test {
 protected:
  Server() {
    std::string pattern = ::testing::TempDir() + "strand-server-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    EXPECT_TRUE(real_.files.make_dirs(run_dir()).ok());
  }
  ~Server() override {
    server_.reset();
    EXPECT_TRUE(real_.files.remove_all(root_).ok());
  }
  std::string run_dir() const { return root_ + "/ad-clicks/run"; }
  JobControl control() {
    return {[this] { return story_.view; },
            [this](bool stop, bool drain, const runtime::SavepointAnswer& answer) {
              const std::lock_guard lock(mutex_);
              asked_ = std::string(stop ? "stop" : "savepoint") + (drain ? " drain" : "");
              if (hold_) return held_.push_back(answer);
              answer(answer_, "/savepoints/s1");
            },
            &story_.plan, int64_t{1} << 30};
  }
  Result<std::unique_ptr<ControlServer>> start(const UiOption& ui) {
    return ControlServer::start(control(), ui, "ad-clicks", run_dir(), 4711, real_.env());
  }
  void serve() {
    auto started = start({});
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    server_ = *std::move(started);
  }
  Result<std::string> ask(Verb verb, const std::string& path) {
    return ask_job(real_.files, root_, "", verb, path, kDeadline);
  }

  size_t held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  /// Answers those who wait, and everybody from now on.
  void release() {
    const std::lock_guard lock(mutex_);
    hold_ = false;
    for (const auto& answer : held_) answer(answer_, "/savepoints/s1");
  }

  env::RealEnv real_;
  std::mutex mutex_;
  bool hold_ = false;
  std::vector<runtime::SavepointAnswer> held_;
  std::string root_;
  reports::StoryView story_;
  Status answer_;
  std::string asked_;
  std::unique_ptr<ControlServer> server_;
};

TEST_F(Server, AnswersReportsAsTextAndJson) {
  serve();
  EXPECT_THAT(*ask(Verb::kGet, "/status"), HasSubstr("generation 7, attempt 1"));
  EXPECT_THAT(*ask(Verb::kGet, "/why"), HasSubstr("data is complete through"));
  EXPECT_THAT(*ask(Verb::kGet, "/ledger"), HasSubstr("balanced"));
  EXPECT_THAT(*ask(Verb::kGet, "/metrics"), HasSubstr("strandline_up{job=\"ad-clicks\"} 1"));
  EXPECT_TRUE(nlohmann::json::parse(*ask(Verb::kGet, "/ledger?json"))["balanced"]);
  EXPECT_EQ(nlohmann::json::parse(*ask(Verb::kGet, "/status?json"))["job"], "ad-clicks");
}

TEST_F(Server, SavepointAndStopGiveThePath) {
  serve();
  EXPECT_THAT(*ask(Verb::kPost, "/savepoint"), HasSubstr("/savepoints/s1"));
  EXPECT_EQ(asked_, "savepoint");
  EXPECT_TRUE(ask(Verb::kPost, "/stop").ok());
  EXPECT_EQ(asked_, "stop");
  EXPECT_TRUE(ask(Verb::kPost, "/stop?drain").ok());
  EXPECT_EQ(asked_, "stop drain");
}

TEST_F(Server, ReportsDoNotWaitForSavepointsThatAreUnderWay) {
  serve();
  hold_ = true;
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([this] { EXPECT_TRUE(ask(Verb::kPost, "/savepoint").ok()); });
  while (held() < 4) std::this_thread::yield();
  const auto status = ask(Verb::kGet, "/status");
  EXPECT_TRUE(status.ok()) << status.status().to_string();
  release();
  for (std::thread& client : clients) client.join();
}

TEST_F(Server, AnErrorOfTheJobReachesWhoAsked) {
  serve();
  answer_ = Status(ErrorCode::kCheckpointTimeout, "not in time").hint("look at `why`");
  const auto answer = ask(Verb::kPost, "/savepoint");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), ErrorCode::kCheckpointTimeout);
  EXPECT_EQ(answer.status().hint(), "look at `why`");
}

TEST_F(Server, AGetDoesNotStopAJob) {
  serve();
  EXPECT_FALSE(ask(Verb::kGet, "/stop").ok());
  EXPECT_EQ(asked_, "");
}

TEST_F(Server, TheFileGoesWithTheServer) {
  serve();
  EXPECT_EQ(list_endpoints(real_.files, root_).size(), 1U);
  EXPECT_EQ(list_endpoints(real_.files, root_)[0].pid, 4711);
  server_.reset();
  EXPECT_TRUE(list_endpoints(real_.files, root_).empty());
}

TEST_F(Server, AnotherJobOnThePortOfOneThatDiedIsNotMistakenForIt) {
  serve();
  Endpoint dead = server_->endpoint();
  EXPECT_TRUE(answers(dead));
  dead.job = "payments";
  EXPECT_FALSE(answers(dead));
}

TEST_F(Server, AGivenPortThatIsTakenIsRefusedWithExitCodeFour) {
  serve();
  UiOption ui;
  ui.given = true;
  ui.port = server_->endpoint().port;
  const auto second = start(ui);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kPortInUse);
  EXPECT_THAT(second.status().message(), HasSubstr("127.0.0.1:" + std::to_string(ui.port) + " taken"));
  EXPECT_EQ(exit_of(second.status()), kRefused);
}

TEST_F(Server, WithoutAGivenPortTheNextFreeOneIsTaken) {
  serve();
  auto second = start({});
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->endpoint().port, server_->endpoint().port);
}

TEST_F(Server, BetweenTwoAttemptsTheLedgerSaysWhatTheJobWaitsFor) {
  story_.view.attempt.reset();
  serve();
  EXPECT_THAT(*ask(Verb::kGet, "/ledger"), HasSubstr("waits for its next attempt"));
  EXPECT_THAT(*ask(Verb::kGet, "/metrics"), HasSubstr("strandline_up{job=\"ad-clicks\"} 0"));
}

TEST(UiOption, TakesAddressPortAndOff) {
  EXPECT_TRUE(parse_ui("off")->off);
  EXPECT_EQ(parse_ui("8085")->port, 8085);
  EXPECT_EQ(parse_ui("127.0.0.1:9000")->port, 9000);
  EXPECT_TRUE(parse_ui("127.0.0.1:9000")->given);
}

TEST(UiOption, RefusesWhatIsNoPortAndAddressesThatOthersReach) {
  for (const char* text : {"", "x", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "127.0.0.1:80x"}) {
    EXPECT_FALSE(parse_ui(text).ok()) << text;
  }
  const auto open = parse_ui("0.0.0.0:8081");
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(exit_of(open.status()), kBadUsage);
  EXPECT_THAT(open.status().message(), HasSubstr("loopback"));
}

}  // namespace
}  // namespace strand::engine
