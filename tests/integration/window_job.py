"""A job with hopping and session windows as a process on files and SQLite, punctual lines for it, and their recount.

Nothing here comes from the engine: hops and sessions are counted from the lines alone.
"""

import collections
import datetime
import json
import pathlib
import random

from ad_clicks import AdClicks, SENTINEL

STEP_MS, SIZE_MS = 20_000, 60_000
GAP_MS = 1_500

JOB = f"""
SET 'pipeline.name' = 'windows';
CREATE TABLE clicks (
  id BIGINT, ad STRING, ms BIGINT, spend BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json', 'source.monitor-interval' = '1 s');
CREATE TABLE hops (ad STRING, s STRING, n BIGINT, spend BIGINT, PRIMARY KEY (ad, s) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = 'ad_metrics.db', 'table-name' = 'hops');
CREATE TABLE sessions (ad STRING, s STRING, e STRING, n BIGINT, top BIGINT, PRIMARY KEY (ad, s, e) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = 'ad_metrics.db', 'table-name' = 'sessions');
EXECUTE STATEMENT SET BEGIN
INSERT INTO hops SELECT ad, DATE_FORMAT(window_start, 'yyyy-MM-dd HH:mm:ss'), COUNT(*), SUM(spend)
  FROM TABLE(HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '{STEP_MS // 1000}' SECOND, INTERVAL '{SIZE_MS // 1000}' SECOND))
  GROUP BY ad, window_start, window_end;
INSERT INTO sessions SELECT ad, CAST(window_start AS STRING), CAST(window_end AS STRING), COUNT(*), MAX(spend)
  FROM TABLE(SESSION(TABLE clicks PARTITION BY ad, DESCRIPTOR(ts), INTERVAL '{GAP_MS / 1000}' SECOND))
  GROUP BY ad, window_start, window_end;
END;
"""


class WindowJob(AdClicks):
    def __init__(self, binary, folder, **more):
        job_file = pathlib.Path(folder) / "windows.sql"
        job_file.parent.mkdir(parents=True, exist_ok=True)
        job_file.write_text(JOB)
        super().__init__(binary, folder, job_file=job_file, **more)

    @property
    def job_state(self):
        return self.state / "windows"

    def tables(self):
        return [("clicks", self.clicks), ("hops", self.database), ("sessions", self.database)]


def instant(ms, timespec="milliseconds"):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).replace(tzinfo=None).isoformat(
        sep=" ", timespec=timespec)


class PunctualMaker:
    """Lines out of order by less than the bound: in whatever order shards are read, none is late."""

    def __init__(self, seed, shards, ads=9):
        self.random = random.Random(seed)
        self.shards = shards
        self.ads = ads
        self.count = 0

    def line(self, now_ms, _):
        draw = self.random
        self.count += 1
        return draw.randrange(self.shards), click(
            self.count, f"ad-{int(draw.random() ** 2 * self.ads)}", now_ms - draw.randrange(0, 4_001), draw.randrange(1, 1_000))


def click(id_, ad, ms, spend=0):
    return (json.dumps({"id": id_, "ad": ad, "ms": ms, "spend": spend}) + "\n").encode()


def close_windows(job, shards, after_ms):
    for shard in range(shards):
        with open(job.clicks / f"shard-{shard}.json", "ab") as file:
            file.write(click(0, SENTINEL, after_ms + 3_600_000))


def recount(folder):
    """(hops, sessions): (ad, start) -> (clicks, spend), (ad, start, end) -> (clicks, highest spend)."""
    times = collections.defaultdict(list)
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for line in path.read_bytes().splitlines():
            row = json.loads(line)
            if row["ad"] != SENTINEL:
                times[row["ad"]].append((row["ms"], row["spend"]))
    hops = {}
    sessions = {}
    for ad, clicks in times.items():
        clicks.sort()
        open_session = None
        for ms, spend in clicks:
            for start in range(ms - ms % STEP_MS, ms - SIZE_MS, -STEP_MS):
                n, total = hops.get((ad, instant(start, "seconds")), (0, 0))
                hops[ad, instant(start, "seconds")] = (n + 1, total + spend)
            if open_session and ms <= open_session[1]:
                open_session = [open_session[0], ms + GAP_MS, open_session[2] + 1, max(open_session[3], spend)]
            else:
                if open_session:
                    sessions[ad, instant(open_session[0]), instant(open_session[1])] = tuple(open_session[2:])
                open_session = [ms, ms + GAP_MS, 1, spend]
        sessions[ad, instant(open_session[0]), instant(open_session[1])] = tuple(open_session[2:])
    return hops, sessions


def find_differences(job, truth):
    found_hops = {(ad, s): (n, spend) for ad, s, n, spend in job.query("SELECT ad, s, n, spend FROM hops")}
    found_sessions = {(ad, s, e): (n, top) for ad, s, e, n, top in job.query("SELECT ad, s, e, n, top FROM sessions")}
    differences = []
    for what, found, expected in (("hop", found_hops, truth[0]), ("session", found_sessions, truth[1])):
        for key in sorted(set(found) | set(expected)):
            if found.get(key) != expected.get(key):
                differences.append(f"{what} {key}: expected {expected.get(key)}, found {found.get(key)}")
    return differences
