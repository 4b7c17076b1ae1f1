#!/usr/bin/env python3
"""Trouble that users of event-time engines report with Kafka, case by case against a real broker; docs/cases.md says which is which.

    kafka_cases_test.py --server DIR [--binary build/release/bin/strandline] [--only NAME]
"""

import json
import os
import pathlib
import signal
import subprocess
import sys

from kafka_kill_test import newest_manifest
from kafka_test import AT_LEAST_ONCE, BOUNDED, COPY, DONE, EARLIEST, EXACTLY_ONCE, IN, OUT, REFUSED, click, copied, wait_for
from kafka_topics import HERE, Broker, Job, run_tests

EVERY_SECOND = "SET 'execution.checkpointing.interval' = '1 s';\n"
EVERY_THREE = "SET 'execution.checkpointing.interval' = '3 s';\n"
OFTEN = "SET 'execution.checkpointing.interval' = '100 ms';\n"


def writer_id(broker, subtask):
    return f"kafka-test.{broker.name('copies')}.strand.{subtask}"


def values(broker, topic):
    return [value for *_, value in broker.read(topic)]


def test_c08(checks, binary, broker, folder):
    """A transaction longer than the broker allows: refused before the first record, with both numbers and whose they are."""
    broker.create("clicks")
    broker.produce("clicks", [(0, click(1))])
    broker.create("copies")
    sql = IN % BOUNDED + OUT % (EXACTLY_ONCE + ", 'properties.transaction.timeout.ms' = '3600000'") + COPY
    code, _, log = Job(binary, folder, broker, sql).run()
    told = "'properties.transaction.timeout.ms' of the table is 3600000, transaction.max.timeout.ms of the broker is 900000"
    checks.check(code != DONE and "STRAND-1001" in log and told in log, "C08: both numbers", f"{code}\n{log}")
    checks.equal(broker.offsets(writer_id(broker, 0), "copies", 1), {}, "C08: nothing was written")
    code, _, log = Job(binary, folder / "default", broker, IN % BOUNDED + OUT % EXACTLY_ONCE + COPY).run()
    checks.equal((code, copied(broker)), (DONE, [1]), "C08: what is not set fits every broker" + (log if code else ""))


def test_c10(checks, binary, broker, folder):
    """A transaction that a dead process has left open holds back what others write behind it, until the job is started again."""
    broker.create("copies")
    broker.create("other")
    broker.create("clicks")
    broker.produce("clicks", [(0, click(i)) for i in range(3)])
    sql = OFTEN + IN % EARLIEST + OUT % EXACTLY_ONCE + COPY
    for topic, owner in (("copies", writer_id(broker, 0)), ("other", broker.name("somebody"))):
        broker.ask("open", broker.name(topic), owner)
        broker.produce(topic, [(0, '{"id": 100}')])
    checks.equal((values(broker, "copies"), values(broker, "other")), ([], []), "C10: the open transactions hold both topics back")
    job = Job(binary, folder, broker, sql)
    life = job.start("--set", "parallelism.default=3")
    checks.check(wait_for(lambda: copied(broker) == [0, 1, 2, 100], life), "C10: started without state, the job ends its own", life.log()[-2_000:])
    checks.equal(values(broker, "other"), [], "C10: and nobody else's")
    life.kill()
    broker.ask("open", broker.name("copies"), writer_id(broker, 2))
    broker.produce("copies", [(0, '{"id": 101}')])
    checks.equal(copied(broker), [0, 1, 2, 100], "C10: subtask 2 has left one open")
    life = job.start("--set", "parallelism.default=1")
    checks.check(wait_for(lambda: copied(broker) == [0, 1, 2, 100, 101], life), "C10: with fewer subtasks it is ended, too", life.log()[-2_000:])
    checks.equal(life.stop(), DONE, "it stops")


class Stopped:
    """The broker does not answer while this lives."""

    def __init__(self, broker):
        self.pid = json.loads((broker.directory / "server.json").read_text())["pid"]

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)


def die_before_commit(broker, job, rows):
    """The job dies when its newest checkpoint holds `rows` rows that the broker has not heard of."""
    life = job.start("--set", "parallelism.default=1")

    def marked():
        return broker.offsets(writer_id(broker, 0), "copies", 1).get(0, (-1, ""))[0]

    def read():
        asked = subprocess.run([job.binary, "--state", job.folder / "state", "status", "job", "--json"], capture_output=True, text=True)
        return json.loads(asked.stdout)["read"]

    def next_checkpoint():
        before = newest_manifest(job)[0]
        if not wait_for(lambda: newest_manifest(job)[0] > before, life):
            raise RuntimeError(life.log())

    if not wait_for(lambda: marked() >= 0, life):
        raise RuntimeError(life.log())
    next_checkpoint()
    broker.produce("clicks", [(0, click(i)) for i in range(rows)])
    wait_for(lambda: read() == rows, life)
    with Stopped(broker):
        next_checkpoint()
        life.kill()
    return newest_manifest(job)[0] > marked() and copied(broker) == []


