// A record is followed through a job over real files.
#include "engine/follow.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "engine/follow_text.h"
#include "engine/load.h"
#include "env/real.h"

namespace strand::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kJob = R"(
CREATE TABLE clicks (click_id STRING, ad_id STRING, n BIGINT, ms BIGINT, read_time AS PROCTIME(),
  ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'path' = '@/clicks', 'format' = 'json', 'source.monitor-interval' = '1 s');
CREATE TABLE minutes (ad_id STRING, w TIMESTAMP(3), n BIGINT, PRIMARY KEY (ad_id, w) NOT ENFORCED)
WITH ('connector' = 'sqlite', 'path' = '@/minutes.db');
CREATE VIEW accepted AS SELECT * FROM clicks WHERE n > 0;
CREATE VIEW unique_clicks AS SELECT click_id, ad_id, ts FROM accepted
  QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;
INSERT INTO minutes SELECT ad_id, window_start, COUNT(*)
FROM TABLE(TUMBLE(TABLE unique_clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end;
)";

class FollowTest : public ::testing::Test {
 protected:
  FollowTest() {
    std::string pattern = ::testing::TempDir() + "strand-follow-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    connect::add_builtin_connectors(registry_);
    EXPECT_TRUE(real_.files.make_dirs(dir_ + "/clicks").ok());
    // 10:00:12 and, as a copy, in another file; c2 is refused; c3 is in the next minute.
    write("clicks/S1", R"({"click_id": "c1", "ad_id": "a", "n": 1, "ms": 1704103212000}
{"click_id": "c2", "ad_id": "a", "n": 0, "ms": 1704103213000}
)");
    write("clicks/S2", R"({"click_id": "c3", "ad_id": "b", "n": 1, "ms": 1704103272000}
{"click_id": "c1", "ad_id": "a", "n": 1, "ms": 1704103212000}
)");
    std::string sql = kJob;
    for (size_t at = sql.find('@'); at != std::string::npos; at = sql.find('@')) sql.replace(at, 1, dir_);
    write("job.sql", sql);
    JobArguments arguments;
    arguments.file = dir_ + "/job.sql";
    auto job = load_job(arguments, registry_, real_.env(), {});
    EXPECT_TRUE(job.ok()) << job.status().to_string();
    plan_ = job->plan;
  }
  ~FollowTest() override { EXPECT_TRUE(real_.files.remove_all(dir_).ok()); }

  void write(const std::string& name, const std::string& text) {
    const size_t slash = name.rfind('/');
    const std::string dir = slash == std::string::npos ? dir_ : dir_ + "/" + name.substr(0, slash);
    EXPECT_TRUE(env::write_atomically(real_.files, dir, name.substr(slash + 1), text).ok());
  }
  std::vector<std::string> lines(const std::string& row) {
    const auto choice = parse_row(plan_, row);
    EXPECT_TRUE(choice.ok()) << choice.status().to_string();
    const auto followed =
        follow(plan_, *choice, registry_, dir_ + "/scratch", {2, int64_t{1} << 30}, real_.env());
    EXPECT_TRUE(followed.ok()) << followed.status().to_string();
    return followed_lines(*followed, JobView(), plan_, WallTime{1704103300000});
  }

  env::RealEnv real_;
  connect::Registry registry_;
  std::string dir_;
  plan::Plan plan_;
};

TEST_F(FollowTest, ARowIsFirstItsCopyADuplicateAndItsWindowIsNamed) {
  EXPECT_THAT(lines("click_id=c1"),
              ElementsAre("clicks/S1 record 1      +I[c1, a, 1, 1704103212000]",
                          "clicks/S2 record 2      +I[c1, a, 1, 1704103212000]", HasSubstr("all 2 passed"),
                          HasSubstr("1 row first of its key, 1 copy dropped as duplicate"),
                          HasSubstr("counted in the window from 10:00:00.000 to 10:01:00.000, open")));
}

TEST_F(FollowTest, ARefusedRowEndsWhereItWasRefused) {
  EXPECT_THAT(lines("click_id=c2"), ElementsAre("clicks/S1 record 2      +I[c2, a, 0, 1704103213000]",
                                                HasSubstr("1 of 1 row refused by its condition")));
}

TEST_F(FollowTest, AValueAloneIsOneOfTheDeduplicationsKey) {
  const auto choice = parse_row(plan_, "c3");
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->column, "click_id");
  EXPECT_THAT(lines("c3").back(), HasSubstr("from 10:01:00.000"));
}

TEST_F(FollowTest, NothingIsWrittenAndAnAbsentRowHasNoLines) {
  EXPECT_TRUE(lines("click_id=c9").empty());
  EXPECT_FALSE(real_.files.stat(dir_ + "/minutes.db").ok());
}

/// A second passes whenever somebody asks.
class HastyClock final : public env::Clock {
 public:
  WallTime now() override { return WallTime{steady_nanos() / 1'000'000}; }
  int64_t steady_nanos() override { return nanos_ += 1'000'000'000; }

 private:
  int64_t nanos_ = 0;
};

/// A shard with records that do not arrive.
class SilentShard final : public flow::ShardFinder {
 public:
  Result<std::vector<std::string>> find() override { return std::vector<std::string>{"S1"}; }
  std::optional<Duration> interval() const override { return std::nullopt; }
};
class SilentReader final : public flow::SourceReader {
 public:
  Status assign(const ShardState&) override { return Status(); }
  Result<flow::Polled> poll(WallTime) override {
    flow::Polled polled;
    polled.behind = true;
    return polled;
  }
  size_t shards() const override { return 1; }
  ShardState state(size_t) const override { return {"S1", "", 0}; }
  bool ended(size_t) const override { return false; }
  std::string waits_for() const override { return "no broker answers"; }
};

TEST_F(FollowTest, AnInputThatFallsSilentBeforeItsEndIsAnErrorWithItsReason) {
  connect::Connector silent;
  silent.finder = [](const connect::TableContext&) -> Result<std::unique_ptr<flow::ShardFinder>> {
    return std::unique_ptr<flow::ShardFinder>(new SilentShard());
  };
  silent.reader = [](const connect::TableContext&) -> Result<std::unique_ptr<flow::SourceReader>> {
    return std::unique_ptr<flow::SourceReader>(new SilentReader());
  };
  registry_.add("silent", std::move(silent));
  plan::Scan scan;
  scan.table.name = "clicks";
  scan.table.options = {{"connector", "silent"}};
  scan.table.schema = std::make_shared<columnar::Schema>(
      std::vector<columnar::Field>{{"id", columnar::make_type(columnar::TypeKind::kString)}});
  // No operator passes the column on: only the input is looked at.
  const auto node = std::make_shared<plan::Node>();
  node->id = "clicks";
  node->detail = std::move(scan);
  plan::Plan plan;
  plan.sinks = {node};
  HastyClock clock;
  env::Env env = real_.env();
  env.clock = &clock;
  const auto followed = follow(plan, {"id", "x"}, registry_, dir_ + "/scratch", {2, int64_t{1} << 30}, env);
  ASSERT_FALSE(followed.ok());
  EXPECT_THAT(followed.status().to_string(), HasSubstr("STRAND-4001  table clicks: expected the rest"));
  EXPECT_THAT(followed.status().to_string(), HasSubstr("(no broker answers)"));
}

TEST_F(FollowTest, AnUnknownColumnHearsTheNearest) {
  const auto choice = parse_row(plan_, "clik_id=c1");
  ASSERT_FALSE(choice.ok());
  EXPECT_THAT(choice.status().to_string(), HasSubstr("did you mean 'click_id'?"));
}

}  // namespace
}  // namespace strand::engine
