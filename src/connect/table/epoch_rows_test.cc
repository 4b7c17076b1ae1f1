#include "connect/table/epoch_rows.h"

#include <gtest/gtest.h>

#include "connect/table/test_rows.h"

namespace strand::connect::table {
namespace {

EpochRows some_rows() {
  EpochRows rows{3, {}};
  const auto batch = [](std::vector<TestRow> of) {
    return std::make_shared<const columnar::Batch>(test_batch(test_writer("fast"), of));
  };
  rows.epochs[Epoch{40}] = {batch({{"ad_7", "M10:13", 6}}),
                            batch({{"ad_7", "M10:14", std::nullopt, columnar::RowKind::kDelete}})};
  rows.epochs[Epoch{42}] = {batch({{"ad_9", "M10:14", 3}})};
  return rows;
}

TEST(EpochRows, ComeBackAsTheyWere) {
  const auto schema = row_schema(test_writer("fast"));
  const auto back = decode_epoch_rows(encode_epoch_rows(some_rows(), *schema), schema);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->subtask, 3);
  std::string text;
  for (const auto& [epoch, batches] : back->epochs) {
    for (const BatchPtr& batch : batches) {
      batch->for_each_row([&](int64_t row) {
        text += std::to_string(epoch.value) + columnar::row_to_string(*batch, row) + " ";
      });
    }
  }
  EXPECT_EQ(text, "40+I[ad_7, M10:13, 6] 40-D[ad_7, M10:14, null] 42+I[ad_9, M10:14, 3] ");
}

TEST(EpochRows, OfOtherColumnsAreRefused) {
  const auto bytes = encode_epoch_rows(some_rows(), *row_schema(test_writer("fast")));
  const auto other = decode_epoch_rows(bytes, row_schema(test_writer("late")));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().code(), ErrorCode::kStateMismatch);
}

TEST(EpochRows, CutShortAreUnreadable) {
  const auto schema = row_schema(test_writer("fast"));
  const auto bytes = encode_epoch_rows(some_rows(), *schema);
  const auto cut = decode_epoch_rows(std::string_view(bytes).substr(0, bytes.size() - 1), schema);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.status().code(), ErrorCode::kCheckpointUnreadable);
}

}  // namespace
}  // namespace strand::connect::table
