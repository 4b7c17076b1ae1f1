#!/usr/bin/env python3
"""State that an earlier version wrote, restored by this one.

Each folder vN holds what a version left when it was killed in the middle of the ad-click job: checkpoints with open
windows, ids and late totals, the tables, the lines read so far, and the job as it was. The job goes on from there, reads
the lines of `more` and ends; the tables must be those of `expected.json`, which was made of the lines and not by the engine.

    compat_test.py --binary build/release/bin/strandline                     every vN, at several parallelisms
    compat_test.py --binary build/release/bin/strandline --record v2         writes a new folder (rarely needed)
"""

import argparse
import collections
import json
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from ad_clicks import Life, click_line, hour_bucket, minute_bucket  # noqa: E402
from checks import Checks  # noqa: E402

HOUR = 1_707_386_400_000  # 2024-02-08 10:00:00 UTC
JOB = "ad-clicks"
NEWER_FORMAT = "STRAND-5005"


# ---- a copy of a folder, and the job in it


class Copy:
    """A folder with clicks, state and tables. Paths of the job are relative to it."""

    def __init__(self, binary, folder):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = pathlib.Path(folder)
        self.manifests = self.folder / "state" / JOB / "checkpoints" / "manifests"

    def start(self, *more):
        command = [self.binary, "--state", "state", "run", "job.sql", "--ui", "off", *more]
        return Life(command, self.folder / "log", self.folder)

    def append(self, lines):
        """`lines`: shard -> bytes."""
        (self.folder / "clicks").mkdir(exist_ok=True)
        for shard, text in lines.items():
            with open(self.folder / "clicks" / f"{shard}.json", "ab") as file:
                file.write(text)

    def query(self, sql):
        path = self.folder / "ad_metrics.db"
        if not path.exists():
            return []
        connection = sqlite3.connect(path, timeout=10)
        try:
            return [list(row) for row in connection.execute(sql)]
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        finally:
            connection.close()

    def tables(self):
        exceptions = []
        for path in sorted((self.folder / "exceptions").glob("*part-*.json")):
            for line in path.read_text().splitlines():
                row = json.loads(line)
                exceptions.append([row["verdict"], row["click_id"]])
        return {
            "ad_metrics": self.query("SELECT entity, bucket, fast_valid, late_valid, late_spend_micros FROM ad_metrics"
                                     " ORDER BY entity, bucket"),
            "ad_running": self.query("SELECT entity, bucket, total FROM ad_running WHERE total IS NOT NULL"
                                     " ORDER BY entity, bucket"),
            "exceptions": sorted(exceptions),
        }

    def records_saved(self):
        """What the newest complete checkpoint has read: records."""
        if not self.manifests.exists():
            return 0
        names = [n.name for n in self.manifests.iterdir() if n.name.startswith("m") and not n.name.endswith(".tmp")]
        if not names:
            return 0
        newest = max(names, key=lambda name: int(name[1:].split("-")[0]))
        operators = json.loads((self.manifests / newest).read_text())["operators"]
        return sum(shard["records"] for operator in operators for part in operator["subtasks"]
                   for shard in part.get("shards", []))


# ---- the tests


def restore(binary, version, parallelisms, checks):
    """One life for each parallelism; all but the last stop with a savepoint before they have read anything more."""
    what = f"{version.name} with {' then '.join(map(str, parallelisms))} subtasks"
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(binary, pathlib.Path(folder) / "job")
        shutil.copytree(version / "left", copy.folder)
        shutil.copy(version / "job.sql", copy.folder)
        for parallelism in parallelisms[:-1]:
            life = copy.start("--set", f"parallelism.default={parallelism}", "--with", "clicks.source.monitor-interval=1 s")
            wait(life, lambda: "event=flushed" in life.log(), "the flush")
            code = life.stop()
            checks.check(code == 0, f"{what}: the job goes on and stops", f"exit code {code}\n{life.log()}")
        copy.append({path.stem: path.read_bytes() for path in (version / "more").glob("*.json")})
        life = copy.start("--set", f"parallelism.default={parallelisms[-1]}")
        code = life.end(100)
        if not checks.check(code == 0, f"{what}: the job goes on and ends", f"exit code {code}\n{life.log()}"):
            return
        checks.check("event=started" in life.log() and " epoch=" in life.log(), f"{what}: it has restored", life.log())
        found = copy.tables()
        for table, rows in json.loads((version / "expected.json").read_text()).items():
            checks.equal(found[table], rows, f"{what}: {table}")


