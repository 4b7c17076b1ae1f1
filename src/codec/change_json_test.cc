// Changes of a database as JSON.
#include <gtest/gtest.h>

#include "codec/record_decoder.h"

namespace strand::codec {
namespace {

columnar::SchemaPtr people() {
  return std::make_shared<columnar::Schema>(
      std::vector<columnar::Field>{{"id", columnar::make_type(columnar::TypeKind::kInt)},
                                   {"name", columnar::make_type(columnar::TypeKind::kString)}});
}

/// Rows as `+I[1, a]`, bad records as `bad: reason`.
std::vector<std::string> decoded(const std::string& format, const std::string& lines) {
  auto decoder = make_decoder(format, people(), people(), {});
  DecodeOutput out(people());
  EXPECT_TRUE((*decoder)->decode(lines, 0, out).ok());
  std::vector<std::string> all;
  for (const BadRecord& bad : out.take_bad()) all.push_back("bad: " + bad.reason);
  const columnar::Batch rows = out.take_rows();
  for (int64_t row = 0; row < rows.rows(); ++row) all.push_back(columnar::row_to_string(rows, row));
  return all;
}

using Rows = std::vector<std::string>;

TEST(ChangeJson, DebeziumGivesTheOldRowBeforeAnUpdate) {
  EXPECT_EQ(
      decoded("debezium-json",
              "{\"before\":null,\"after\":{\"id\":1,\"name\":\"a\"},\"op\":\"c\"}\n"
              "{\"before\":{\"id\":1,\"name\":\"a\"},\"after\":{\"id\":1,\"name\":\"b\"},\"op\":\"u\"}\n"
              "{\"before\":{\"id\":1,\"name\":\"b\"},\"after\":null,\"op\":\"d\"}\n"),
      (Rows{"+I[1, a]", "-U[1, a]", "+U[1, b]", "-D[1, b]"}));
}

TEST(ChangeJson, AnUpdateWithoutItsOldRowIsABadRecord) {
  const Rows rows =
      decoded("debezium-json", "{\"before\":null,\"after\":{\"id\":1,\"name\":\"b\"},\"op\":\"u\"}\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].starts_with("bad: an update without the row before it"));
}

TEST(ChangeJson, CanalAndMaxwellCompleteTheOldRowFromTheNewOne) {
  EXPECT_EQ(
      decoded("canal-json",
              "{\"data\":[{\"id\":\"1\",\"name\":\"b\"}],\"old\":[{\"name\":\"a\"}],\"type\":\"UPDATE\"}\n"),
      (Rows{"-U[1, a]", "+U[1, b]"}));
  EXPECT_EQ(decoded("maxwell-json",
                    "{\"data\":{\"id\":1,\"name\":\"b\"},\"old\":{\"name\":\"a\"},\"type\":\"update\"}\n"),
            (Rows{"-U[1, a]", "+U[1, b]"}));
}

TEST(ChangeJson, AnOldNullIsNotCompleted) {
  EXPECT_EQ(decoded("canal-json",
                    "{\"data\":[{\"id\":\"1\",\"name\":\"b\"},{\"id\":\"2\",\"name\":\"c\"}],"
                    "\"old\":[{\"name\":null},{\"id\":\"7\"}],\"type\":\"UPDATE\"}\n"),
            (Rows{"-U[1, null]", "+U[1, b]", "-U[7, c]", "+U[2, c]"}));
  EXPECT_EQ(decoded("maxwell-json",
                    "{\"data\":{\"id\":1,\"name\":\"b\"},\"old\":{\"name\":null},\"type\":\"update\"}\n"),
            (Rows{"-U[1, null]", "+U[1, b]"}));
}

TEST(ChangeJson, UpdatesAreWrittenAsADeletionAndACreation) {
  auto encoder = make_encoder("debezium-json", people(), {});
  columnar::BatchBuilder rows(people());
  for (const auto kind : {columnar::RowKind::kUpdateBefore, columnar::RowKind::kUpdateAfter}) {
    rows.column(0).append<int32_t>(1);
    rows.column(1).append_string("a");
    rows.end_row(kind);
  }
  std::string out;
  ASSERT_TRUE((*encoder)->encode(rows.finish(), out).ok());
  EXPECT_EQ(out,
            "{\"before\":{\"id\":1,\"name\":\"a\"},\"after\":null,\"op\":\"d\"}\n"
            "{\"before\":null,\"after\":{\"id\":1,\"name\":\"a\"},\"op\":\"c\"}\n");
}

}  // namespace
}  // namespace strand::codec
