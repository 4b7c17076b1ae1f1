// Sections 8 and 10 of the story: what the recount writes into the table, and what it says of the job.
#include <gtest/gtest.h>

#include "engine/finalize.h"
#include "sim/store/test_stores.h"
#include "sim/store/writer_run.h"
#include "tests/story/story.h"

namespace strand::story {
namespace {

using connect::table::test_record;
using connect::table::test_writer;
using sim::sink_start;
using sim::WriterRun;

/// Passes every call on and counts the entries of the index that are asked for.
class CountingStore final : public connect::table::TableStore {
 public:
  CountingStore(std::unique_ptr<connect::table::TableStore> inner, int64_t& entries)
      : inner_(std::move(inner)), entries_(entries) {}
  Status open(const connect::table::WriterSpec& spec) override { return inner_->open(spec); }
  Status claim(const connect::table::WriterClaim& claim) override { return inner_->claim(claim); }
  Result<connect::table::Listing> list(Epoch low, Epoch high) override {
    auto listing = inner_->list(low, high);
    if (listing.ok()) entries_ += listing->entries;
    return listing;
  }
  Result<std::vector<connect::table::Answer>> apply(
      const std::vector<connect::table::Request>& requests) override {
    return inner_->apply(requests);
  }
  void close() override { inner_->close(); }

 private:
  std::unique_ptr<connect::table::TableStore> inner_;
  int64_t& entries_;
};

/// One item of a SQLite table with its three writers, each of them the real one.
class Item : public ::testing::Test {
 protected:
  explicit Item() { EXPECT_TRUE(env_.files.make_dirs("/files").ok()); }

  WriterRun start(const std::string& writer, std::vector<AttemptRecord> history,
                  const connect::table::FlushOptions& options = {}, std::optional<Epoch> elders = {}) {
    auto spec = test_writer(writer);
    auto counted = std::make_unique<CountingStore>(table_.connect(), entries_);
    auto sink = make_flush_sink(spec, std::move(counted), env_.env(), options);
    flow::SinkStart begin = sink_start(std::move(history));
    begin.elders = elders;
    return WriterRun(env_, spec, begin, std::move(sink));
  }
  /// Written by the job after barrier 41.
  void write(const std::string& writer, const std::string& bucket, int64_t value) {
    auto run = start(writer, {test_record(7, 1, {}, 0)});
    run.begin().barrier(41);
    run.write({{"ad_7", bucket, value}});
    EXPECT_TRUE(run.status.ok()) << run.status.to_string();
  }
  void recount(const std::string& bucket, int64_t value) {
    plan::SinkWrite write;
    write.table.name = "ad_metrics";
    write.table.schema = test_writer("final").table_schema;
    auto node = std::make_shared<plan::Node>();
    node->detail = write;
    plan::Plan plan;
    plan.job = "ad-clicks";
    plan.sinks = {node};
    engine::ComparedTable table;
    table.name = table.table_name = "ad_metrics";
    table.key = {"entity", "bucket"};
    table.late_of = {{"fast_valid", "late_valid"}};
    checkpoint::Manifest snapshot;
    snapshot.generation = {7};
    snapshot.attempt = {1};
    snapshot.epoch = {41};
    engine::Hour hour;
    hour.key = {engine::Cell("ad_7"), engine::Cell(bucket)};
    hour.closed = true;
    hour.state = engine::HourState::kWritable;
    hour.columns.push_back({"final_valid", value, 0, 0, 0, 0});
    auto writer = engine::FinalWriter::open(*engine::final_writer(plan, table), snapshot, table_.connect());
    ASSERT_TRUE(writer.ok()) << writer.status().to_string();
    ASSERT_EQ(*writer->write({hour}), 1);
    writer->close();
  }
  /// The worker is back from checkpoint 41 with empty state.
  void flush(const std::string& writer) {
    start(writer, {test_record(7, 1, {}, 0), test_record(7, 2, 41, 42)}).begin();
  }
  /// What is left of the item, without the tag and the mark of `final`.
  std::string left() {
    std::map<std::string, int64_t> out;
    const auto rows = connect::sqlite::read_table(table_.path(), "ad_metrics", /*bookkeeping=*/true);
    EXPECT_EQ(rows->rows.size(), 1U);
    for (const std::string& column : rows->columns) {
      const bool key = column == "entity" || column == "bucket";
      const bool others = column.starts_with("final_") && column != "final_valid";
      const auto value = rows->value(0, column);
      if (value && !key && !others) out[column] = std::stoll(*value);
    }
    return dict(out);
  }

