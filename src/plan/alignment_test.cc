#include "plan/alignment.h"

#include <gmock/gmock.h>

namespace strand::plan {
namespace {

using ::testing::HasSubstr;

Result<std::optional<WatermarkAlignment>> alignment(const std::map<std::string, std::string>& options) {
  TableSpec table;
  for (const auto& [key, value] : options) table.options[kAlignmentOptions + key] = value;
  return watermark_alignment(table);
}

TEST(WatermarkAlignment, IsOfAGroupWithADrift) {
  const auto found = alignment({{"group", "g"}, {"max-drift", "10 s"}});
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->group, "g");
  EXPECT_EQ((*found)->max_drift, Duration{10'000});
  EXPECT_EQ((*found)->update_interval, Duration{1'000});
  EXPECT_EQ(
      (*alignment({{"group", "g"}, {"max-drift", "0 s"}, {"update-interval", "200 ms"}}))->update_interval,
      Duration{200});
  EXPECT_EQ(*alignment({}), std::nullopt);
}

TEST(WatermarkAlignment, NamesWhatIsMissingOrCannotBe) {
  EXPECT_THAT(alignment({{"group", "g"}}).status().to_string(),
              HasSubstr("STRAND-1001  'scan.watermark.alignment.group' is of no use without "
                        "'scan.watermark.alignment.max-drift'"));
  EXPECT_THAT(alignment({{"max-drift", "1 s"}}).status().to_string(),
              HasSubstr("without 'scan.watermark.alignment.group'"));
  EXPECT_THAT(alignment({{"group", "g"}, {"max-drift", "far"}}).status().to_string(),
              HasSubstr("'scan.watermark.alignment.max-drift' expects a time, found 'far'"));
  EXPECT_THAT(alignment({{"drift", "1 s"}}).status().to_string(), HasSubstr("STRAND-1002"));
}

}  // namespace
}  // namespace strand::plan
