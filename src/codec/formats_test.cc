// CSV, raw, the encoders, and the options of all formats. Expectations were recorded from Flink 2.3.0, but
// for what is said to be ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "codec/csv.h"
#include "codec/json_encoder.h"
#include "codec/record_decoder.h"
#include "codec/text_values.h"
#include "columnar/random_column_test.h"

namespace strand::codec {
namespace {

using columnar::Field;
using columnar::make_type;
using columnar::SchemaPtr;
using columnar::TypeKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SchemaPtr schema(std::vector<Field> fields) { return std::make_shared<columnar::Schema>(std::move(fields)); }

std::vector<std::string> decode(std::string_view format, const SchemaPtr& read, std::string_view lines,
                                const FormatOptions& options = {}, SchemaPtr table = nullptr) {
  auto decoder = make_decoder(format, read, table == nullptr ? read : table, options);
  if (!decoder.ok()) return {decoder.status().to_string()};
  DecodeOutput out(read);
  EXPECT_EQ(*(*decoder)->decode(lines, 0, out), lines.size());
  std::vector<std::string> result = columnar::texts(out.take_rows());
  for (const BadRecord& bad : out.take_bad()) {
    result.push_back("bad " + std::to_string(bad.position) + ": " + bad.reason);
  }
  return result;
}

std::string encode(std::string_view format, const columnar::Batch& batch, const FormatOptions& options = {}) {
  auto encoder = make_encoder(format, batch.schema(), options);
  EXPECT_TRUE(encoder.ok());
  std::string text;
  const Status status = (*encoder)->encode(batch, text);
  return status.ok() ? text : status.to_string();
}

SchemaPtr id_and_text() {
  return schema({{"id", make_type(TypeKind::kInt)}, {"s", make_type(TypeKind::kString)}});
}

TEST(Csv, ReadsTemporalTypesDecimalsArraysRowsAndBytes) {
  const SchemaPtr read = schema(
      {{"dt", make_type(TypeKind::kDate)},
       {"tm", make_type(TypeKind::kTime)},
       {"ts", columnar::timestamp_type(3, false)},
       {"lz", columnar::timestamp_type(3, true)},
       {"c", columnar::decimal_type(6, 2)},
       {"a", columnar::array_type(make_type(TypeKind::kInt))},
       {"r", columnar::row_type({{"x", make_type(TypeKind::kInt)}, {"y", make_type(TypeKind::kString)}})},
       {"bin", make_type(TypeKind::kBytes)}});
  EXPECT_THAT(
      decode("csv", read,
             "2024-01-02,03:04:05,2024-01-02 03:04:05.678,2024-01-02 03:04:05Z,12.345,1;2;3,7;z,aGVsbG8=\n"),
      ElementsAre(
          "+I[2024-01-02, 03:04:05, 2024-01-02 03:04:05.678, 2024-01-02 03:04:05.000Z, 12.35, [1, 2, 3], "
          "(7, z), hello]"));
}

TEST(Csv, RefusesANumberThatIsNoneAndALineOfAnotherLength) {
  EXPECT_THAT(decode("csv", id_and_text(), "1,a\nx,b\n2\n3,c,d\n4,\"open\n"),
              ElementsAre("+I[1, a]", "bad 4: field id: expected INT, found \"x\"",
                          "bad 8: expected 2 fields, found 1", "bad 10: expected 2 fields, found 3",
                          "bad 16: expected a closing quote and a delimiter behind it"));
}

TEST(Csv, TakesMissingColumnsAndMisfitsForNullIfToldSo) {
  const SchemaPtr read = schema({{"id", make_type(TypeKind::kInt)},
                                 {"b", make_type(TypeKind::kBoolean)},
                                 {"s", make_type(TypeKind::kString)},
                                 {"a", columnar::array_type(make_type(TypeKind::kInt))}});
  EXPECT_THAT(decode("csv", read, "1,,,\n2,true,x,1;2\nx,x,x,x\n3,true\n4,true,x,1,extra\n",
                     {{"csv.ignore-parse-errors", "true"}}),
              ElementsAre("+I[1, FALSE, , []]", "+I[2, TRUE, x, [1, 2]]", "+I[null, FALSE, x, [NULL]]",
                          "+I[3, TRUE, null, null]", "bad 33: expected 4 fields, found 5"));
}

TEST(Csv, KnowsTheNullLiteralQuotesCommentsAndOtherDelimiters) {
  EXPECT_THAT(decode("csv", id_and_text(), "1,n/a\n2,\"n/a\"\nn/a,\n", {{"csv.null-literal", "n/a"}}),
              ElementsAre("+I[1, null]", "+I[2, null]", "+I[null, ]"));
  EXPECT_THAT(decode("csv", id_and_text(), "1;\"a;\"\"b\"\"\"\r\n#2;x\n3;it's \"4\"\n",
                     {{"csv.field-delimiter", ";"}, {"csv.allow-comments", "true"}}),
              ElementsAre("+I[1, a;\"b\"]", "+I[3, it's \"4\"]"));
}

TEST(Csv, ReadsOnlyTheColumnsThatAreWanted) {
  const SchemaPtr table = schema({{"x", make_type(TypeKind::kInt)}, {"id", make_type(TypeKind::kInt)}});
  const SchemaPtr read = schema({{"id", make_type(TypeKind::kInt)}});
  EXPECT_THAT(decode("csv", read, "no number,7\n", {}, table), ElementsAre("+I[7]"));
}

TEST(Raw, ALineIsTheValue) {
  const SchemaPtr read = schema({{"line", make_type(TypeKind::kString)}});
  EXPECT_THAT(decode("raw", read, "a,\"b\"\n\n\xFF\nlast"),
              ElementsAre("+I[a,\"b\"]", "+I[last]", "bad 7: not UTF-8"));
  EXPECT_THAT(decode("raw", id_and_text(), ""),
              ElementsAre(HasSubstr("expected one column for the format raw")));
}

TEST(Formats, SayWhatIsWrongWithAnOption) {
  EXPECT_THAT(decode("jsn", id_and_text(), ""), ElementsAre(HasSubstr("did you mean 'json'?")));
  EXPECT_THAT(
      decode("json", id_and_text(), "", {{"json.timestamp-format.standard", "ISO"}}),
      ElementsAre(HasSubstr("'json.timestamp-format.standard': expected 'SQL' or 'ISO-8601', found 'ISO'")));
  EXPECT_THAT(decode("json", id_and_text(), "",
                     {{"json.fail-on-missing-field", "true"}, {"json.ignore-parse-errors", "true"}}),
              ElementsAre(HasSubstr("cannot both be")));
  EXPECT_THAT(
      decode("csv",
             schema({{"m", columnar::map_type(make_type(TypeKind::kString), make_type(TypeKind::kInt))}}),
             ""),
      ElementsAre(HasSubstr("CSV cannot hold MAP<STRING, INT>")));
}

// ---- Encoders
// --------------------------------------------------------------------------------------------------------

TEST(JsonEncoder, WritesEachTypeAsFlinkDoes) {
  columnar::BatchBuilder rows(schema(
      {{"id", make_type(TypeKind::kInt)},
       {"b", make_type(TypeKind::kBoolean)},
       {"d", make_type(TypeKind::kDouble)},
       {"f", make_type(TypeKind::kFloat)},
       {"c", columnar::decimal_type(10, 2)},
       {"s", make_type(TypeKind::kString)},
       {"dt", make_type(TypeKind::kDate)},
       {"tm", make_type(TypeKind::kTime)},
       {"ts", columnar::timestamp_type(3, false)},
       {"lz", columnar::timestamp_type(3, true)},
       {"bin", make_type(TypeKind::kBytes)},
       {"a", columnar::array_type(make_type(TypeKind::kInt))},
       {"m", columnar::map_type(make_type(TypeKind::kString), make_type(TypeKind::kInt))},
       {"r", columnar::row_type({{"x", make_type(TypeKind::kInt)}, {"y", make_type(TypeKind::kString)}})}}));
  rows.column(0).append(int32_t{1});
  rows.column(1).append_boolean(true);
  rows.column(2).append(1.0e10);
  rows.column(3).append(0.1F);
  rows.column(4).append(columnar::Int128{1250});
  rows.column(5).append_string("a\"é\n\x01");
  rows.column(6).append(int32_t{19'724});
  rows.column(7).append(int32_t{11'045'000});
  rows.column(8).append(int64_t{1'704'164'645'600});
  rows.column(9).append(int64_t{0});
  rows.column(10).append_string("\x0A\xFF");
  rows.column(11).child(0).append(int32_t{1});
  rows.column(11).child(0).append_null();
  rows.column(11).close_nested();
  rows.column(12).child(0).append_string("k");
  rows.column(12).child(1).append(int32_t{1});
  rows.column(12).close_nested();
  rows.column(13).child(0).append(int32_t{1});
  rows.column(13).child(1).append_null();
  rows.column(13).close_nested();
  rows.end_row();
  EXPECT_EQ(
      encode("json", rows.finish()),
      R"({"id":1,"b":true,"d":1.0E10,"f":0.1,"c":12.5,"s":"a\"é\n\u0001","dt":"2024-01-02","tm":"03:04:05",)"
      R"("ts":"2024-01-02 03:04:05.6","lz":"1970-01-01 00:00:00Z","bin":"Cv8=","a":[1,null],"m":{"k":1},)"
      R"("r":{"x":1,"y":null}})"
      "\n");
}

TEST(JsonEncoder, WritesDecimalsAsJavaDoesOrPlain) {
  const auto both = [](columnar::Int128 unscaled, int scale) {
    std::string text;
    append_scientific_decimal(unscaled, scale, text);
    text += " ";
    append_plain_decimal(unscaled, scale, text);
    return text;
  };
  EXPECT_EQ(both(1, 18), "1E-18 0.000000000000000001");
  EXPECT_EQ(both(100, 0), "1E+2 100");
  EXPECT_EQ(both(-1500, 0), "-1.5E+3 -1500");
  EXPECT_EQ(both(0, 4), "0 0");
  EXPECT_EQ(both(1234567, 4), "123.4567 123.4567");
}

TEST(JsonEncoder, KnowsItsOptions) {
  columnar::BatchBuilder rows(
      schema({{"lz", columnar::timestamp_type(3, true)},
              {"s", make_type(TypeKind::kString)},
              {"m", columnar::map_type(make_type(TypeKind::kString), make_type(TypeKind::kInt))}}));
  rows.column(0).append(int64_t{1500});
  rows.column(1).append_null();
  rows.column(2).child(0).append_null();
  rows.column(2).child(1).append(int32_t{1});
  rows.column(2).close_nested();
  rows.end_row();
  const columnar::Batch batch = rows.finish();
  EXPECT_EQ(encode("json", batch,
                   {{"json.timestamp-format.standard", "ISO-8601"},
                    {"json.encode.ignore-null-fields", "true"},
                    {"json.map-null-key.mode", "LITERAL"},
                    {"json.map-null-key.literal", "none"}}),
            "{\"lz\":\"1970-01-01T00:00:01.5Z\",\"m\":{\"none\":1}}\n");
  EXPECT_EQ(encode("json", batch, {{"json.map-null-key.mode", "DROP"}}),
            "{\"lz\":\"1970-01-01 00:00:01.5Z\",\"s\":null,\"m\":{}}\n");
  EXPECT_THAT(encode("json", batch), HasSubstr("expected no NULL key"));
}

// Ours: what people look at. A table with such a column is refused, as in Flink.
TEST(Formats, ShowMapsOfAnyKeyListsOfListsAndIntervals) {
  const columnar::TypePtr numbers = columnar::array_type(make_type(TypeKind::kInt));
  columnar::BatchBuilder rows(schema({{"m", columnar::map_type(make_type(TypeKind::kInt), numbers)},
                                      {"t", columnar::map_type(columnar::timestamp_type(3, false), numbers)},
                                      {"l", columnar::array_type(numbers)},
                                      {"i", make_type(TypeKind::kIntervalMillis)}}));
  for (const size_t map : {0, 1}) {
    if (map == 0) rows.column(0).child(0).append(int32_t{7});
    if (map == 1) rows.column(1).child(0).append(int64_t{0});
    rows.column(map).child(1).child(0).append(int32_t{1});
    rows.column(map).child(1).child(0).append(int32_t{2});
    rows.column(map).child(1).close_nested();
    rows.column(map).close_nested();
  }
  rows.column(2).child(0).child(0).append(int32_t{1});
  rows.column(2).child(0).close_nested();
  rows.column(2).close_nested();
  rows.column(3).append(int64_t{61'000});
  rows.end_row();
  const columnar::Batch batch = rows.finish();
  std::string json;
  EXPECT_TRUE(JsonEncoder(batch.schema(), {}).encode(batch, json).ok());
  EXPECT_EQ(json, R"({"m":{"7":[1,2]},"t":{"1970-01-01 00:00:00":[1,2]},"l":[[1]],"i":"+0 00:01:01.000"})"
                  "\n");
  CsvOptions shown;
  shown.shown = true;
  auto csv = make_csv_encoder(batch.schema(), shown);
  ASSERT_TRUE(csv.ok());
  std::string line;
  EXPECT_TRUE((*csv)->encode(batch, line).ok());
  EXPECT_EQ(line, "\"{7=[1, 2]}\",\"{1970-01-01 00:00:00.000=[1, 2]}\",[[1]],\"+0 00:01:01.000\"\n");
  EXPECT_FALSE(make_csv_encoder(batch.schema(), {}).ok());
  EXPECT_FALSE(make_encoder("json", batch.schema(), {}).ok());
}

// Columns of values whose text keeps all of them: what is written reads back.
RC_GTEST_PROP(JsonEncoder, WhatItWritesIsReadBack, ()) {
  const columnar::Batch batch = columnar::random_batch(
      schema({{"c", columnar::decimal_type(38, 4)},
              {"d", make_type(TypeKind::kDouble)},
              {"s", make_type(TypeKind::kString)},
              {"r", columnar::array_type(columnar::row_type(
                        {{"l", make_type(TypeKind::kBigInt)}, {"b", make_type(TypeKind::kBytes)}}))}}));
  const std::string text = encode("json", batch);
  std::vector<std::string> expected;
  batch.for_each_row([&](int64_t row) { expected.push_back(row_to_string(batch, row).substr(2)); });
  std::vector<std::string> rows = decode("json", batch.schema(), text);
  for (std::string& row : rows) row = row.substr(2);
  RC_ASSERT(rows == expected);
}

RC_GTEST_PROP(CsvEncoder, WhatItWritesIsReadBack, ()) {
  const auto values = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,;\"\\ #'"))));
  columnar::BatchBuilder rows(id_and_text());
  for (const std::string& value : values) {
    rows.column(0).append(static_cast<int32_t>(value.size()));
    rows.column(1).append_string(value);
    rows.end_row();
  }
  const columnar::Batch batch = rows.finish();
  RC_ASSERT(decode("csv", batch.schema(), encode("csv", batch)) == columnar::texts(batch));
}

TEST(TextValues, Utf8IsCheckedToTheLastRule) {
  EXPECT_TRUE(valid_utf8("plain, é, 漢, 😀, \xF4\x8F\xBF\xBF"));
  for (const std::string_view bad : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                                     "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "12345678\xFF"}) {
    EXPECT_FALSE(valid_utf8(bad)) << bad;
  }
}

}  // namespace
}  // namespace strand::codec
