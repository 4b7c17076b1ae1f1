// Branch B of the story, section 9: two versions beside each other on one SQLite table, and their
// checkpoints.
#include <gtest/gtest.h>

#include "checkpoint/store.h"
#include "sim/store/test_stores.h"
#include "sim/store/writer_run.h"
#include "tests/story/story.h"

namespace strand::story {
namespace {

using connect::table::test_record;
using connect::table::test_writer;
using sim::WriterRun;

/// Version 1 is generation 7 and has savepoint 51; version 2 is generation 8. Both are real sinks of `fast`.
class B : public ::testing::Test {
 protected:
  B() { EXPECT_TRUE(env_.files.make_dirs("/files").ok()); }

  WriterRun start(std::vector<AttemptRecord> history, std::optional<Epoch> elders = {}) {
    connect::table::FlushOptions options;
    options.closed_rows = true;
    flow::SinkStart start = sim::sink_start(std::move(history));
    start.elders = elders;
    auto sink = make_flush_sink(test_writer("fast"), table_.connect(), env_.env(), options);
    return WriterRun(env_, test_writer("fast"), start, std::move(sink));
  }
  /// `entity bucket` -> (value, generation, epoch).
  std::map<std::string, std::tuple<int64_t, int64_t, int64_t>> rows() {
    std::map<std::string, std::tuple<int64_t, int64_t, int64_t>> out;
    const auto found = connect::sqlite::read_table(table_.path(), "ad_metrics", /*bookkeeping=*/true);
    EXPECT_TRUE(found.ok());
    for (size_t row = 0; row < found->rows.size(); ++row) {
      const auto number = [&](const char* column) {
        return std::stoll(found->value(row, column).value_or("-1"));
      };
      out[found->rows[row][0].value_or("") + " " + found->rows[row][1].value_or("")] = {
          number("fast_valid"), number("fast_gen"), number("fast_ckpt")};
    }
    return out;
  }
  int64_t generation(const std::string& row) { return std::get<1>(rows().at(row)); }
  int64_t epoch(const std::string& row) { return std::get<2>(rows().at(row)); }

  sim::SimEnv env_{1, WallTime{1'000'000}};
  sim::SqliteBackend table_;
};

TEST_F(B, F257_F258_F259_F260_F261_F262_F263_TheNewerVersionDecides) {
  auto v1 = start({test_record(7, 1, {}, 0)});
  v1.begin().barrier(41);
  v1.write({{"ad_7", "M10:13", 6}, {"ad_7", "M10:14", 5}}).barrier(51);
  v1.write({{"ad_7", "M10:19", 1}});
  const bool written = rows().contains("ad_7 M10:19");

  auto v2 = start({test_record(7, 1, {}, 0), test_record(8, 1, 51, 51)}, Epoch{52});
  v2.begin();
  fact("F257", text(written && !rows().contains("ad_7 M10:19")));

  v1.barrier(52);
  v1.write({{"ad_7", "M10:20", 1}});
  v2.barrier(52);
  v2.write({{"ad_7", "M10:20", 2}, {"ad_7", "M10:21", 1}});
  const auto over = rows().at("ad_7 M10:20");
  fact("F259", tuple(text(std::get<0>(over)), text(std::get<1>(over))));
  v1.barrier(53);
  v1.write({{"ad_9", "M10:20", 1}, {"ad_7", "M10:21", 1}});
  std::vector<std::string> refused;
  if (v1.counts().overtaken == 1 && generation("ad_7 M10:21") == 8)
    refused.push_back(tuple("ad_7", "M10:21", text(7)));
  fact("F258", list_of(refused));
  fact("F262", tuple(text(epoch("ad_9 M10:20")), text(epoch("ad_7 M10:20"))));

  const auto before = rows();
  const auto left = before.at("ad_9 M10:20");
  EXPECT_TRUE(v2.sink().elders_ended(Epoch{53}).ok());
  v2.committed(54);
  const auto after = rows();
  fact("F260", tuple(text(std::get<0>(left)), text(std::get<1>(left)), text(!after.contains("ad_9 M10:20"))));
  std::vector<std::string> gone;
  for (const auto& [row, value] : before) {
    if (!after.contains(row)) gone.push_back("delete " + row.substr(5) + " " + row.substr(0, 4));
  }
  fact("F261", list_of(gone));
  fact("F263", "{" + text(generation("ad_7 M10:13")) + "}");
  EXPECT_EQ(generation("ad_7 M10:14"), 7);
}

TEST_F(B, F220_F256_BothGoOnBehindTheSavepoint) {
  const auto open = [&](const char* dir) {
    auto store = checkpoint::Store::open(env_.files, dir, "/savepoints", "ad-clicks");
    EXPECT_TRUE(store.ok()) << store.status().to_string();
    return *std::move(store);
  };
  auto v1 = open("/v1");
  EXPECT_TRUE(v1.record_used(Epoch{51}).ok());
  checkpoint::Manifest savepoint;
  savepoint.job = "ad-clicks";
  savepoint.kind = checkpoint::SnapshotKind::kSavepoint;
  savepoint.epoch = {51};
  savepoint.generation = {7};
  savepoint.attempt = {1};
  const auto path = v1.complete(savepoint);
  ASSERT_TRUE(path.ok()) << path.status().to_string();
  auto v2 = open("/v2");
  ASSERT_TRUE(v2.adopt(*path).ok());
  EXPECT_TRUE(v2.record_attempt(test_record(8, 1, 51, 51)).ok());
  fact("F220", text(v2.highest_used().value + 1));
  fact("F256", tuple(text(v1.highest_used().value + 1), text(v2.highest_used().value + 1)));
}

}  // namespace
}  // namespace strand::story
