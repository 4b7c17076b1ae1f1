#!/usr/bin/env python3
"""Kills `strandline recount --final` with SIGKILL in its middle, again and again, and lets the next one finish: the table
must be what one recount that was never killed leaves.

    recount_kill_test.py --binary build/release/bin/strandline --kills 8
"""

import argparse
import pathlib
import random
import shutil
import sqlite3
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


def recount(job, database, number):
    command = [job.binary, "--state", job.state, "recount", job.job_file, "--final", "--final-after", "0 s"]
    for table, path in job.tables():
        command += ["--with", f"{table}.path={database if path == job.database else path}"]
    return Life(command, job.logs / f"recount-{number}.log", job.folder)


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


def parts(row):
    """What the job wrote, and what the recount wrote."""
    final = {name: value for name, value in row.items() if name.startswith("final_")}
    return {name: value for name, value in row.items() if name not in final}, final


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--kills", type=int, default=8)
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
    finals = sum(1 for row in expected.values() if row.get("final_valid") is not None)
    checks.check(finals > 50, "it has written final values", f"{finals} rows\n{life.log()[-2_000:]}")

    in_the_middle = 0
    for number in range(1, arguments.kills + 1):
        life = recount(job, killed, number)
        time.sleep(draw.uniform(0.1 if number % 2 else 0.7, 0.98) * took)
        running = life.running()
        life.kill()
        in_the_middle += running
        found = rows_of(killed)
        wrong = [key for key, row in found.items()
                 if parts(row)[0] != parts(expected[key])[0]
                 or any(value is not None for value in parts(row)[1].values()) and parts(row)[1] != parts(expected[key])[1]]
        done = sum(1 for row in found.values() if row.get("final_valid") is not None)
        print(f"kill {number}: {'running' if running else 'had ended'}, {done} of {finals} rows have their final value", flush=True)
        checks.check(not wrong, f"after kill {number} each row is as it was or as it must be", wrong[:5])
    checks.check(in_the_middle > 0, "some kill hit a recount that was running")
    life = recount(job, killed, "last")
    checks.equal(life.end(), 0, "the next one ends")
    found = rows_of(killed)
    checks.check(found == expected, "and leaves what one recount leaves",
                 "\n".join(f"{key}: {found.get(key)} for {row}" for key, row in expected.items() if found.get(key) != row))
    if not checks.failed:
        shutil.rmtree(folder)
    checks.finish()


if __name__ == "__main__":
    main()
