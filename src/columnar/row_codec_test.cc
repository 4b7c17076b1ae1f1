#include "columnar/row_codec.h"

#include <gmock/gmock.h>

#include "columnar/print.h"

namespace strand::columnar {
namespace {

std::vector<std::string> printed(const Batch& batch) {
  std::vector<std::string> rows;
  batch.for_each_row([&](int64_t row) { rows.push_back(row_to_string(batch, row)); });
  return rows;
}

Batch numbers_and_lists() {
  const auto schema = std::make_shared<const Schema>(std::vector<Field>{
      {"n", make_type(TypeKind::kBigInt, false)},
      {"text", text_type(TypeKind::kString, 3, true)},
      {"list", array_type(decimal_type(5, 2))},
  });
  BatchBuilder builder(schema);
  for (int64_t i = 0; i < 4; ++i) {
    builder.column(0).append(i);
    if (i == 1) builder.column(1).append_null();
    if (i != 1) builder.column(1).append_string("abc");
    builder.column(2).append_null();
    builder.end_row(i == 2 ? RowKind::kDelete : RowKind::kInsert);
  }
  return builder.finish();
}

TEST(RowCodec, RowsComeBackWithTheirKindsAndTypes) {
  const Batch batch = numbers_and_lists();
  ByteWriter out;
  put_batch(batch, out);
  const std::string bytes = out.take();
  ByteReader in(bytes);
  const auto back = read_batch(in);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  ASSERT_EQ(back->size(), 1u);
  EXPECT_EQ(back->front().schema()->fields(), batch.schema()->fields());
  EXPECT_EQ(printed(back->front()), printed(batch));
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(RowCodec, OnlyRowsThatCountAreWritten) {
  const Batch some = numbers_and_lists().with_selection(std::make_shared<const Selection>(Selection{1, 3}));
  ByteWriter out;
  put_batch(some, out);
  const std::string bytes = out.take();
  ByteReader in(bytes);
  EXPECT_EQ(printed(read_batch(in)->front()), printed(some));
}

TEST(RowCodec, BytesThatEndTooEarlyAreAnError) {
  ByteWriter out;
  put_batch(numbers_and_lists(), out);
  const std::string bytes = out.take();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader in(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(read_batch(in).status().code(), ErrorCode::kCheckpointUnreadable) << size;
  }
}

}  // namespace
}  // namespace strand::columnar
