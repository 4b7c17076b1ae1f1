#!/usr/bin/env python3
"""State ten times the memory limit in RocksDB: right answers, memory and disk within their limits, also through a kill.

    spill_test.py --binary build/release/bin/strandline --limit-mb 96
"""

import argparse
import hashlib
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time

from checks import Checks

ID_BYTES = 500
WIDE_BYTES = 4000  # of a row of a join, of which memory keeps what finds it
START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC
TABLES = """
CREATE TABLE events (id STRING, ms BIGINT, pt AS PROCTIME(), ts AS TO_TIMESTAMP_LTZ(ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'path' = 'events.json', 'format' = 'json');
CREATE TABLE totals (k STRING, ids BIGINT, events BIGINT, PRIMARY KEY (k) NOT ENFORCED)
WITH ('connector' = 'sqlite', 'path' = 'totals.db', 'table-name' = 'totals');
"""
IDS = TABLES + """
INSERT INTO totals SELECT 'all', COUNT(*), COUNT(*) FROM (
  SELECT id FROM events QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY pt) = 1);
"""
WINDOWS = TABLES + """
INSERT INTO totals SELECT 'all', COUNT(*), SUM(n) FROM (
  SELECT id, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' DAY))
  GROUP BY id, window_start, window_end);
"""
SESSIONS = TABLES + """
INSERT INTO totals SELECT 'all', COUNT(*), SUM(n) FROM (
  SELECT id, COUNT(*) AS n FROM TABLE(SESSION(TABLE events PARTITION BY id, DESCRIPTOR(ts), INTERVAL '1' DAY))
  GROUP BY id, window_start, window_end);
"""
GROUPS = TABLES + """
INSERT INTO totals SELECT 'all', COUNT(*), SUM(n) FROM (SELECT id, COUNT(*) AS n FROM events GROUP BY id);
"""


# Each row is looked for when it lies on the disk: the other side is as many rows behind.
BEHIND = 50_000
JOINS = TABLES + f"""
CREATE TABLE behind (ms BIGINT, earlier AS ms - {BEHIND})
WITH ('connector' = 'filesystem', 'path' = 'events.json', 'format' = 'json');
INSERT INTO totals SELECT 'all', COUNT(*), SUM(CASE WHEN e.id LIKE '%a' THEN 1 ELSE 0 END)
FROM events AS e JOIN behind AS b ON e.ms = b.earlier;
"""


INTERVALS = TABLES + """
CREATE TABLE partners (id STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'path' = 'events.json', 'format' = 'json');
INSERT INTO totals SELECT 'all', COUNT(*), SUM(CASE WHEN e.id LIKE '%a' THEN 1 ELSE 0 END)
FROM events AS e JOIN partners AS p ON e.ms = p.ms - %d AND p.ts BETWEEN e.ts - INTERVAL '1' HOUR AND e.ts + INTERVAL '1' HOUR;
""".replace("%d", str(BEHIND))


