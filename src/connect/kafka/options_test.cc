// What tables in Kafka may say, and what is answered to what they may not. No broker is asked.
#include "connect/kafka/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connect/kafka/position.h"

namespace strand::connect::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Options = std::map<std::string, std::string>;

TableContext table(Options more, std::vector<std::string> primary_key = {}) {
  TableContext context;
  context.table = "clicks";
  context.options = {{"connector", "kafka"},
                     {"topic", "clicks"},
                     {"properties.bootstrap.servers", "broker:9092"},
                     {"format", "json"}};
  for (auto& [key, value] : more) {
    context.options[key] = value;
    if (value.empty()) context.options.erase(key);
  }
  context.table_schema = std::make_shared<columnar::Schema>(
      std::vector<columnar::Field>{{"id", columnar::make_type(columnar::TypeKind::kBigInt)},
                                   {"k_ad", columnar::make_type(columnar::TypeKind::kString)}});
  context.schema = context.table_schema;
  context.primary_key = std::move(primary_key);
  return context;
}

KafkaOptions source(Options more) {
  more.try_emplace("scan.startup.mode", "earliest-offset");
  auto options = read_options(table(std::move(more)), Side::kSource, /*upsert=*/false);
  EXPECT_TRUE(options.ok()) << options.status().to_string();
  return *std::move(options);
}

Status refused(Options more, Side side = Side::kSource, bool upsert = false) {
  if (side == Side::kSource) more.try_emplace("scan.startup.mode", "earliest-offset");
  auto options = read_options(table(std::move(more)), side, upsert);
  return options.ok() ? Status() : options.status();
}

TEST(KafkaOptions, WhatItIsToldOfReading) {
  const KafkaOptions options =
      source({{"topic", "a; b"},
              {"scan.startup.mode", "specific-offsets"},
              {"scan.startup.specific-offsets", "partition:0,offset:42;partition:1,offset:7"},
              {"scan.bounded.mode", "timestamp"},
              {"scan.bounded.timestamp-millis", "1000"}});
  EXPECT_THAT(options.topics, ElementsAre("a", "b"));
  EXPECT_THAT(options.start_offsets, ElementsAre(Pair(0, 42), Pair(1, 7)));
  EXPECT_EQ(options.stop, StopMode::kTimestamp);
  EXPECT_EQ(options.stop_millis, 1000);
  EXPECT_FALSE(options.discovery) << "a bounded table finds its partitions once";
}

