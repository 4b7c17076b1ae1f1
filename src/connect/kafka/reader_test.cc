// A reader whose broker is away.
#include "connect/kafka/reader.h"

#include <gtest/gtest.h>

#include "env/real.h"

namespace strand::connect::kafka {
namespace {

/// Runs nothing until it is told to.
class HeldWork final : public env::Executor {
 public:
  void submit(uint64_t, std::function<void()> work) override { work_.push_back(std::move(work)); }
  void drain() override {
    for (const auto& work : std::exchange(work_, {})) work();
  }
  size_t size() const { return work_.size(); }

 private:
  std::vector<std::function<void()>> work_;
};

class KafkaReaderTest : public ::testing::Test {
 protected:
  /// Nobody listens on port 1.
  KafkaReaderTest() {
    TableContext table;
    table.table = "clicks";
    table.schema = table.table_schema = std::make_shared<columnar::Schema>(
        std::vector<columnar::Field>{{"id", columnar::make_type(columnar::TypeKind::kBigInt)}});
    table.options = {{"topic", "clicks"},
                     {"properties.bootstrap.servers", "127.0.0.1:1"},
                     {"scan.startup.mode", "earliest-offset"},
                     {"format", "json"}};
    table.env.executor = &executor_;
    auto options = read_options(table, Side::kSource, /*upsert=*/false);
    EXPECT_TRUE(options.ok()) << options.status().to_string();
    auto rows = RecordRows::make(table, *options);
    EXPECT_TRUE(rows.ok()) << rows.status().to_string();
    reader_ = std::make_unique<KafkaReader>(table, *std::move(options), *std::move(rows));
    EXPECT_TRUE(reader_->assign({"clicks-0", R"({"offset": 0})", 0}).ok());
  }
  void poll() {
    now_ = now_ + Duration{1'000};
    const auto polled = reader_->poll(now_);
    EXPECT_TRUE(polled.ok()) << polled.status().to_string();
  }

  HeldWork executor_;
  std::unique_ptr<KafkaReader> reader_;
  WallTime now_{0};
};

TEST_F(KafkaReaderTest, OneLookForBrokersIsUnderWayHoweverLongTheyAreAway) {
  while (reader_->waits_for().empty()) env::sleep(Duration{1});
  for (int second = 0; second < 20; ++second) poll();
  EXPECT_EQ(executor_.size(), 1u);
  executor_.drain();
  for (int second = 0; second < 20; ++second) poll();
  EXPECT_EQ(executor_.size(), 1u) << "when it has ended, the next one";
  reader_.reset();
  executor_.drain();  // of a reader that is gone: nothing
}

}  // namespace
}  // namespace strand::connect::kafka
