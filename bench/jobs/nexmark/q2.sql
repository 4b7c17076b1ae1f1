-- Nexmark q2: selection.

CREATE TABLE sink (auction BIGINT, price BIGINT) WITH (${SINK});

INSERT INTO sink
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
