#include "engine/finalize.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>

#include "connect/sqlite/flush_store.h"
#include "connect/table/test_rows.h"
#include "engine/reports/story_view_test.h"

namespace strand::engine {
namespace {

using connect::table::Answer;
using connect::table::Request;
using connect::table::TableStore;
using ::testing::ElementsAre;

/// A store that dies with its process before a transaction.
class DyingStore final : public TableStore {
 public:
  DyingStore(std::unique_ptr<TableStore> store, int applied) : store_(std::move(store)), left_(applied) {}
  Status open(const connect::table::WriterSpec& spec) override { return store_->open(spec); }
  Status claim(const connect::table::WriterClaim& claim) override { return store_->claim(claim); }
  Result<std::vector<Answer>> apply(const std::vector<Request>& requests) override {
    if (left_-- == 0) return Status(ErrorCode::kIo, "killed");
    return store_->apply(requests);
  }
  Result<connect::table::Listing> list(Epoch low, Epoch high) override { return store_->list(low, high); }
  void close() override { store_->close(); }

 private:
  std::unique_ptr<TableStore> store_;
  int left_;
};

class Finalize : public ::testing::Test {
 protected:
  Finalize() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strand-final-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    snapshot_.generation = {7};
    snapshot_.attempt = {1};
    snapshot_.epoch = {43};
  }
  ~Finalize() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<TableStore> store() {
    return connect::sqlite::make_flush_store({dir_ + "/t.db", Duration{1000}});
  }
  static connect::table::WriterSpec spec() {
    auto spec = connect::table::test_writer("final", "ad-clicks/recount");
    std::vector<columnar::Field> values = spec.values->fields();
    values.push_back({kFinalDirty, columnar::make_type(columnar::TypeKind::kBigInt)});
    spec.values = std::make_shared<columnar::Schema>(std::move(values));
    std::vector<columnar::Field> all = spec.table_schema->fields();
    all.push_back(spec.values->fields().back());
    spec.table_schema = std::make_shared<columnar::Schema>(std::move(all));
    return spec;
  }
  static Hour hour(const std::string& ad, int64_t n, HourState state = HourState::kWritable,
                   bool closed = true) {
    Hour out;
    out.key = {Cell(ad), Cell("H10")};
    out.closed = closed;
    out.state = state;
    out.columns.push_back({"final_valid", n, n, 0, 0, 0});
    return out;
  }
  FinalWriter writer(std::unique_ptr<TableStore> to) {
    auto opened = FinalWriter::open(spec(), snapshot_, std::move(to), /*batch_rows=*/1);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return *std::move(opened);
  }
  connect::sqlite::TableRows table() {
    return *connect::sqlite::read_table(dir_ + "/t.db", "ad_metrics", /*bookkeeping=*/true);
  }
  /// "ad_7 12 dirty 0 [7.1.43]" for each row.
  std::vector<std::string> rows() {
    const auto found = table();
    std::vector<std::string> out;
    for (size_t i = 0; i < found.rows.size(); ++i) {
      const auto at = [&](const char* column) { return found.value(i, column).value_or("-"); };
      out.push_back(at("entity") + " " + at("final_valid") + " dirty " + at("final_dirty") + " [" +
                    at("final_gen") + "." + at("final_attempt") + "." + at("final_ckpt") + "]");
    }
    return out;
  }

