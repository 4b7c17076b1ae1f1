#include "api/elements.h"

#include <gtest/gtest.h>

namespace strand::api {
namespace {

enum class Colour : int16_t { kRed = 3 };

struct Everything {
  bool flag = false;
  int8_t tiny = 0;
  Colour colour = Colour::kRed;
  float ratio = 0;
  std::string text;
  std::optional<strandline::Timestamp> at;
  static auto fields() {
    return strandline::fields("flag", &Everything::flag, "tiny", &Everything::tiny, "colour",
                              &Everything::colour, "ratio", &Everything::ratio, "text", &Everything::text,
                              "at", &Everything::at);
  }
};

TEST(Elements, AreReadAsTheyWereWritten) {
  const RowType& type = strandline::detail::row_type<Everything>();
  ElementWriter writer(type);
  Everything one{true, -3, Colour::kRed, 0.5f, "", strandline::timestamp_of(1'000)};
  Everything two{false, 4, Colour::kRed, -1, "x", std::nullopt};
  writer.append(&one, EventTime{7});
  writer.append(&two, std::nullopt);
  // A slice begins inside the buffers.
  const columnar::Batch both = writer.finish();
  const columnar::Batch batch = columnar::concat(std::vector{both, both}).slice(1, 2);
  ElementReader reader(type);
  reader.begin(batch);
  const auto* second = static_cast<const Everything*>(*reader.read(0));
  EXPECT_EQ(second->text, "x");
  EXPECT_FALSE(second->flag);
  EXPECT_FALSE(second->at.has_value());
  EXPECT_FALSE(reader.time(0).has_value());
  const auto* first = static_cast<const Everything*>(*reader.read(1));
  EXPECT_TRUE(first->flag);
  EXPECT_EQ(first->tiny, -3);
  EXPECT_EQ(first->colour, Colour::kRed);
  EXPECT_EQ(first->ratio, 0.5f);
  EXPECT_EQ(strandline::millis_of(*first->at), 1'000);
  EXPECT_EQ(reader.time(1), EventTime{7});
}

TEST(Elements, AreStoredAsTheyWere) {
  using strandline::Codec;
  using strandline::detail::decoded;
  using strandline::detail::encoded;
  using Value = std::map<std::string, std::vector<std::optional<std::pair<int32_t, double>>>>;
  const Value value = {{"a", {std::pair{1, 0.5}, std::nullopt}}, {"b", {}}};
  EXPECT_EQ(decoded<Value>(encoded(value)), value);
  EXPECT_EQ(Codec<Value>::name(), "map<string,list<optional<row{f0:int32,f1:double}>>>");
  EXPECT_EQ(Codec<Everything>::name(),
            "row{flag:bool,tiny:int8,colour:int16,ratio:float,text:string,at:optional<timestamp>}");
  EXPECT_THROW(decoded<int64_t>("abc"), std::runtime_error);
}

TEST(Elements, ANullNamesItsColumn) {
  columnar::BatchBuilder rows(element_schema(strandline::detail::row_type<std::optional<int64_t>>()));
  rows.column(0).append_null();
  rows.column(1).append_null();
  rows.end_row();
  const columnar::Batch batch = rows.finish();
  ElementReader reader(strandline::detail::row_type<int64_t>());
  reader.begin(batch);
  EXPECT_EQ(reader.read(0).status().code(), ErrorCode::kBadRow);
}

}  // namespace
}  // namespace strand::api
