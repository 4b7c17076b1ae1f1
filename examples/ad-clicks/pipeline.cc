#include "ad-clicks/pipeline.h"

namespace ad_clicks {

using namespace strandline;

namespace {

constexpr Millis kHour{3'600'000};

Expression event_time(bool clamp) {
  const Expression clamped = call("LEAST", {call("GREATEST", {col("device_ms"), col("impression_ms")}), col("arrival_ms")});
  return call("TO_TIMESTAMP_LTZ", {clamp ? clamped : col("device_ms"), lit(3)}).as("ts");
}

Expression bucket(const char* letter, const char* time, const char* pattern) {
  return call("||", {lit(letter), call("DATE_FORMAT", {col(time), lit(pattern)})}).as("bucket");
}

Expression minute_bucket() { return bucket("M", "window_start", "yyyy-MM-dd HH:mm"); }
Expression hour_bucket() { return bucket("H", "window_start", "yyyy-MM-dd HH"); }
Expression entity() { return col("ad_id").as("entity"); }

}  // namespace

Job make(const Options& options) {
  Job job("ad-clicks");

  const Table clicks_table{"clicks",
                           {{"click_id", "STRING"},
                            {"ad_id", "STRING"},
                            {"user_id", "STRING"},
                            {"spend_micros", "BIGINT"},
                            {"impression_ms", "BIGINT"},
                            {"device_ms", "BIGINT"},
                            {"arrival_ms", "BIGINT"}},
                           options.clicks};
  const Table metrics{"ad_metrics",
                      {{"entity", "STRING"},
                       {"bucket", "STRING"},
                       {"fast_valid", "BIGINT"},
                       {"late_valid", "BIGINT"},
                       {"late_spend_micros", "BIGINT"}},
                      options.metrics,
                      {"entity", "bucket"}};
  const Table running{"ad_running",
                      {{"entity", "STRING"}, {"bucket", "STRING"}, {"total", "BIGINT"}},
                      options.running,
                      {"entity", "bucket"}};
  const Table exceptions{"exceptions",
                         {{"verdict", "STRING"},
                          {"click_id", "STRING"},
                          {"ad_id", "STRING"},
                          {"ts", "TIMESTAMP_LTZ(3)"},
                          {"judge", "TIMESTAMP_LTZ(3)"},
                          {"detail", "STRING"}},
                         options.exceptions};

  const Stream clicks =
      job.source(clicks_table,
                 {col("click_id"), col("ad_id"), col("spend_micros"),
                  call("TO_TIMESTAMP_LTZ", {col("impression_ms"), lit(3)}).as("impression"), event_time(options.clamp)},
                 EventTime{"ts", Millis{5'000}, options.idle_timeout});

  // The acceptance horizon: 2 h after the impression. An id is kept exactly as long as copies are accepted.
  const Expression horizon = col("impression") + interval(2 * kHour.count());
  const Expression now = current_watermark(col("ts"));
  const Stream accepted = clicks.filter(is_null(now) || now < horizon).uid("accepted");
  const Stream distinct =
      accepted.key_by({"click_id"}).deduplicate(Retention{"impression", 2 * kHour}).uid("distinct_clicks");

  WindowedStream minutes = distinct.key_by({"ad_id"}).window({Millis{60'000}}).early_firing(Millis{1'000});
  if (options.pre_aggregate) minutes = minutes.pre_aggregate(*options.pre_aggregate);
  const auto per_minute = minutes.aggregate({count_all("n")});
  per_minute.closed.uid("per_minute");

  // Hours come from closed minutes, so that an hour is the sum of its minutes.
  const Stream hours = per_minute.closed.select({col("ad_id"), col("window_time"), col("n")})
                           .key_by({"ad_id"})
                           .window({kHour})
                           .aggregate({sum("n", "n")})
                           .closed.uid("hours");
  per_minute.closed.select({entity(), minute_bucket(), col("n").as("fast_valid")})
      .union_all(hours.select({entity(), hour_bucket(), col("n").as("fast_valid")}))
      .write(metrics, "fast");

  per_minute.late.select({entity(), hour_bucket(), col("spend_micros"), col("window_start")})
      .key_by({"entity", "bucket"})
      .total({count_all("late_valid"), sum("spend_micros", "late_spend_micros")}, Retention{"window_start", 3 * kHour})
      .uid("late_totals")
      .write(metrics, "late");

  per_minute.early.select({entity(), minute_bucket(), col("n").as("total")}).write(running, "total");

  const Expression none_text = null_of("STRING");
  const Expression none_time = null_of("TIMESTAMP_LTZ(3)");
  const auto verdict = [&](const Stream& rows, const char* name, Expression judge, Expression detail) {
    return rows.select({lit(name).as("verdict"), col("click_id"), col("ad_id"), col("ts"), judge.as("judge"),
                        detail.as("detail")});
  };
  verdict(per_minute.late, "late", col("judge"), cast(col("window_end"), "STRING"))
      .union_all(verdict(distinct.duplicates(), "duplicate", none_time, none_text))
      .union_all(verdict(clicks.filter(now >= horizon).uid("stale"), "stale", now, cast(col("impression"), "STRING")))
      .write(exceptions, "strand");
  return job;
}

}  // namespace ad_clicks
