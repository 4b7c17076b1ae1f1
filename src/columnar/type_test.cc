#include "columnar/type.h"

#include <gtest/gtest.h>

namespace strand::columnar {
namespace {

TEST(Type, IsNamedAsFlinkNamesIt) {
  EXPECT_EQ(to_string(*decimal_type(12, 2, false)), "DECIMAL(12, 2) NOT NULL");
  EXPECT_EQ(to_string(*make_type(TypeKind::kString)), "STRING");
  EXPECT_EQ(to_string(*timestamp_type(3, true)), "TIMESTAMP_LTZ(3)");
  EXPECT_EQ(to_string(*make_type(TypeKind::kTime)), "TIME(0)");
  EXPECT_EQ(to_string(*array_type(make_type(TypeKind::kInt, false))), "ARRAY<INT NOT NULL>");
  EXPECT_EQ(to_string(*map_type(make_type(TypeKind::kString), make_type(TypeKind::kInt))),
            "MAP<STRING, INT>");
  EXPECT_EQ(to_string(*row_type({{"x", make_type(TypeKind::kInt)}}, false)), "ROW<`x` INT> NOT NULL");
}

TEST(Type, EqualityLooksAtEveryPart) {
  EXPECT_EQ(*decimal_type(12, 2), *decimal_type(12, 2));
  EXPECT_FALSE(*decimal_type(12, 2) == *decimal_type(12, 3));
  EXPECT_FALSE(*decimal_type(12, 2) == *decimal_type(12, 2, false));
  EXPECT_EQ(*with_nullable(decimal_type(12, 2), false), *decimal_type(12, 2, false));
  EXPECT_FALSE(*array_type(make_type(TypeKind::kInt)) == *array_type(make_type(TypeKind::kBigInt)));
}

TEST(Schema, FindsAColumnByItsExactName) {
  const Schema schema({{"ad", make_type(TypeKind::kString)}, {"ts", timestamp_type(3, false)}});
  EXPECT_EQ(schema.find("ts"), 1U);
  EXPECT_EQ(schema.find("TS"), std::nullopt);
}

}  // namespace
}  // namespace strand::columnar