  std::string dir_;
  checkpoint::Manifest snapshot_;
};

TEST_F(Finalize, WritesHoursThatAreClosedWithTheTagOfTheSnapshot) {
  const auto written = writer(store()).write(
      {hour("ad_7", 12), hour("ad_8", 1, HourState::kOpen, false), hour("ad_9", 3, HourState::kFinal)});
  EXPECT_EQ(*written, 1);
  EXPECT_THAT(rows(), ElementsAre("ad_7 12 dirty 0 [7.1.43]"));
}

TEST_F(Finalize, ARecountThatDiesHalfWayIsFinishedByTheNext) {
  const std::vector<Hour> hours = {hour("ad_7", 12), hour("ad_8", 1), hour("ad_9", 3)};
  const auto dead = writer(std::make_unique<DyingStore>(store(), 1)).write(hours);
  EXPECT_FALSE(dead.ok());
  EXPECT_THAT(rows(), ElementsAre("ad_7 12 dirty 0 [7.1.43]"));
  EXPECT_EQ(*writer(store()).write(hours), 3);
  EXPECT_EQ(*writer(store()).write(hours), 3) << "the same again changes nothing";
  EXPECT_THAT(rows(),
              ElementsAre("ad_7 12 dirty 0 [7.1.43]", "ad_8 1 dirty 0 [7.1.43]", "ad_9 3 dirty 0 [7.1.43]"));
}

TEST_F(Finalize, ADirtyHourIsMarkedBeforeItIsWrittenAnew) {
  ASSERT_TRUE(writer(store()).write({hour("ad_7", 12)}).ok());
  snapshot_.epoch = {50};
  auto recount = writer(store());
  const std::vector<Hour> dirty = {hour("ad_7", 13, HourState::kDirty)};
  ASSERT_TRUE(recount.mark_dirty(dirty, table()).ok());
  EXPECT_THAT(rows(), ElementsAre("ad_7 12 dirty 1 [7.1.50]"));
  ASSERT_TRUE(recount.write(dirty).ok());
  EXPECT_THAT(rows(), ElementsAre("ad_7 13 dirty 0 [7.1.50]"));
}

TEST_F(Finalize, AMarkedHourThatIsOpenAgainKeepsItsMark) {
  ASSERT_TRUE(writer(store()).write({hour("ad_7", 12)}).ok());
  auto recount = writer(store());
  const std::vector<Hour> open = {hour("ad_7", 12, HourState::kDirty, /*closed=*/false)};
  ASSERT_TRUE(recount.mark_dirty(open, table()).ok());
  EXPECT_EQ(*recount.write(open), 0);
  EXPECT_THAT(rows(), ElementsAre("ad_7 12 dirty 1 [7.1.43]"));
}

TEST_F(Finalize, AnOlderGenerationDoesNotOverwriteANewer) {
  snapshot_.generation = {8};
  ASSERT_TRUE(writer(store()).write({hour("ad_7", 12)}).ok());
  snapshot_.generation = {7};
  EXPECT_EQ(*writer(store()).write({hour("ad_7", 11)}), 0);
  EXPECT_THAT(rows(), ElementsAre("ad_7 12 dirty 0 [8.1.43]"));
}

TEST_F(Finalize, AnInsertNamedFinalIsNotOverwritten) {
  auto taken = store();
  ASSERT_TRUE(taken->open(connect::table::test_writer("final", "ad-clicks")).ok());
  EXPECT_EQ(FinalWriter::open(spec(), snapshot_, store()).status().code(), ErrorCode::kWriterTaken);
}

TEST(Reached, IsTheLowestFloorOfTheJob) {
  checkpoint::Manifest manifest;
  EXPECT_EQ(reached(manifest), EventTime::min());
  checkpoint::OperatorPart part;
  part.floors = {{{0, 63}, EventTime{9}}, {{64, 127}, EventTime{7}}};
  manifest.operators["per_minute"] = {part};
  part.floors = {{{0, 127}, EventTime{8}}};
  manifest.operators["accepted"] = {part};
  EXPECT_EQ(reached(manifest), EventTime{7});
}

TEST(AcceptedAfter, IsHowLongIdsAreKept) {
  const reports::StoryView story;
  plan::Plan plan = story.plan;
  EXPECT_EQ(accepted_after(plan)->millis, 2 * 3'600'000);
  plan.sinks.clear();
  EXPECT_EQ(accepted_after(plan).status().code(), ErrorCode::kBadUsage);
}

TEST(FinalWriterSpec, OwnsAColumnForEachCountWithALatePartAndTheMark) {
  using columnar::TypeKind;
  plan::SinkWrite write;
  write.table.name = "ad_metrics";
  write.table.schema =
      connect::table::test_schema({{"entity", TypeKind::kString}, {"fast_valid", TypeKind::kBigInt}});
  auto node = std::make_shared<plan::Node>();
  node->detail = write;
  plan::Plan plan;
  plan.job = "ad-clicks";
  plan.sinks = {node};
  ComparedTable table;
  table.name = "ad_metrics";
  table.table_name = "ad_metrics_dev";
  table.key = {"entity"};
  table.late_of = {{"fast_valid", "late_valid"}};

  const auto spec = final_writer(plan, table);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->table, "ad_metrics_dev");
  EXPECT_EQ(spec->writer, "final");
  EXPECT_NE(spec->job, plan.job) << "attempts of the job must not shut out its recount, nor the other way";
  ASSERT_EQ(spec->values->size(), 2U);
  EXPECT_EQ((*spec->values)[0].name, "final_valid");
  EXPECT_EQ((*spec->values)[1].name, "final_dirty");
}

}  // namespace
}  // namespace strand::engine