TEST(KafkaOptions, NewPartitionsAreLookedForUnlessTheIntervalIsZero) {
  EXPECT_EQ(source({}).discovery->millis, 300'000);
  EXPECT_EQ(source({{"scan.topic-partition-discovery.interval", "10 s"}}).discovery->millis, 10'000);
  EXPECT_FALSE(source({{"scan.topic-partition-discovery.interval", "0"}}).discovery);
}

TEST(KafkaOptions, PropertiesArePassedThroughAndALoginOfJavaTranslated) {
  const KafkaOptions options =
      source({{"properties.client.id", "me"},
              {"properties.auto.offset.reset", "latest"},
              {"properties.sasl.jaas.config", "x.PlainLoginModule required username=\"u\" password=\"p\";"}});
  EXPECT_EQ(options.properties.at("client.id"), "me");
  EXPECT_EQ(options.properties.at("sasl.username"), "u");
  EXPECT_EQ(options.properties.at("sasl.password"), "p");
  EXPECT_EQ(options.lost, LostPosition::kLatest);
}

TEST(KafkaOptions, OffsetsAreCommittedToAGroupUnlessTheTableSaysOtherwise) {
  EXPECT_TRUE(source({{"properties.group.id", "g"}}).commit_offsets);
  const KafkaOptions quiet =
      source({{"properties.group.id", "g"}, {"properties.commit.offsets.on.checkpoint", "false"}});
  EXPECT_FALSE(quiet.commit_offsets);
  EXPECT_TRUE(quiet.has_group());
  EXPECT_FALSE(quiet.properties.contains("commit.offsets.on.checkpoint")) << "librdkafka does not know it";
}

TEST(KafkaOptions, FormatOptionsOfKeyAndValue) {
  const KafkaOptions options = source({{"format", ""},
                                       {"value.format", "csv"},
                                       {"value.csv.field-delimiter", ";"},
                                       {"key.format", "raw"},
                                       {"key.fields", "k_ad"},
                                       {"key.fields-prefix", "k_"},
                                       {"value.fields-include", "EXCEPT_KEY"}});
  EXPECT_EQ(options.value.name, "csv");
  EXPECT_EQ(options.value.options.at("csv.field-delimiter"), ";");
  EXPECT_EQ(options.key.name, "raw");
  EXPECT_THAT(options.key_fields, ElementsAre("k_ad"));
  EXPECT_FALSE(options.key_in_value);
}

TEST(KafkaOptions, RefusalsNameTheOptionAndTheWayOut) {
  struct Case {
    Options options;
    const char* says;
    const char* hint;
  };
  const Case cases[] = {
      {{{"topic", ""}}, "names no topic", "'topic'"},
      {{{"topic-pattern", "x.*"}}, "both given", "'topic'"},
      {{{"properties.bootstrap.servers", ""}}, "names no broker", "HOST:9092"},
      {{{"properties.group.idd", "g"}}, "'properties.group.idd' is no property", "properties.group.id"},
      {{{"properties.linger.ms", "soon"}}, "'properties.linger.ms'", "default"},
      {{{"format", ""}}, "no 'format'", "json"},
      {{{"scan.startup.mode", "group-offsets"}}, "needs a group", "earliest-offset"},
      {{{"scan.startup.mode", "newest"}}, "found 'newest'", "default"},
      {{{"scan.startup.mode", "timestamp"}}, "scan.startup.timestamp-millis", "milliseconds"},
      {{{"scan.startup.mode", "specific-offsets"}, {"scan.startup.specific-offsets", "0:4"}},
       "found '0:4'",
       "partition"},
      {{{"scan.bounded.mode", "group-offsets"}}, "needs a group", "properties.group.id"},
      {{{"key.fields", "id"}}, "needs a format", "key.format"},
      {{{"key.format", "json"}}, "needs columns", "key.fields"},
      {{{"key.format", "json"}, {"key.fields", "no"}}, "no column", "columns"},
      {{{"key.format", "json"},
        {"key.fields", "id"},
        {"key.fields-prefix", "k_"},
        {"value.fields-include", "EXCEPT_KEY"}},
       "does not begin with 'k_'",
       "rename"},
  };
  for (const Case& each : cases) {
    const Status status = refused(each.options);
    ASSERT_FALSE(status.ok()) << each.says;
    EXPECT_THAT(status.message(), HasSubstr(each.says));
    EXPECT_THAT(status.hint(), HasSubstr(each.hint)) << each.says;
  }
}

TEST(KafkaOptions, ExactlyOnceNeedsAPrefixAndUpsertAKey) {
  EXPECT_THAT(refused({{"sink.delivery-guarantee", "exactly-once"}}, Side::kSink).message(),
              HasSubstr("'sink.transactional-id-prefix'"));
  EXPECT_TRUE(refused({{"sink.delivery-guarantee", "exactly-once"}, {"sink.transactional-id-prefix", "p"}},
                      Side::kSink)
                  .ok());
  EXPECT_THAT(refused({{"topic", "a;b"}}, Side::kSink).message(), HasSubstr("one topic"));
  EXPECT_THAT(refused({{"key.format", "json"}}, Side::kSink, /*upsert=*/true).message(),
              HasSubstr("PRIMARY KEY"));
}

TEST(KafkaPosition, StandsInCheckpointsAsText) {
  EXPECT_EQ(Position::parse({"t-0", "", 0})->next, RD_KAFKA_OFFSET_BEGINNING);
  const Position bounded{12, 100};
  EXPECT_EQ(bounded.text(), R"({"offset": 12, "stop": 100})");
  const auto again = Position::parse({"t-0", bounded.text(), 0});
  EXPECT_EQ(again->next, 12);
  EXPECT_EQ(again->stop, 100);
  EXPECT_FALSE(Position::parse({"t-0", R"({"offset": 12})", 0})->stop);
  EXPECT_EQ(Position::parse({"t-0", "12", 0}).status().code(), ErrorCode::kCheckpointUnreadable);
}

TEST(KafkaPosition, APartitionIsAtItsStopAlsoWithoutARecordThere) {
  EXPECT_FALSE((Position{99, 100}.at_stop()));
  EXPECT_TRUE((Position{100, 100}.at_stop()));
  EXPECT_TRUE((Position{RD_KAFKA_OFFSET_BEGINNING, 0}.at_stop())) << "it was empty when it was found";
  EXPECT_FALSE((Position{5, std::nullopt}.at_stop()));
}

TEST(KafkaPosition, AShardNamesTopicAndPartition) {
  EXPECT_EQ(PartitionName::parse("my-topic-12")->topic, "my-topic");
  EXPECT_EQ(PartitionName::parse("my-topic-12")->partition, 12);
  EXPECT_FALSE(PartitionName::parse("clicks.json").ok());
}

}  // namespace
}  // namespace strand::connect::kafka
