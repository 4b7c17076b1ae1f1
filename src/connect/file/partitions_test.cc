// Tables of files with partitions, read and written as the engine does.
#include "connect/file/partitions.h"

#include <gmock/gmock.h>

#include "connect/file/connector.h"
#include "connect/file/partition_commit.h"
#include "sim/env/env.h"

namespace strand::connect::file {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Keys = std::vector<std::string>;

TEST(PartitionPath, EscapesWhatAFolderCannotBeCalledAndComesBack) {
  const Keys keys = {"day", "a/b"};
  const std::string path = partition_path(keys, {"10:00", "x=y%"});
  EXPECT_EQ(path, "day=10%3A00/a%2Fb=x%3Dy%25");
  EXPECT_EQ(partition_values(path + "/part-0", keys), (Keys{"10:00", "x=y%"}));
}

TEST(PartitionPath, OtherFoldersHaveNoValues) {
  EXPECT_EQ(partition_values("day=1/part-0", {"day"}), Keys{"1"});
  EXPECT_EQ(partition_values("day=1/deeper/part-0", {"day"}), Keys{"1"});
  EXPECT_EQ(partition_values("part-0", {"day"}), std::nullopt);
  EXPECT_EQ(partition_values("hour=1/part-0", {"day"}), std::nullopt);
  EXPECT_EQ(partition_values("hour=1/day=2/part-0", {"day", "hour"}), std::nullopt) << "in another order";
}

/// A table `ad, day DATE, n`, partitioned by day and ad.
struct Site {
  Site() {
    add_file_connector(registry);
    table.table = "t";
    table.env = sim.env();
    table.schema = table.table_schema = std::make_shared<const columnar::Schema>(
        std::vector<columnar::Field>{{"ad", make_type(TypeKind::kString)},
                                     {"day", make_type(TypeKind::kDate)},
                                     {"n", make_type(TypeKind::kBigInt)}});
    table.options = {{"connector", "filesystem"}, {"path", "t"}, {"format", "json"}};
    table.partitions = {"day", "ad"};
  }
  void put(const std::string& name, const std::string& text) {
    const std::string path = "t/" + name;
    ASSERT_TRUE(sim.files.make_dirs(path.substr(0, path.rfind('/'))).ok());
    const auto file = sim.files.create(path);
    ASSERT_TRUE((*file)->append(text).ok());
  }
  Result<std::vector<std::string>> shards() {
    STRAND_TRY(const auto finder, (*registry.find(table.options, TableUse::kRead))->finder(table));
    return finder->find();
  }
  std::vector<std::string> rows() {
    std::vector<std::string> found;
    const auto reader = *(*registry.find(table.options, TableUse::kRead))->reader(table);
    const std::vector<std::string> all = *shards();
    for (const std::string& shard : all) EXPECT_TRUE(reader->assign({shard, "", 0}).ok());
    for (auto polled = reader->poll({}); polled.ok() && polled->kind == flow::Polled::Kind::kRows;
         polled = reader->poll({})) {
      polled->batch.for_each_row(
          [&](int64_t row) { found.push_back(columnar::row_to_string(polled->batch, row)); });
    }
    return found;
  }

  sim::SimEnv sim{1, WallTime{0}};
  Registry registry;
  TableContext table;
};

TEST(PartitionedFiles, GiveTheirRowsTheValuesOfTheirFolders) {
  Site site;
  site.put("day=2026-02-08/ad=a/f", "{\"n\": 1}\n{\"n\": 2, \"ad\": \"not this\"}\n");
  site.put("day=2026-02-09/ad=__DEFAULT_PARTITION__/f", "{\"n\": 3}\n");
  EXPECT_THAT(site.rows(),
              ElementsAre("+I[a, 2026-02-08, 1]", "+I[a, 2026-02-08, 2]", "+I[null, 2026-02-09, 3]"));
}

TEST(PartitionedFiles, LieInFoldersOfPartitions) {
  Site site;
  site.put("day=2026-02-08/ad=a/f", "{\"n\": 1}\n");
  site.put("day=2026-02-08/f", "{\"n\": 2}\n");
  site.put("readme", "no rows\n");
  EXPECT_THAT(*site.shards(), ElementsAre("day=2026-02-08/ad=a/f"));
}

TEST(PartitionedFiles, AreNotReadWhereTheQueryDoesNotWantThem) {
  Site site;
  site.put("day=2026-02-08/ad=a/f", "");
  site.put("day=2026-02-09/ad=b/f", "");
  site.table.wants_partition = [](const columnar::Batch& values) -> Result<bool> {
    EXPECT_EQ((*values.schema())[0].name, "day") << "in the order of PARTITIONED BY";
    return values.column(1).string(0) == "b";
  };
  EXPECT_THAT(*site.shards(), ElementsAre("day=2026-02-09/ad=b/f"));
}

TEST(PartitionedFiles, AFolderWhoseNameIsNoValueFails) {
  Site site;
  site.put("day=tomorrow/ad=a/f", "");
  const Status status = site.shards().status();
  EXPECT_EQ(status.code(), ErrorCode::kBadValue);
  EXPECT_THAT(status.to_string(), HasSubstr("t/day=tomorrow/ad=a/"));
}

TEST(PartitionedFiles, AreNotPartitionedByWhatHasNoName) {
  Site site;
  site.table.schema = site.table.table_schema =
      std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{
          {"day", columnar::array_type(make_type(TypeKind::kInt))}, {"ad", make_type(TypeKind::kString)}});
  EXPECT_EQ(site.shards().status().code(), ErrorCode::kUnsupportedSql);
}

