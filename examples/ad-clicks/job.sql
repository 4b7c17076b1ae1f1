-- Ad clicks: valid clicks per ad and minute, hours from closed minutes, late totals, running totals, exceptions.
--   strandline run examples/ad-clicks/job.sql                          files and SQLite
--   KAFKA=localhost:9092 strandline run examples/ad-clicks/job.sql --profile examples/ad-clicks/kafka.yaml    Kafka and SQLite
-- Flink's grammar throughout. Only Strandline runs: view$late, view$early, view$duplicate, table$bad, the STATE_RETENTION hint,
-- several writers with columns of their own in one table (docs/sql/ours.md).
SET 'pipeline.name' = 'ad-clicks';
SET 'table.local-time-zone' = 'UTC';
SET 'execution.checkpointing.interval' = '30 s';
SET 'execution.checkpointing.timeout' = '60 s';
-- Processing time, so only a guard: longer than the horizon and the retention of the input together.
SET 'table.exec.state.ttl' = '26 h';

CREATE TABLE clicks (
  click_id STRING, ad_id STRING, user_id STRING, spend_micros BIGINT,
  impression_ms BIGINT, device_ms BIGINT, arrival_ms BIGINT,
  impression AS TO_TIMESTAMP_LTZ(impression_ms, 3),
  ts AS TO_TIMESTAMP_LTZ(LEAST(GREATEST(device_ms, impression_ms), arrival_ms), 3),   -- clamp: impression <= ts <= arrival
  read_time AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '5.001' SECOND -- up to 5 s of disorder, inclusive: the DataStream bound of 5 s
) WITH (
  'connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json', 'source.monitor-interval' = '1 s',
  'scan.watermark.idle-timeout' = '30 s'
);

-- Two writers: "fast" owns fast_valid, "late" owns late_valid and late_spend_micros (the common prefix names the writer).
CREATE TABLE ad_metrics (
  entity STRING, bucket STRING,
  fast_valid BIGINT, late_valid BIGINT, late_spend_micros BIGINT,
  PRIMARY KEY (entity, bucket) NOT ENFORCED
) WITH ('connector' = 'sqlite', 'path' = 'ad_metrics.db', 'table-name' = 'ad_metrics');

CREATE TABLE ad_running (
  entity STRING, bucket STRING, total BIGINT,
  PRIMARY KEY (entity, bucket) NOT ENFORCED
) WITH ('connector' = 'sqlite', 'path' = 'ad_metrics.db', 'table-name' = 'ad_running');

CREATE TABLE exceptions (
  verdict STRING, click_id STRING, ad_id STRING, ts TIMESTAMP_LTZ(3), judge TIMESTAMP_LTZ(3), detail STRING
) WITH ('connector' = 'filesystem', 'path' = 'exceptions', 'format' = 'json');

-- The acceptance horizon: 2 h after the impression, judged by event time (after a restore: by the floor at least).
CREATE VIEW accepted AS
  SELECT * FROM clicks
  WHERE CURRENT_WATERMARK(ts) IS NULL OR CURRENT_WATERMARK(ts) < impression + INTERVAL '2' HOUR;

-- An id is forgotten when the watermark reaches impression + 2 h: the instant from which the horizon refuses every copy.
CREATE VIEW distinct_clicks AS
  SELECT /*+ STATE_RETENTION('accepted' = '2 h after impression') */ click_id, ad_id, spend_micros, ts
  FROM accepted
  QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;

CREATE VIEW per_minute AS
  SELECT ad_id, window_start AS minute_start, window_time AS minute_time, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE distinct_clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY ad_id, window_start, window_end, window_time;

EXECUTE STATEMENT SET BEGIN
-- Hours come from closed minutes, so that an hour is the sum of its minutes; an hour window over the clicks would count late
-- ones twice.
INSERT INTO ad_metrics (entity, bucket, fast_valid)
  SELECT ad_id, 'M' || DATE_FORMAT(minute_start, 'yyyy-MM-dd HH:mm'), n FROM per_minute
  UNION ALL
  SELECT ad_id, 'H' || DATE_FORMAT(window_start, 'yyyy-MM-dd HH'), SUM(n)
  FROM TABLE(TUMBLE(TABLE per_minute, DESCRIPTOR(minute_time), INTERVAL '1' HOUR))
  GROUP BY ad_id, window_start, window_end;

INSERT INTO ad_metrics (entity, bucket, late_valid, late_spend_micros)
  SELECT /*+ STATE_RETENTION('per_minute$late' = '3 h after window_start') */
         ad_id, 'H' || DATE_FORMAT(window_start, 'yyyy-MM-dd HH'), COUNT(*), SUM(spend_micros)
  FROM per_minute$late
  GROUP BY ad_id, 'H' || DATE_FORMAT(window_start, 'yyyy-MM-dd HH');

-- The same windows while they are open: the total of a minute each second in which it changed, the last change when it closes.
INSERT INTO ad_running
  SELECT ad_id, 'M' || DATE_FORMAT(minute_start, 'yyyy-MM-dd HH:mm'), n
  FROM per_minute$early /*+ OPTIONS('strand.early-fire.delay' = '1 s') */;

INSERT INTO exceptions
  SELECT 'late', click_id, ad_id, ts, judge, CAST(window_end AS STRING) FROM per_minute$late
  UNION ALL
  SELECT 'duplicate', click_id, ad_id, ts, CAST(NULL AS TIMESTAMP_LTZ(3)), CAST(NULL AS STRING) FROM distinct_clicks$duplicate
  UNION ALL
  SELECT 'stale', click_id, ad_id, ts, CURRENT_WATERMARK(ts), CAST(impression AS STRING) FROM clicks
  WHERE CURRENT_WATERMARK(ts) >= impression + INTERVAL '2' HOUR
  UNION ALL
  SELECT 'bad', CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS TIMESTAMP_LTZ(3)), CAST(NULL AS TIMESTAMP_LTZ(3)),
         CONCAT_WS(' ', shard, CAST(shard_position AS STRING), reason) FROM clicks$bad;
END;
