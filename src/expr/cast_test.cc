// CAST and TRY_CAST; the values are what Flink 2.3.0 answers.
#include "expr/expr_testing.h"

namespace strand::expr::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CastNumbers, IntegersWrap) {
  EXPECT_EQ(value_of(cast(number(300), type(TypeKind::kTinyInt))), "44");
  EXPECT_EQ(value_of(cast(number(-129), type(TypeKind::kTinyInt))), "127");
  EXPECT_EQ(value_of(cast(number(70'000), type(TypeKind::kSmallInt))), "4464");
  EXPECT_EQ(value_of(cast(bigint(2'147'483'648), type(TypeKind::kInt))), "-2147483648");
}

TEST(CastNumbers, DoublesAreCutAndSaturate) {
  EXPECT_EQ(value_of(cast(real(1e10), type(TypeKind::kInt))), "2147483647");
  EXPECT_EQ(value_of(cast(real(-1e10), type(TypeKind::kInt))), "-2147483648");
  EXPECT_EQ(value_of(cast(real(1e20), type(TypeKind::kBigInt))), "9223372036854775807");
  EXPECT_EQ(value_of(cast(of(type(TypeKind::kDouble), "NaN"), type(TypeKind::kInt))), "0");
  EXPECT_EQ(value_of(cast(real(300.9), type(TypeKind::kTinyInt))), "44");
  EXPECT_EQ(value_of(cast(real(1e10), type(TypeKind::kSmallInt))), "-1");
}

TEST(CastNumbers, DecimalsAreRoundedHalfUpAndNullBeyondTheirDigits) {
  EXPECT_EQ(value_of(cast(dec("1.245", 4, 3), decimal(3, 2))), "1.25");
  EXPECT_EQ(value_of(cast(dec("-1.245", 4, 3), decimal(3, 2))), "-1.25");
  EXPECT_EQ(value_of(cast(dec("-2.5", 2, 1), decimal(1, 0))), "-3");
  EXPECT_EQ(value_of(cast(dec("9.99", 3, 2), decimal(2, 1))), "null");
  EXPECT_EQ(value_of(cast(number(123), decimal(2, 0))), "null");
  EXPECT_EQ(value_of(cast(number(1), decimal(2, 2))), "null");
  EXPECT_EQ(value_of(cast(real(1.005), decimal(3, 2))), "1.01");
  EXPECT_EQ(value_of(cast(real(1e30), decimal(10, 0))), "null");
  EXPECT_EQ(value_of(cast(dec("12345678901.5", 12, 1), type(TypeKind::kInt))), "-539222987");
  EXPECT_EQ(value_of(cast(dec("-1.9", 2, 1), type(TypeKind::kInt))), "-1");
  EXPECT_EQ(value_of(cast(dec("300.567", 12, 3), type(TypeKind::kDouble))), "300.567");
  EXPECT_EQ(value_of(cast(real(1.005), decimal(38, 20))), "1.00500000000000000000");
}

TEST(CastNumbers, ColumnsAsRecordedFromFlink) {
  const auto batch =
      batch_of({column_of(type(TypeKind::kFloat), {"1.1", "-1.9", "3.0E10", "NaN", "null"}),
                column_of(decimal(12, 3), {"300.567", "-129.999", "123456789.999", "0", "null"})});
  const ExprPtr f = column(0, type(TypeKind::kFloat));
  const ExprPtr c = column(1, decimal(12, 3));
  EXPECT_THAT(values_of(cast(f, type(TypeKind::kTinyInt)), batch), ElementsAre("1", "-1", "-1", "0", "null"));
  EXPECT_THAT(values_of(cast(f, type(TypeKind::kBigInt)), batch),
              ElementsAre("1", "-1", "30000001024", "0", "null"));
  EXPECT_THAT(values_of(cast(f, type(TypeKind::kDouble)), batch),
              ElementsAre("1.100000023841858", "-1.899999976158142", "3.0000001024E10", "NaN", "null"));
  EXPECT_THAT(values_of(cast(f, text_type()), batch),
              ElementsAre("1.1", "-1.9", "3.0000001E10", "NaN", "null"));
  EXPECT_THAT(values_of(cast(c, type(TypeKind::kTinyInt)), batch),
              ElementsAre("44", "127", "21", "0", "null"));
  EXPECT_THAT(values_of(cast(c, decimal(5, 1)), batch),
              ElementsAre("300.6", "-130.0", "null", "0.0", "null"));
}

TEST(CastText, ToIntegers) {
  for (const char* twelve : {"12", " 12 ", "+12", "12.7"})
    EXPECT_EQ(value_of(of(type(TypeKind::kInt), twelve)), "12");
  EXPECT_EQ(value_of(of(type(TypeKind::kInt), "-12.7")), "-12");
  EXPECT_EQ(value_of(of(type(TypeKind::kSmallInt), "32767")), "32767");
  for (const char* bad : {"1e2", "", "abc", "2147483648", "0x10", "1,000", "٣", "-", "+", "1 2"}) {
    EXPECT_THAT(value_of(of(type(TypeKind::kInt), bad)), StartsWith("error STRAND-3007")) << bad;
    EXPECT_EQ(value_of(try_cast(text(bad), type(TypeKind::kInt))), "null") << bad;
  }
  EXPECT_THAT(value_of(of(type(TypeKind::kTinyInt), "128")),
              HasSubstr("cannot be cast to TINYINT: CAST('128')"));
}

TEST(CastText, ToDoublesAndDecimals) {
  EXPECT_EQ(value_of(of(type(TypeKind::kDouble), "1.5f")), "1.5");
  EXPECT_EQ(value_of(of(type(TypeKind::kDouble), "1e400")), "Infinity");
  EXPECT_EQ(value_of(of(type(TypeKind::kDouble), "-Infinity")), "-Infinity");
  EXPECT_EQ(value_of(of(decimal(3, 1), "1.25")), "1.3");
  EXPECT_EQ(value_of(of(decimal(5, 1), "1e2")), "100.0");
  EXPECT_EQ(value_of(of(decimal(3, 1), ".5")), "0.5");
  EXPECT_EQ(value_of(of(decimal(3, 1), "5.")), "5.0");
  EXPECT_THAT(value_of(of(decimal(2, 1), "123.456")), StartsWith("error"));
  EXPECT_EQ(value_of(try_cast(text("1234.5"), decimal(4, 2))), "null");
  EXPECT_EQ(value_of(try_cast(text("12.345"), decimal(4, 2))), "12.35");
}

TEST(CastText, ToBoolean) {
  for (const char* yes : {"true", "TRUE", "t", "yes", "y", "1"}) {
    EXPECT_EQ(value_of(fn("CASE", {of(type(TypeKind::kBoolean), yes), text("+"), text("-")})), "+") << yes;
  }
  for (const char* no : {"0", "false"}) {
    EXPECT_EQ(value_of(fn("CASE", {of(type(TypeKind::kBoolean), no), text("+"), text("-")})), "-") << no;
  }
  for (const char* bad : {"on", " true ", "maybe"}) {
    EXPECT_EQ(value_of(try_cast(text(bad), type(TypeKind::kBoolean))), "null") << bad;
  }
  EXPECT_EQ(value_of(cast(boolean(true), text_type())), "TRUE");
  EXPECT_EQ(value_of(cast(boolean(true), text_type(2))), "TR");
  EXPECT_EQ(value_of(cast(boolean(true), type(TypeKind::kDouble))), "1.0");
}

TEST(CastText, FromEverything) {
  EXPECT_EQ(value_of(cast(number(-1), text_type(1))), "-");
  EXPECT_EQ(value_of(cast(dec("1.50", 3, 2), text_type())), "1.50");
  EXPECT_EQ(value_of(cast(of(type(TypeKind::kDate), "2024-01-02"), text_type())), "2024-01-02");
  EXPECT_EQ(value_of(cast(of(timestamp(), "2024-01-02 03:04:05"), text_type())), "2024-01-02 03:04:05.000");
  EXPECT_EQ(value_of(cast(of(timestamp(0), "2024-01-02 03:04:05"), text_type())), "2024-01-02 03:04:05");
  EXPECT_EQ(value_of(cast(of(timestamp(9), "2024-01-02 03:04:05.123456789"), text_type())),
            "2024-01-02 03:04:05.123456789");
  EXPECT_EQ(value_of(cast(millis(93'784'567), text_type())), "+1 02:03:04.567");
  EXPECT_EQ(value_of(cast(months(-1), text_type())), "-0-01");
  EXPECT_EQ(value_of(cast(real(1e8), text_type())), "1.0E8");
  EXPECT_EQ(value_of(cast(text("hello"), text_type(3))), "hel");
  EXPECT_EQ(value_of(cast(text("日本語"), text_type(2))), "日本");
}

TEST(CastTemporal, Text) {
  EXPECT_EQ(value_of(of(type(TypeKind::kDate), "2024-1-2")), "2024-01-02");
  EXPECT_EQ(value_of(of(type(TypeKind::kDate), "2024-01-02 03:04:05")), "2024-01-02");
  EXPECT_EQ(value_of(of(type(TypeKind::kDate), "2024")), "2024-01-01");
  EXPECT_EQ(value_of(of(type(TypeKind::kTime), "03:04:05.678")), "03:04:05");
  EXPECT_EQ(value_of(of(type(TypeKind::kTime), "03:04")), "03:04:00");
  EXPECT_EQ(value_of(of(timestamp(), "2024-01-02 03:04:05.9996")), "2024-01-02 03:04:05.999");
  EXPECT_EQ(value_of(of(timestamp(), "2024-01-02")), "2024-01-02 00:00:00.000");
  for (const char* bad : {"2024-01-02T03:04:05", "2024-01-02 03:04", "2024-01-01 25:00:00", "2024-02-30", "x",
                          "2024-01-02 03:04:05Z"}) {
    EXPECT_EQ(value_of(try_cast(text(bad), timestamp())), "null") << bad;
    EXPECT_THAT(value_of(of(timestamp(), bad)), StartsWith("error")) << bad;
  }
}

TEST(CastTemporal, AmongEachOther) {
  const ExprPtr fine = of(timestamp(6), "2024-01-02 03:04:05.678999");
  EXPECT_EQ(value_of(cast(fine, timestamp(3))), "2024-01-02 03:04:05.678");
  EXPECT_EQ(value_of(cast(fine, timestamp(0))), "2024-01-02 03:04:05");
  EXPECT_EQ(value_of(cast(fine, type(TypeKind::kTime))), "03:04:05");
  EXPECT_EQ(value_of(cast(fine, type(TypeKind::kDate))), "2024-01-02");
  EXPECT_EQ(value_of(cast(of(timestamp(), "1969-12-31 23:59:59.999"), timestamp(0))), "1969-12-31 23:59:59");
  EXPECT_EQ(value_of(cast(of(timestamp(), "1969-12-31 23:59:59.999"), type(TypeKind::kDate))), "1970-01-01");
  EXPECT_EQ(value_of(cast(of(type(TypeKind::kTime), "03:04:05"), timestamp())), "1970-01-01 03:04:05.000");
  EXPECT_EQ(value_of(cast(of(type(TypeKind::kDate), "2024-01-02"), timestamp())), "2024-01-02 00:00:00.000");
}

TEST(CastTemporal, NumbersAndTimesDoNotMix) {
  EXPECT_FALSE(resolve_cast(number(1), timestamp()).ok());
  EXPECT_FALSE(resolve_cast(of(type(TypeKind::kDate), "2024-01-02"), type(TypeKind::kInt)).ok());
  const Result<ExprPtr> refused = resolve_cast(of(timestamp(), "2024-01-02"), type(TypeKind::kBigInt));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), ErrorCode::kTypeMismatch);
  EXPECT_THAT(refused.status().hint(), HasSubstr("EPOCH"));
}

// Around the changes of Berlin's clocks in 2024.
TEST(CastTemporal, SessionZone) {
  const auto berlin = [](const ExprPtr& e) { return value_of(e, "Europe/Berlin"); };
  const auto utc = [&](const char* local) {
    return berlin(fn("TIMESTAMPDIFF", {text("SECOND"), fn("TO_TIMESTAMP_LTZ", {bigint(0)}),
                                       cast(of(timestamp(), local), ltz())}));
  };
  EXPECT_EQ(utc("2024-01-02 03:04:05"), "1704161045");  // 02:04:05Z
  EXPECT_EQ(utc("2024-07-02 03:04:05"), "1719882245");  // 01:04:05Z
  EXPECT_EQ(utc("2024-03-31 02:30:00"), "1711848600");  // skipped: 01:30Z
  EXPECT_EQ(utc("2024-10-27 02:30:00"), "1729989000");  // twice: the first, 00:30Z
  const auto local = [&](int64_t at) {
    return berlin(cast(fn("TO_TIMESTAMP_LTZ", {bigint(at)}), timestamp()));
  };
  EXPECT_EQ(local(1'711'846'799'999), "2024-03-31 01:59:59.999");
  EXPECT_EQ(local(1'711'846'800'000), "2024-03-31 03:00:00.000");
  EXPECT_EQ(local(1'729'987'200'000), "2024-10-27 02:00:00.000");
  EXPECT_EQ(local(1'729'990'800'000), "2024-10-27 02:00:00.000");
  EXPECT_EQ(berlin(cast(fn("TO_TIMESTAMP_LTZ", {bigint(0)}), text_type())), "1970-01-01 01:00:00.000");
  EXPECT_EQ(berlin(cast(fn("TO_TIMESTAMP_LTZ", {bigint(82'800'000)}), type(TypeKind::kDate))), "1970-01-02");
}

TEST(Cast, ToTheSameTypeCopiesNothing) {
  const ColumnPtr ids = column_of(text_type(), {"a", "b"});
  const auto batch = batch_of({ids});
  auto plain = compile(column(0, text_type()), {});
  EXPECT_EQ(*(*plain)->eval(batch, context()), ids);
  auto bytes = compile(cast(column(0, text_type()), type(TypeKind::kBytes)), {});
  EXPECT_EQ((*(*bytes)->eval(batch, context()))->parts().values, ids->parts().values);
}

}  // namespace
}  // namespace strand::expr::testing
