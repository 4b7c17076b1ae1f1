// Messages to rows and rows to records, without a broker.
#include "connect/kafka/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connect/kafka/markers.h"
#include "connect/kafka/outgoing.h"

namespace strand::connect::kafka {
namespace {

using columnar::Field;
using columnar::make_type;
using columnar::RowKind;
using columnar::TypeKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Fields = std::vector<Field>;

const Field kId{"id", make_type(TypeKind::kBigInt)};
const Field kAd{"ad", make_type(TypeKind::kString)};

TableContext table_of(Fields fields, std::map<std::string, std::string> options) {
  TableContext table;
  table.table = "clicks";
  table.schema = table.table_schema = std::make_shared<columnar::Schema>(std::move(fields));
  table.options = {
      {"topic", "clicks"}, {"properties.bootstrap.servers", "b:1"}, {"scan.startup.mode", "earliest-offset"}};
  for (auto& [key, value] : options) table.options[key] = value;
  return table;
}

/// Messages of one partition, with offsets from 100 on.
class Sent {
 public:
  Sent& add(std::optional<std::string> value, std::optional<std::string> key = std::nullopt) {
    texts_.push_back({std::move(key), std::move(value)});
    return *this;
  }
  RecordRows::Made rows(const TableContext& table, bool upsert = false) {
    auto options = read_options(table, Side::kSource, upsert);
    EXPECT_TRUE(options.ok()) << options.status().to_string();
    auto maker = RecordRows::make(table, *options);
    EXPECT_TRUE(maker.ok()) << maker.status().to_string();
    std::vector<rd_kafka_message_t> messages(texts_.size());
    std::vector<rd_kafka_message_t*> pointers;
    for (size_t i = 0; i < texts_.size(); ++i) {
      auto& [key, value] = texts_[i];
      messages[i].offset = 100 + static_cast<int64_t>(i);
      if (value) messages[i].payload = value->data();
      if (value) messages[i].len = value->size();
      if (key) messages[i].key = key->data();
      if (key) messages[i].key_len = key->size();
      pointers.push_back(&messages[i]);
    }
    auto made = (*maker)->make_rows(pointers);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return *std::move(made);
  }

