#!/usr/bin/env python3
"""Kills the real binary with SIGKILL while it writes to Valkey (here: Redis), and the server, too.

The clicks are written at a pace while the job runs; counts of windows and totals are written as they come. The job changes its
parallelism from life to life. In the end a process is paused, another one goes on from a copy of its state, and the first one
wakes up.

    valkey_kill_test.py --binary build/release/bin/strandline --kills 50
"""
import subprocess

import killed_store
from killed_store import CLICKS, COUNTS, LAST, SHARDS


class Valkey(killed_store.Store):
    server_name = "redis"

    def job(self):
        place = f"'connector' = 'valkey', 'url' = '{self.server.url}'"
        return f"""{CLICKS}
CREATE TABLE counts (ad STRING, s TIMESTAMP(0), n BIGINT, spend BIGINT, PRIMARY KEY (ad, s) NOT ENFORCED) WITH ({place});
CREATE TABLE totals (ad STRING, n BIGINT, PRIMARY KEY (ad) NOT ENFORCED) WITH ({place});
EXECUTE STATEMENT SET BEGIN {COUNTS}
END;
"""

    def call(self, *words):
        done = subprocess.run(["redis-cli", "-u", self.server.url, *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.splitlines()

    def owner(self):
        """Of all generations: a successor with a copy of the state has the next attempt."""
        return max(int(attempt) for attempt in self.call("HVALS", "strandline:attempts:job") if attempt != "closed")

    def ended(self):
        try:
            return self.call("HGET", f"totals:{LAST}", "n") == [str(SHARDS)]
        except RuntimeError:
            return False

    def hashes(self, table, *fields):
        script = ("local found = {} for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                  "found[#found + 1] = table.concat(redis.call('HMGET', key, unpack(ARGV, 2)), '\t') end return found")
        return [line.split("\t") for line in self.call("EVAL", script, "0", f"{table}:*", *fields) if line]

    def counts(self):
        return {(ad, s): (int(n), int(spend)) for ad, s, n, spend in self.hashes("counts", "ad", "s", "n", "spend") if ad != LAST}

    def totals(self):
        return {ad: int(n) for ad, n in self.hashes("totals", "ad", "n")}


if __name__ == "__main__":
    killed_store.main(__doc__, Valkey)
