#include "columnar/print.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "columnar/batch.h"

namespace strand::columnar {
namespace {

template <class F, class... Args>
std::string printed(F print, Args... args) {
  std::string text;
  print(args..., text);
  return text;
}

TEST(Print, DoublesAsJavaDoes) {
  const auto text = [](double value) { return printed(print_double, value); };
  EXPECT_EQ(text(0), "0.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(1.5), "1.5");
  EXPECT_EQ(text(100), "100.0");
  EXPECT_EQ(text(9'999'999), "9999999.0");
  EXPECT_EQ(text(1e7), "1.0E7");
  EXPECT_EQ(text(1.25e-3), "0.00125");
  EXPECT_EQ(text(1.25e-4), "1.25E-4");
  EXPECT_EQ(text(1e20), "1.0E20");
  EXPECT_EQ(text(-123456.789), "-123456.789");
  EXPECT_EQ(text(std::nan("")), "NaN");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-Infinity");
  EXPECT_EQ(printed(print_float, 3.0e10F), "3.0000001E10");
  EXPECT_EQ(printed(print_float, 123'456'789.0F), "1.23456792E8");
  EXPECT_EQ(printed(print_float, 1e19F), "1.0E19");
  EXPECT_EQ(text(1e18), "1.0E18");
  EXPECT_EQ(text(9'007'199'254'740'994.0), "9.007199254740994E15");
  EXPECT_EQ(printed(print_float, 0.1F), "0.1");
}

TEST(Print, DecimalsWithExactlyTheirScale) {
  EXPECT_EQ(printed(print_decimal, Int128{150}, 2), "1.50");
  EXPECT_EQ(printed(print_decimal, Int128{-5}, 2), "-0.05");
  EXPECT_EQ(printed(print_decimal, Int128{0}, 3), "0.000");
  EXPECT_EQ(printed(print_decimal, Int128{42}, 0), "42");
  Int128 widest = 1;
  for (int i = 0; i < 38; ++i) widest *= 10;
  EXPECT_EQ(printed(print_decimal, widest - 1, 38), "0." + std::string(38, '9'));
}

TEST(Print, TimestampsWithExactlyTheirPrecisionAlsoBefore1970) {
  EXPECT_EQ(printed(print_timestamp, int64_t{1'770'545'640'000}, 3, ' '), "2026-02-08 10:14:00.000");
  EXPECT_EQ(printed(print_timestamp, int64_t{1'770'545'640'678}, 0, 'T'), "2026-02-08T10:14:00");
  EXPECT_EQ(printed(print_timestamp, int64_t{1'770'545'640'678}, 1, ' '), "2026-02-08 10:14:00.6");
  EXPECT_EQ(printed(print_timestamp, int64_t{-1}, 3, ' '), "1969-12-31 23:59:59.999");
  EXPECT_EQ(printed(print_timestamp, int64_t{-1}, 9, ' '), "1969-12-31 23:59:59.999999999");
  EXPECT_EQ(printed(print_timestamp, int64_t{1'500'000}, 6, ' '), "1970-01-01 00:00:01.500000");
}

TEST(Print, DatesOfLeapYearsAndOfFarAwayYears) {
  EXPECT_EQ(printed(print_date, int64_t{0}), "1970-01-01");
  EXPECT_EQ(printed(print_date, int64_t{19'782}), "2024-02-29");
  EXPECT_EQ(printed(print_date, int64_t{-719'468}), "0000-03-01");
  EXPECT_EQ(printed(print_date, int64_t{2'932'896}), "9999-12-31");
}

TEST(Print, IntervalsAndTimes) {
  EXPECT_EQ(printed(print_interval_millis, int64_t{93'784'567}), "+1 02:03:04.567");
  EXPECT_EQ(printed(print_interval_millis, int64_t{-1}), "-0 00:00:00.001");
  EXPECT_EQ(printed(print_interval_months, int64_t{14}), "+1-02");
  EXPECT_EQ(printed(print_interval_months, int64_t{-1}), "-0-01");
  EXPECT_EQ(printed(print_time, int64_t{45'296'500}, 0), "12:34:56");
  EXPECT_EQ(printed(print_time, int64_t{45'296'500}, 1), "12:34:56.5");
}

TEST(Print, NestedValuesShowTheirNullsInCapitals) {
  ColumnBuilder builder(
      row_type({{"a", array_type(make_type(TypeKind::kInt))}, {"b", make_type(TypeKind::kBoolean)}}));
  builder.child(0).child(0).append(int32_t{1});
  builder.child(0).child(0).append_null();
  builder.child(0).close_nested();
  builder.child(1).append_boolean(true);
  builder.close_nested();
  builder.append_null();
  const ColumnPtr column = builder.finish();
  EXPECT_EQ(value_to_string(*column, 0), "([1, NULL], TRUE)");
  EXPECT_EQ(value_to_string(*column, 1), "null");
}

TEST(Print, AnInstantOfLtzEndsInZ) {
  ColumnBuilder builder(timestamp_type(3, true));
  builder.append(int64_t{1500});
  EXPECT_EQ(value_to_string(*builder.finish(), 0), "1970-01-01 00:00:01.500Z");
}

}  // namespace
}  // namespace strand::columnar
