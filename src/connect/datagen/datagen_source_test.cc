// Made-up rows: paced, bounded, and the same after a restore.
#include "connect/datagen/datagen_source.h"

#include <gmock/gmock.h>

namespace strand::connect::datagen {
namespace {

using columnar::TypeKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TableContext table(std::map<std::string, std::string> options) {
  TableContext context;
  context.table = "t";
  context.options = std::move(options);
  context.schema = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"id", columnar::make_type(TypeKind::kBigInt)},
                                   {"name", columnar::make_type(TypeKind::kString)},
                                   {"score", columnar::make_type(TypeKind::kDouble)},
                                   {"small", columnar::make_type(TypeKind::kTinyInt)},
                                   {"ts", columnar::timestamp_type(3, /*ltz=*/true)}});
  return context;
}

DatagenReader reader(std::map<std::string, std::string> options) {
  TableContext context = table(std::move(options));
  DatagenReader made(context.schema, *read_datagen_options(context));
  return made;
}

std::vector<std::string> rows_of(const flow::Polled& polled) {
  std::vector<std::string> rows;
  polled.batch.for_each_row([&](int64_t row) { rows.push_back(columnar::row_to_string(polled.batch, row)); });
  return rows;
}

const std::map<std::string, std::string> kOptions = {
    {"rows-per-second", "10"},      {"fields.id.kind", "sequence"}, {"fields.id.start", "100"},
    {"fields.id.end", "119"},       {"fields.name.length", "4"},    {"fields.score.min", "5"},
    {"fields.score.max", "6"},      {"fields.small.min", "-3"},     {"fields.small.max", "3"},
    {"fields.ts.max-past", "10 s"},
};

TEST(Datagen, RowsComeAtTheirPaceAndEndWithTheSequence) {
  DatagenReader source = reader(kOptions);
  ASSERT_TRUE(source.assign({"0", "", 0}).ok());
  EXPECT_THAT(rows_of(*source.poll(WallTime{1'000})), SizeIs(1));
  const auto idle = source.poll(WallTime{1'050});
  EXPECT_EQ(idle->kind, flow::Polled::Kind::kNothing);
  EXPECT_EQ(idle->until, (WallTime{1'100}));
  const auto rest = source.poll(WallTime{9'000});
  EXPECT_EQ(rest->records, 19);
  EXPECT_EQ(rest->batch.column(0).values<int64_t>()[18], 119);
  EXPECT_TRUE(source.ended(0));
  EXPECT_EQ(source.poll(WallTime{9'000})->kind, flow::Polled::Kind::kEnded);
}

TEST(Datagen, ValuesLieInTheirRanges) {
  DatagenReader source = reader(kOptions);
  ASSERT_TRUE(source.assign({"0", "", 0}).ok());
  ASSERT_EQ(source.poll(WallTime{0})->records, 1);
  const auto polled = source.poll(WallTime{10'000});
  for (int64_t row = 0; row < polled->batch.rows(); ++row) {
    EXPECT_THAT(polled->batch.column(1).string(row), SizeIs(4));
    EXPECT_GE(polled->batch.column(2).values<double>()[row], 5);
    EXPECT_LE(polled->batch.column(2).values<double>()[row], 6);
    EXPECT_GE(polled->batch.column(3).values<int8_t>()[row], -3);
    EXPECT_LE(polled->batch.column(3).values<int8_t>()[row], 3);
    EXPECT_LE(polled->batch.column(4).values<int64_t>()[row], (row + 1) * 100);
    EXPECT_GE(polled->batch.column(4).values<int64_t>()[row], (row + 1) * 100 - 10'000);
  }
}

TEST(Datagen, ArraysAndRowsAreMadeOfTheirParts) {
  const auto number = columnar::make_type(columnar::TypeKind::kInt);
  const columnar::Schema schema(
      {{"list", columnar::array_type(number)}, {"pair", columnar::row_type({{"a", number}, {"b", number}})}});
  const auto plans = read_fields(schema, {{"fields.list.element.min", "3"},
                                          {"fields.list.element.max", "3"},
                                          {"fields.pair.a.kind", "sequence"},
                                          {"fields.pair.a.start", "10"},
                                          {"fields.pair.a.end", "20"},
                                          {"fields.pair.b.null-rate", "1"}});
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  columnar::BatchBuilder out(std::make_shared<const columnar::Schema>(schema));
  append_row(*plans, 1, 2, 0, out);
  EXPECT_EQ(columnar::row_to_string(out.finish(), 0), "+I[[3, 3, 3], (12, NULL)]");
}

TEST(Datagen, ARestoredReaderMakesTheVeryRowsThatWouldHaveFollowed) {
  DatagenReader straight = reader(kOptions);
  ASSERT_TRUE(straight.assign({"0", "", 0}).ok());
  std::vector<std::string> expected;
  for (const int64_t now : {1'000, 1'300, 5'000}) {
    for (std::string& row : rows_of(*straight.poll(WallTime{now}))) expected.push_back(std::move(row));
  }
  DatagenReader first = reader(kOptions);
  ASSERT_TRUE(first.assign({"0", "", 0}).ok());
  std::vector<std::string> rows = rows_of(*first.poll(WallTime{1'000}));
  for (std::string& row : rows_of(*first.poll(WallTime{1'250}))) rows.push_back(std::move(row));
  EXPECT_EQ(first.state(0).position, "{\"row\": 3, \"start\": 1000}");
  DatagenReader second = reader(kOptions);
  ASSERT_TRUE(second.assign(first.state(0)).ok());
  for (std::string& row : rows_of(*second.poll(WallTime{99'000}))) rows.push_back(std::move(row));
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(second.state(0).records, 20);
}

TEST(Datagen, WithoutNumberOfRowsItHasNoEndAndWithItEnds) {
  EXPECT_FALSE(read_datagen_options(table({}))->rows.has_value());
  EXPECT_NE(DatagenFinder(false).interval(), std::nullopt);
  EXPECT_EQ(read_datagen_options(table({{"number-of-rows", "5"}}))->rows, 5);
  EXPECT_EQ(DatagenFinder(true).interval(), std::nullopt);
}

TEST(Datagen, WhatMakesNoSenseIsRefusedByName) {
  const std::vector<std::pair<std::map<std::string, std::string>, std::string>> cases = {
      {{{"rows-per-second", "0"}}, "rows-per-second"},
      {{{"fields.small.max", "1000"}}, "small"},
      {{{"fields.id.kind", "sequence"}}, "fields.id.start"},
      {{{"fields.id.kind", "prime"}}, "fields.id.kind"},
      {{{"fields.id.colour", "red"}}, "fields.id.colour"},
      {{{"fields.id.min", "9"}, {"fields.id.max", "8"}}, "id"},
      {{{"fields.name.length", "many"}}, "fields.name.length"},
  };
  for (const auto& [options, name] : cases) {
    const auto read = read_datagen_options(table(options));
    ASSERT_FALSE(read.ok()) << name;
    EXPECT_THAT(read.status().message(), HasSubstr(name));
  }
}

}  // namespace
}  // namespace strand::connect::datagen
