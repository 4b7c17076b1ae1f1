-- Nexmark q0: pass through.

CREATE TABLE sink (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING) WITH (${SINK});

INSERT INTO sink
SELECT auction, bidder, price, `dateTime`, extra FROM bid;
