#!/usr/bin/env python3
"""Kills the real binary with SIGKILL while it copies and counts from Kafka to Kafka exactly once, and reads what readers see.

The job changes its parallelism from life to life, and its broker is killed, too. Half of the kills come at random moments, the
others as soon as a step of the protocol has begun; which phase a kill hit is read from what it left behind. In the end a process
is paused, another one goes on from a copy of its state, and the first one wakes up.

    kafka_kill_test.py --probe build/release/bin/kafka_probe --binary build/release/bin/strandline --kills 50
"""

import argparse
import collections
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import server
from kafka_topics import HERE, SKIPPED, Broker, Checks, Job, skipped

PARTITIONS = 3
ADS = 5
ROWS_PER_SECOND = 1_500
WINDOW_MS = 2_000
START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC; event time runs twenty times as fast as the clock
SPEED = 20
PREFIX = "kill-test"
PHASES = ["start", "claim", "between checkpoints", "checkpoint", "commit"]
BROKER_KILLS = 2

SQL = f"""
SET 'pipeline.name' = 'job';
SET 'execution.checkpointing.interval' = '200 ms';
CREATE TABLE clicks (id BIGINT, ad STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
  WITH ('connector' = 'kafka', 'topic' = '{{topic:clicks}}', 'properties.bootstrap.servers' = '{{broker}}', 'format' = 'json',
        'scan.startup.mode' = 'earliest-offset');
CREATE TABLE copies (id BIGINT) WITH ('connector' = 'kafka', 'topic' = '{{topic:copies}}', 'format' = 'json',
  'properties.bootstrap.servers' = '{{broker}}', 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{PREFIX}');
CREATE TABLE counts (ad STRING, s STRING, n BIGINT) WITH ('connector' = 'kafka', 'topic' = '{{topic:counts}}', 'format' = 'json',
  'properties.bootstrap.servers' = '{{broker}}', 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{PREFIX}');
EXECUTE STATEMENT SET BEGIN
INSERT INTO copies SELECT id FROM clicks;
INSERT INTO counts SELECT ad, DATE_FORMAT(window_start, 'yyyy-MM-dd HH:mm:ss'), COUNT(*)
  FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '{WINDOW_MS // 1000}' SECOND)) GROUP BY ad, window_start, window_end;
END;
"""


class Writer(threading.Thread):
    """Sends rows at a pace until it is told to stop. A producer of librdkafka's own goes through the broker's deaths."""

    def __init__(self, broker):
        super().__init__(daemon=True)
        self.broker = broker
        self.rows = []  # (id, ad, ms)
        self.over = threading.Event()
        self.process = subprocess.Popen([broker.probe, broker.url, "produce", broker.name("clicks")], stdin=subprocess.PIPE, text=True)

    def send(self, partition, ad, ms):
        id_ = len(self.rows)
        self.rows.append((id_, ad, ms))
        self.process.stdin.write(f"{partition}\t-\t{json.dumps({'id': id_, 'ad': ad, 'ms': ms})}\n")

    def run(self):
        draw = random.Random(7)
        began = time.monotonic()
        while not self.over.wait(0.01):
            passed = time.monotonic() - began
            while len(self.rows) < passed * ROWS_PER_SECOND:
                self.send(draw.randrange(PARTITIONS), f"ad-{draw.randrange(ADS)}", START_MS + int(passed * 1_000 * SPEED) - draw.randrange(900))
            self.process.stdin.flush()

    def finish(self):
        self.over.set()
        self.join()
        ahead = self.rows[-1][2] + 60_000
        for partition in range(PARTITIONS):
            self.send(partition, "last", ahead)
        self.process.stdin.close()
        return self.process.wait(120)


# ---- what a life has left behind


def checkpoints(job):
    return job.folder / "state/job/checkpoints"


def names(folder):
    return [path.name for path in folder.iterdir() if not path.name.endswith(".tmp")] if folder.exists() else []


