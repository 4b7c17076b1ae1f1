#include "base/stored_type.h"

#include <gmock/gmock.h>

namespace strand {
namespace {

template <class... T>
std::string bytes(T... values) {
  ByteWriter out;
  const auto put = [&](auto value) {
    if constexpr (std::is_arithmetic_v<decltype(value)>) {
      out.put(value);
    } else {
      out.put_string(value);
    }
  };
  (put(values), ...);
  return out.take();
}

std::string changed(const std::string& from, const std::string& to, const std::string& value) {
  const auto change = TypeChange::between(from, to);
  EXPECT_TRUE(change.ok()) << change.status().to_string();
  return change.ok() ? *change->apply(value) : "";
}
std::string refusal(const std::string& from, const std::string& to) {
  const auto change = TypeChange::between(from, to);
  return change.ok() ? "" : change.status().message();
}

TEST(StoredType, IsReadAsItIsWritten) {
  for (const char* text :
       {"int64", "row{a:int32,b:optional<list<string>>}", "map<string,row{}>", "either<int8,own>"})
    EXPECT_EQ(StoredType::parse(text)->text(), text);
  EXPECT_FALSE(StoredType::parse("row{a:int32").ok());
  EXPECT_FALSE(StoredType::parse("list<int8").ok());
}

TEST(TypeChange, NumbersAreWidened) {
  EXPECT_EQ(changed("int8", "int64", bytes(int8_t{-3})), bytes(int64_t{-3}));
  EXPECT_EQ(changed("int32", "int64", bytes(int32_t{-3})), bytes(int64_t{-3}));
  EXPECT_EQ(changed("uint16", "uint32", bytes(uint16_t{65'000})), bytes(uint32_t{65'000}));
  EXPECT_EQ(changed("float", "double", bytes(0.5f)), bytes(0.5));
  EXPECT_EQ(refusal("int64", "int32"), "int64 cannot become int32");
  EXPECT_EQ(refusal("int32", "string"), "int32 cannot become string");
}

TEST(TypeChange, ARowGainsOptionalFieldsAndMayTurnItsFieldsAround) {
  EXPECT_EQ(
      changed("row{a:int32,b:string}", "row{b:string,c:optional<double>,a:int64}", bytes(int32_t{7}, "x")),
      bytes("x", uint8_t{0}, int64_t{7}));
  EXPECT_EQ(refusal("row{a:int32}", "row{a:int32,b:int32}"), "field 'b' is new and not optional");
  EXPECT_EQ(refusal("row{a:int32,b:int32}", "row{a:int32}"), "field 'b' is gone");
  EXPECT_EQ(refusal("row{a:int32}", "row{a:string}"), "field 'a': int32 cannot become string");
}

TEST(TypeChange, GoesInsideListsMapsAndOptionals) {
  EXPECT_EQ(changed("list<int8>", "list<int16>", bytes(uint32_t{2}, int8_t{1}, int8_t{2})),
            bytes(uint32_t{2}, int16_t{1}, int16_t{2}));
  EXPECT_EQ(changed("map<string,int8>", "map<string,optional<int16>>", bytes(uint32_t{1}, "k", int8_t{4})),
            bytes(uint32_t{1}, "k", uint8_t{1}, int16_t{4}));
  EXPECT_EQ(changed("optional<int8>", "optional<int16>", bytes(uint8_t{0})), bytes(uint8_t{0}));
}

TEST(TypeChange, ATypeOfTheProgramsOwnIsNotLookedInto) {
  const auto change = TypeChange::between("row{a:int8,b:own}", "row{a:int16,b:own}");
  ASSERT_TRUE(change.ok());
  EXPECT_EQ(change->apply(bytes(int8_t{1}, "?")).status().code(), ErrorCode::kStateMismatch);
}

}  // namespace
}  // namespace strand
