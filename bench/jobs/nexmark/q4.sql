-- Nexmark q4: average price per category.

CREATE TABLE sink (category BIGINT, price BIGINT) WITH (${SINK});

INSERT INTO sink
SELECT Q.category, AVG(Q.final)
FROM (
  SELECT MAX(B.price) AS final, A.category
  FROM auction A, bid B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
  GROUP BY A.id, A.category) Q
GROUP BY Q.category;