def test_c11(checks, binary, broker, folder):
    """The rows of a complete checkpoint do not depend on a transaction that outlives an outage: it may expire, and they are there once."""
    subprocess.run([sys.executable, HERE / "kafka", "start", "--dir", folder / "broker"], check=True, stdout=subprocess.DEVNULL)
    own = Broker(folder / "broker", broker.probe)
    try:
        own.create("clicks")
        own.create("copies")
        job = Job(binary, folder, own, EVERY_THREE + IN % EARLIEST + OUT % EXACTLY_ONCE + COPY)
        checks.check(die_before_commit(own, job, 1_200), "C11: a checkpoint with 1,200 rows is complete, and the broker has none of them", "")
        own.ask("open", own.name("copies"), writer_id(own, 0), 1_000)
        own.produce("copies", [(0, '{"id": -1}')])
        while copied(own) != [-1]:
            pass  # what was open has been ended for its age then
        code, _, log = job.run("--with", "copies.sink.transactional-id-prefix=other", "--set", "restart-strategy.type=none")
        checks.check(code != DONE and "STRAND-4015" in log and "1200 rows of checkpoint" in log and "'sink.transactional-id-prefix' of the last run" in log,
                     "C10: under another prefix nobody knows whether they were written, and it asks", f"{code}\n{log}")
        life = job.start("--set", "parallelism.default=1")
        checks.check(wait_for(lambda: len(copied(own)) >= 1_201, life), "C11: restored, it writes them", life.log()[-2_000:])
        checks.equal(life.stop(), DONE, "C11: without an error")
        checks.equal(copied(own), [-1, *range(1_200)], "C11: each row is there once")
    finally:
        own.kill()


def test_c26(checks, binary, broker, folder):
    """'Latest' is resolved to offsets at the start, of empty partitions, too; what is found later is read from its first record."""
    for topic in ("a", "b", "c"):
        broker.ask("create", broker.name("clicks") + topic, 1)
    send = lambda topic, *ids: broker.ask("produce", broker.name("clicks") + topic, lines="".join(f"0\t-\t{click(i)}\n" for i in ids))
    broker.create("copies")
    sql = OFTEN + IN.replace("'topic' = '{topic:clicks}'", "'topic-pattern' = '{topic:clicks}[a-d]'") % \
        "'scan.startup.mode' = 'latest-offset', 'scan.topic-partition-discovery.interval' = '200 ms'" + OUT % AT_LEAST_ONCE + COPY
    job = Job(binary, folder, broker, sql)
    life = job.start()
    checks.check(wait_for(lambda: newest_manifest(job)[0] > 1, life), "C26: it has begun", life.log()[-2_000:])
    send("a", 1)
    send("b", 2)
    checks.check(wait_for(lambda: copied(broker) == [1, 2], life), "C26: it reads A and B", life.log()[-2_000:])
    checks.equal(life.stop(), DONE, "C26: it stops with a savepoint")
    for id_, topic in enumerate("abc", 3):
        send(topic, id_)
    life = job.start()
    checks.check(wait_for(lambda: copied(broker) == [1, 2, 3, 4, 5], life), "C26: what came meanwhile is read, of C, too, which had nothing", life.log()[-2_000:])
    broker.ask("create", broker.name("clicks") + "d", 1)
    send("d", 6, 7)
    checks.check(wait_for(lambda: copied(broker) == [1, 2, 3, 4, 5, 6, 7], life), "C26: and both of D", life.log()[-2_000:])
    checks.equal(life.stop(), DONE, "it stops")


def test_c34(checks, binary, broker, folder):
    """Two jobs with one prefix: the second does not start and hears who was first."""
    broker.create("clicks")
    broker.create("copies")
    broker.produce("clicks", [(0, click(1))])
    sql = OFTEN + IN % EARLIEST + OUT % EXACTLY_ONCE + COPY
    life = Job(binary, folder / "v1", broker, sql, name="v1").start()
    checks.check(wait_for(lambda: copied(broker) == [1], life), "C34: the first job writes", life.log()[-2_000:])
    code, _, log = Job(binary, folder / "v2", broker, sql, name="v2").run()
    checks.check(code == REFUSED and "STRAND-4008" in log and "is of job 'v1' (generation 1, attempt 1, checkpoint " in log
                 and "another 'sink.transactional-id-prefix'" in log, "C34: the second is refused and hears of the first", f"{code}\n{log}")
    broker.produce("clicks", [(0, click(2))])
    checks.check(wait_for(lambda: copied(broker) == [1, 2], life), "C34: which goes on", life.log()[-2_000:])
    checks.equal(life.stop(), DONE, "it stops")


def test_c40(checks, binary, broker, folder):
    """A record that is too long ends the job, once, before it is sent."""
    broker.create("clicks", 1, "max.message.bytes=4000000")
    broker.create("copies", 1)
    long = pathlib.Path(folder / "long.json")
    folder.mkdir()
    long.write_text(click(7, "x" * 1_200_000) + "\n")
    source = f"CREATE TABLE clicks (id BIGINT, ad STRING) WITH ('connector' = 'filesystem', 'path' = '{long}', 'format' = 'json');\n"
    told = "table copies: expected a record of at most 1000000 bytes, found one of 1200016; column 'ad' has 1200000 of them"
    for number, guarantee in enumerate((AT_LEAST_ONCE, EXACTLY_ONCE)):
        code, _, log = Job(binary, folder / str(number), broker, EVERY_SECOND + source + OUT % guarantee + COPY).run()
        checks.check(code != DONE and "STRAND-3004" in log and told in log, f"C40: {guarantee}: the record is named", f"{code}\n{log}")
        checks.check("attempt=2" not in log, f"C40: {guarantee}: it is not tried again", log)
    checks.equal(broker.read("copies"), [], "C40: nothing was sent")
    job = Job(binary, folder / "shorter", broker, source + OUT % AT_LEAST_ONCE + COPY.replace("UPPER(ad)", "SUBSTRING(ad FROM 1 FOR 3)"))
    code, _, log = job.run()
    checks.equal((code, values(broker, "copies")), (DONE, ['{"id":7,"ad":"xxx"}']), "C40: cut off, as the message says" + (log if code else ""))


if __name__ == "__main__":
    run_tests(__doc__, [test_c08, test_c10, test_c11, test_c26, test_c34, test_c40])
