-- The ad-click job on the benchmark's columns: clamp, acceptance horizon, deduplication with event-time retention,
-- minute counts, late rows counted apart.
-- ${INPUT}: file written by generate; ${SINK}: the WITH options of the sink.
CREATE TABLE clicks (
  click_id STRING, ad_id STRING, user_id STRING, ts BIGINT, impression_ts BIGINT,
  price_micros BIGINT, country STRING, device STRING, valid BOOLEAN,
  proc_time AS PROCTIME(),
  impression AS TO_TIMESTAMP_LTZ(impression_ts, 3),
  event_time AS TO_TIMESTAMP_LTZ(GREATEST(ts, impression_ts), 3),
  WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${INPUT}', 'format' = 'json');

CREATE TABLE sink (ad_id STRING, window_start TIMESTAMP(3), clicks BIGINT, price_micros BIGINT) WITH (${SINK});
CREATE TABLE late (ad_id STRING, clicks BIGINT) WITH ('connector' = 'blackhole');

CREATE VIEW accepted AS
SELECT * FROM clicks
WHERE CURRENT_WATERMARK(event_time) IS NULL OR CURRENT_WATERMARK(event_time) < impression + INTERVAL '2' HOUR;

CREATE VIEW unique_clicks AS
SELECT /*+ STATE_RETENTION('accepted' = '2 h after impression') */ click_id, ad_id, price_micros, event_time
FROM accepted
QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY proc_time) = 1;

CREATE VIEW per_minute AS
SELECT ad_id, window_start, window_end, COUNT(*) AS n, SUM(price_micros) AS price
FROM TABLE(TUMBLE(TABLE unique_clicks, DESCRIPTOR(event_time), INTERVAL '1' MINUTE))
GROUP BY ad_id, window_start, window_end;

EXECUTE STATEMENT SET BEGIN
INSERT INTO sink SELECT ad_id, window_start, n, price FROM per_minute;
INSERT INTO late SELECT ad_id, COUNT(*) FROM per_minute$late GROUP BY ad_id;
END;
