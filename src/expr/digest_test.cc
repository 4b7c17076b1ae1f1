// Digests, by the examples of their standards.
#include "expr/digest.h"

#include <gtest/gtest.h>

namespace strand::expr {
namespace {

TEST(Digest, OfTheExamplesOfTheStandards) {
  EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha224_hex("abc"), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha384_hex("abc").substr(0, 32), "cb00753f45a35e8bb5a03d699ac65007");
  EXPECT_EQ(sha512_hex("abc").substr(0, 32), "ddaf35a193617abacc417349ae204131");
}

TEST(Digest, OfMessagesAsLongAsABlockAndLonger) {
  EXPECT_EQ(sha256_hex(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(md5_hex(std::string(119, 'a')).size(), 32u);
  EXPECT_NE(sha512_hex(std::string(111, 'a')), sha512_hex(std::string(112, 'a')));
}

}  // namespace
}  // namespace strand::expr