def write_events(path, rows, seed, id_bytes=ID_BYTES):
    """Every tenth is a copy of one before. Ids do not compress. Gives the number of different ones, and how many of all but the last
    BEHIND end with an a."""
    draw = random.Random(seed)
    ids = 0
    end_with_a = 0
    with open(path, "w") as file:
        for row in range(rows):
            copy = row % 10 == 9
            id_ = draw.randrange(ids) if copy else ids
            ids += 0 if copy else 1
            text = hashlib.shake_256(id_.to_bytes(8, "big")).hexdigest(id_bytes // 2)
            end_with_a += row < rows - BEHIND and text[-1] == "a"
            file.write(f'{{"id": "{text}", "ms": {START_MS + row}}}\n')
    return ids, end_with_a


class Run:
    """One process of a job, and the most memory it had."""

    def __init__(self, program, folder, settings, sql=None):
        command = [*program, "--state", folder / "state"]
        if sql:
            (folder / "job.sql").write_text(sql)
            command += ["run", "job.sql"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        self.folder = folder
        self.log = open(folder / "log", "ab")
        self.process = subprocess.Popen([str(part) for part in command], cwd=folder, stdout=self.log, stderr=self.log)
        self.peak = 0

    def local_bytes(self):
        total = 0
        for path in (self.folder / "state").glob("*/local/**/*"):
            try:
                total += path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:
                pass
        return total

    def watch(self, until=lambda: False, seconds=280):
        """Until the process ends (its exit code) or the condition holds (None)."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return self.process.returncode
            try:
                status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
                self.peak = max([self.peak] + [int(kb) * 1024 for kb in re.findall(r"VmHWM:\s+(\d+)", status)])
            except (FileNotFoundError, ProcessLookupError):
                pass
            if until():
                return None
            time.sleep(0.02)
        self.process.kill()
        return None


def totals(folder):
    return sqlite3.connect(folder / "totals.db").execute("SELECT ids, events FROM totals").fetchall()


def settings_of(arguments, **more):
    return {"state.backend.type": "rocksdb", "strand.memory.limit": f"{arguments.limit_mb} mb", "parallelism.default": "1",
            "execution.checkpointing.interval": "1 s", "restart-strategy.type": "none", **more}


def check_memory(checks, arguments, run, what, more=0.2):
    limit = arguments.limit_mb << 20
    checks.check(run.peak <= limit * (1 + more), f"{what}: memory within the limit and {100 * more:.0f} %",
                 f"{run.peak >> 20} MiB, limit {arguments.limit_mb} MiB")


def check_job(checks, arguments, folder, what, sql, expected, restored=0.2):
    """A kill when a good part lies on the disk, then to the end; `restored`: what a restore may take beyond the limit."""
    folder.mkdir()
    (folder / "events.json").symlink_to(arguments.events)
    first = Run([arguments.binary], folder, settings_of(arguments), sql)
    first.watch(until=lambda: first.local_bytes() > arguments.limit_mb << 21)
    checks.check(first.process.poll() is None, f"{what}: state beyond memory lies on the local disk", (folder / "log").read_text())
    first.process.kill()
    first.process.wait()
    check_memory(checks, arguments, first, what)
    second = Run([arguments.binary], folder, settings_of(arguments), sql)
    checks.equal(second.watch(), 0, f"{what}: goes on after a kill, to its end")
    check_memory(checks, arguments, second, f"{what}, after the kill", restored)
    checks.equal(totals(folder), [expected], f"{what}: the right totals")
    checks.equal(second.local_bytes(), 0, f"{what}: nothing is left on the local disk")


def check_full_disk(checks, arguments, folder, expected):
    folder.mkdir()
    (folder / "events.json").symlink_to(arguments.events)
    full = Run([arguments.binary], folder, settings_of(arguments, **{"strand.local-disk.limit": "100 mb"}), IDS)
    checks.check(full.watch() not in (0, None), "a full disk ends the attempt")
    log = (folder / "log").read_text()
    checks.check("STRAND-5001" in log and "state.backend.rocksdb.localdir" in log, "and says so, with a way out", log)
    again = Run([arguments.binary], folder, settings_of(arguments), IDS)
    checks.equal(again.watch(), 0, "with room the job goes on")
    checks.equal(totals(folder), [expected], "and nothing is lost")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--limit-mb", type=int, default=96)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    checks = Checks()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-spill-"))
    try:
        rows = 10 * (arguments.limit_mb << 20) // ID_BYTES * 10 // 9
        arguments.events = folder / "events.json"
        ids, _ = write_events(arguments.events, rows, seed=1)
        if arguments.only in ("", "ids"):
            check_job(checks, arguments, folder / "ids", "ids", IDS, (ids, ids))
        if arguments.only in ("", "windows"):
            check_job(checks, arguments, folder / "windows", "windows", WINDOWS, (ids, rows))
        if arguments.only in ("", "sessions"):
            check_job(checks, arguments, folder / "sessions", "sessions", SESSIONS, (ids, rows))
        if arguments.only in ("", "groups"):
            check_job(checks, arguments, folder / "groups", "groups", GROUPS, (ids, rows))
        if arguments.only in ("", "disk"):
            check_full_disk(checks, arguments, folder / "disk", (ids, ids))
        if arguments.only in ("", "joins"):
            rows = 10 * (arguments.limit_mb << 20) // WIDE_BYTES
            _, end_with_a = write_events(arguments.events, rows, seed=2, id_bytes=WIDE_BYTES)
            check_job(checks, arguments, folder / "joins", "joins", JOINS, (rows - BEHIND, end_with_a))
            # A slice of the rows is one part of a snapshot, and is read whole.
            check_job(checks, arguments, folder / "intervals", "interval joins", INTERVALS, (rows - BEHIND, end_with_a), restored=0.8)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    checks.finish()


if __name__ == "__main__":
    main()
