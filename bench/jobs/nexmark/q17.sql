-- Nexmark q17: statistics of an auction per day.

CREATE TABLE sink (auction BIGINT, `day` STRING, total_bids BIGINT, min_price BIGINT, max_price BIGINT,
  avg_price BIGINT, sum_price BIGINT) WITH (${SINK});

INSERT INTO sink
SELECT auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, COUNT(*), MIN(price), MAX(price), AVG(price), SUM(price)
FROM bid
GROUP BY auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd');