def newest_manifest(job):
    """(epoch, attempt)"""
    found = [re.match(r"m(\d+)-.*a(\d+)", name) for name in names(checkpoints(job) / "manifests")]
    return max(((int(m[1]), int(m[2])) for m in found if m), default=(0, 0))


def attempts(job):
    return max((int(name.split("-a")[1]) for name in names(checkpoints(job) / "attempts")), default=0)


def epoch_used(job):
    try:
        return json.loads((checkpoints(job) / "epoch").read_text())["epoch"]
    except FileNotFoundError:
        return 0


def marker(broker, topic="copies", subtask=0):
    """(epoch, attempt) of a subtask of the sink that copies."""
    found = broker.offsets(f"{PREFIX}.{broker.name(topic)}.id.{subtask}", topic, 1)  # the writer of one column has its name
    if not found:
        return 0, 0
    return found[0][0], int(re.search(r"attempt=(\d+)", found[0][1])[1])


def phase_of(broker, job, attempts_before):
    attempt = attempts(job)
    if attempt == attempts_before:
        return "start"
    marked, claimed = marker(broker)
    if claimed < attempt:
        return "claim"
    epoch, made_by = newest_manifest(job)
    if made_by == attempt and marked < epoch:
        return "commit"
    return "checkpoint" if epoch_used(job) > epoch else "between checkpoints"