columnar::Batch rows_of(const TableContext& table,
                        const std::vector<std::tuple<std::optional<std::string>, int32_t, int64_t>>& rows) {
  columnar::BatchBuilder builder(table.schema);
  for (const auto& [ad, day, n] : rows) {
    ad ? builder.column(0).append_string(*ad) : builder.column(0).append_null();
    builder.column(1).append(day);
    builder.column(2).append(n);
    builder.end_row();
  }
  return builder.finish();
}

/// One attempt of a job that writes the table.
class Writing {
 public:
  Writing(Site& site, int64_t attempt = 1, std::optional<Epoch> restored = {},
          std::vector<state::SectionRef> sections = {})
      : site_(site) {
    auto made = (*site.registry.find(site.table.options, TableUse::kWrite))->sink(site.table);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    sink = *std::move(made);
    flow::SinkStart start;
    start.job = "job";
    start.attempt = {attempt};
    start.restored = restored;
    state::SnapshotReader reader(site.sim.files, "checkpoints");
    for (const auto& ref : sections) start.state.push_back(*reader.read(ref));
    EXPECT_TRUE(sink->start(start).ok());
    settle();
  }
  void write(const std::vector<std::tuple<std::optional<std::string>, int32_t, int64_t>>& rows) {
    ASSERT_TRUE(sink->write(rows_of(site_.table, rows), {}).ok());
  }
  std::vector<state::SectionRef> barrier(int64_t epoch) {
    state::SnapshotBuilder builder(Epoch{epoch}, {0, 127});
    builder.set_operator("sink");
    EXPECT_TRUE(sink->snapshot(Epoch{epoch}, builder).ok());
    EXPECT_TRUE(site_.sim.files.make_dirs("checkpoints").ok());
    const auto refs = builder.write(site_.sim.files, "checkpoints");
    EXPECT_TRUE(refs.ok());
    return *refs;
  }
  void commit(int64_t epoch) {
    ASSERT_TRUE(sink->committed(Epoch{epoch}).ok());
    settle();
  }
  void settle() {
    Random random(1);
    while (site_.sim.executor.run_one(random)) {
    }
    EXPECT_TRUE(sink->busy().ok());
  }

  std::unique_ptr<flow::Sink> sink;

 private:
  Site& site_;
};

/// What lies in a folder for readers and for those who wait for partitions.
std::vector<std::string> files_in(Site& site, const std::string& folder) {
  std::vector<std::string> names;
  const auto entries = site.sim.files.list("t/" + folder);
  if (!entries.ok()) return names;
  for (const auto& entry : *entries) {
    if (entry.name[0] != '.') names.push_back(entry.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

constexpr int32_t kDay = 20'492;  // 2026-02-08

TEST(PartitionedSink, PutsRowsIntoTheFoldersThatReadersFindThemIn) {
  Site site;
  Writing job(site);
  job.write({{"a", kDay, 1}, {"b", kDay + 1, 2}, {std::nullopt, kDay, 3}});
  job.write({{"a", kDay, 4}, {"", kDay, 5}});
  job.barrier(1);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), IsEmpty()) << "the checkpoint is not complete";
  job.commit(1);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), ElementsAre("part-0-1-1.json"));
  EXPECT_EQ(*env::read_all(site.sim.files, "t/day=2026-02-08/ad=a/part-0-1-1.json"),
            "{\"n\":1}\n{\"n\":4}\n");
  EXPECT_THAT(site.rows(),
              ElementsAre("+I[null, 2026-02-08, 3]", "+I[null, 2026-02-08, 5]", "+I[a, 2026-02-08, 1]",
                          "+I[a, 2026-02-08, 4]", "+I[b, 2026-02-09, 2]"));
}

