// The filesystem connector as the engine gets it: from the options of a table.
#include "connect/file/connector.h"

#include <gmock/gmock.h>

#include "sim/env/env.h"

namespace strand::connect::file {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Engine {
  Engine() {
    add_file_connector(registry);
    EXPECT_TRUE(sim.files.make_dirs("clicks").ok());
    table.table = "clicks";
    table.env = sim.env();
    table.schema = std::make_shared<const columnar::Schema>(
        std::vector<columnar::Field>{{"ad", columnar::make_type(columnar::TypeKind::kString)},
                                     {"n", columnar::make_type(columnar::TypeKind::kBigInt)}});
    table.options = {{"connector", "filesystem"}, {"path", "clicks"}, {"format", "json"}};
  }
  void write(const std::string& name, std::string_view bytes) {
    const auto file = sim.files.create("clicks/" + name);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(bytes).ok());
  }
  Result<flow::Polled> poll() {
    STRAND_TRY(const Connector* connector, registry.find(table.options, TableUse::kRead));
    STRAND_TRY(const auto finder, connector->finder(table));
    STRAND_TRY(const auto shards, finder->find());
    STRAND_TRY(const auto reader, connector->reader(table));
    for (const std::string& shard : shards) STRAND_OK(reader->assign({shard, "", 0}));
    return reader->poll(WallTime{0});
  }
  std::vector<std::string> rows(const flow::Polled& polled) {
    std::vector<std::string> found;
    polled.batch.for_each_row(
        [&](int64_t row) { found.push_back(columnar::row_to_string(polled.batch, row)); });
    return found;
  }

  sim::SimEnv sim{1, WallTime{0}};
  Registry registry;
  TableContext table;
};

TEST(FileConnector, ReadsJsonAndCsv) {
  Engine engine;
  engine.write("S1", "{\"ad\": \"ad_7\", \"n\": 6}\n{\"n\": 1}\n");
  EXPECT_THAT(engine.rows(*engine.poll()), ElementsAre("+I[ad_7, 6]", "+I[null, 1]"));
  engine.write("S1", "ad_7,6\nad_9,2\n");
  engine.table.options["format"] = "csv";
  EXPECT_THAT(engine.rows(*engine.poll()), ElementsAre("+I[ad_7, 6]", "+I[ad_9, 2]"));
}

TEST(FileConnector, TheTablesPolicyDecidesAboutBadRecords) {
  Engine engine;
  engine.write("S1", "{\"ad\": \"a\", \"n\": 1}\n{\"ad\": \"b\", \"n\": \"many\"}\nnot json\n");
  const auto failed = engine.poll();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), ErrorCode::kBadRow);
  EXPECT_EQ(failed.status().where(), "clicks/S1 position 20");
  EXPECT_THAT(failed.status().hint(), HasSubstr("clicks$bad"));

  engine.table.options["json.ignore-parse-errors"] = "true";
  const auto skipped = engine.poll();
  ASSERT_TRUE(skipped.ok());
  EXPECT_THAT(engine.rows(*skipped), ElementsAre("+I[a, 1]", "+I[b, null]"));
  EXPECT_EQ(skipped->records, 3);

  engine.table.want_bad = true;  // whoever reads clicks$bad gets every misfit
  const auto diverted = engine.poll();
  ASSERT_TRUE(diverted.ok() && diverted->bad);
  EXPECT_THAT(engine.rows(*diverted), ElementsAre("+I[a, 1]"));
  ASSERT_EQ(diverted->bad->rows(), 2);
  EXPECT_EQ(diverted->bad->column(2).string(0), "{\"ad\": \"b\", \"n\": \"many\"}");
  EXPECT_EQ(diverted->bad->column(1).values<int64_t>()[1], 45);
}

TEST(FileConnector, OptionsThatAreWrongAreRefusedWithAWayOut) {
  const std::vector<std::tuple<std::string, std::string, ErrorCode>> cases = {
      {"path", "", ErrorCode::kBadOption},
      {"format", "xml", ErrorCode::kUnknownConnector},
      {"source.monitor-interval", "0 s", ErrorCode::kBadOption},
      {"source.path.regex-pattern", "(", ErrorCode::kBadOption},
      {"strand.max-record-bytes", "0", ErrorCode::kBadOption},
      {"json.ignore-parse-errors", "perhaps", ErrorCode::kBadOption},
      {"source.monitor-intervall", "1 s", ErrorCode::kUnknownOption},
  };
  for (const auto& [key, value, code] : cases) {
    Engine engine;
    engine.table.options[key] = value;
    const auto polled = engine.poll();
    ASSERT_FALSE(polled.ok()) << key;
    EXPECT_EQ(polled.status().code(), code) << key << ": " << polled.status().to_string();
  }
}

TEST(FileConnector, MonitoringMakesTheTableUnbounded) {
  Engine engine;
  const Connector& connector = **engine.registry.find(engine.table.options, TableUse::kRead);
  EXPECT_EQ((*connector.finder(engine.table))->interval(), std::nullopt);
  engine.table.options["source.monitor-interval"] = "1 s";
  EXPECT_EQ((*connector.finder(engine.table))->interval(), Duration{1'000});
  EXPECT_TRUE(connector.transactional);
}

}  // namespace
}  // namespace strand::connect::file
