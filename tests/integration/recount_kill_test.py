#!/usr/bin/env python3
"""Kills `strandline recount --final` with SIGKILL before, inside and after the transaction that writes its values, again and
again, and lets the next one finish: the table must be what one recount that was never killed leaves.

No kill depends on how fast the machine is. A trigger makes each row that is written slow, so that the transaction lasts
until somebody sees that it holds the lock; and where the kill is to come after it, the recount's output is a pipe that is
full, so that it stands still as soon as it has something to tell, which is behind the commit.

    recount_kill_test.py --binary build/release/bin/strandline --rounds 3
"""

import argparse
import collections
import fcntl
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time

from ad_clicks import AdClicks, ClickMaker, Life, close_windows
from checks import Checks

SHARDS = 4
LINES = 60_000
START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC
SPAN_MS = 5 * 3_600_000
OF_THE_JOB = ("fast", "late")


def write_clicks(job, seed):
    maker = ClickMaker(seed, SHARDS, ads=40)
    files = [open(job.clicks / f"shard-{shard}.json", "wb") for shard in range(SHARDS)]
    for number in range(LINES):
        shard, line = maker.line(START_MS + SPAN_MS * number // LINES, False)
        files[shard].write(line)
    for file in files:
        file.close()
    close_windows(job, SHARDS, START_MS + SPAN_MS)


def command(job, database):
    words = [job.binary, "--state", job.state, "recount", job.job_file, "--final", "--final-after", "0 s"]
    for table, path in job.tables():
        words += ["--with", f"{table}.path={database if path == job.database else path}"]
    return [str(word) for word in words]


def recount(job, database, number):
    return Life(command(job, database), job.logs / f"recount-{number}.log", job.folder)


class FullPipe:
    """A recount whose output nobody takes: it stands still when it has something to tell."""

    def __init__(self, job, database):
        self.read_end, write_end = os.pipe()
        flags = fcntl.fcntl(write_end, fcntl.F_GETFL)
        fcntl.fcntl(write_end, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            while True:
                os.write(write_end, b"." * 4096)
        except BlockingIOError:
            pass
        fcntl.fcntl(write_end, fcntl.F_SETFL, flags)
        self.process = subprocess.Popen(command(job, database), stdout=write_end, stderr=subprocess.DEVNULL, cwd=job.folder)
        os.close(write_end)

    def running(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)


# ---- the steps of a recount, seen from outside


def is_locked(database):
    connection = sqlite3.connect(database, timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return False
    except sqlite3.OperationalError:
        return True
    finally:
        connection.close()


def wait_for(condition, life):
    """Until the condition holds; False if the recount has ended before."""
    until = time.monotonic() + 120
    while time.monotonic() < until and life.running():
        if condition():
            return True
        time.sleep(0.002)
    return False


LOCKED_FOR_SURE = 50  # looks in a row: the short transactions before the one that writes are over by then


def has_long_lock(database):
    return all(is_locked(database) or time.sleep(0) for _ in range(LOCKED_FOR_SURE))


def slow_down(database):
    """Each row that gets its final value takes long to write."""
    with sqlite3.connect(database) as connection:
        connection.execute("""
            CREATE TRIGGER slow AFTER UPDATE OF final_valid ON ad_metrics BEGIN
              SELECT COUNT(*) FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000) SELECT x FROM n);
            END""")
    connection.close()


def speed_up(database):
    with sqlite3.connect(database) as connection:
        connection.execute("DROP TRIGGER slow")
    connection.close()


def finals(database):
    return sum(1 for row in rows_of(database).values() if row.get("final_valid") is not None)


def rows_of(database):
    """(entity, bucket) -> the values of the writers, without what says who wrote when; none of `final` before its first."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)
    try:
        cursor = connection.execute("SELECT * FROM ad_metrics")
        names = [column[0] for column in cursor.description]
        bookkeeping = ("_ckpt", "_gen", "_attempt", "_ix")
        values = [name for name in names if not name.endswith(bookkeeping)]
        return {(row["entity"], row["bucket"]): {name: row[name] for name in values}
                for row in (dict(zip(names, found)) for found in cursor)}
    finally:
        connection.close()


def columns_of(database):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)
    try:
        return [row[1] for row in connection.execute("PRAGMA table_info(ad_metrics)")]
    finally:
        connection.close()


def parts(row):
    """What the job wrote, and what the recount wrote."""
    final = {name: value for name, value in row.items() if name.startswith("final_")}
    return {name: value for name, value in row.items() if name not in final}, final


PHASES = ["before", "inside", "after"]


def kill(checks, life, database, expected, name):
    """Kills it, checks each row, and gives the phase that it has hit."""
    running = life.running()
    locked = has_long_lock(database)
    life.kill()
    found = rows_of(database)
    wrong = [key for key, row in found.items()
             if parts(row)[0] != parts(expected[key])[0]
             or any(value is not None for value in parts(row)[1].values()) and parts(row)[1] != parts(expected[key])[1]]
    done = finals(database)
    of = sum(1 for row in expected.values() if row.get("final_valid") is not None)
    phase = "ended" if not running else "after" if done else "inside" if locked else "before"
    print(f"{name}: killed {phase} the transaction, {done} of {of} rows have their final value", flush=True)
    checks.check(not wrong, f"{name}: after the kill each row is as it was or as it must be", wrong[:5])
    checks.check(done in (0, of), f"{name}: all rows have their final value, or none")
    return phase


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--rounds", type=int, default=3, help="each with a kill before, inside and after the transaction")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-recount-kill-")).resolve()
    print(f"seed {arguments.seed}, folder {folder}", flush=True)
    draw = random.Random(arguments.seed)
    checks = Checks()

    job = AdClicks(arguments.binary, folder, settings=["execution.checkpointing.interval=1s"])
    write_clicks(job, arguments.seed)
    life = job.start()
    checks.check(job.wait_for(lambda: job.sentinels_counted() == SHARDS, life), "the job reads everything", life.log()[-2_000:])
    time.sleep(0.5)
    checks.equal(life.stop(), 0, "and stops with a savepoint")

    once, killed = folder / "once.db", folder / "killed.db"
    for copy in (once, killed):
        with sqlite3.connect(job.database) as source, sqlite3.connect(copy) as target:
            source.backup(target)
    began = time.monotonic()
    life = recount(job, once, "once")
    checks.equal(life.end(), 0, "a recount that is not killed ends")
    took = time.monotonic() - began
    expected = rows_of(once)
    checks.check(finals(once) > 50, "it has written final values", f"{finals(once)} rows\n{life.log()[-2_000:]}")

    phases = collections.Counter()
    for round_number in range(1, arguments.rounds + 1):
        name = f"round {round_number}"
        for suffix in ("", "-wal", "-shm"):
            pathlib.Path(f"{killed}{suffix}").unlink(missing_ok=True)
        with sqlite3.connect(job.database) as source, sqlite3.connect(killed) as target:
            source.backup(target)
        # The first one is killed anywhere on its way to the transaction; it has made the columns, or the next one does.
        life = recount(job, killed, f"{round_number}-before")
        time.sleep(draw.uniform(0, 0.5) * took)
        phases[kill(checks, life, killed, expected, name)] += 1
        if finals(killed) == 0:
            life = recount(job, killed, f"{round_number}-columns")
            wait_for(lambda: "final_valid" in columns_of(killed), life)
            phases[kill(checks, life, killed, expected, name)] += 1
        if "final_valid" in columns_of(killed) and finals(killed) == 0:
            slow_down(killed)
            life = recount(job, killed, f"{round_number}-inside")
            wait_for(lambda: has_long_lock(killed), life)
            phases[kill(checks, life, killed, expected, name)] += 1
            speed_up(killed)
        life = FullPipe(job, killed)
        wait_for(lambda: finals(killed) > 0, life)
        phases[kill(checks, life, killed, expected, name)] += 1
        life = recount(job, killed, f"{round_number}-last")
        checks.equal(life.end(), 0, f"{name}: the next one ends")
        found = rows_of(killed)
        checks.check(found == expected, f"{name}: and leaves what one recount leaves",
                     "\n".join(f"{key}: {found.get(key)} for {row}" for key, row in expected.items() if found.get(key) != row))
    print("phases hit: " + ", ".join(f"{phase} {phases[phase]}" for phase in PHASES), flush=True)
    for phase in PHASES:
        checks.check(phases[phase] > 0, f"a kill came {phase} the transaction")
    if not checks.failed:
        shutil.rmtree(folder)
    checks.finish()


if __name__ == "__main__":
    main()