TEST(PartitionedSink, ACrashBeforeTheNoticeShowsEachFileOnce) {
  Site site;
  std::vector<state::SectionRef> sections;
  {
    Writing job(site);
    job.write({{"a", kDay, 1}, {"b", kDay, 2}});
    sections = job.barrier(1);
  }
  Writing again(site, 2, Epoch{1}, sections);
  EXPECT_THAT(site.rows(), ElementsAre("+I[a, 2026-02-08, 1]", "+I[b, 2026-02-08, 2]"));
  Writing once_more(site, 3, Epoch{1}, sections);
  EXPECT_EQ(site.rows().size(), 2U);
}

TEST(PartitionedSink, HiddenFilesOfADeadAttemptGo) {
  Site site;
  site.put("day=2026-02-08/ad=a/.part-0-1-9.json.tmp", "{\"n\":9}\n");
  Writing job(site);
  EXPECT_FALSE(site.sim.files.stat("t/day=2026-02-08/ad=a/.part-0-1-9.json.tmp").ok());
}

std::map<std::string, std::string> by_partition_time(Site& site) {
  auto options = site.table.options;
  options["sink.partition-commit.policy.kind"] = "success-file";
  options["sink.partition-commit.trigger"] = "partition-time";
  options["sink.partition-commit.delay"] = "1 h";
  options["partition.time-extractor.timestamp-pattern"] = "$day 10:00:00";
  return options;
}

constexpr EventTime at_hour(int64_t hour) { return EventTime{int64_t{kDay} * 86'400'000 + hour * 3'600'000}; }

TEST(PartitionedSink, MarksAPartitionWhenTheWatermarkOfACheckpointIsPastIt) {
  Site site;
  site.table.options = by_partition_time(site);
  Writing job(site);
  job.write({{"a", kDay, 1}});
  job.sink->reached(at_hour(11));
  job.barrier(1);
  job.commit(1);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), ElementsAre("part-0-1-1.json"));
  job.sink->reached(EventTime{at_hour(11).millis + 1});
  job.barrier(2);
  job.sink->reached(at_hour(50));
  job.commit(2);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), ElementsAre("_SUCCESS", "part-0-1-1.json"));
  ASSERT_TRUE(site.sim.files.remove("t/day=2026-02-08/ad=a/_SUCCESS").ok());
  job.barrier(3);
  job.commit(3);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), ElementsAre("part-0-1-1.json")) << "it was told once";
  job.write({{"a", kDay, 2}});
  job.barrier(4);
  job.commit(4);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"),
              ElementsAre("_SUCCESS", "part-0-1-1.json", "part-0-1-4.json"))
      << "late rows make it due again";
}

TEST(PartitionedSink, MarksInTheZoneOfTheNames) {
  Site site;
  site.table.options = by_partition_time(site);
  site.table.options["sink.partition-commit.watermark-time-zone"] = "Asia/Shanghai";
  Writing job(site);
  job.write({{"a", kDay, 1}});
  job.sink->reached(at_hour(4));
  job.barrier(1);
  job.commit(1);
  EXPECT_EQ(files_in(site, "day=2026-02-08/ad=a").size(), 2U) << "10:00 there is 02:00 in UTC";
}

TEST(PartitionedSink, MarksByTheWallClockSomeTimeAfterTheFirstRows) {
  Site site;
  site.table.options["sink.partition-commit.policy.kind"] = "success-file";
  site.table.options["sink.partition-commit.delay"] = "1 min";
  site.table.options["sink.partition-commit.success-file.name"] = "_DONE";
  Writing job(site);
  job.write({{"a", kDay, 1}});
  job.barrier(1);
  job.commit(1);
  site.sim.clock.advance(Duration{60'000});
  job.barrier(2);
  job.commit(2);
  EXPECT_EQ(files_in(site, "day=2026-02-08/ad=a").size(), 1U);
  site.sim.clock.advance(Duration{1});
  job.barrier(3);
  job.commit(3);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), ElementsAre("_DONE", "part-0-1-1.json"));
}

