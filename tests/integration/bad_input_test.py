#!/usr/bin/env python3
"""Bad input and a bad world, one provocation each: the number, the place, the way out, the exit code, and nothing lost.

    bad_input_test.py --binary build/release/bin/strandline [--only NAME]
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time

from ad_clicks import HOUR_MS, AdClicks, Life, Recount, click_line, close_windows, find_differences, minute_bucket
from checks import Checks

START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC
SHARDS = 2

COUNT_JOB = """
SET 'pipeline.name' = 'counts';
CREATE TABLE clicks (
  click_id STRING, ad_id STRING, spend_micros BIGINT, device_ms BIGINT,
  ts AS TO_TIMESTAMP_LTZ(device_ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '5.001' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json');
CREATE TABLE minutes (ad_id STRING, bucket STRING, n BIGINT, PRIMARY KEY (ad_id, bucket) NOT ENFORCED)
WITH ('connector' = 'sqlite', 'path' = 'minutes.db');
INSERT INTO minutes SELECT ad_id, 'M' || DATE_FORMAT(window_start, 'yyyy-MM-dd HH:mm'), COUNT(*)
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end;
"""


class CountJob:
    """A small job over bounded files that puts up with nothing: counts per minute."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, pathlib.Path(folder)
        self.clicks = self.folder / "clicks"
        self.clicks.mkdir(parents=True)
        self.file = self.clicks / "shard-0.json"
        self.database = self.folder / "minutes.db"
        self.sql = self.folder / "job.sql"
        self.sql.write_text(COUNT_JOB)
        self.state = self.folder / "state"
        self.lives = 0

    def start(self, *more, wrapper=()):
        self.lives += 1
        command = [*wrapper, self.binary, "--state", self.state, "run", self.sql, "--set", "parallelism.default=1",
                   "--set", "execution.checkpointing.interval=200ms", *more]
        return Life(command, self.folder / f"{self.lives}.log", self.folder)

    def run(self, *more, seconds=60):
        life = self.start(*more)
        return life.end(seconds), life.log()

    def counts(self):
        if not self.database.exists():
            return {}
        connection = sqlite3.connect(self.database, timeout=10)
        try:
            return {(ad, bucket): n for ad, bucket, n in connection.execute("SELECT ad_id, bucket, n FROM minutes")}
        finally:
            connection.close()


def good_lines(count, first=0):
    return [click_line(f"c{n}", f"ad-{n % 3}", START_MS + n * 700) for n in range(first, first + count)]


def counted(lines):
    """A recount over good lines."""
    result = collections.Counter()
    for line in lines:
        click = json.loads(line)
        result[click["ad_id"], minute_bucket(click["device_ms"])] += 1
    return dict(result)


def check_message(checks, log, number, where, way_out, what):
    found = re.search(rf"STRAND-{number}\b[^\n]*(\n  [^\n]*)*", log)
    if not found:  # an event of the log carries the number as a field
        found = re.search(rf"[^\n]*\b(code|number)=(STRAND-)?{number}\b[^\n]*", log)
    if not checks.check(found, what + f": says STRAND-{number}", log[-2_000:]):
        return
    text = found.group(0)
    checks.check(re.search(where, text), what + ": says where", text)
    checks.check(re.search(way_out, text), what + ": says what to do", text)


# ---- records

NO_TIME = b'{"click_id": "x", "ad_id": "ad-1", "spend_micros": 1}\n'


def long_line():
    return b'{"click_id": "' + b"x" * (100 << 20) + b'", "ad_id": "ad-1", "device_ms": 1}\n'


BAD_RECORDS = [  # (what, line, number, what the message says of the record)
    ("not JSON", lambda: b"this is not JSON\n", 3001, "not JSON"),
    ("a field of the wrong type", lambda: b'{"click_id": "x", "ad_id": "ad-1", "spend_micros": 1, "device_ms": "soon"}\n',
     3001, "device_ms"),
    ("invalid UTF-8", lambda: b'{"click_id": "\xff\xfe", "ad_id": "ad-1", "device_ms": 1}\n', 3001, "UTF-8"),
    ("no event time", lambda: NO_TIME, 3002, "ts"),
    ("a line of 100 MB", long_line, 3004, "104857"),
]


def test_bad_records(checks, binary, folder):
    """Policy fail: the job ends with the place; policy drop: it counts the others."""
    for index, (what, make, number, said) in enumerate(BAD_RECORDS):
        job = CountJob(binary, folder / str(index))
        before, after = good_lines(300), good_lines(300, 300)
        job.file.write_bytes(b"".join(before) + make() + b"".join(after))
        code, log = job.run()
        checks.equal(code, 3, what + ": the job fails with exit code 3")
        check_message(checks, log, number, r"clicks/shard-0\.json (position|records) \d+", r"ignore-parse-errors|\$bad", what)
        checks.check(said in log, what + f": the message speaks of '{said}'", log[-1_500:])
        checks.check("the last checkpoint stands" in log or "no checkpoint was complete" in log,
                     what + ": says whether a checkpoint stands", log[-500:])
        code, log = job.run("--with", "clicks.json.ignore-parse-errors=true")
        checks.equal(code, 0, what + ": with ignore-parse-errors the job goes on to its end")
        checks.equal(job.counts(), counted(before + after), what + ": all other records are counted once")


def ad_clicks_job(binary, folder, **more):
    return AdClicks(binary, folder, settings=["execution.checkpointing.interval=200ms", "parallelism.default=1"], **more)


def write_shards(job, lines, shard=None):
    for index, line in enumerate(lines):
        with open(job.clicks / f"shard-{index % SHARDS if shard is None else shard}.json", "ab") as file:
            file.write(line)


def finish(checks, job, life, what, expected_code=0, seconds=60):
    """Closes all windows, waits, stops and recounts."""
    close_windows(job, SHARDS, START_MS + HOUR_MS)
    read = job.wait_for(lambda: job.sentinels_counted() == SHARDS, life, seconds)
    time.sleep(1.5)  # a tick for the watermark, a second for the last early firing
    code = life.stop()
    checks.check(read and code == expected_code, what + ": the job goes on to the end",
                 f"read {read}, exit code {code}\n" + life.log()[-2_500:])
    differences, counts = find_differences(job, Recount(job.clicks))
    checks.check(not differences and counts["counted"] > 0, what + ": the tables equal the recount", "\n".join(differences))


def test_bad_table(checks, binary, folder):
    """Policy divert: each bad record is a row of clicks$bad with its place and reason."""
    job = ad_clicks_job(binary, folder)
    write_shards(job, good_lines(400), 0)
    bad = [make() for what, make, number, _ in BAD_RECORDS if number != 3002]
    write_shards(job, bad, 1)
    write_shards(job, good_lines(400, 400), 1)
    life = job.start()
    job.wait_for(lambda: len(job.read_exceptions()) >= len(bad), life)
    finish(checks, job, life, "bad records with $bad")
    reasons = [row["detail"] for row in job.read_exceptions() if row["verdict"] == "bad"]
    checks.equal(len(reasons), len(bad), "bad records with $bad: each is one row")
    checks.check(any("UTF-8" in reason for reason in reasons) and any("device_ms" in reason for reason in reasons),
                 "bad records with $bad: with their reasons", "\n".join(reasons))

    job = ad_clicks_job(binary, folder / "untimed")
    write_shards(job, good_lines(400))
    life = job.start()
    write_shards(job, [NO_TIME], 0)
    checks.check(job.wait_for(lambda: any("no event time" in row["detail"] for row in job.read_exceptions()), life),
                 "no event time with $bad: it is a row", life.log()[-1_500:])
    life.kill()


def test_times(checks, binary, folder):
    job = ad_clicks_job(binary, folder / "seconds")
    write_shards(job, good_lines(400))
    life = job.start()
    job.wait_for(lambda: job.manifests(), life)
    seconds = START_MS // 1_000
    write_shards(job, [click_line("s1", "ad-1", seconds, impression_ms=seconds - 3 * HOUR_MS, arrival_ms=seconds)], 0)
    job.wait_for(lambda: "3003" in life.log(), life, 10)
    what = "an event time in seconds"
    check_message(checks, life.log(), 3003, r"shard=\S*shard-0\.json", r"TO_TIMESTAMP_LTZ", what)
    checks.check(job.wait_for(lambda: any(row["click_id"] == "s1" for row in job.read_exceptions()), life),
                 what + ": the click is listed as stale")
    finish(checks, job, life, what)

    job = ad_clicks_job(binary, folder / "future")
    write_shards(job, good_lines(400))
    life = job.start()
    future = int(time.time() * 1_000) + 5 * 365 * 24 * HOUR_MS
    write_shards(job, [click_line("f1", "ad-1", future, impression_ms=START_MS)], 0)
    job.wait_for(lambda: "1108" in life.log(), life, 10)
    what = "an event time years ahead"
    check_message(checks, life.log(), 1108, r"shard=\S*shard-0\.json", r"future-skew", what)
    write_shards(job, good_lines(400, 400))
    close_windows(job, SHARDS, START_MS + HOUR_MS)
    job.wait_for(lambda: job.sentinels_counted() == SHARDS, life)
    time.sleep(1.5)
    checks.equal(life.stop(), 0, what + ": the job goes on")
    rows = {(ad, bucket): n for ad, bucket, n in job.query(
        "SELECT entity, bucket, fast_valid FROM ad_metrics WHERE bucket LIKE 'M%' AND fast_valid IS NOT NULL")}
    checks.equal(rows, counted(good_lines(800)), what + ": it closes no window of the others")
    checks.equal(job.query("SELECT total FROM ad_running WHERE bucket = ?", minute_bucket(future)), [(1,)],
                 what + ": it is counted where its time says")


# ---- files


def test_shrinking_file(checks, binary, folder):
    job = ad_clicks_job(binary, folder)
    write_shards(job, good_lines(400))
    life = job.start()
    job.wait_for(lambda: job.query("SELECT * FROM ad_running"), life)
    job.wait_for(lambda: len(job.manifests()) >= 2, life)
    path = job.clicks / "shard-0.json"
    content = path.read_bytes()
    path.write_bytes(content[:1_000])
    what = "a file that shrinks"
    checks.equal(life.end(30), 3, what + ": the job fails with exit code 3")
    check_message(checks, life.log(), 4002, r"shard-0\.json", "put the old content back", what)
    path.write_bytes(content)
    finish(checks, job, job.start(), what + ", put back")


def test_vanishing_file(checks, binary, folder):
    for what, tail in (("a file that disappears inside a line", b'{"click_id": "begun'), ("a file that is gone at the restart", b"")):
        job = ad_clicks_job(binary, folder / ("line" if tail else "restart"))
        write_shards(job, good_lines(400) + [tail])
        path = job.clicks / "shard-0.json"
        life = job.start()
        job.wait_for(lambda: job.query("SELECT * FROM ad_running"), life)
        job.wait_for(lambda: len(job.manifests()) >= 2, life)
        if not tail:
            life.kill()
            write_shards(job, good_lines(10, 400), 0)
        content = path.read_bytes()
        path.unlink()
        if not tail:
            life = job.start()
        checks.equal(life.end(30), 3, what + ": the job fails with exit code 3")
        check_message(checks, life.log(), 4003, r"shard-0\.json", "put it back", what)
        path.write_bytes(content[:-len(tail)] if tail else content)
        finish(checks, job, job.start(), what + ", put back")


def mount_small_disk(folder, megabytes):
    folder.mkdir(parents=True)
    return os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], capture_output=True).returncode == 0


