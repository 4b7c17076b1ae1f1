"""What a store is killed with: a job writes clicks that come while it runs into a store's tables, it and the store's server are killed
with SIGKILL, and in the end a process is paused, another one goes on from a copy of its state, and the first one wakes up."""
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

CLICKS = """
SET 'pipeline.name' = 'job';
SET 'execution.checkpointing.interval' = '200 ms';
CREATE TABLE clicks (id BIGINT, ad STRING, ms BIGINT, spend BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
  WITH ('connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json', 'source.monitor-interval' = '1 s');
"""
COUNTS = """
INSERT INTO counts SELECT ad, window_start, COUNT(*), SUM(spend)
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY ad, window_start, window_end;
INSERT INTO totals SELECT ad, COUNT(*) FROM clicks GROUP BY ad;
"""


class Server:
    """A server of this test's own, because it is killed."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder / "server"
        self.start()
        self.url = json.loads((self.folder / "server.json").read_text())["url"]

    def script(self, *words):
        subprocess.run([sys.executable, HERE / self.name, *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    def start(self):
        self.script("start", "--dir", self.folder)

    def kill(self):
        self.script("kill9", self.folder)

    def stop(self):
        self.script("stop", self.folder)


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


class Store:
    """What a test says of its store: the server, the job's SQL, and what lies in its tables."""

    server_name = ""

    def __init__(self, folder):
        self.server = Server(self.server_name, folder)

    def job(self):
        """The job's SQL."""
        raise NotImplementedError

    def owner(self):
        """The highest attempt that has claimed a table."""
        raise NotImplementedError

    def ended(self):
        """Whether the rows of all shards' ends are there."""
        raise NotImplementedError

    def counts(self):
        """(ad, begin) -> (n, spend), without the last ad."""
        raise NotImplementedError

    def totals(self):
        """ad -> n."""
        raise NotImplementedError

    def copies(self):
        """ids of a table without key, or None."""
        return None


class Job:
    def __init__(self, binary, folder, store):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = folder
        self.store = store
        self.lives = 0
        (folder / "job.sql").write_text(store.job())

    def start(self, *more, state="state"):
        self.lives += 1
        return Life([self.binary, "--state", self.folder / state, "run", "job.sql", *more], self.folder / f"{self.lives:04}.log", self.folder)


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


def differences(store, writer):
    counts, totals = truth(writer.rows)
    found = []
    for what, have, want in (("window", store.counts(), counts), ("total", store.totals(), totals)):
        found += [f"{what} {key}: expected {want.get(key)}, found {have.get(key)}" for key in sorted(set(have) | set(want))
                  if have.get(key) != want.get(key)]
    ids = store.copies()
    copies = collections.Counter(ids) if ids is not None else {row["id"]: 1 for row in writer.rows}
    for id_ in {row["id"] for row in writer.rows} | set(copies):
        if copies.get(id_, 0) != 1:
            found.append(f"click {id_} is there {copies.get(id_, 0)} times")
    return found


def end_of(job, life, seconds=120):
    until = time.monotonic() + seconds
    while time.monotonic() < until and life.running():
        if job.store.ended():
            return True
        time.sleep(0.1)
    return False


def kill_and_restart(checks, job, writer, kills, draw):
    server_kills = set(draw.sample(range(5, kills), SERVER_KILLS)) if kills > 10 else set()
    for number in range(kills):
        life = job.start("--set", f"parallelism.default={draw.choice([1, 2, 3])}", "--from", "latest")
        time.sleep(draw.choice([draw.uniform(0.02, 0.4), draw.uniform(0.2, 1.4)]))
        if number in server_kills:
            job.store.server.kill()
            time.sleep(draw.uniform(0, 0.5))
            job.store.server.start()
            time.sleep(draw.uniform(0.5, 2))
        if not life.running():
            checks.check(False, f"life {job.lives} ended by itself with {life.process.returncode}", life.log()[-3000:])
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
    before = job.store.owner()
    new = job.start("--set", "parallelism.default=2", state="copy")
    # Where the old process was inside a transaction, its locks hold the new one back until the server ends that (PostgreSQL: 10 s).
    until = time.monotonic() + 90
    while job.store.owner() == before and time.monotonic() < until and new.running():
        time.sleep(0.1)
    checks.check(job.store.owner() > before, "a successor claims the table of a process that is paused", new.log()[-1500:])
    time.sleep(1)
    old.process.send_signal(signal.SIGCONT)
    code = old.end(60)
    checks.check(code not in (None, 0) and "STRAND-4007" in old.log(), "the process that was paused is fenced", old.log()[-1500:])
    writer.finish()
    if checks.check(end_of(job, new), "its successor reads to the end", new.log()[-3000:]):
        until = time.monotonic() + 30  # the last windows are written behind the last totals
        while time.monotonic() < until and differences(job.store, writer):
            time.sleep(0.2)
        new.kill()


def main(description, store_of):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    if skipped(store_of.server_name):
        print(f"skipped: STRAND_SKIP_SERVERS names {store_of.server_name}")
        sys.exit(SKIPPED)
    print(f"seed {arguments.seed}", flush=True)
    for variable in [name for name in os.environ if name.startswith("STRANDLINE")]:
        del os.environ[variable]
    checks = Checks()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"strandline-{store_of.server_name}-")).resolve()
    folder.chmod(0o711)  # the server has a user of its own
    store = store_of(folder)
    try:
        job = Job(arguments.binary, folder, store)
        writer = Writer(folder / "clicks")
        writer.start()
        try:
            kill_and_restart(checks, job, writer, arguments.kills, random.Random(arguments.seed))
            if not checks.failed:
                paused_process(checks, job, writer)
        finally:
            writer.over.set()
        if not checks.failed:
            checks.equal(differences(store, writer)[:10], [], f"{len(writer.rows)} clicks are in all tables once")
    finally:
        store.server.stop()
    if not checks.failed:
        shutil.rmtree(folder)
    else:
        print(f"what is left: {folder}")
    checks.finish()