  sim::SimEnv env_{1, WallTime{1'000'000}};
  sim::SqliteBackend table_;
  int64_t entries_ = 0;  // of the index, that were asked for
};

TEST_F(Item, F203_TheFlushLeavesWhatTheRecountHasWritten) {
  write("fast", "H10", 60);
  write("late", "H10", 1);
  recount("H10", 61);
  EXPECT_NE(left().find("late_valid: 1"), std::string::npos);
  flush("fast");
  flush("late");
  fact("F203", left());
}

TEST_F(Item, F206_AMinuteThatCarriesFinalValuesStays) {
  write("fast", "M10:14", 5);
  recount("M10:14", 5);
  flush("fast");
  fact("F206", left());
}

// Our generation is that of the writer: another writer's is no reason to refuse.
TEST_F(Item, F221_FinishedRowsAndThoseOfANewerVersionAreRefused) {
  connect::table::FlushOptions options;
  options.closed_rows = true;
  auto first = start("fast", {test_record(7, 1, {}, 0)}, options);
  first.begin().barrier(39);
  first.write({{"ad_7", "M10:13", 6}});
  auto newer = start("fast", {test_record(7, 1, {}, 0), test_record(8, 1, 41, 42)}, options, Epoch{42});
  newer.begin().barrier(43);
  newer.write({{"ad_7", "M10:15", 1}});
  auto run = start("fast", {test_record(7, 1, {}, 0), test_record(7, 2, 41, 42)}, options);
  run.begin();
  std::vector<std::string> allowed;
  const auto write = [&](const char* bucket) {
    const int64_t before = run.counts().written;
    run.write({{"ad_7", bucket, 5}});
    allowed.push_back(text(run.counts().written == before + 1));
  };
  write("M10:14");  // no tag there
  run.barrier(43);
  write("M10:14");  // a tag of now
  write("M10:13");  // a tag below the checkpoint
  write("M10:15");  // a newer generation
  EXPECT_TRUE(run.status.ok()) << run.status.to_string();
  fact("F221", list_of(allowed));
}

// Ours begins with the generation: versions side by side find their own (replay.md W1).
TEST_F(Item, F197_TheIndexEntryIsEpochAndShard) {
  write("late", "H10", 1);
  const auto rows = connect::sqlite::read_table(table_.path(), "ad_metrics", /*bookkeeping=*/true);
  const std::string entry = rows->value(0, "late_ix").value_or("");
  ASSERT_TRUE(entry.starts_with("7#")) << entry;
  const std::string rest = entry.substr(2);
  fact("F197", text(rest.starts_with("41#") && rest.size() == 4 && rest[3] >= '0' && rest[3] <= '7'));
}

TEST_F(Item, F209_TheFlushAsksForEachShardOfEachEpoch) {
  write("fast", "H10", 60);
  write("late", "H10", 1);
  entries_ = 0;
  flush("fast");
  flush("late");
  fact("F209", text(entries_));
}

// Written again with the epoch that was restored, while an older value stays as it is.
TEST_F(Item, ALateTotalThatStateHoldsIsRewrittenAndAnOlderOneIsNotTouched) {
  write("late", "H10", 3);
  auto run = start("late", {test_record(7, 1, {}, 0), test_record(7, 2, 41, 42)});
  run.hold({{"ad_7", "H10", 2}});
  run.begin();
  EXPECT_EQ(run.counts().flushed_rewritten, 1);
  EXPECT_NE(left().find("late_valid: 2"), std::string::npos);
  EXPECT_NE(left().find("late_ckpt: 41"), std::string::npos);
}

/// The rows of one ad whose minutes come before `until` and all its hours, as a recount collects them.
engine::CollectedTable recounted(const StoryTable& table, const std::string& ad, const std::string& until) {
  engine::CollectedTable out;
  out.key = {"entity", "bucket"};
  int64_t hour = 0;
  for (const auto& [key, row] : table) {
    const std::string bucket = key.substr(5);
    if (!key.starts_with(ad + " M") || bucket >= until) continue;
    hour += row.at("fast_valid");
    out.rows[{engine::Cell(ad), engine::Cell(bucket)}] = {{{"fast_valid", text(row.at("fast_valid"))}}, 1};
  }
  out.rows[{engine::Cell(ad), engine::Cell("H10")}] = {{{"fast_valid", text(hour)}}, 1};
  return out;
}

/// The same rows as the job has written them; the hour's own count is that of all its minutes and left out.
connect::sqlite::TableRows written(const StoryTable& table, const std::string& ad, const std::string& until) {
  connect::sqlite::TableRows out;
  out.columns = {"entity", "bucket", "fast_valid", "late_valid"};
  for (const auto& [key, row] : table) {
    const std::string bucket = key.substr(5);
    if (!key.starts_with(ad) || (bucket[0] == 'M' && bucket >= until)) continue;
    const auto of = [&](const char* column) {
      const auto value = cell(table, key, column);
      return value ? engine::Cell(text(*value)) : engine::Cell();
    };
    out.rows.push_back({engine::Cell(ad), engine::Cell(bucket),
                        bucket[0] == 'M' ? of("fast_valid") : engine::Cell(), of("late_valid")});
  }
  return out;
}

engine::Reconciled reconciled(const std::string& ad, const std::string& until) {
  engine::ComparedTable table;
  table.name = "ad_metrics";
  table.key = {"entity", "bucket"};
  table.late_of = {{"fast_valid", "late_valid"}};
  const StoryTable& job = story("end").moments().back().metrics;
  const StoryTable& recount = story("recount").moments().back().metrics;
  const auto hours =
      engine::reconcile(table, written(job, ad, until), recounted(recount, ad, until), engine::Horizon{});
  EXPECT_EQ(hours.size(), 1U);
  return hours.at(0).columns.at(0);
}

TEST(Final, F277_FinalIsFastAndLateWithoutCorrections) {
  const engine::Reconciled r = reconciled("ad_7", "M10:15");
  EXPECT_EQ(tuple(r.fast, r.late, r.over, r.missed), "(11, 1, 0, 0)");
  fact("F277", text(r.final));
  for (const char* ad : {"ad_7", "ad_9"}) {
    const engine::Reconciled all = reconciled(ad, "N");
    EXPECT_EQ(tuple(all.over, all.missed), "(0, 0)") << ad;
  }
}

}  // namespace
}  // namespace strand::story