def wait_for(condition, life, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until and life.running():
        if condition():
            return True
        time.sleep(0.001)
    return False


def aim(what, job, life, draw, attempts_before):
    if what == "random":
        time.sleep(draw.uniform(0.05, 1.8))
        return
    if what == "start":
        time.sleep(draw.uniform(0, 0.03))
        return
    wait_for(lambda: attempts(job) > attempts_before, life, 5)
    if what == "claim":
        time.sleep(draw.uniform(0, 0.3))
        return
    before = newest_manifest(job)
    used = epoch_used(job)
    if what == "checkpoint":
        wait_for(lambda: epoch_used(job) > used and newest_manifest(job)[1] == attempts(job), life, 5)
    else:
        wait_for(lambda: newest_manifest(job) > before, life, 8)
    time.sleep(draw.uniform(0, 0.004))


# ---- the topics


def recount(rows):
    counts = collections.Counter((ad, ms // WINDOW_MS * WINDOW_MS) for _, ad, ms in rows)
    return {(ad, time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(ms / 1000))): n for (ad, ms), n in counts.items() if ad != "last"}


def compare(checks, broker, rows, title):
    copies = [json.loads(value)["id"] for *_, value in broker.read("copies")]
    counted = collections.Counter(copies)
    lost = set(range(len(rows))) - set(counted)
    doubled = {id_ for id_, n in counted.items() if n > 1}
    checks.check(not lost and not doubled, f"{title}: of {len(rows)} rows each is in the topic once",
                 f"lost {len(lost)} {sorted(lost)[:5]}, doubled {len(doubled)} {sorted(doubled)[:5]}")
    seen = collections.Counter()
    for *_, value in broker.read("counts"):
        row = json.loads(value)
        if row["ad"] != "last":
            seen[row["ad"], row["s"], row["n"]] += 1
    expected = {(ad, s, n): 1 for (ad, s), n in recount(rows).items()}
    wrong = [key for key in set(seen) | set(expected) if seen.get(key) != expected.get(key)]
    checks.check(not wrong, f"{title}: each of {len(expected)} windows is there once with its count", sorted(wrong)[:10])


def run_kills(checks, binary, broker, folder, kills, seed):
    for topic in ("clicks", "copies", "counts"):
        broker.create(topic, PARTITIONS, "message.timestamp.after.max.ms=9223372036854775807")
    job = Job(binary, folder, broker, SQL)
    writer = Writer(broker)
    writer.start()
    draw = random.Random(seed)
    hits = collections.Counter()
    died = []
    aims = ["random", "commit", "claim", "random", "checkpoint", "random", "commit", "random", "claim", "random"]
    broker_kills = {kills * (n + 1) // (BROKER_KILLS + 1) for n in range(BROKER_KILLS)} if kills > BROKER_KILLS else set()
    back = None
    for number in range(1, kills + 1):
        before = attempts(job)
        life = job.start("--set", f"parallelism.default={draw.randrange(1, 4)}")
        if number in broker_kills:
            time.sleep(draw.uniform(0.5, 1.5))
            broker.kill()
            back = threading.Timer(draw.uniform(0, 0.5), broker.start)
            back.start()
            print("the broker was killed, and comes back", flush=True)
        what = "start" if number % 17 == 0 else aims[number % len(aims)]
        aim(what, job, life, draw, before)
        if not life.running():
            died.append(f"life {number} ended by itself with {life.process.returncode}:\n{life.log()[-2_000:]}")
        life.kill()
        if back:
            back.join()
            back = None
        phase = phase_of(broker, job, before)
        hits[phase] += 1
        print(f"kill {number:4} {phase:20} aimed at {what:10} attempt {attempts(job)}, {len(writer.rows)} rows sent", flush=True)
        if died:
            break
    checks.check(not died, "every kill hit a running job", "\n".join(died))
    checks.equal(writer.finish(), 0, "every row reached the broker")
    life = job.start("--set", "parallelism.default=2")
    done = wait_until_copied(broker, len(writer.rows), life)
    checks.check(done, "the last life reads everything", life.log()[-3_000:])
    checks.equal(life.stop(), 0, "SIGTERM ends it with a savepoint")
    compare(checks, broker, writer.rows, f"{kills} kills")
    print("phases hit: " + ", ".join(f"{phase} {hits[phase]}" for phase in PHASES))
    if kills >= 40:
        for phase in PHASES[1:]:
            checks.check(hits[phase] > 0, f"a kill hit the phase '{phase}'")
    return job, writer


def wait_until_copied(broker, rows, life, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until and life.running():
        if len(broker.read("copies")) >= rows and any('"last"' not in value for *_, value in broker.read("counts")):
            time.sleep(1.5)  # the windows that the last rows have closed, and their checkpoint
            return True
        time.sleep(0.3)
    return False


def run_zombie(checks, binary, broker, folder, seed):
    """A paused process wakes up after another one has gone on from a copy of its state."""
    for topic in ("clicks", "copies", "counts"):
        broker.create(topic, PARTITIONS, "message.timestamp.after.max.ms=9223372036854775807")
    job = Job(binary, folder / "old", broker, SQL)
    writer = Writer(broker)
    writer.start()
    old = job.start("--set", "parallelism.default=2")
    checks.check(wait_for(lambda: newest_manifest(job)[0] >= 5, old, 30), "the old process runs", old.log()[-2_000:])
    time.sleep(random.Random(seed).uniform(0, 0.2))
    old.process.send_signal(signal.SIGSTOP)
    shutil.copytree(folder / "old", folder / "new")
    newer = Job(binary, folder / "new", broker, SQL)
    new = newer.start("--set", "parallelism.default=2")
    before = newest_manifest(newer)
    checks.check(wait_for(lambda: newest_manifest(newer)[0] > before[0] + 2, new, 30), "the new one goes on", new.log()[-2_000:])
    old.process.send_signal(signal.SIGCONT)
    code = old.end(60)
    checks.check(code not in (0, None) and "STRAND-4007" in old.log(), "the old one ends: another owns the topic", f"{code}\n{old.log()[-2_000:]}")
    checks.equal(writer.finish(), 0, "every row reached the broker")
    checks.check(wait_until_copied(broker, len(writer.rows), new), "the new one reads everything", new.log()[-3_000:])
    checks.equal(new.stop(), 0, "and stops with a savepoint")
    compare(checks, broker, writer.rows, "a process that woke up")


def run_outage(checks, binary, broker, folder):
    """The broker is away for a while: the job waits, says so, and goes on where it was."""
    for topic in ("clicks", "copies", "counts"):
        broker.create(topic, PARTITIONS, "message.timestamp.after.max.ms=9223372036854775807")
    job = Job(binary, folder, broker, SQL)
    writer = Writer(broker)
    writer.start()
    life = job.start()
    checks.check(wait_for(lambda: newest_manifest(job)[0] >= 3, life, 30), "the job runs", life.log()[-2_000:])
    broker.kill()
    said = ""
    until = time.monotonic() + 30
    while "no broker of" not in said and time.monotonic() < until:
        time.sleep(0.5)
        said = subprocess.run([job.binary, "--state", folder / "state", "why", "job"], capture_output=True, text=True).stdout
    checks.check("no broker of" in said and broker.url in said, "`why` says that no broker answers", said)
    broker.start()
    time.sleep(3)
    checks.equal(writer.finish(), 0, "every row reached the broker")
    checks.check(wait_until_copied(broker, len(writer.rows), life), "the same process reads everything when the broker is back", life.log()[-3_000:])
    said = subprocess.run([job.binary, "--state", folder / "state", "why", "job"], capture_output=True, text=True).stdout
    checks.check("no broker of" not in said, "`why` says nothing of it any more", said)
    checks.equal(life.stop(), 0, "it stops with a savepoint")
    compare(checks, broker, writer.rows, "a broker that was away")


def lost_ends(broker_folder):
    """Offsets that a transaction has written, half a minute ago and more, whose end the broker has not: killed between its decision
    to commit and the end of the offsets, Kafka 4.4 may call the transaction complete without that end when it is back. The marker can
    then not be read any more (docs/connectors/kafka.md)."""
    lost = []
    libraries = max((server.home() / "kafka").glob("lib-*"))
    for log in sorted(broker_folder.glob("data/__consumer_offsets-*/*.log")):
        dump = subprocess.run(["java", "-cp", f"{libraries}/*", "org.apache.kafka.tools.DumpLogSegments", "--files", str(log)],
                              capture_output=True).stdout.decode(errors="replace")
        open_ = {}
        for found in re.finditer(r"^baseOffset: (\d+) .*producerId: (\d+) .*isTransactional: true isControl: (\w+) .*CreateTime: (\d+)", dump, re.M):
            offset, producer, ends, millis = found.groups()
            if ends == "true":
                open_.pop(producer, None)
            else:
                open_[producer] = (offset, int(millis))
        lost += [f"{log.parent.name} offset {offset}" for offset, millis in open_.values() if millis < (time.time() - 30) * 1_000]
    return lost


def run_all(arguments, seed):
    """The checks, and what the broker has lost."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-kafka-kill-")).resolve()
    print(f"seed {seed}, folder {folder}", flush=True)
    checks = Checks()
    subprocess.run([sys.executable, HERE / "kafka", "start", "--dir", folder / "broker"], check=True)
    try:
        run_kills(checks, arguments.binary, Broker(folder / "broker", arguments.probe), folder / "kills", arguments.kills, seed)
        run_outage(checks, arguments.binary, Broker(folder / "broker", arguments.probe), folder / "outage")
        run_zombie(checks, arguments.binary, Broker(folder / "broker", arguments.probe), folder / "zombie", seed)
    finally:
        subprocess.run([sys.executable, HERE / "kafka", "kill9", folder / "broker"], check=True)
    lost = lost_ends(folder / "broker") if checks.failed else []
    if not checks.failed:
        shutil.rmtree(folder)
    return checks, lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--probe", default="build/release/bin/kafka_probe")
    parser.add_argument("--server", help="not used: its broker is killed, so it has its own")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    if skipped("kafka"):
        print("skipped: STRAND_SKIP_SERVERS names kafka")
        sys.exit(SKIPPED)
    checks, lost = run_all(arguments, arguments.seed)
    if lost:
        print("the broker has lost the end of a transaction that it had decided (" + ", ".join(lost) +
              "): such a run says nothing of Strandline; once more, with another seed", flush=True)
        checks, _ = run_all(arguments, arguments.seed + 1)
    checks.finish()


if __name__ == "__main__":
    main()
