"""The ad-click job as a process on files and SQLite, lines for it, and a recount of its own over those lines.

Nothing here comes from the engine: the recount is a map over lines, and only `find_differences` looks at what a run left.
"""

import collections
import datetime
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB_FILE = ROOT / "examples/ad-clicks/job.sql"
BOUND_MS = 5_001  # how far a row may trail the newest of its shard and still be on time for sure
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
SENTINEL = "sentinel"  # the ad whose clicks close the windows before them


def utc(ms, pattern):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime(pattern)


def minute_bucket(ms):
    return utc(ms, "M%Y-%m-%d %H:%M")


def hour_bucket(ms):
    return utc(ms, "H%Y-%m-%d %H")


def click_line(click_id, ad_id, device_ms, spend=1, impression_ms=None, arrival_ms=None):
    """One record, as bytes with its line end."""
    return (json.dumps({
        "click_id": click_id, "ad_id": ad_id, "user_id": "u", "spend_micros": spend,
        "impression_ms": device_ms - 1_000 if impression_ms is None else impression_ms,
        "device_ms": device_ms, "arrival_ms": device_ms + 50 if arrival_ms is None else arrival_ms,
    }) + "\n").encode()


# ---- the process


class Life:
    """One process of the job, from its start to its end. Its log goes to a file."""

    def __init__(self, command, log_path, cwd, **popen):
        self.log_path = pathlib.Path(log_path)
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, cwd=cwd, **popen)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def running(self):
        return self.process.poll() is None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=60):
        """SIGTERM: a stop with a savepoint. Gives the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.end(seconds)

    def end(self, seconds=60):
        """Waits for the end. The exit code, or None (and a SIGKILL) if it does not end."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class AdClicks:
    """A folder with clicks, the job's state, its tables and its logs."""

    def __init__(self, binary, folder, *, settings=(), options=(), job_file=JOB_FILE):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = pathlib.Path(folder)
        self.clicks = self.folder / "clicks"
        self.clicks.mkdir(parents=True, exist_ok=True)
        self.state = self.folder / "state"
        self.database = self.folder / "ad_metrics.db"
        self.exceptions = self.folder / "exceptions"
        self.logs = self.folder / "logs"
        self.logs.mkdir(exist_ok=True)
        self.job_file = job_file
        self.settings = list(settings)
        self.options = list(options)
        self.lives = 0

    @property
    def job_state(self):
        return self.state / "ad-clicks"

    @property
    def checkpoints(self):
        return self.job_state / "checkpoints"

    def tables(self):
        """Where each table of the job is."""
        return [("clicks", self.clicks), ("ad_metrics", self.database), ("ad_running", self.database),
                ("exceptions", self.exceptions)]

    def command(self, *more):
        command = [self.binary, "--state", self.state, "run", self.job_file]
        for table, path in self.tables():
            command += ["--with", f"{table}.path={path}"]
        for setting in self.settings:
            command += ["--set", setting]
        for option in self.options:
            command += ["--with", option]
        return command + list(more)

    def start(self, *more, **popen):
        self.lives += 1
        return Life(self.command(*more), self.logs / f"{self.lives:04}.log", self.folder, **popen)

    def query(self, sql, *values):
        """Rows of the database; none while it has no such table."""
        if not self.database.exists():
            return []
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        finally:
            connection.close()

    def epoch_used(self):
        """The highest checkpoint number that was used."""
        try:
            return json.loads((self.checkpoints / "epoch").read_text())["epoch"]
        except FileNotFoundError:
            return 0

    def manifests(self):
        """Complete checkpoints, by number: name -> path."""
        found = {}
        folder = self.checkpoints / "manifests"
        for name in os.listdir(folder) if folder.exists() else []:
            epoch = name[1:].split("-")[0]
            if name.startswith("m") and epoch.isdigit() and not name.endswith(".tmp"):
                found[int(epoch)] = folder / name
        return dict(sorted(found.items()))

    def wait_for(self, condition, life, seconds=60):
        """Waits until the condition holds. False if it never does, or the process ends before."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition():
                return True
            if not life.running():
                return bool(condition())
            time.sleep(0.02)
        return False

    def sentinels_counted(self):
        rows = self.query("SELECT SUM(total) FROM ad_running WHERE entity = ?", SENTINEL)
        return (rows[0][0] or 0) if rows else 0

    def read_exceptions(self):
        """What readers of the exceptions see: the files with visible names."""
        rows = []
        for path in sorted(self.exceptions.glob("*part-*.json")):
            with open(path, encoding="utf-8") as lines:
                rows += [json.loads(line) for line in lines]
        return rows


# ---- lines


class ClickMaker:
    """Makes lines for shards: disorder up to 4 s, duplicates, late ones, stale ones, bad ones."""

    KEPT = 2_000  # the ids that a duplicate is taken from

    def __init__(self, seed, shards, ads=12):
        self.random = random.Random(seed)
        self.shards = shards
        self.ads = ads
        self.count = 0
        self.recent = []

    def line(self, now_ms, stale_allowed):
        """(shard, line) at event time `now_ms`."""
        draw = self.random
        shard = draw.randrange(self.shards)
        kind = draw.random()
        if kind < 0.05 and self.recent:
            return shard, draw.choice(self.recent)
        if kind < 0.055:
            return shard, draw.choice([
                b"not a click\n", b'{"click_id": "cut off\n', b'{"click_id": "x", "ad_id": "ad-1", "spend_micros": "many"}\n'])
        self.count += 1
        late = draw.randrange(20_000, 40 * MINUTE_MS) if kind < 0.075 else draw.randrange(0, 4_001)
        time_ms = now_ms - late
        impression = time_ms - draw.randrange(0, 2_000)
        if stale_allowed and kind >= 0.995:
            time_ms, impression = now_ms, now_ms - 3 * HOUR_MS
        line = click_line(f"c{self.count:08}", f"ad-{int(draw.random() ** 2 * self.ads)}", time_ms,
                          spend=draw.randrange(1, 1_000), impression_ms=impression)
        if impression > time_ms - HOUR_MS:
            if len(self.recent) < self.KEPT:
                self.recent.append(line)
            else:
                self.recent[draw.randrange(self.KEPT)] = line
        return shard, line


def close_windows(job, shards, after_ms):
    """Appends to every shard a click so far ahead that every window up to `after_ms` closes."""
    ahead = (after_ms // HOUR_MS + 2) * HOUR_MS
    for shard in range(shards):
        with open(job.clicks / f"shard-{shard}.json", "ab") as file:
            file.write(click_line(f"{SENTINEL}-{shard}", SENTINEL, ahead))


# ---- the recount


class Recount:
    """What the lines say: a map over ids, with no window, watermark or state."""

    def __init__(self, folder):
        self.clicks = {}        # id -> (ad, event time, spend)
        self.copies = collections.Counter()
        self.may_be_late = set()
        self.stale = set()      # ids whose impression is more than two hours before the click
        self.bad = set()        # (shard, position)
        self.lines = 0
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            self._read(path)

    def _read(self, path):
        position = 0
        newest = 0
        for line in path.read_bytes().splitlines(keepends=True):
            self.lines += 1
            start, position = position, position + len(line)
            try:
                click = json.loads(line)
                time_ms = min(max(click["device_ms"], click["impression_ms"]), click["arrival_ms"])
                spend = int(click["spend_micros"])
            except (ValueError, TypeError, KeyError):
                self.bad.add((path.name, start))
                continue
            newest = max(newest, time_ms)
            id_ = click["click_id"]
            if newest - BOUND_MS >= time_ms:  # a minute may have closed, if this shard was ahead of it
                self.may_be_late.add(id_)
            if time_ms - click["impression_ms"] > 2 * HOUR_MS:
                self.stale.add(id_)
            self.copies[id_] += 1
            self.clicks[id_] = (click["ad_id"], time_ms, spend)


def find_differences(job, recount):
    """Compares a job's tables with the recount. Gives the differences, as texts, and what was counted."""
    differences = []

    def compare(what, found, expected):
        for key in sorted(set(found) | set(expected), key=str):
            if found.get(key) != expected.get(key):
                differences.append(f"{what} {key}: expected {expected.get(key)}, found {found.get(key)}")

    verdicts = collections.defaultdict(collections.Counter)
    for row in job.read_exceptions():
        key = row["click_id"]
        if row["verdict"] == "bad":
            shard, position = row["detail"].split(" ")[:2]
            key = (shard, int(position))
        verdicts[row["verdict"]][key] += 1

    compare("bad line", verdicts["bad"], {place: 1 for place in recount.bad})
    compare("stale id", verdicts["stale"], {id_: recount.copies[id_] for id_ in recount.stale})
    compare("duplicate id", verdicts["duplicate"],
            {id_: n - 1 for id_, n in recount.copies.items() if n > 1 and id_ not in recount.stale})
    late = verdicts["late"]
    for id_, n in late.items():
        if n != 1:
            differences.append(f"late id {id_}: {n} times")
        if id_ not in recount.may_be_late:
            differences.append(f"late id {id_}: it was on time")

    minutes, hours, late_rows, totals = (collections.Counter() for _ in range(4))
    late_spend = collections.Counter()
    sentinels = collections.Counter()
    for id_, (ad, time_ms, spend) in recount.clicks.items():
        if id_ in recount.stale:
            continue
        if ad == SENTINEL:
            sentinels[ad, minute_bucket(time_ms)] += 1
            continue
        hour = (ad, hour_bucket(time_ms))
        totals[hour] += 1
        if id_ in late:
            late_rows[hour] += 1
            late_spend[hour] += spend
        else:
            minutes[ad, minute_bucket(time_ms)] += 1
            hours[hour] += 1

    table = {(entity, bucket): rest for entity, bucket, *rest in job.query(
        "SELECT entity, bucket, fast_valid, late_valid, late_spend_micros FROM ad_metrics")}
    fast = {key: row[0] for key, row in table.items() if row[0] is not None}
    found_minutes = {key: n for key, n in fast.items() if key[1][0] == "M"}
    found_hours = {key: n for key, n in fast.items() if key[1][0] == "H"}
    compare("closed minute", found_minutes, minutes)
    compare("late total", {key: row[1] for key, row in table.items() if row[1] is not None}, late_rows)
    compare("late spend", {key: row[2] for key, row in table.items() if row[2] is not None}, late_spend)

    summed = collections.Counter()
    for (ad, bucket), n in found_minutes.items():
        summed[ad, "H" + bucket[1:-3]] += n
    compare("hour against the sum of its minutes", found_hours, summed)
    compare("hour", found_hours, hours)
    counted = collections.Counter(summed)
    for key, row in table.items():
        counted[key] += (row[1] or 0) if key[1][0] == "H" else 0
    compare("minutes + late of an hour", +counted, totals)

    running = {(entity, bucket): total for entity, bucket, total in job.query(
        "SELECT entity, bucket, total FROM ad_running WHERE total IS NOT NULL")}
    compare("running total", running, minutes + sentinels)

    return differences, {
        "lines": recount.lines, "counted": sum(minutes.values()), "late": sum(late.values()),
        "duplicates": sum(verdicts["duplicate"].values()), "stale": sum(verdicts["stale"].values()),
        "bad": sum(verdicts["bad"].values()), "minutes": len(found_minutes), "hours": len(found_hours),
    }
