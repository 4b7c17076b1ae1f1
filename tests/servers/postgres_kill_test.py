#!/usr/bin/env python3
"""Kills the real binary with SIGKILL while it writes to PostgreSQL in both modes, and the server, too.

The clicks are written at a pace while the job runs. Counts of windows are upserted as they come (mode flush), and each click is
added to a log without a key when its checkpoint is complete (mode transaction). The job changes its parallelism from life to
life. In the end a process is paused, another one goes on from a copy of its state, and the first one wakes up.

    postgres_kill_test.py --binary build/release/bin/strandline --kills 50
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
from ad_clicks import Life  # noqa: E402
from checks import Checks  # noqa: E402
from fixture import skipped  # noqa: E402
from window_job import PunctualMaker, click, instant  # noqa: E402

SKIPPED = 77  # what ctest takes for "not run"
SHARDS = 4
LINES_PER_SECOND = 2_000
EVENT_SPEED = 60
START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC
WINDOW_MS = 10_000
LAST = "last"  # the ad whose clicks close the windows before them
SERVER_KILLS = 2

JOB = """
SET 'pipeline.name' = 'job';
SET 'execution.checkpointing.interval' = '200 ms';
CREATE TABLE clicks (id BIGINT, ad STRING, ms BIGINT, spend BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json', 'source.monitor-interval' = '1 s');
CREATE TABLE counts (ad STRING, s TIMESTAMP(3), n BIGINT, spend BIGINT, PRIMARY KEY (ad, s) NOT ENFORCED)
  WITH ('connector' = 'jdbc', 'url' = 'jdbc:{url}', 'table-name' = '{schema}.counts');
CREATE TABLE totals (ad STRING, n BIGINT, PRIMARY KEY (ad) NOT ENFORCED)
  WITH ('connector' = 'jdbc', 'url' = 'jdbc:{url}', 'table-name' = '{schema}.totals');
CREATE TABLE copies (id BIGINT, ad STRING)
  WITH ('connector' = 'jdbc', 'url' = 'jdbc:{url}', 'table-name' = '{schema}.copies', 'sink.mode' = 'transaction');
EXECUTE STATEMENT SET BEGIN
INSERT INTO counts SELECT ad, window_start, COUNT(*), SUM(spend)
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY ad, window_start, window_end;
INSERT INTO totals SELECT ad, COUNT(*) FROM clicks GROUP BY ad;
INSERT INTO copies SELECT id, ad FROM clicks;
END;
"""


class Server:
    """A server of this test's own, because it is killed."""

    def __init__(self, folder):
        self.folder = folder / "server"
        self.start()
        self.url = json.loads((self.folder / "server.json").read_text())["url"]

    def script(self, *words):
        subprocess.run([sys.executable, HERE / "postgres", *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    def start(self):
        self.script("start", "--dir", self.folder)

    def kill(self):
        self.script("kill9", self.folder)

    def stop(self):
        self.script("stop", self.folder)

    def rows(self, sql):
        done = subprocess.run(["psql", "-X", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", self.url, "-c", sql],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]


class Writer(threading.Thread):
    """Appends whole lines to the shards until it is told to stop."""

    def __init__(self, folder):
        super().__init__()
        folder.mkdir()
        self.maker = PunctualMaker(7, SHARDS)
        self.files = [open(folder / f"shard-{shard}.json", "ab", buffering=0) for shard in range(SHARDS)]
        self.rows = []
        self.over = threading.Event()
        self.event_ms = START_MS

    def put(self, shard, line):
        self.files[shard].write(line)
        self.rows.append(json.loads(line))

    def run(self):
        began = time.monotonic()
        while not self.over.wait(0.01):
            passed = time.monotonic() - began
            self.event_ms = START_MS + int(passed * 1_000 * EVENT_SPEED)
            while len(self.rows) < passed * LINES_PER_SECOND:
                self.put(*self.maker.line(self.event_ms, False))

    def finish(self):
        self.over.set()
        self.join()
        for shard in range(SHARDS):
            self.put(shard, click(-1 - shard, LAST, self.event_ms + 600_000))
            self.files[shard].close()


class Job:
    def __init__(self, binary, folder, server):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = folder
        self.server = server
        self.schema = "killed"
        self.lives = 0
        server.rows(f"CREATE SCHEMA {self.schema}")
        (folder / "job.sql").write_text(JOB.format(url=server.url, schema=self.schema))

    def start(self, *more, state="state"):
        self.lives += 1
        return Life([self.binary, "--state", self.folder / state, "run", "job.sql", *more], self.folder / f"{self.lives:04}.log", self.folder)

    def owner(self):
        """The attempt to which the table in mode transaction belongs."""
        return int(self.server.rows("SELECT max(attempt) FROM strandline_markers WHERE subtask = -1")[0][0])

    def last_counted(self):
        try:
            return int(self.server.rows(f"SELECT count(*) FROM {self.schema}.copies WHERE id < 0")[0][0])
        except RuntimeError:
            return 0


def truth(rows):
    counts = collections.defaultdict(lambda: [0, 0])
    totals = collections.Counter()
    for row in rows:
        totals[row["ad"]] += 1
        if row["ad"] != LAST:
            cell = counts[row["ad"], instant(row["ms"] - row["ms"] % WINDOW_MS, "seconds")]
            cell[0] += 1
            cell[1] += row["spend"]
    return {key: tuple(cell) for key, cell in counts.items()}, dict(totals)


def differences(server, schema, writer):
    counts, totals = truth(writer.rows)
    found_counts = {(ad, s): (int(n), int(spend)) for ad, s, n, spend in
                    server.rows(f"SELECT ad, to_char(s, 'YYYY-MM-DD HH24:MI:SS'), n, spend FROM {schema}.counts WHERE ad <> '{LAST}'")}
    found_totals = {ad: int(n) for ad, n in server.rows(f"SELECT ad, n FROM {schema}.totals")}
    found = []
    for what, have, want in (("window", found_counts, counts), ("total", found_totals, totals)):
        found += [f"{what} {key}: expected {want.get(key)}, found {have.get(key)}" for key in sorted(set(have) | set(want))
                  if have.get(key) != want.get(key)]
    copies = collections.Counter(int(id_) for id_, in server.rows(f"SELECT id FROM {schema}.copies"))
    for id_ in {row["id"] for row in writer.rows} | set(copies):
        if copies[id_] != 1:
            found.append(f"click {id_} is there {copies[id_]} times")
    return found


def end_of(job, life, seconds=120):
    until = time.monotonic() + seconds
    while time.monotonic() < until and life.running():
        if job.last_counted() == SHARDS:
            return True
        time.sleep(0.1)
    return False


def kill_and_restart(checks, job, writer, kills, draw):
    server_kills = set(draw.sample(range(5, kills), SERVER_KILLS)) if kills > 10 else set()
    for number in range(kills):
        life = job.start("--set", f"parallelism.default={draw.choice([1, 2, 3])}", "--from", "latest")
        time.sleep(draw.choice([draw.uniform(0.02, 0.4), draw.uniform(0.2, 1.4)]))
        if number in server_kills:
            job.server.kill()
            time.sleep(draw.uniform(0, 0.5))
            job.server.start()
            time.sleep(draw.uniform(0.5, 2))
        if not life.running():
            checks.check(False, f"life {job.lives} ended by itself", life.log()[-3000:])
            return
        life.kill()
        if number % 10 == 9:
            print(f"        {number + 1} kills, {len(writer.rows)} clicks", flush=True)
    checks.check(True, f"killed {kills} times, its server {len(server_kills)} times")


def paused_process(checks, job, writer):
    """A process that was thought dead wakes up behind its successor: nothing of it is written."""
    old = job.start("--set", "parallelism.default=2")
    time.sleep(1.5)
    old.process.send_signal(signal.SIGSTOP)
    shutil.copytree(job.folder / "state", job.folder / "copy", ignore=shutil.ignore_patterns("*.tmp", "lock"))
    before = job.owner()
    new = job.start("--set", "parallelism.default=2", state="copy")
    # Where the old process was inside a transaction, its locks hold the new one back until the server ends that (10 s).
    until = time.monotonic() + 90
    while job.owner() == before and time.monotonic() < until and new.running():
        time.sleep(0.1)
    checks.check(job.owner() > before, "a successor claims the table of a process that is paused", new.log()[-1500:])
    time.sleep(1)
    old.process.send_signal(signal.SIGCONT)
    code = old.end(60)
    checks.check(code not in (None, 0) and "STRAND-4007" in old.log(), "the process that was paused is fenced", old.log()[-1500:])
    writer.finish()
    if checks.check(end_of(job, new), "its successor reads to the end", new.log()[-3000:]):
        new.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    if skipped("postgres"):
        print("skipped: STRAND_SKIP_SERVERS names postgres")
        sys.exit(SKIPPED)
    print(f"seed {arguments.seed}", flush=True)
    for variable in [name for name in os.environ if name.startswith("STRANDLINE")]:
        del os.environ[variable]
    checks = Checks()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-postgres-")).resolve()
    folder.chmod(0o711)  # the server has a user of its own
    server = Server(folder)
    try:
        job = Job(arguments.binary, folder, server)
        writer = Writer(folder / "clicks")
        writer.start()
        try:
            kill_and_restart(checks, job, writer, arguments.kills, random.Random(arguments.seed))
            if not checks.failed:
                paused_process(checks, job, writer)
        finally:
            writer.over.set()
        if not checks.failed:
            checks.equal(differences(server, job.schema, writer)[:10], [], f"{len(writer.rows)} clicks are counted, and copied, once")
    finally:
        server.stop()
    if not checks.failed:
        shutil.rmtree(folder)
    else:
        print(f"what is left: {folder}")
    checks.finish()


if __name__ == "__main__":
    main()