TEST(PartitionedSink, ARestartMarksWhatTheDeadOneOwed) {
  Site site;
  site.table.options = by_partition_time(site);
  std::vector<state::SectionRef> sections;
  {
    Writing job(site);
    job.write({{"a", kDay, 1}});
    job.barrier(1);
    job.commit(1);
    sections = job.barrier(2);
    job.commit(2);
  }
  Writing again(site, 2, Epoch{2}, sections);
  again.sink->reached(at_hour(12));
  again.barrier(3);
  again.commit(3);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), ElementsAre("_SUCCESS", "part-0-1-1.json"));
}

TEST(PartitionedSink, TheEndOfTheInputCompletesEveryPartition) {
  Site site;
  site.table.options = by_partition_time(site);
  Writing job(site);
  job.write({{"a", kDay, 1}});
  job.sink->reached(EventTime::max());
  job.barrier(1);
  ASSERT_TRUE(job.sink->close().ok());
  job.settle();
  EXPECT_TRUE(*job.sink->close());
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), ElementsAre("_SUCCESS", "part-0-1-1.json"));
}

TEST(PartitionedSink, ARowWhosePartitionHasNoTimeIsRefusedBeforeACheckpointHoldsIt) {
  Site site;
  site.table.options = by_partition_time(site);
  site.table.options["partition.time-extractor.timestamp-pattern"] = "$ad";
  Writing job(site);
  const Status written = job.sink->write(rows_of(site.table, {{"soon", kDay, 1}}), {});
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.to_string(), HasSubstr("has no time: 'soon'"));
}

TEST(PartitionedSink, APartitionThatSomebodyTookAwayIsMadeAgainForRowsAndNotForTheMark) {
  Site site;
  site.table.options = by_partition_time(site);
  Writing job(site);
  job.write({{"a", kDay, 1}});
  job.barrier(1);
  job.commit(1);
  ASSERT_TRUE(site.sim.files.remove_all("t/day=2026-02-08").ok());
  job.write({{"a", kDay, 2}});
  job.barrier(2);
  job.commit(2);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), ElementsAre("part-0-1-2.json"));
  ASSERT_TRUE(site.sim.files.remove_all("t/day=2026-02-08").ok());
  job.sink->reached(at_hour(12));
  job.barrier(3);
  job.commit(3);
  EXPECT_THAT(files_in(site, "day=2026-02-08/ad=a"), IsEmpty());
}

TEST(PartitionedSink, RefusesWhatItCannotDo) {
  const auto refusal = [](const std::string& key, const std::string& value) {
    Site site;
    site.table.options[key] = value;
    const Connector* connector = *site.registry.find(site.table.options, TableUse::kWrite);
    return connector->sink(site.table).status().to_string();
  };
  EXPECT_THAT(refusal("sink.partition-commit.policy.kind", "metastore,success-file"),
              HasSubstr("STRAND-1001"));
  EXPECT_THAT(refusal("sink.partition-commit.trigger", "sometimes"), HasSubstr("'partition-time'"));
  EXPECT_THAT(refusal("partition.time-extractor.kind", "custom"),
              HasSubstr("to be 'default', found 'custom'"));
  EXPECT_THAT(refusal("sink.partition-commit.watermark-time-zone", "Mars"), HasSubstr("Mars"));
  Site site;
  site.table.partitions.clear();
  site.table.options["sink.partition-commit.policy.kind"] = "success-file";
  const Connector* connector = *site.registry.find(site.table.options, TableUse::kWrite);
  EXPECT_THAT(connector->sink(site.table).status().message(), HasSubstr("t has none"));
}

TEST(PartitionTime, IsReadAsFlinkReadsIt) {
  const auto time = [](std::map<std::string, std::string> options, const std::string& partition) {
    TableContext table;
    table.table = "t";
    table.partitions = {"day", "hour"};
    table.options = std::move(options);
    const auto found = CommitRules::read(table)->time_of(partition);
    return found.ok() ? std::to_string(found->millis) : found.status().to_string();
  };
  const std::string pattern = "partition.time-extractor.timestamp-pattern";
  EXPECT_EQ(time({}, "day=1970-01-02/hour=7"), "86400000") << "the first column alone";
  EXPECT_EQ(time({{pattern, "$day $hour:00:00"}}, "day=1970-1-2/hour=7"), "111600000");
  EXPECT_EQ(time({{pattern, "$day$hour"}, {"partition.time-extractor.timestamp-formatter", "yyyyMMddHH"}},
                 "day=19700102/hour=07"),
            "111600000");
  EXPECT_THAT(time({}, "day=soon/hour=7"), HasSubstr("STRAND-3007"));
}

}  // namespace
}  // namespace strand::connect::file
