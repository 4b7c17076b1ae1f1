-- Two streams whose rows belong to each other, one to one, within ten seconds.
-- ${INPUT}: file written by generate, read twice; ${SINK}: the WITH options of the sink.
CREATE TABLE clicks (
  click_id STRING, ad_id STRING, user_id STRING, ts BIGINT, price_micros BIGINT,
  event_time AS TO_TIMESTAMP_LTZ(ts, 3),
  WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${INPUT}', 'format' = 'json');

CREATE TABLE visits (
  click_id STRING, country STRING, device STRING, ts BIGINT,
  event_time AS TO_TIMESTAMP_LTZ(ts, 3),
  WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = '${INPUT}', 'format' = 'json');

CREATE TABLE sink (ad_id STRING, country STRING, pairs BIGINT) WITH (${SINK});

INSERT INTO sink
SELECT c.ad_id, v.country, c.price_micros
FROM clicks c JOIN visits v ON c.click_id = v.click_id
  AND v.event_time BETWEEN c.event_time - INTERVAL '10' SECOND AND c.event_time + INTERVAL '10' SECOND;