def test_full_disk(checks, binary, folder):
    """Checkpoints, the database and the exceptions on a disk that is full for a while."""
    disk = folder / "disk"
    if not mount_small_disk(disk, 4):
        print("skipped a full disk: a small file system cannot be mounted here")
        return
    try:
        job = ad_clicks_job(binary, disk)
        job.settings += ["restart-strategy.exponential-delay.initial-backoff=200ms",
                         "restart-strategy.exponential-delay.max-backoff=500ms",
                         "restart-strategy.exponential-delay.attempts-before-reset-backoff=1000"]
        logs, clicks = folder / "logs", folder / "clicks"
        for moved in (logs, clicks):
            moved.mkdir()
        job.logs, job.clicks = logs, clicks  # the input and the log are elsewhere
        write_shards(job, good_lines(400))
        life = job.start()
        what = "a full disk"
        checks.check(job.wait_for(lambda: len(job.manifests()) >= 2, life), what + ": runs before")
        with open(disk / "ballast", "wb", buffering=0) as ballast:
            for size in (1 << 16, 1 << 10, 1):
                try:
                    while True:
                        ballast.write(b"x" * size)
                except OSError:
                    pass
        write_shards(job, good_lines(2_000, 400))
        job.wait_for(lambda: "5001" in life.log(), life, 20)
        check_message(checks, life.log(), 5001, re.escape(str(disk)), "space|room", what)
        time.sleep(1)
        checks.check(life.running(), what + ": the job waits for space", life.log()[-2_000:])
        (disk / "ballast").unlink()
        finish(checks, job, life, what + " that has space again")
    finally:
        for _ in range(20):
            if subprocess.run(["umount", str(disk)], capture_output=True).returncode == 0:
                break
            time.sleep(0.2)


