#!/usr/bin/env python3
"""Kills the real binary with SIGKILL while it reads clicks into SQLite, starts it again each time, and recounts.

The clicks are written at a pace while the job runs, so every kill falls between the first and the last row. Half of the
kills come at random moments, the others as soon as the folder shows that a step of the protocol has begun. Which phase a
kill hit is read from what it left behind, not from what it aimed at.

    kill_test.py --binary build/release/bin/strandline --kills 42 --parallel-kills 14
"""

import argparse
import collections
import copy
import os
import pathlib
import random
import re
import shutil
import sqlite3
import tempfile
import threading
import time

from ad_clicks import AdClicks, ClickMaker, Recount, close_windows, find_differences
from checks import Checks
import window_job

SHARDS = 8
LINES_PER_SECOND = 2_500
EVENT_SPEED = 200          # event time runs so much faster than the clock, so that hours close during a run
START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC
WRITERS = 3                # ad_metrics.fast, ad_metrics.late, ad_running.total: each flushes after a restore
# Either backend goes on from the other's snapshots; the limit leaves RocksDB's tables so little that most state is cold.
BACKENDS = [["state.backend.type=hashmap"], ["state.backend.type=rocksdb", "strand.memory.limit=8 mb"]]
PHASES = ["start", "restore", "flush", "between checkpoints", "barrier", "manifest", "commit"]


class Writer(threading.Thread):
    """Appends lines to the shards until it is told to stop; often only a part of a line, whose rest comes later."""

    def __init__(self, job, seed, maker=ClickMaker):
        super().__init__()
        self.random = random.Random(seed ^ 0x5eed)
        self.maker = maker(seed, SHARDS)
        self.job = job
        self.pending = [b""] * SHARDS
        self.files = [open(job.clicks / f"shard-{shard}.json", "ab", buffering=0) for shard in range(SHARDS)]
        self.event_ms = START_MS
        self.lines = 0
        self.stale_allowed = False
        self.over = threading.Event()

    def run(self):
        began = last = time.monotonic()
        while not self.over.wait(0.005):
            now = time.monotonic()
            self.event_ms += int((now - last) * 1_000 * EVENT_SPEED)
            last = now
            while self.lines < (now - began) * LINES_PER_SECOND:
                shard, line = self.maker.line(self.event_ms, self.stale_allowed)
                self.pending[shard] += line
                self.lines += 1
            for shard, text in enumerate(self.pending):
                cut = self.random.randrange(len(text) + 1) if self.random.random() < 0.3 else len(text)
                self.files[shard].write(text[:cut])
                self.pending[shard] = text[cut:]

    def finish(self):
        self.over.set()
        self.join()
        for file, text in zip(self.files, self.pending):
            file.write(text)
            file.close()


# ---- aims: each waits until a step of the protocol has begun, or gives up


