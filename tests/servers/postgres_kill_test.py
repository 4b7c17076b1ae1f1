#!/usr/bin/env python3
"""Kills the real binary with SIGKILL while it writes to PostgreSQL in both modes, and the server, too.

The clicks are written at a pace while the job runs. Counts of windows are upserted as they come (mode flush), and each click is
added to a log without a key when its checkpoint is complete (mode transaction). The job changes its parallelism from life to
life. In the end a process is paused, another one goes on from a copy of its state, and the first one wakes up.

    postgres_kill_test.py --binary build/release/bin/strandline --kills 50
"""
import subprocess

import killed_store
from killed_store import CLICKS, COUNTS, LAST, SHARDS

SCHEMA = "killed"


class Postgres(killed_store.Store):
    server_name = "postgres"

    def __init__(self, folder):
        super().__init__(folder)
        self.rows(f"CREATE SCHEMA {SCHEMA}")

    def job(self):
        def place(table):
            return f"'connector' = 'jdbc', 'url' = 'jdbc:{self.server.url}', 'table-name' = '{SCHEMA}.{table}'"

        return f"""{CLICKS}
CREATE TABLE counts (ad STRING, s TIMESTAMP(3), n BIGINT, spend BIGINT, PRIMARY KEY (ad, s) NOT ENFORCED) WITH ({place("counts")});
CREATE TABLE totals (ad STRING, n BIGINT, PRIMARY KEY (ad) NOT ENFORCED) WITH ({place("totals")});
CREATE TABLE copies (id BIGINT, ad STRING) WITH ({place("copies")}, 'sink.mode' = 'transaction');
EXECUTE STATEMENT SET BEGIN {COUNTS}
INSERT INTO copies SELECT id, ad FROM clicks;
END;
"""

    def rows(self, sql):
        done = subprocess.run(["psql", "-X", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", self.server.url, "-c", sql],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def owner(self):
        return int(self.rows("SELECT max(attempt) FROM strandline_markers WHERE subtask = -1")[0][0])

    def ended(self):
        try:
            return int(self.rows(f"SELECT count(*) FROM {SCHEMA}.copies WHERE id < 0")[0][0]) == SHARDS
        except RuntimeError:
            return False

    def counts(self):
        return {(ad, s): (int(n), int(spend)) for ad, s, n, spend in
                self.rows(f"SELECT ad, to_char(s, 'YYYY-MM-DD HH24:MI:SS'), n, spend FROM {SCHEMA}.counts WHERE ad <> '{LAST}'")}

    def totals(self):
        return {ad: int(n) for ad, n in self.rows(f"SELECT ad, n FROM {SCHEMA}.totals")}

    def copies(self):
        return [int(id_) for id_, in self.rows(f"SELECT id FROM {SCHEMA}.copies")]


if __name__ == "__main__":
    killed_store.main(__doc__, Postgres)