# ---- SQLite


def obey_permissions():
    """Root may write everything; without these capabilities it may do what the permissions of its own files allow."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]


def test_read_only_database(checks, binary, folder):
    job = CountJob(binary, folder)
    lines = good_lines(300)
    job.file.write_bytes(b"".join(lines[:200]))
    checks.equal(job.run()[0], 0, "a read-only database: written before")
    job.file.write_bytes(b"".join(lines))
    shutil.rmtree(job.state)
    before = job.database.read_bytes()
    os.chmod(job.database, 0o444)
    life = job.start(wrapper=obey_permissions())
    what = "a read-only database"
    checks.equal(life.end(30), 4, what + ": the start is refused with exit code 4")
    check_message(checks, life.log(), 4005, re.escape(str(job.database.name)), "let this user write", what)
    checks.check(job.database.read_bytes() == before, what + ": it was not touched")
    os.chmod(job.database, 0o644)
    life = job.start(wrapper=obey_permissions())
    checks.equal(life.end(), 0, what + ", writable again: the job goes to its end")
    checks.equal(job.counts(), counted(lines), what + ", writable again: right counts")


def test_locked_database(checks, binary, folder):
    job = ad_clicks_job(binary, folder, options=["ad_metrics.strand.busy-timeout=100 ms", "ad_running.strand.busy-timeout=100 ms"])
    write_shards(job, good_lines(400))
    life = job.start()
    job.wait_for(lambda: job.query("SELECT * FROM ad_running"), life)
    what = "a locked database"
    connection = sqlite3.connect(job.database, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    write_shards(job, good_lines(400, 400))
    job.wait_for(lambda: "4004" in life.log(), life, 40)
    check_message(checks, life.log(), 4004, "ad_metrics.db", "another process holds a write lock", what)
    checks.check(life.running(), what + ": the job waits", life.log()[-2_000:])
    connection.execute("ROLLBACK")
    connection.close()
    finish(checks, job, life, what + " that is free again")


# ---- other processes and jobs


def test_state_in_use(checks, binary, folder):
    job = ad_clicks_job(binary, folder)
    write_shards(job, good_lines(400))
    life = job.start()
    job.wait_for(lambda: job.manifests(), life)
    second = job.start()
    what = "a state folder in use"
    checks.equal(second.end(30), 4, what + ": the second process is refused with exit code 4")
    check_message(checks, second.log(), 5004, f"pid {life.process.pid}\\b", "stop that process", what)
    checks.check(life.running(), what + ": the first process runs on")
    finish(checks, job, life, what)


def test_same_writer(checks, binary, folder):
    job = ad_clicks_job(binary, folder)
    write_shards(job, good_lines(400))
    life = job.start()
    job.wait_for(lambda: job.query("SELECT * FROM ad_running"), life)
    other = ad_clicks_job(binary, folder)
    other.lives = 100
    for what, where, exceptions in (("two jobs with one writer name", "ad_metrics", folder / "others"),
                                    ("two jobs with one folder", "exceptions", job.exceptions)):
        other.exceptions = exceptions
        other.database = job.database if where == "ad_metrics" else folder / "others.db"
        second = other.start("--set", "pipeline.name=another")
        checks.equal(second.end(30), 4, what + ": the second job is refused with exit code 4")
        check_message(checks, second.log(), 4008, where, r"strand\.writer", what)
        checks.check("ad-clicks" in second.log(), what + ": names the other job", second.log()[-1_000:])
    checks.check(life.running(), "two jobs: the first runs on")
    finish(checks, job, life, "two jobs")


def test_foreign_checkpoints(checks, binary, folder):
    job = ad_clicks_job(binary, folder / "one")
    write_shards(job, good_lines(400))
    life = job.start()
    job.wait_for(lambda: job.manifests(), life)
    checks.equal(life.stop(), 0, "the first job stops")
    other = CountJob(binary, folder / "two")
    other.file.write_bytes(b"".join(good_lines(300)))
    what = "the checkpoint folder of another job"
    listing = sorted(path for path in job.checkpoints.rglob("*"))
    code, log = other.run("--set", f"execution.checkpointing.dir={job.checkpoints}")
    checks.equal(code, 4, what + ": refused with exit code 4")
    check_message(checks, log, 5003, re.escape(str(job.checkpoints)), "--state|choose", what)
    checks.check("'ad-clicks'" in log and "'counts'" in log, what + ": names both jobs", log)
    checks.equal(sorted(path for path in job.checkpoints.rglob("*")), listing, what + ": nothing was written there")
    checks.equal(other.run()[0], 0, what + ": the other job runs with a folder of its own")
    checks.equal(other.counts(), counted(good_lines(300)), what + ": right counts")

    what = "a job whose key has changed"
    changed = folder / "changed.sql"
    changed.write_text(job.job_file.read_text().replace("PARTITION BY click_id", "PARTITION BY click_id, ad_id"))
    original, job.job_file = job.job_file, changed
    life = job.start()
    checks.equal(life.end(30), 4, what + ": refused with exit code 4")
    check_message(checks, life.log(), 5003, "click_id", "--from none", what)
    job.job_file = original
    finish(checks, job, job.start(), what + " back")


def test_port_in_use(checks, binary, folder):
    help_text = subprocess.run([binary, "run", "--help"], capture_output=True, text=True).stdout
    if "--ui" not in help_text:
        print("skipped a port in use: this binary serves none")
        return
    job = CountJob(binary, folder)
    job.file.write_bytes(b"".join(good_lines(300)))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, log = job.run("--ui", f"127.0.0.1:{port}")
    what = "a port in use"
    checks.equal(code, 4, what + ": refused with exit code 4")
    check_message(checks, log, 1006, str(port), "--ui", what)
    checks.check(not job.database.exists(), what + ": nothing was written")
    checks.equal(job.run("--ui", "off")[0], 0, what + ": with --ui off the job runs")
    checks.equal(job.counts(), counted(good_lines(300)), what + ": right counts")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--only", help="the tests whose names contain this")
    parser.add_argument("--keep", help="work in this folder and leave it there")
    arguments = parser.parse_args()
    binary = pathlib.Path(arguments.binary).resolve()
    folder = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="strandline-bad-")).resolve()
    checks = Checks()
    for name, test in list(globals().items()):
        if name.startswith("test_") and (arguments.only or "") in name:
            test(checks, binary, folder / name[5:])
    if not arguments.keep and not checks.failed:
        shutil.rmtree(folder)
    checks.finish()


if __name__ == "__main__":
    main()