def wait_for(condition, life, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until and life.running():
        if condition():
            return
        time.sleep(0.0002)


def attempts(job):
    folder = job.checkpoints / "attempts"
    return {name for name in os.listdir(folder) if not name.endswith(".tmp")} if folder.exists() else set()


def has_state_files(job, epoch):
    return any(name.startswith(f"e{epoch}-") for name in os.listdir(job.checkpoints / "files"))


def aim_at(aim, job, life, draw, known_attempts):
    def new_attempt():
        return len(attempts(job)) > known_attempts

    if aim == "start":
        time.sleep(draw.uniform(0, 0.03))
    elif aim == "restore":
        wait_for(new_attempt, life, 5)
    elif aim == "flush":
        wait_for(new_attempt, life, 5)
        wait_for(lambda: claimed_attempt(job) > known_attempts, life, 5)
        time.sleep(draw.uniform(0, 0.005))
    elif aim == "random":
        time.sleep(draw.uniform(0.02, 1.5))
    else:
        wait_for(new_attempt, life, 5)
        first = job.epoch_used()
        skipped = draw.randrange(0, 3)
        wait_for(lambda: job.epoch_used() > first + skipped, life, 10)
        epoch = job.epoch_used()
        if aim == "manifest":
            wait_for(lambda: has_state_files(job, epoch), life, 2)
        if aim == "commit":
            wait_for(lambda: epoch in job.manifests(), life, 2)
        time.sleep(draw.uniform(0, 0.002))


EXTRA_KILLS_MAX = 30


# ---- the phase that a kill has hit


def claimed_attempt(job):
    """The attempt that has claimed the tables, as SQLite tells it."""
    try:
        rows = job.query("SELECT MAX(attempt) FROM strandline_attempts")
    except sqlite3.OperationalError:
        return 0
    return (rows[0][0] or 0) if rows else 0


def committed_epoch(job):
    """The newest checkpoint whose exceptions readers see for sure."""
    try:
        return int((job.exceptions / ".strandline/strand/shown-0").read_text() or 0)
    except (FileNotFoundError, ValueError):
        return 0


def phase_of(job, life, known_attempts):
    made = attempts(job)
    if len(made) == known_attempts:
        return "start", ""
    attempt = max(int(name.split("-a")[1]) for name in made)
    where = f"attempt {attempt}"
    log = life.log()
    restored = b'"restored"' in (job.checkpoints / f"attempts/g1-a{attempt}").read_bytes()
    if claimed_attempt(job) < attempt:
        return "restore", where
    if restored and log.count("event=flushed") < WRITERS:
        return "flush", where
    epoch = job.epoch_used()
    where += f", checkpoint {epoch}"
    complete = {int(number) for number in re.findall(r"event=checkpoint id=(\d+) state=complete", log)}
    if epoch in job.manifests():
        committed = epoch in complete and committed_epoch(job) >= epoch
        of_this_life = f"-a{attempt}" in job.manifests()[epoch].name
        return ("commit" if of_this_life and not committed else "between checkpoints"), where
    if epoch in complete or f"id={epoch} state=failed" in log or not began_here(job, attempt, epoch):
        return "between checkpoints", where
    return ("manifest" if has_state_files(job, epoch) else "barrier"), where


def began_here(job, attempt, epoch):
    """Whether this attempt has used the checkpoint number: else it only knew it as used."""
    record = (job.checkpoints / f"attempts/g1-a{attempt}").read_text()
    return epoch > int(re.search(r'"highest_used":(\d+)', record).group(1))


# ---- a run


def sum_of_flushes(job):
    """What the flushes of all lives have done."""
    done = collections.Counter()
    for path in job.logs.iterdir():
        for word, number in re.findall(r"\b(rewritten|removed)=(\d+)", path.read_text(errors="replace")):
            done[word] += int(number)
    return done


def run(checks, binary, folder, kills, seed, parallelism):
    title = f"parallelism {parallelism}: "
    settings = ["execution.checkpointing.interval=300ms", f"parallelism.default={parallelism}"]
    job = AdClicks(binary, folder, settings=settings)
    draw = random.Random(seed)
    writer = Writer(job, seed)
    writer.start()
    while writer.lines == 0:
        time.sleep(0.001)
    hits = collections.Counter()
    died = []
    cold = 0
    try:
        aims = ["random", "commit", "random", "flush", "barrier", "random", "manifest", "random", "restore", "start"]
        # After the kills that were asked for, more are aimed at whatever phase none has hit yet.
        for number in range(1, kills + EXTRA_KILLS_MAX + 1):
            missing = [phase for phase in PHASES[1:] if hits[phase] == 0]
            if number > kills and (kills < 10 or not missing):
                break
            known = len(attempts(job))
            job.settings = settings + draw.choice(BACKENDS)
            life = job.start()
            aim = aims[number % len(aims)] if number <= kills else missing[0] if missing[0] in aims else "random"
            aim_at(aim, job, life, draw, known)
            if not life.running():
                died.append(f"life {number} ended by itself with {life.process.returncode}:\n{life.log()[-2_000:]}")
            if not writer.is_alive():
                died.append(f"the writer ended before kill {number}")
            life.kill()
            phase, where = phase_of(job, life, known)
            hits[phase] += 1
            cold += any(job.folder.rglob("*.sst"))
            print(f"kill {number:4} {phase:20} {where:30} aimed at {aim:9} {writer.lines:8} lines written", flush=True)
            # A click may only be stale for sure once a checkpoint holds a watermark of some minutes.
            writer.stale_allowed = any(epoch >= 3 for epoch in job.manifests()) and number > 4
            if died:
                break
    finally:
        writer.finish()
    lines_at_last_kill = writer.lines
    close_windows(job, SHARDS, writer.event_ms)
    recount = Recount(job.clicks)

    job.settings = settings
    life = job.start()
    life_began = time.monotonic()
    checks.check(not died, title + "every kill hit a running job while lines were written", "\n".join(died))
    checks.check(job.wait_for(lambda: job.sentinels_counted() == SHARDS, life), title + "the last life reads everything",
                 life.log()[-3_000:])
    caught_up = time.monotonic() - life_began
    time.sleep(1.5)  # a tick for the watermark, a second for the last early firing
    code = life.stop()
    checks.equal(code, 0, title + "SIGTERM ends it with a savepoint and exit code 0")
    checks.check("stopped; savepoint" in life.log(), title + "it says where the savepoint is", life.log()[-2_000:])
    checks.equal(job.query("PRAGMA journal_mode"), [("wal",)], title + "the database is in WAL mode")

    differences, counts = find_differences(job, recount)
    print(f"lines {counts['lines']} (before the last kill {lines_at_last_kill}), counted {counts['counted']}, "
          f"late {counts['late']}, duplicates {counts['duplicates']}, stale {counts['stale']}, bad {counts['bad']}, "
          f"closed minutes {counts['minutes']}, hours {counts['hours']}, kills {kills}, "
          f"seconds from start to caught up {caught_up:.2f}")
    checks.check(not differences, title + "the tables equal the recount: 0 lost, 0 doubled",
                 f"{len(differences)} differences\n" + "\n".join(differences))
    refused = sum(path.read_text(errors="replace").count("event=row_refused") for path in job.logs.iterdir())
    checks.equal(refused, 0, title + "no write of a finished row was refused")
    flushed = sum_of_flushes(job)
    print(f"flushes after restores: {flushed['rewritten']} values rewritten from state, {flushed['removed']} removed")
    checks.check(kills < 10 or cold > 0, title + "some lives had state on the local disk")
    checks.check(kills < 10 or flushed["rewritten"] > 0 and flushed["removed"] > 0, title + "the flushes had work to do")
    for what in ("counted", "late", "duplicates", "bad", "minutes", "hours"):
        checks.check(counts[what] > 0, title + f"there were {what}")

    doctored = copy.copy(job)
    doctored.database = job.folder / "doctored.db"
    shutil.copy(job.database, doctored.database)
    connection = sqlite3.connect(doctored.database)
    with connection:
        connection.execute("UPDATE ad_metrics SET fast_valid = fast_valid + 1 WHERE (entity, bucket) IN "
                           "(SELECT entity, bucket FROM ad_metrics WHERE bucket LIKE 'M%' LIMIT 1)")
    connection.close()
    checks.check(find_differences(doctored, recount)[0], title + "the comparison sees one click too many in one minute")

    before = job.query("SELECT * FROM ad_metrics"), job.query("SELECT entity, bucket, total FROM ad_running")
    life = job.start()
    job.wait_for(lambda: "event=checkpoint" in life.log(), life)
    checks.equal(life.stop(), 0, title + "it starts again from the savepoint and stops")
    after = job.query("SELECT * FROM ad_metrics"), job.query("SELECT entity, bucket, total FROM ad_running")
    checks.check(before == after, title + "a start from the savepoint changes no row")
    return hits


def run_windows(checks, binary, folder, kills, seed):
    """Hopping and session windows, killed at random moments at parallelisms that change from life to life."""
    title = "windows: "
    job = window_job.WindowJob(binary, folder)
    draw = random.Random(seed)
    writer = Writer(job, seed, window_job.PunctualMaker)
    writer.start()
    while writer.lines == 0:
        time.sleep(0.001)
    died = []
    try:
        for number in range(1, kills + 1):
            job.settings = ["execution.checkpointing.interval=300ms", f"parallelism.default={draw.randrange(1, 5)}"] + draw.choice(BACKENDS)
            life = job.start()
            time.sleep(draw.uniform(0.1, 1.5))
            if not life.running():
                died.append(f"life {number} ended by itself with {life.process.returncode}:\n{life.log()[-2_000:]}")
                break
            life.kill()
            print(f"kill {number:4} windows, {job.settings[1]}, {writer.lines:8} lines written", flush=True)
    finally:
        writer.finish()
    window_job.close_windows(job, SHARDS, writer.event_ms)
    truth = window_job.recount(job.clicks)
    life = job.start()
    checks.check(not died, title + "every kill hit a running job while lines were written", "\n".join(died))
    job.wait_for(lambda: not window_job.find_differences(job, truth), life)
    differences = window_job.find_differences(job, truth)
    checks.check(not differences, title + "the tables equal the recount: 0 lost, 0 doubled",
                 f"{len(differences)} differences\n" + "\n".join(differences))
    checks.equal(life.stop(), 0, title + "SIGTERM ends it with a savepoint and exit code 0")
    differences = window_job.find_differences(job, truth)
    checks.check(not differences, title + "and they still do after the stop", "\n".join(differences))
    print(f"windows: {writer.lines} lines, {len(truth[0])} hops, {len(truth[1])} sessions, {kills} kills")
    checks.check(len(truth[0]) > 20 and len(truth[1]) > 20, title + "there were hops and sessions")
    ad, start = next(iter(truth[0]))
    truth[0][ad, start] = (truth[0][ad, start][0] + 1, truth[0][ad, start][1])
    checks.check(window_job.find_differences(job, truth), title + "the comparison sees one click too few in one hop")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--kills", type=int, default=42, help="in all")
    parser.add_argument("--parallel-kills", type=int, help="how many of them at parallelism 2; a third if not given")
    parser.add_argument("--window-kills", type=int, default=10, help="more of them, in a job with hopping and session windows")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", help="work in this folder and leave it there")
    arguments = parser.parse_args()
    parallel_kills = arguments.kills // 3 if arguments.parallel_kills is None else arguments.parallel_kills

    folder = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="strandline-kill-")).resolve()
    print(f"seed {arguments.seed}, folder {folder}", flush=True)
    checks = Checks()
    hits = collections.Counter()
    for parallelism, kills in ((1, arguments.kills - parallel_kills), (2, parallel_kills)):
        if kills > 0:
            hits += run(checks, arguments.binary, folder / f"parallelism-{parallelism}", kills, arguments.seed, parallelism)
    if arguments.window_kills > 0:
        run_windows(checks, arguments.binary, folder / "windows", arguments.window_kills, arguments.seed)
    print("phases hit: " + ", ".join(f"{phase} {hits[phase]}" for phase in PHASES))
    if sum(hits.values()) >= 25:
        for phase in PHASES[1:]:
            checks.check(hits[phase] > 0, f"a kill hit the phase '{phase}'")
    if not arguments.keep and not checks.failed:
        shutil.rmtree(folder)
    checks.finish()


if __name__ == "__main__":
    main()