def refuse_newer(binary, version, checks):
    """The newest manifest has a format that this version cannot know."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(binary, pathlib.Path(folder) / "job")
        shutil.copytree(version / "left", copy.folder)
        shutil.copy(version / "job.sql", copy.folder)
        before = copy.tables()
        for manifest in (HERE / "newer").iterdir():
            shutil.copy(manifest, copy.manifests)
        life = copy.start()
        checks.equal(life.end(60), 4, f"{version.name}: a manifest of format 1000 is refused")
        checks.check(NEWER_FORMAT in life.log(), f"{version.name}: by its number", life.log())
        checks.check("--from" in life.log(), f"{version.name}: and an older checkpoint is offered", life.log())
        checks.equal(copy.tables(), before, f"{version.name}: the tables are untouched")


# ---- recording


class Lines:
    """Clicks with what must become of each."""

    def __init__(self):
        self.clicks = collections.defaultdict(list)  # shard -> bytes
        self.fast = collections.Counter()
        self.late = collections.Counter()
        self.late_spend = collections.Counter()
        self.exceptions = []
        self.spend = 0

    def click(self, shard, name, ad, second, verdict=None):
        time_ms = HOUR + round(second * 1000)
        self.spend += 7
        line = click_line(name, ad, time_ms, spend=self.spend,
                          impression_ms=time_ms - 3 * 3_600_000 if verdict == "stale" else None)
        self.clicks[shard].append(line)
        if verdict:
            self.exceptions.append([verdict, name])
        if verdict == "late":
            self.late[ad, hour_bucket(time_ms)] += 1
            self.late_spend[ad, hour_bucket(time_ms)] += self.spend
        elif verdict is None:
            self.fast[ad, minute_bucket(time_ms)] += 1
            self.fast[ad, hour_bucket(time_ms)] += 1

    def bad(self, shard):
        self.clicks[shard].append(b'{"click_id": "cut off\n')
        self.exceptions.append(["bad", None])

    def take(self):
        taken = {shard: b"".join(lines) for shard, lines in self.clicks.items()}
        self.clicks.clear()
        return taken

    def expected(self):
        keys = sorted(set(self.fast) | set(self.late))
        return {
            "ad_metrics": [[*key, self.fast.get(key), self.late.get(key), self.late_spend.get(key)] for key in keys],
            "ad_running": [[*key, n] for key, n in sorted(self.fast.items()) if key[1][0] == "M"],
            "exceptions": sorted(self.exceptions, key=lambda row: (row[0], row[1] or "")),
        }


def wait(life, condition, what, seconds=90):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until or not life.running():
            life.kill()
            sys.exit(f"never came: {what}\n{life.log()}")
        time.sleep(0.02)


def record(binary, version):
    lines = Lines()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(binary, pathlib.Path(folder) / "job")
        copy.folder.mkdir()
        shutil.copy(version / "job.sql", copy.folder)
        for i in range(30):  # minutes 10:00 to 10:04
            lines.click(f"s{i % 2}", f"early-{i}", f"ad_{i % 3}", i * 10)
        lines.click("s0", "opens", "ad_0", 310)  # closes minutes up to 10:04
        lines.click("s1", "opens-too", "ad_1", 311)
        copy.append(lines.take())
        life = copy.start("--with", "clicks.source.monitor-interval=1 s", "--set", "parallelism.default=2",
                          "--set", "execution.checkpointing.interval=4 s")
        closed = "SELECT COUNT(*) FROM ad_metrics WHERE fast_valid IS NOT NULL AND bucket LIKE '%10:04'"
        wait(life, lambda: sum(row[0] for row in copy.query(closed)) == 3, "minute 10:04")
        lines.click("s0", "late-1", "ad_2", 5, "late")
        lines.click("s1", "late-2", "ad_0", 65, "late")
        lines.click("s1", "early-3", "ad_0", 30, "duplicate")
        lines.click("s0", "stale-1", "ad_1", 312, "stale")
        lines.bad("s1")
        for i in range(12):  # minute 10:05, open when the job dies
            lines.click(f"s{i % 2}", f"open-{i}", f"ad_{i % 4}", 313 + i)
        copy.append(lines.take())
        records = 49
        wait(life, lambda: copy.records_saved() == records, f"a checkpoint of {records} records")
        manifests = len(list(copy.manifests.iterdir()))
        lines.click("s0", "late-3", "ad_2", 6, "late")  # in the tables, in no checkpoint
        for i in range(4):
            lines.click(f"s{i % 2}", f"lost-{i}", f"ad_{i % 4}", 326 + i)
        copy.append(lines.take())
        wait(life, lambda: [[2]] == copy.query("SELECT late_valid FROM ad_metrics WHERE entity = 'ad_2' AND"
                                               " late_valid IS NOT NULL"), "the second late click")
        wait(life, lambda: copy.query("SELECT SUM(total) FROM ad_running WHERE bucket LIKE '%10:05'") == [[18]], "totals")
        life.kill()
        if len(list(copy.manifests.iterdir())) != manifests or copy.records_saved() != records:
            sys.exit("a checkpoint came in between: record again")
        copy.query("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.rmtree(copy.folder / "state" / JOB / "run")
        left = version / "left"
        shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(copy.folder, left, ignore=shutil.ignore_patterns("log", "job.sql"))
    lines.click("s0", "after-1", "ad_3", 331)
    lines.click("s1", "late-4", "ad_1", 290, "late")  # on time again for whoever forgets the floor
    lines.click("s1", "open-4", "ad_0", 317, "duplicate")
    lines.click("s1", "after-2", "ad_0", 359.999)
    lines.click("s0", "next-hour", "ad_3", 3_600)
    (version / "more").mkdir(exist_ok=True)
    for shard, text in lines.take().items():
        (version / "more" / f"{shard}.json").write_bytes(text)
    (version / "expected.json").write_text(json.dumps(lines.expected(), indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--record", metavar="vN")
    arguments = parser.parse_args()
    if arguments.record:
        return record(arguments.binary, HERE / arguments.record)
    checks = Checks()
    versions = sorted(path for path in HERE.glob("v*") if path.is_dir())
    for version in versions:
        for parallelisms in ([1], [2], [3], [1, 2]):
            restore(arguments.binary, version, parallelisms, checks)
    refuse_newer(arguments.binary, versions[-1], checks)
    return checks.finish()


if __name__ == "__main__":
    main()