 private:
  std::vector<std::pair<std::optional<std::string>, std::optional<std::string>>> texts_;
};

std::vector<std::string> text(const columnar::Batch& batch) {
  std::vector<std::string> rows;
  batch.for_each_row([&](int64_t row) { rows.push_back(columnar::row_to_string(batch, row)); });
  return rows;
}

TEST(KafkaRecords, JsonOfManyMessagesIsOneBatch) {
  const auto made = Sent()
                        .add(R"({"id": 1, "ad": "a"})")
                        .add(R"({"id": 2, "ad": "b"})")
                        .rows(table_of({kId, kAd}, {{"format", "json"}}));
  EXPECT_THAT(text(made.batch), ElementsAre("+I[1, a]", "+I[2, b]"));
  EXPECT_TRUE(made.bad.empty());
}

TEST(KafkaRecords, ARecordOfSeveralLinesIsOneRecord) {
  const auto made = Sent()
                        .add("{\n  \"id\": 1,\n  \"ad\": \"a\"\n}\n")
                        .add(R"({"id": 2})")
                        .rows(table_of({kId, kAd}, {{"format", "json"}}));
  EXPECT_THAT(text(made.batch), ElementsAre("+I[1, a]", "+I[2, null]"));
}

TEST(KafkaRecords, BadRecordsHaveTheirOffsetAndTheOthersStay) {
  const auto made = Sent()
                        .add(R"({"id": 1})")
                        .add("")
                        .add("no")
                        .add("\n")
                        .add(std::nullopt)
                        .add(R"({"id": 2})")
                        .rows(table_of({kId}, {{"format", "json"}}));
  EXPECT_THAT(text(made.batch), ElementsAre("+I[1]", "+I[2]")) << "a message without a value is no row";
  ASSERT_EQ(made.bad.size(), 3U);
  EXPECT_EQ(made.bad[0].position, 101U);
  EXPECT_EQ(made.bad[1].position, 102U);
  EXPECT_EQ(made.bad[1].payload, "no");
  EXPECT_EQ(made.bad[2].position, 103U);
}

TEST(KafkaRecords, RawKeepsItsLineBreaksAndCsvDoesWithoutThem) {
  EXPECT_THAT(text(Sent().add("a\nb").add("").rows(table_of({kAd}, {{"format", "raw"}})).batch),
              ElementsAre("+I[a\nb]", "+I[]"));
  EXPECT_THAT(text(Sent().add("1,x").add("2,z\n").rows(table_of({kId, kAd}, {{"format", "csv"}})).batch),
              ElementsAre("+I[1, x]", "+I[2, z]"));
}

TEST(KafkaRecords, OneMessageOfAChangeFormatMayBeTwoRows) {
  const auto made = Sent()
                        .add(R"({"before": null, "after": {"id": 1}, "op": "c"})")
                        .add(R"({"before": {"id": 1}, "after": {"id": 2}, "op": "u"})")
                        .rows(table_of({kId}, {{"format", "debezium-json"}}));
  EXPECT_THAT(text(made.batch), ElementsAre("+I[1]", "-U[1]", "+U[2]"));
}

std::map<std::string, std::string> keyed(const std::string& format) {
  return {{"value.format", "json"},
          {"key.format", format},
          {"key.fields", "k_id"},
          {"key.fields-prefix", "k_"},
          {"value.fields-include", "EXCEPT_KEY"}};
}

TEST(KafkaRecords, KeysStandBesideValues) {
  const Field key{"k_id", make_type(TypeKind::kBigInt)};
  const auto made = Sent()
                        .add(R"({"ad": "a"})", R"({"id": 1})")
                        .add(R"({"ad": "b"})", "no")
                        .add("no", R"({"id": 3})")
                        .add(R"({"ad": "d"})", R"({"id": 4})")
                        .rows(table_of({key, kAd}, keyed("json")));
  EXPECT_THAT(text(made.batch), ElementsAre("+I[1, a]", "+I[4, d]"));
  ASSERT_EQ(made.bad.size(), 2U);
  EXPECT_EQ(made.bad[0].position, 101U);
  EXPECT_THAT(made.bad[0].reason, HasSubstr("key: "));
  EXPECT_EQ(made.bad[1].position, 102U);
}

TEST(KafkaRecords, AMissingKeyIsNull) {
  const Field key{"k_id", make_type(TypeKind::kBigInt)};
  const auto made = Sent()
                        .add(R"({"ad": "a"})")
                        .add(R"({"ad": "b"})", R"({"id": 2})")
                        .rows(table_of({key, kAd}, keyed("json")));
  EXPECT_THAT(text(made.batch), ElementsAre("+I[null, a]", "+I[2, b]"));
}

TableContext upserts(const std::string& include) {
  TableContext table = table_of(
      {kId, kAd}, {{"key.format", "json"}, {"value.format", "json"}, {"value.fields-include", include}});
  table.primary_key = {"id"};
  return table;
}

TEST(KafkaRecords, OfUpsertKafkaAMessageWithoutAValueDeletesTheRowOfItsKey) {
  for (const std::string include : {"ALL", "EXCEPT_KEY"}) {
    const auto made = Sent()
                          .add(R"({"id": 1, "ad": "a"})", R"({"id": 1})")
                          .add(R"({"id": 2, "ad": "b"})", R"({"id": 2})")
                          .add(std::nullopt, R"({"id": 1})")
                          .add(R"({"id": 1, "ad": "c"})", R"({"id": 1})")
                          .add(std::nullopt, R"({"id": 2})")
                          .rows(upserts(include), /*upsert=*/true);
    EXPECT_THAT(text(made.batch),
                ElementsAre("+I[1, a]", "+I[2, b]", "-D[1, null]", "+I[1, c]", "-D[2, null]"))
        << include;
    EXPECT_TRUE(made.bad.empty());
  }
}

TEST(KafkaRecords, OfUpsertKafkaAMessageHasAKeyThatParses) {
  const auto made = Sent()
                        .add(R"({"id": 1, "ad": "a"})")
                        .add(std::nullopt)
                        .add(std::nullopt, "no")
                        .add("no", R"({"id": 4})")
                        .add(R"({"id": 5, "ad": "e"})", R"({"id": 5})")
                        .rows(upserts("ALL"), /*upsert=*/true);
  EXPECT_THAT(text(made.batch), ElementsAre("+I[5, e]"));
  ASSERT_EQ(made.bad.size(), 4U);
  EXPECT_THAT(made.bad[0].reason, HasSubstr("has a key"));
  EXPECT_EQ(made.bad[3].position, 103U);
}

// ---- rows to records

columnar::Batch batch_of(const Fields& fields, std::vector<std::tuple<RowKind, int64_t, std::string>> rows) {
  columnar::BatchBuilder builder(std::make_shared<columnar::Schema>(fields));
  for (const auto& [kind, id, ad] : rows) {
    builder.column(0).append(id);
    if (fields.size() > 1) builder.column(1).append_string(ad);
    builder.end_row(kind);
  }
  return builder.finish();
}

std::vector<std::string> written(const TableContext& table, const columnar::Batch& rows, bool upsert,
                                 Status* status = nullptr) {
  auto options = read_options(table, Side::kSink, upsert);
  EXPECT_TRUE(options.ok()) << options.status().to_string();
  auto maker = OutgoingRows::make(table, *options);
  EXPECT_TRUE(maker.ok()) << maker.status().to_string();
  Outgoing out;
  const Status appended = (*maker)->append(rows, out);
  if (status != nullptr) *status = appended;
  std::vector<std::string> records;
  for (const auto& record : out.records) {
    records.push_back((record.has_key ? out.bytes.substr(record.key_at, record.key_size) + " = " : "") +
                      (record.has_value ? out.bytes.substr(record.value_at, record.value_size) : "-"));
  }
  return records;
}

TEST(KafkaOutgoing, EveryColumnOfTheTableIsWrittenInItsOrder) {
  const TableContext table = table_of({kAd, kId}, {{"format", "json"}});
  EXPECT_THAT(written(table, batch_of({kId, kAd}, {{RowKind::kInsert, 1, "a"}}), false),
              ElementsAre(R"({"ad":"a","id":1})"));
  EXPECT_THAT(written(table, batch_of({kId}, {{RowKind::kInsert, 1, ""}}), false),
              ElementsAre(R"({"ad":null,"id":1})"));
}

TEST(KafkaOutgoing, UpsertsHaveKeysAndDeletionsNoValue) {
  TableContext table = table_of({kId, kAd}, {{"key.format", "json"}, {"value.format", "json"}});
  table.primary_key = {"id"};
  const auto rows = batch_of({kId, kAd}, {{RowKind::kInsert, 1, "a"},
                                          {RowKind::kUpdateBefore, 1, "a"},
                                          {RowKind::kUpdateAfter, 1, "b"},
                                          {RowKind::kDelete, 1, "b"}});
  EXPECT_THAT(written(table, rows, true), ElementsAre(R"({"id":1} = {"id":1,"ad":"a"})",
                                                      R"({"id":1} = {"id":1,"ad":"b"})", R"({"id":1} = -)"));
}

TEST(KafkaOutgoing, ChangesNeedAFormatThatHasAWordForThem) {
  const auto rows = batch_of({kId}, {{RowKind::kInsert, 1, ""}, {RowKind::kDelete, 1, ""}});
  Status status;
  written(table_of({kId}, {{"format", "json"}}), rows, false, &status);
  EXPECT_EQ(status.code(), ErrorCode::kSinkSchema);
  EXPECT_THAT(status.hint(), HasSubstr("upsert-kafka"));
  EXPECT_EQ(written(table_of({kId}, {{"format", "debezium-json"}}), rows, false).size(), 2U);
}

// ---- metadata that is written

const Field kSentAt{"sent", columnar::timestamp_type(3, /*ltz=*/true)};
const Field kNotes{"notes", columnar::map_type(make_type(TypeKind::kString), make_type(TypeKind::kBytes))};

/// The records of rows with the columns id, sent and notes, the last two of them metadata.
Status append(std::vector<std::optional<int64_t>> times,
              std::vector<std::map<std::string, std::optional<std::string>>> notes, Outgoing& out) {
  TableContext table = table_of({kId}, {{"format", "json"}});
  table.schema = std::make_shared<columnar::Schema>(Fields{kId, kSentAt, kNotes});
  table.metadata = {{1, "timestamp"}, {2, "headers"}};
  columnar::BatchBuilder rows(table.schema);
  for (size_t i = 0; i < times.size(); ++i) {
    rows.column(0).append(static_cast<int64_t>(i));
    times[i] ? rows.column(1).append(*times[i]) : rows.column(1).append_null();
    for (const auto& [name, value] : notes[i]) {
      rows.column(2).child(0).append_string(name);
      value ? rows.column(2).child(1).append_string(*value) : rows.column(2).child(1).append_null();
    }
    rows.column(2).close_nested();
    rows.end_row();
  }
  auto maker = OutgoingRows::make(table, *read_options(table, Side::kSink, false));
  EXPECT_TRUE(maker.ok()) << maker.status().to_string();
  return (*maker)->append(rows.finish(), out);
}

TEST(KafkaOutgoing, MetadataStandsBesideTheRecordAndNotInIt) {
  Outgoing out;
  ASSERT_TRUE(
      append({1'704'103'200'000, std::nullopt}, {{{"a", "x"}, {"b", std::nullopt}, {"c", "yz"}}, {}}, out)
          .ok());
  ASSERT_EQ(out.records.size(), 2U);
  const auto part = [&](size_t at, size_t size) { return out.bytes.substr(at, size); };
  EXPECT_EQ(part(out.records[0].value_at, out.records[0].value_size), R"({"id":0})");
  EXPECT_EQ(out.records[0].millis, 1'704'103'200'000);
  EXPECT_EQ(out.records[1].millis, 0) << "the time of sending";
  std::vector<std::string> headers;
  for (const auto& header : out.headers)
    headers.push_back(part(header.name_at, header.name_size) + "=" +
                      part(header.value_at, header.value_size));
  EXPECT_THAT(headers, ElementsAre("a=x", "c=yz")) << "one without a value is none";
  EXPECT_EQ(out.records[0].headers, 2U);
  EXPECT_EQ(out.records[1].headers, 0U);
}

TEST(KafkaOutgoing, ATimestampBefore1970IsRefused) {
  Outgoing out;
  const Status status = append({-1}, {{}}, out);
  EXPECT_EQ(status.code(), ErrorCode::kBadValue);
  EXPECT_THAT(status.message(), HasSubstr("later than 1970-01-01 00:00:00 UTC, found -1 ms"));
}

TEST(KafkaOutgoing, CsvRecordsMayHoldLineBreaks) {
  const auto rows = batch_of({kId, kAd}, {{RowKind::kInsert, 1, "a\nb"}, {RowKind::kInsert, 2, "c"}});
  EXPECT_THAT(written(table_of({kId, kAd}, {{"format", "csv"}}), rows, false),
              ElementsAre("1,\"a\nb\"", "2,c"));
}

TEST(KafkaOutgoing, ARecordThatIsTooLongIsNamedByItsKeyAndLargestColumn) {
  TableContext table = table_of({kId, kAd}, {{"key.format", "json"}, {"value.format", "json"}});
  table.primary_key = {"id"};
  const std::string umlauts = []() {
    std::string text;
    for (int i = 0; i < 499'988; ++i) text += "\u00e9";  // two bytes each
    return text;
  }();
  Status status;
  // {"id":7} and {"id":7,"ad":"..."}: 8 and 16 bytes, and the text.
  EXPECT_EQ(written(table, batch_of({kId, kAd}, {{RowKind::kInsert, 7, umlauts}}), true, &status).size(), 1U);
  EXPECT_TRUE(status.ok()) << "exactly the limit: " << status.to_string();
  written(table, batch_of({kId, kAd}, {{RowKind::kInsert, 6, "a"}, {RowKind::kInsert, 7, umlauts + "x"}}),
          true, &status);
  EXPECT_EQ(status.code(), ErrorCode::kRecordTooLong);
  EXPECT_THAT(status.message(),
              HasSubstr("expected a record of at most 1000000 bytes, found one of 1000001 with the key "
                        "{\"id\":7}; column 'ad' has 999977 of them"));
  EXPECT_THAT(status.hint(), HasSubstr("properties.message.max.bytes"));
  table.options["properties.message.max.bytes"] = "2000000";
  written(table, batch_of({kId, kAd}, {{RowKind::kInsert, 7, umlauts + "x"}}), true, &status);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(KafkaMarker, SaysWhoseItIsAndOnlyThatIsRead) {
  const StoredMarker marker{{3, {2}, {5}, {40}}, "my,job", 4};
  EXPECT_EQ(marker.metadata(), "gen=2,attempt=5,epoch=40,subtasks=4,job=my,job");
  const auto again = StoredMarker::parse(3, 40, marker.metadata());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->marker.generation, Generation{2});
  EXPECT_EQ(again->marker.attempt, Attempt{5});
  EXPECT_EQ(again->subtasks, 4);
  EXPECT_EQ(again->job, "my,job");
  EXPECT_FALSE(StoredMarker::parse(3, 41, marker.metadata())) << "the offset is the epoch";
  EXPECT_FALSE(StoredMarker::parse(3, 40, "")) << "of a consumer";
}

}  // namespace
}  // namespace strand::connect::kafka
