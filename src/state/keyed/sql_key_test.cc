#include "state/keyed/sql_key.h"

#include <gtest/gtest.h>

#include "state/keyed/key_group.h"

namespace strand::state {
namespace {

SqlKey text(std::string_view value) {
  SqlKey key(1);
  key.set_bytes(0, value);
  return key;
}

// A text of seven bytes lies in its slot, a longer one behind all slots.
TEST(SqlKey, NamesTheKeyGroupOfAFlinkCluster) {
  EXPECT_EQ(text("ad_7").hash(), -473960497);
  EXPECT_EQ(stream_key_group(text("ad_7").hash(), 128), 37);
  EXPECT_EQ(text("campaign_1").hash(), -2082977249);
  EXPECT_EQ(text("campaign_1").bytes().size(), 32u);
  SqlKey both(2);
  both.set_bytes(0, "ad_7");
  both.set(1, int64_t{7});
  EXPECT_EQ(both.hash(), -984744542);
}

TEST(SqlKey, NullIsAKeyOfItsOwn) {
  SqlKey null(1);
  null.set_null(0);
  EXPECT_EQ(null.hash(), -1748325344);
  EXPECT_EQ(SqlKey(0).hash(), -1670924195);
  SqlKey wide(1);
  wide.set_decimal(0, std::nullopt, 20);
  EXPECT_EQ(wide.bytes().size(), 32u);
}

}  // namespace
}  // namespace strand::state
