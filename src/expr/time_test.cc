// Functions of time; values as Flink 2.3.0 gives them, but before 1970, where its EXTRACT rounds towards
// 1970.
#include "expr/civil.h"
#include "expr/expr_testing.h"
#include "expr/zone.h"

namespace strand::expr::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const TypePtr kText = text_type();
const TypePtr kBig = type(TypeKind::kBigInt);

ExprPtr ts(const char* value, int precision = 3) { return of(timestamp(precision), value); }
ExprPtr date(const char* value) { return of(type(TypeKind::kDate), value); }
std::string extract(const char* unit, const ExprPtr& e) { return value_of(fn("EXTRACT", {text(unit), e})); }
std::string format(const char* value, const char* pattern) {
  return value_of(fn("DATE_FORMAT", {ts(value), text(pattern)}));
}

TEST(Intervals, MoveTimes) {
  const auto moved = [](const char* op, const ExprPtr& a, const ExprPtr& b) {
    return value_of(fn(op, {a, b}));
  };
  EXPECT_EQ(moved("+", ts("2024-01-31 00:00:00"), months(1)), "2024-02-29 00:00:00.000");
  EXPECT_EQ(moved("-", ts("2024-03-31 00:00:00"), months(1)), "2024-02-29 00:00:00.000");
  EXPECT_EQ(moved("+", date("2024-02-29"), months(12)), "2025-02-28");
  EXPECT_EQ(moved("-", date("2024-01-01"), millis(86'400'000)), "2023-12-31");
  EXPECT_EQ(moved("+", date("2024-01-01"), millis(3'600'000)), "2024-01-01");
  EXPECT_EQ(moved("+", of(type(TypeKind::kTime), "23:30:00"), millis(3'600'000)), "00:30:00");
  EXPECT_EQ(moved("+", ts("2024-01-01 00:00:00.123456", 6), millis(1'000)), "2024-01-01 00:00:01.123456");
  EXPECT_EQ(moved("+", millis(1'000), ts("1969-12-31 23:59:59")), "1970-01-01 00:00:00.000");
  EXPECT_EQ(moved("+", ts("1969-12-31 23:59:59.999"), months(1)), "1970-01-31 23:59:59.999");
  EXPECT_EQ(moved("*", number(2), millis(3'600'000)), "+0 02:00:00.000");
  EXPECT_EQ(moved("+", months(1), months(12)), "+1-01");
  EXPECT_EQ(to_string(*fn("+", {column(0, ltz()), millis(1)})->type), "TIMESTAMP_LTZ(3)");
}

TEST(Extract, Fields) {
  const ExprPtr at = ts("2024-05-06 07:08:09.123");
  EXPECT_EQ(extract("YEAR", at), "2024");
  EXPECT_EQ(extract("QUARTER", at), "2");
  EXPECT_EQ(extract("HOUR", at), "7");
  EXPECT_EQ(extract("SECOND", at), "9");
  EXPECT_EQ(extract("MILLISECOND", at), "123");
  EXPECT_EQ(extract("MICROSECOND", ts("2024-05-06 07:08:09.987654", 6)), "987654");
  EXPECT_EQ(extract("EPOCH", at), "1714979289");
  EXPECT_EQ(extract("WEEK", date("2024-12-31")), "1");
  EXPECT_EQ(extract("WEEK", date("2021-01-03")), "53");
  EXPECT_EQ(extract("ISOYEAR", date("2021-01-03")), "2020");
  EXPECT_EQ(extract("DOY", date("2024-12-31")), "366");
  EXPECT_EQ(extract("DOW", date("2024-01-07")), "1");
  EXPECT_EQ(extract("ISODOW", date("2024-01-07")), "7");
  EXPECT_EQ(extract("CENTURY", date("2000-12-31")), "20");
  EXPECT_EQ(extract("MILLENNIUM", date("2001-01-01")), "3");
  EXPECT_EQ(extract("DECADE", date("2024-01-01")), "202");
  EXPECT_EQ(extract("DAY", millis(273'906'000)), "3");
  EXPECT_EQ(extract("MINUTE", of(type(TypeKind::kTime), "07:08:09")), "8");
  EXPECT_EQ(extract("HOUR", ts("1969-12-31 23:59:59.999")), "23");
  EXPECT_EQ(value_of(fn("DAYOFWEEK", {date("2024-05-06")})), "2");
  EXPECT_FALSE(resolve_call("EXTRACT", {text("FORTNIGHT"), at}).ok());
}

TEST(Extract, BeforeTheEpochDaysAndWhatIsBelowASecondCountTowardIt) {
  const ExprPtr at = ts("1969-12-31 23:59:59.999");
  EXPECT_EQ(extract("HOUR", at), "23");
  EXPECT_EQ(extract("MILLISECOND", at), "-1");
  EXPECT_EQ(extract("EPOCH", at), "0");
  EXPECT_EQ(extract("YEAR", at), "1970");
  EXPECT_EQ(extract("YEAR", date("1969-12-31")), "1969");
}

TEST(FloorAndCeil, ToUnits) {
  const auto floor = [](const char* unit, const ExprPtr& e) {
    return value_of(fn("FLOOR_TIME", {e, text(unit)}));
  };
  const auto ceil = [](const char* unit, const ExprPtr& e) {
    return value_of(fn("CEIL_TIME", {e, text(unit)}));
  };
  const ExprPtr at = ts("2024-05-15 07:38:39.123");
  EXPECT_EQ(floor("YEAR", at), "2024-01-01 00:00:00.000");
  EXPECT_EQ(floor("QUARTER", at), "2024-04-01 00:00:00.000");
  EXPECT_EQ(floor("MONTH", at), "2024-05-01 00:00:00.000");
  EXPECT_EQ(floor("WEEK", at), "2024-05-12 00:00:00.000");
  EXPECT_EQ(floor("MINUTE", at), "2024-05-15 07:38:00.000");
  EXPECT_EQ(floor("MILLISECOND", at), "2024-05-15 07:38:39.123");
  EXPECT_EQ(ceil("YEAR", at), "2025-01-01 00:00:00.000");
  EXPECT_EQ(ceil("MONTH", at), "2024-06-01 00:00:00.000");
  EXPECT_EQ(ceil("HOUR", at), "2024-05-15 08:00:00.000");
  EXPECT_EQ(ceil("DAY", ts("2024-05-15 00:00:00")), "2024-05-15 00:00:00.000");
  EXPECT_EQ(ceil("DAY", ts("2024-05-15 00:00:00.000001", 6)), "2024-05-16 00:00:00.000000");
  EXPECT_EQ(floor("MONTH", date("2024-05-15")), "2024-05-01");
  EXPECT_EQ(ceil("MONTH", date("2024-05-15")), "2024-06-01");
  EXPECT_EQ(ceil("MINUTE", of(type(TypeKind::kTime), "12:44:31")), "12:45:00");
  EXPECT_EQ(floor("DAY", ts("1969-12-31 23:59:59.999")), "1969-12-31 00:00:00.000");
  EXPECT_EQ(ceil("HOUR", ts("1969-12-31 22:30:00")), "1969-12-31 23:00:00.000");
}

TEST(TimestampAddAndDiff, AsRecordedFromFlink) {
  const auto add = [](const char* unit, int64_t n, const ExprPtr& e) {
    return value_of(fn("TIMESTAMPADD", {text(unit), number(n), e}));
  };
  EXPECT_EQ(add("SECOND", 90, ts("2024-01-01 00:00:00")), "2024-01-01 00:01:30.000");
  EXPECT_EQ(add("MONTH", 1, date("2024-01-31")), "2024-02-29");
  EXPECT_EQ(add("WEEK", 1, date("2024-01-01")), "2024-01-08");
  EXPECT_EQ(add("HOUR", 1, date("2024-03-01")), "2024-03-01 01:00:00.000000");
  const auto diff = [](const char* unit, const ExprPtr& a, const ExprPtr& b) {
    return value_of(fn("TIMESTAMPDIFF", {text(unit), a, b}));
  };
  EXPECT_EQ(diff("SECOND", ts("2024-01-01 00:00:00"), ts("2024-01-01 00:00:01.999")), "1");
  EXPECT_EQ(diff("SECOND", ts("2024-01-01 00:00:01.999"), ts("2024-01-01 00:00:00")), "-1");
  EXPECT_EQ(diff("DAY", ts("2024-01-01 12:00:00"), ts("2024-01-02 11:59:59")), "0");
  EXPECT_EQ(diff("WEEK", date("2024-01-01"), date("2024-01-14")), "1");
  EXPECT_EQ(diff("MONTH", date("2024-01-31"), date("2024-02-29")), "1");
  EXPECT_EQ(diff("MONTH", date("2024-01-31"), date("2024-03-01")), "1");
  EXPECT_EQ(diff("MONTH", ts("2024-03-01 00:00:00"), ts("2024-01-31 00:00:00")), "-1");
  EXPECT_EQ(diff("YEAR", date("2020-02-29"), date("2021-02-28")), "1");
  EXPECT_EQ(diff("QUARTER", date("2024-01-01"), date("2024-07-01")), "2");
  EXPECT_EQ(diff("SECOND", date("2024-01-01"), ts("2024-01-02 00:00:00")), "86400");
  EXPECT_EQ(diff("MILLISECOND", ts("2024-01-01 00:00:00"), ts("2024-01-01 00:00:01.999")), "1000");
  const ExprPtr days =
      fn("TIME_BETWEEN", {text("DAY"), ts("2024-03-01 00:00:00.5"), ts("2024-01-01 00:00:00")});
  EXPECT_EQ(value_of(days), "+60 00:00:00.500");
}

TEST(DateFormat, JavaLetters) {
  EXPECT_EQ(format("2024-05-06 07:08:09.123", "yyyy-MM-dd HH:mm:ss.SSS"), "2024-05-06 07:08:09.123");
  EXPECT_EQ(format("2024-05-06 19:08:09", "hh:mm a"), "07:08 PM");
  EXPECT_EQ(format("2024-05-06 07:08:09", "EEE, d MMM yyyy"), "Mon, 6 May 2024");
  EXPECT_EQ(format("2024-05-06 07:08:09", "EEEE MMMM"), "Monday May");
  EXPECT_EQ(format("2024-05-06 07:08:09", "yy/M/d H:m:s"), "24/5/6 7:8:9");
  EXPECT_EQ(format("2024-12-31 07:08:09", "YYYY-ww"), "2025-01");
  EXPECT_EQ(format("2024-05-06 07:08:09", "DDD"), "127");
  EXPECT_EQ(format("2024-05-06 07:08:09", "'week' w"), "week 19");
  EXPECT_EQ(format("2024-05-06 07:08:09", "Q"), "2");
  EXPECT_EQ(format("2024-05-06 07:08:09", ""), "");
  EXPECT_THAT(format("2024-05-06 07:08:09", "foo"),
              HasSubstr("STRAND-3007  the letter f of a date pattern is not known: DATE_FORMAT("));
  EXPECT_EQ(value_of(fn("DATE_FORMAT", {text("2024-05-06 07:08:09"), text("yyyy")})), "2024");
  EXPECT_EQ(value_of(fn("DATE_FORMAT", {text("2024-05-06"), text("dd.MM.yyyy")})), "null");
  EXPECT_FALSE(resolve_call("DATE_FORMAT", {date("2024-05-06"), text("yyyy")}).ok());
}

// Equal minutes share a text, others do not, in whichever order they come.
TEST(DateFormat, OverColumns) {
  const auto batch = batch_of(
      {column_of(timestamp(), {"2024-05-06 07:08:09.123", "2024-05-06 07:08:59.999", "2024-05-06 07:09:00",
                               "1969-12-31 23:59:59.999", "null", "2024-05-06 07:08:00"})});
  const ExprPtr e = column(0, timestamp());
  EXPECT_THAT(values_of(fn("DATE_FORMAT", {e, text("yyyy-MM-dd HH:mm")}), batch),
              ElementsAre("2024-05-06 07:08", "2024-05-06 07:08", "2024-05-06 07:09", "1969-12-31 23:59",
                          "null", "2024-05-06 07:08"));
  EXPECT_THAT(values_of(fn("DATE_FORMAT", {e, text("HH a")}), batch),
              ElementsAre("07 AM", "07 AM", "07 AM", "23 PM", "null", "07 AM"));
}

TEST(ToTimestampLtz, OfMillisecondsCopiesNothing) {
  const ColumnPtr ms = column_of(kBig, {"1714979289123", "-1", "null"});
  const ExprPtr e = fn("TO_TIMESTAMP_LTZ", {column(0, kBig), number(3)});
  auto compiled = compile(e, {});
  const Result<ColumnPtr> at = (*compiled)->eval(batch_of({ms}), context());
  EXPECT_EQ((*at)->parts().values, ms->parts().values);
  EXPECT_EQ(to_string(*(*at)->type()), "TIMESTAMP_LTZ(3)");
  EXPECT_THAT(values_of(cast(e, timestamp()), batch_of({ms})),
              ElementsAre("2024-05-06 07:08:09.123", "1969-12-31 23:59:59.999", "null"));
}

TEST(ToTimestampLtz, OutsideTheYears0To9999IsNull) {
  const auto batch = batch_of(
      {column_of(kBig, {"253402300799999", "253402300800000", "-62167219200000", "-62167219200001"})});
  EXPECT_THAT(values_of(fn("IS NULL", {fn("TO_TIMESTAMP_LTZ", {column(0, kBig)})}), batch).size(), 4);
  EXPECT_THAT(selected(fn("IS NULL", {fn("TO_TIMESTAMP_LTZ", {column(0, kBig)})}), batch), ElementsAre(1, 3));
  EXPECT_EQ(value_of(cast(fn("TO_TIMESTAMP_LTZ", {bigint(86'400), number(0)}), kText)),
            "1970-01-02 00:00:00.000");
  EXPECT_FALSE(resolve_call("TO_TIMESTAMP_LTZ", {bigint(0), number(6)}).ok());
}

TEST(TextToTime, GivesNullForWhatItCannotRead) {
  EXPECT_EQ(value_of(fn("TO_TIMESTAMP", {text("2024-05-06 07:08:09")})), "2024-05-06 07:08:09.000");
  EXPECT_EQ(value_of(fn("TO_TIMESTAMP", {text("nonsense")})), "null");
  EXPECT_EQ(value_of(fn("TO_TIMESTAMP", {text("06.05.2024 07h"), text("dd.MM.yyyy HH'h'")})),
            "2024-05-06 07:00:00.000");
  EXPECT_EQ(value_of(fn("TO_TIMESTAMP", {text("20240506"), text("yyyyMMdd")})), "2024-05-06 00:00:00.000");
  EXPECT_EQ(value_of(fn("TO_DATE", {text("2024-05-06")})), "2024-05-06");
  EXPECT_EQ(value_of(fn("UNIX_TIMESTAMP", {text("1970-01-01 00:01:00")})), "60");
  EXPECT_EQ(value_of(fn("UNIX_TIMESTAMP", {text("x")})), "-9223372036854775808");
  EXPECT_EQ(value_of(fn("FROM_UNIXTIME", {number(60)})), "1970-01-01 00:01:00");
}

TEST(Zones, DecideLocalTime) {
  const auto berlin = [](const ExprPtr& e) { return value_of(e, "Europe/Berlin"); };
  const ExprPtr epoch = fn("TO_TIMESTAMP_LTZ", {bigint(0)});
  EXPECT_EQ(berlin(fn("DATE_FORMAT", {epoch, text("yyyy-MM-dd HH:mm")})), "1970-01-01 01:00");
  EXPECT_EQ(berlin(fn("EXTRACT", {text("HOUR"), epoch})), "1");
  EXPECT_EQ(berlin(fn("FROM_UNIXTIME", {number(0)})), "1970-01-01 01:00:00");
  EXPECT_EQ(berlin(fn("UNIX_TIMESTAMP", {text("1970-01-01 01:00:00")})), "0");
  EXPECT_EQ(berlin(fn("TO_TIMESTAMP", {text("1970-01-01 01:00:00")})), "1970-01-01 01:00:00.000");
  EXPECT_EQ(berlin(cast(fn("FLOOR_TIME", {epoch, text("DAY")}), kText)), "1970-01-01 00:00:00.000");
  EXPECT_EQ(berlin(fn("CONVERT_TZ", {text("1970-01-01 00:00:00"), text("UTC"), text("America/Los_Angeles")})),
            "1969-12-31 16:00:00");
  EXPECT_EQ(value_of(fn("DATE_FORMAT", {epoch, text("HH:mm")}), "UTC+05:30"), "05:30");
  EXPECT_EQ(value_of(fn("DATE_FORMAT", {epoch, text("HH:mm")}), "GMT-8"), "16:00");
  EXPECT_THAT(value_of(epoch, "Mars/Olympus"), StartsWith("error STRAND-1001"));
}

TEST(Clock, IsTheContextsAndTheSameForAllRows) {
  const EvalContext at = context(1'714'979'289'123);
  const ExprPtr later = fn("+", {fn("PROCTIME", {}), millis(1'000)});
  EXPECT_EQ(value_of(cast(later, kText), "UTC", at), "2024-05-06 07:08:10.123");
  EXPECT_EQ(value_of(fn("LOCALTIMESTAMP", {}), "Europe/Berlin", at), "2024-05-06 09:08:09.123");
  EXPECT_EQ(value_of(fn("CURRENT_DATE", {}), "UTC", at), "2024-05-06");
  EXPECT_EQ(value_of(fn("UNIX_TIMESTAMP", {}), "UTC", at), "1714979289");
  EXPECT_EQ(to_string(*fn("PROCTIME", {})->type), "TIMESTAMP_LTZ(3) NOT NULL");
  const auto batch = batch_of({column_of(kBig, {"1", "2", "3"})});
  EXPECT_THAT(values_of(cast(fn("NOW", {}), kText), batch, at).size(), 3);
}

// The library knows the changes of some 400 years; behind them summer still comes, whatever was asked before.
TEST(Zone, ClocksChangeInTheFarFuture) {
  const Zone zone = *Zone::load("Europe/Berlin");
  const auto offset_hours = [&](int64_t year, int month) {
    const int64_t local = days_of({year, month, 1}) * kMillisPerDay;
    return (local - zone.utc_of(local)) / kMillisPerHour;
  };
  for (const int64_t year : {9'999, 2'024, 2'500, 3'000, 2'044, 2'399, 2'437}) {
    EXPECT_EQ(offset_hours(year, 1), 1) << year;
    EXPECT_EQ(offset_hours(year, 7), 2) << year;
  }
}

TEST(CurrentWatermark, IsNullUntilThereIsAJudge) {
  const auto batch =
      batch_of({column_of(ltz(), {"2024-01-01 00:00:00", "2024-01-01 02:00:00", "2024-01-01 03:00:00"})});
  const ExprPtr impression = column(0, ltz());
  const ExprPtr watermark = fn("CURRENT_WATERMARK", {impression});
  const ExprPtr accepted =
      fn("OR", {fn("IS NULL", {watermark}), fn("<", {watermark, fn("+", {impression, millis(7'200'000)})})});
  EXPECT_THAT(selected(accepted, batch), ElementsAre(-1));
  const EventTime judge{1'704'074'400'000 + 2 * 3'600'000};  // 2024-01-01 04:00:00
  EXPECT_THAT(selected(accepted, batch, context(0, judge)), ElementsAre(2));
  EXPECT_THAT(selected(accepted, batch, context(0, EventTime{0})), ElementsAre(-1));
  EXPECT_TRUE(reads_watermark(*accepted));
  EXPECT_FALSE(reads_clock(*accepted));
  EXPECT_TRUE(reads_clock(*fn("PROCTIME", {})));
}

}  // namespace
}  // namespace strand::expr::testing
