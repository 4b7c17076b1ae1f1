#include <gtest/gtest.h>

#include "state/keyed/key_group.h"
#include "strandline/detail/build.h"

namespace strandline::detail {
namespace {

template <class K>
int32_t group(const K& key) {
  return strand::state::stream_key_group(key_hash(key), 128);
}

// As recorded from Flink 2.3.0 for a String, and as Java defines the others.
TEST(KeyHash, KeyGroupsAreThoseOfFlink) {
  EXPECT_EQ(group(std::string("ad_7")), 117);
  EXPECT_EQ(key_hash(int64_t{1} << 32), 1);
  EXPECT_EQ(key_hash(int32_t{-5}), -5);
  EXPECT_EQ(key_hash(true), 1231);
  EXPECT_EQ(key_hash(1.0), 1072693248);
  EXPECT_EQ(key_hash(std::optional<int64_t>()), 0);
  EXPECT_EQ(key_hash(std::pair{std::string("a"), int32_t{2}}), 31 * 97 + 2);
}

}  // namespace
}  // namespace strandline::detail
