#!/usr/bin/env python3
"""Tables in Kafka against a real broker: where reading begins and ends, what is read and written, and what is refused.

    kafka_test.py --server DIR [--binary build/release/bin/strandline] [--only NAME]
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import time

from kafka_topics import Job, run_tests
from ad_clicks import click_line  # the path is set by kafka_topics

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC
DONE, REFUSED = 0, 4
WITH = "'connector' = 'kafka', 'properties.bootstrap.servers' = '{broker}', 'format' = 'json'"
IN = f"CREATE TABLE clicks (id BIGINT, ad STRING) WITH ({WITH}, 'topic' = '{{topic:clicks}}', %s);\n"
OUT = f"CREATE TABLE copies (id BIGINT, ad STRING) WITH ({WITH}, 'topic' = '{{topic:copies}}', %s);\n"
COPY = "INSERT INTO copies SELECT id, UPPER(ad) FROM clicks;\n"
EARLIEST = "'scan.startup.mode' = 'earliest-offset'"
BOUNDED = EARLIEST + ", 'scan.bounded.mode' = 'latest-offset'"
EXACTLY_ONCE = "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'kafka-test'"
AT_LEAST_ONCE = "'sink.delivery-guarantee' = 'at-least-once'"
PRINT = "SET 'parallelism.default' = '1';\nCREATE TABLE seen (id BIGINT) WITH ('connector' = 'print');\n"
NO_RESTART = "SET 'restart-strategy.type' = 'none';\n"


def click(id_, ad="a"):
    return json.dumps({"id": id_, "ad": ad})


def ids(printed):
    return sorted(int(line.split("[")[1].split("]")[0].split(",")[0]) for line in printed.splitlines())


def copied(broker):
    return sorted(json.loads(value)["id"] for *_, value in broker.read("copies"))


def wait_for(condition, life, seconds=30):
    until = time.monotonic() + seconds
    while time.monotonic() < until and life.running():
        if condition():
            return True
        time.sleep(0.1)
    return bool(condition())


def test_copy(checks, binary, broker, folder):
    """What stands in a topic reaches another one, of all partitions, once each in a run without failures."""
    for number, guarantee in enumerate((AT_LEAST_ONCE, EXACTLY_ONCE, "'sink.delivery-guarantee' = 'none', 'sink.partitioner' = 'round-robin'")):
        broker.mark += f"-{number}"
        broker.create("clicks", 3)
        broker.create("copies", 2)
        broker.produce("clicks", [(i % 3, click(i, f"ad_{i}")) for i in range(3_000)])
        job = Job(binary, folder / str(number), broker, IN % BOUNDED + OUT % guarantee + COPY)
        code, _, log = job.run()
        checks.equal(code, DONE, f"{guarantee}: a bounded table ends by itself" + (log if code else ""))
        rows = [json.loads(value) for *_, value in broker.read("copies")]
        checks.equal(sorted(row["id"] for row in rows), list(range(3_000)), f"{guarantee}: each record is in the other topic once")
        checks.equal([row for row in rows if row["id"] == 7], [{"id": 7, "ad": "AD_7"}], f"{guarantee}: with the columns as computed")
        if "round-robin" in guarantee:
            checks.equal({partition for partition, *_ in broker.read("copies")}, {0, 1}, f"{guarantee}: in all of its partitions")


def test_start_and_stop(checks, binary, broker, folder):
    broker.create("clicks", 2)
    broker.produce("clicks", [(i % 2, None, click(i), 1_000 + i) for i in range(20)])  # partition p: offset o is id 2 o + p
    for name in ("group", "bound"):
        for partition, offset in ((0, 3), (1, 8)):
            broker.ask("commit", broker.name(name), broker.name("clicks"), partition, offset)
    group, bound = (f"'properties.group.id' = '{broker.name(name)}'" for name in ("group", "bound"))
    odd = list(range(1, 20, 2))
    cases = [
        ("earliest-offset", BOUNDED, list(range(20))),
        ("latest-offset", "'scan.startup.mode' = 'latest-offset', 'scan.bounded.mode' = 'latest-offset'", []),
        ("timestamp", "'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '1015', 'scan.bounded.mode' = 'latest-offset'",
         [15, 16, 17, 18, 19]),
        ("specific-offsets", "'scan.startup.mode' = 'specific-offsets', 'scan.bounded.mode' = 'latest-offset', "
         "'scan.startup.specific-offsets' = 'partition:0,offset:9;partition:1,offset:10'", [18]),
        ("group-offsets", f"{group}, 'scan.bounded.mode' = 'latest-offset'", [6, 8, 10, 12, 14, 16, 17, 18, 19]),
        ("bounded by a timestamp", EARLIEST + ", 'scan.bounded.mode' = 'timestamp', 'scan.bounded.timestamp-millis' = '1004'", [0, 1, 2, 3]),
        ("bounded by offsets", EARLIEST + ", 'scan.bounded.mode' = 'specific-offsets', "
         "'scan.bounded.specific-offsets' = 'partition:0,offset:0;partition:1,offset:10'", odd),
        ("bounded by a group", f"{EARLIEST}, {bound}, 'scan.bounded.mode' = 'group-offsets'", [0, 1, 2, 3, 4, 5, 7, 9, 11, 13, 15]),
        ("a group without offsets, which may begin anywhere", "'properties.group.id' = 'nobody', 'properties.auto.offset.reset' = 'earliest', "
         "'scan.bounded.mode' = 'latest-offset'", list(range(20))),
    ]
    for number, (name, options, expected) in enumerate(cases):
        job = Job(binary, folder / str(number), broker, PRINT + IN % options + "INSERT INTO seen SELECT id FROM clicks;")
        code, out, log = job.run()
        checks.equal((code, ids(out)), (DONE, expected), name + (log if code else ""))
    before = broker.offsets(broker.name("group"), "clicks", 2)
    checks.equal({partition: offset for partition, (offset, _) in before.items()}, {0: 10, 1: 10},
                 "the offsets of the last checkpoint were committed to the group")


def test_reports_commit_nothing(checks, binary, broker, folder):
    """A recount reads a topic as the job does, and leaves the job's group as it is; the group may still say where to end."""
    broker.create("clicks", 1)
    broker.produce("clicks", [(0, click(i)) for i in range(20)])
    group = broker.name("group")
    broker.ask("commit", group, broker.name("clicks"), 0, 7)
    store = "CREATE TABLE counts (ad STRING, n BIGINT, PRIMARY KEY (ad) NOT ENFORCED) WITH ('connector' = 'sqlite', 'path' = 'counts.db');\n" \
        "INSERT INTO counts SELECT ad, COUNT(*) FROM clicks GROUP BY ad;\n"
    for stop, expected in (("latest-offset", "20"), ("group-offsets", "7")):
        job = Job(binary, folder / stop, broker, IN % (f"'properties.group.id' = '{group}', {EARLIEST}, 'scan.bounded.mode' = '{stop}'") + store)
        done = subprocess.run([job.binary, "--state", job.folder / "state", "recount", job.file], capture_output=True, text=True, timeout=60, cwd=job.folder)
        checks.check(done.returncode == DONE and expected in done.stdout.split(), f"a recount to {stop} reads {expected}", done.stdout + done.stderr)
        checks.equal(broker.offsets(group, "clicks", 1)[0][0], 7, "and the group stands where it stood")


def test_transactions_are_read_when_committed(checks, binary, broker, folder):
    broker.create("clicks", 1)
    broker.produce("clicks", [(0, click(1))])
    broker.ask("open", broker.name("clicks"), broker.name("writer"))
    broker.produce("clicks", [(0, click(2))])
    job = Job(binary, folder, broker, PRINT + IN % BOUNDED + "INSERT INTO seen SELECT id FROM clicks;")
    code, out, log = job.run()
    checks.equal((code, ids(out)), (DONE, [1]), "what lies behind an open transaction is not there yet" + (log if code else ""))
    job = Job(binary, folder / "all", broker, PRINT + IN % (BOUNDED + ", 'json.ignore-parse-errors' = 'true', 'properties.isolation.level' = 'read_uncommitted'")
              + "INSERT INTO seen SELECT id FROM clicks;")
    code, out, log = job.run()
    checks.equal((code, ids(out)), (DONE, [1, 2]), "read_uncommitted reads it" + (log if code else ""))


def test_resume(checks, binary, broker, folder):
    """A job that was stopped, or killed behind a checkpoint, goes on at exactly the next record, at any parallelism."""
    broker.create("clicks", 3)
    broker.create("copies", 1)
    sql = "SET 'execution.checkpointing.interval' = '100 ms';\n" + IN % EARLIEST + OUT % EXACTLY_ONCE + COPY
    job = Job(binary, folder, broker, sql)
    for life_number in range(4):
        broker.produce("clicks", [(i % 3, click(i)) for i in range(life_number * 300, (life_number + 1) * 300)])
        life = job.start("--set", f"parallelism.default={1 + life_number % 3}")
        wanted = (life_number + 1) * 300
        checks.check(wait_for(lambda: len(broker.read("copies")) >= wanted, life), f"life {life_number + 1} reads on", life.log()[-2_000:])
        if life_number % 2:
            life.kill()
        else:
            checks.equal(life.stop(), DONE, "it stops with a savepoint")
    checks.equal(copied(broker), list(range(1_200)), "every record is there once")
    positions = broker.offsets(f"kafka-test.{broker.name('copies')}.strand.0", "copies", 1)
    checks.check(positions[0][1].startswith("gen=1,attempt=4,epoch="), "the marker names generation, attempt and epoch", positions)


def test_bounded_resume(checks, binary, broker, folder):
    """The end of a bounded table is where it was when the job first started."""
    broker.create("clicks", 1)
    broker.create("copies", 1)
    broker.produce("clicks", [(0, click(i)) for i in range(50)])
    sql = "SET 'execution.checkpointing.interval' = '100 ms';\n" + IN % BOUNDED + OUT % EXACTLY_ONCE + COPY
    job = Job(binary, folder, broker, sql)
    code, _, log = job.run()
    checks.equal(code, DONE, "it ends" + (log if code else ""))
    broker.produce("clicks", [(0, click(i)) for i in range(50, 60)])
    code, _, log = job.run()
    checks.equal((code, copied(broker)), (DONE, list(range(50))), "started again, it reads no more" + (log if code else ""))


def test_new_partitions(checks, binary, broker, folder):
    """Topics that come later are found, and read from their first record."""
    broker.create("clicks", 1)
    broker.produce("clicks", [(0, click(1))])
    broker.create("copies", 1)
    sql = "SET 'execution.checkpointing.interval' = '100 ms';\n" + \
        IN.replace("'topic' = '{topic:clicks}'", "'topic-pattern' = '{topic:clicks}.*'") % \
        "'scan.startup.mode' = 'latest-offset', 'scan.topic-partition-discovery.interval' = '200 ms'" + OUT % AT_LEAST_ONCE + COPY
    life = Job(binary, folder, broker, sql).start()
    time.sleep(1.5)
    broker.produce("clicks", [(0, click(2))])
    broker.ask("create", broker.name("clicks") + "-more", 1)
    broker.ask("produce", broker.name("clicks") + "-more", lines=f"0\t-\t{click(3)}\n")
    checks.check(wait_for(lambda: copied(broker) == [2, 3], life), "both are read, and what was there before is not", f"{copied(broker)}\n{life.log()[-2_000:]}")
    checks.equal(life.stop(), DONE, "it stops")


def test_keys_and_metadata(checks, binary, broker, folder):
    broker.create("clicks", 2)
    broker.produce("clicks", [(1, '{"id": 7}', '{"ad": "x"}', 5_000), (1, None, '{"ad": "y"}', 6_000), (1, '{"id": 9}', None)])
    sql = "SET 'parallelism.default' = '1';\n" + \
        f"CREATE TABLE clicks (id BIGINT, ad STRING, p INT METADATA FROM 'partition', o BIGINT METADATA FROM 'offset', t TIMESTAMP_LTZ(3) METADATA FROM " \
        f"'timestamp', k STRING METADATA FROM 'timestamp-type', h MAP<STRING, BYTES> METADATA FROM 'headers') WITH ({WITH}, 'topic' = '{{topic:clicks}}', " \
        f"{BOUNDED}, 'key.format' = 'json', 'key.fields' = 'id', 'value.fields-include' = 'EXCEPT_KEY');\nSELECT id, ad, p, o, t, k, CARDINALITY(h) FROM clicks;\n"
    code, out, log = Job(binary, folder, broker, sql).run()
    checks.equal((code, out.splitlines()), (DONE, ["+I[7, x, 1, 0, 1970-01-01 00:00:05.000Z, CreateTime, 0]", "+I[null, y, 1, 1, 1970-01-01 00:00:06.000Z, CreateTime, 0]"]),
                 "keys, metadata, and no row for a record without value" + (log if code else ""))


def test_written_metadata(checks, binary, broker, folder):
    """Times and headers of records are what the job says, also in a transaction and beside a key."""
    columns = "id BIGINT, t TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', h MAP<STRING, BYTES> METADATA FROM 'headers'"
    rows = "SELECT a, TO_TIMESTAMP_LTZ(b, 3), MAP['n', CAST(c AS BYTES)] FROM (VALUES (1, 5000, 'x'), (2, 6000, 'y')) AS v (a, b, c)"
    upsert = WITH.replace("= 'kafka'", "= 'upsert-kafka'") + ", 'key.format' = 'json'"
    for topic, options, key, tail in (("plain", WITH, "", ""), ("exactly", f"{WITH}, {EXACTLY_ONCE}", "", ""),
                                      ("upsert", upsert, ", PRIMARY KEY (id) NOT ENFORCED", " ON CONFLICT DO DEDUPLICATE")):
        broker.create(topic, 1)
        sql = f"CREATE TABLE copy ({columns}{key}) WITH ({options}, 'topic' = '{{topic:{topic}}}');\nINSERT INTO copy {rows}{tail};\n"
        code, _, log = Job(binary, folder / topic, broker, sql).run()
        checks.equal(code, DONE, f"{topic}: it writes" + (log if code else ""))
        sql = f"CREATE TABLE back ({columns}) WITH ({WITH}, 'topic' = '{{topic:{topic}}}', {BOUNDED});\nSELECT id, t, CAST(h['n'] AS STRING) FROM back;\n"
        code, out, log = Job(binary, folder / f"{topic}-back", broker, sql).run()
        checks.equal((code, sorted(out.splitlines())), (DONE, ["+I[1, 1970-01-01 00:00:05.000Z, x]", "+I[2, 1970-01-01 00:00:06.000Z, y]"]),
                     f"{topic}: the records have the times and headers of the rows" + (log if code else ""))


def test_upsert(checks, binary, broker, folder):
    broker.create("changes", 1)
    broker.create("counts", 2)
    row = {"ad": "a", "n": 1}
    broker.produce("changes", [(0, json.dumps(change)) for change in (
        {"before": None, "after": row, "op": "c"}, {"before": row, "after": dict(row, n=2), "op": "u"}, {"before": None, "after": {"ad": "b", "n": 7}, "op": "c"},
        {"before": dict(row, n=2), "after": None, "op": "d"}, {"before": None, "after": {"ad": "c", "n": 8}, "op": "c"})])
    for guarantee in (AT_LEAST_ONCE, EXACTLY_ONCE):
        sql = "CREATE TABLE changes (ad STRING, n BIGINT, PRIMARY KEY (ad) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = '{topic:changes}', " \
            f"'properties.bootstrap.servers' = '{{broker}}', 'format' = 'debezium-json', {BOUNDED});\n" \
            "CREATE TABLE counts (ad STRING, n BIGINT, PRIMARY KEY (ad) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = '{topic:counts}', " \
            f"'properties.bootstrap.servers' = '{{broker}}', 'key.format' = 'raw', 'value.format' = 'json', {guarantee});\n" \
            "INSERT INTO counts SELECT ad, n FROM changes;\n"
        code, _, log = Job(binary, folder / guarantee[-14:-1], broker, sql).run()
        rows = broker.read("counts")
        newest = {key: value and json.loads(value) for _, _, key, value in rows}
        checks.equal((code, newest), (DONE, {"a": None, "b": {"ad": "b", "n": 7}, "c": {"ad": "c", "n": 8}}),
                     f"{guarantee}: the newest value of each key; of what was deleted a record without value" + (log if code else ""))
    checks.equal(len(rows), 10, "of each update only the new row")


def test_read_upsert(checks, binary, broker, folder):
    """The newest value of each key, from the first record on; a record without a value deletes."""
    broker.create("state", 1)
    broker.produce("state", [(0, '{"id": 1}', '{"id": 1, "ad": "a"}'), (0, '{"id": 2}', '{"id": 2, "ad": "b"}'), (0, '{"id": 1}', None),
                             (0, '{"id": 2}', '{"id": 2, "ad": "c"}'), (0, '{"id": 3}', None)])
    upsert = WITH.replace("= 'kafka'", "= 'upsert-kafka'") + ", 'key.format' = 'json', 'scan.bounded.mode' = 'latest-offset'"
    sql = f"SET 'parallelism.default' = '1';\nCREATE TABLE state (id BIGINT, ad STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ({upsert}, 'topic' = '{{topic:state}}');\n" \
        "SELECT id, ad FROM state;\n"
    code, out, log = Job(binary, folder, broker, sql).run()
    standing = {}
    for line in out.splitlines():
        key = line[line.index("[") + 1:line.index(",")]
        if line.startswith(("+I", "+U")):
            standing[key] = line[line.index("["):]
        elif line.startswith("-D"):
            checks.check(standing.pop(key, None) is not None, f"{line} takes back what stood there", out)
    checks.equal((code, standing), (DONE, {"2": "[2, c]"}), "what stands at the end" + (log if code else ""))
    refused = sql.replace("'scan.bounded.mode'", "'scan.startup.mode' = 'latest-offset', 'scan.bounded.mode'")
    code, _, log = Job(binary, folder / "startup", broker, refused).run()
    checks.check(code != DONE and "STRAND-1002" in log, "there is no other place to begin", log)


def test_refusals(checks, binary, broker, folder):
    broker.create("clicks", 1)
    broker.produce("clicks", [(0, click(i)) for i in range(10)])
    broker.ask("trim", broker.name("clicks"), 0, 5)
    read = "INSERT INTO seen SELECT id FROM clicks;"
    specific = "'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:2', 'scan.bounded.mode' = 'latest-offset'"
    nobody = "'scan.bounded.mode' = 'latest-offset', 'properties.group.id' = 'nobody'"
    long = EXACTLY_ONCE + ", 'properties.transaction.timeout.ms' = '3600000'"
    cases = [
        ("a topic that is not there", (PRINT + IN % BOUNDED + read).replace("{topic:clicks}", "nowhere"), "STRAND-4013", "correct 'topic'"),
        ("records that retention has deleted", PRINT + IN % specific + read, "STRAND-4014", "properties.auto.offset.reset"),
        ("a group that has no offset", PRINT + IN % nobody + read, "STRAND-4014", "properties.auto.offset.reset"),
        ("a transaction longer than the broker allows", IN % BOUNDED + OUT % long + COPY, "STRAND-1001", "transaction.max.timeout.ms"),
        ("two tables that would share their markers", IN % BOUNDED + OUT % EXACTLY_ONCE + OUT.replace("copies (", "more (") % EXACTLY_ONCE + COPY
         + COPY.replace("INTO copies", "INTO more"), "STRAND-2008", "sink.transactional-id-prefix"),
        ("a broker that is not there", (PRINT + IN % BOUNDED + read).replace("{broker}", "127.0.0.1:9"), "STRAND-4001", "properties.bootstrap.servers"),
        ("a property that nobody knows", PRINT + IN % (BOUNDED + ", 'properties.fetch.min.byte' = '1'") + read, "STRAND-1002", "properties.fetch.min.bytes"),
        ("an upsert table without a key", "CREATE TABLE o (a INT) WITH ('connector' = 'upsert-kafka', 'topic' = 't', 'format' = 'json', "
         "'properties.bootstrap.servers' = '{broker}', 'key.format' = 'json'); INSERT INTO o VALUES (1);", "STRAND-1001", "PRIMARY KEY"),
    ]
    for number, (name, sql, code, hint) in enumerate(cases):
        ended, _, log = Job(binary, folder / str(number), broker, NO_RESTART + sql).run(seconds=120)
        checks.check(ended != DONE and code in log and hint in log, name, f"exit {ended}\n{log}")
    job = Job(binary, folder / "gap", broker, PRINT + IN % (specific + ", 'properties.auto.offset.reset' = 'earliest'") + read)
    code, out, log = job.run()
    checks.equal((code, ids(out)), (DONE, [5, 6, 7, 8, 9]), "a gap may be passed" + (log if code else ""))
    checks.check("STRAND-4014" in log and "records_gone" in log, "with a warning", log)


def test_one_owner(checks, binary, broker, folder):
    """A job that would write its rows twice, or under another's name, does not start."""
    broker.create("clicks", 1)
    broker.create("copies", 1)
    broker.produce("clicks", [(0, click(i)) for i in range(10)])
    sql = NO_RESTART + IN % BOUNDED + OUT % EXACTLY_ONCE + COPY
    job = Job(binary, folder / "first", broker, sql)
    code, _, log = job.run()
    checks.equal(code, DONE, "a job copies" + (log if code else ""))
    code, _, log = job.run("--from", "none")
    checks.check(code == REFUSED and "STRAND-4009" in log, "from the beginning it would write twice", f"{code}\n{log}")
    code, _, log = Job(binary, folder / "second", broker, sql, name="other").run()
    checks.check(code == REFUSED and "STRAND-4008" in log, "another job takes another prefix", f"{code}\n{log}")
    checks.equal(copied(broker), list(range(10)), "and nothing was written")


def test_lost_marker(checks, binary, broker, folder):
    """A marker that the broker has forgotten is a question, and each answer does what it says."""
    for answer, expected in (("written", list(range(10))), ("missing", sorted(list(range(10)) * 2))):
        broker.mark += "-" + answer
        broker.create("clicks", 1)
        broker.create("copies", 1)
        broker.produce("clicks", [(0, click(i)) for i in range(10)])
        job = Job(binary, folder / answer, broker, NO_RESTART + "SET 'parallelism.default' = '1';\n" + IN % BOUNDED + OUT % EXACTLY_ONCE + COPY)
        code, _, log = job.run()
        checks.equal((code, copied(broker)), (DONE, list(range(10))), "a job copies" + (log if code else ""))
        broker.ask("forget", f"kafka-test.{broker.name('copies')}.strand.0")
        code, _, log = job.run()
        checks.check(code != DONE and "STRAND-4015" in log and "strand.lost-marker" in log, "it asks", f"{code}\n{log}")
        code, _, log = job.run("--with", f"copies.strand.lost-marker={answer}")
        checks.equal((code, copied(broker)), (DONE, expected), f"the answer {answer}" + (log if code else ""))


def test_long_record(checks, binary, broker, folder):
    broker.create("clicks", 1)
    broker.create("copies", 1, "max.message.bytes=1000")
    broker.produce("clicks", [(0, click(1, "x" * 5_000))])
    for number, guarantee in enumerate((AT_LEAST_ONCE, EXACTLY_ONCE)):
        code, _, log = Job(binary, folder / str(number), broker, NO_RESTART + IN % BOUNDED + OUT % guarantee + COPY).run()
        checks.check(code != DONE and "STRAND-3004" in log, f"{guarantee}: a record that the broker does not take", f"{code}\n{log}")


def test_ad_clicks(checks, binary, broker, folder):
    """The example with its profile: minutes in SQLite, the duplicate in the topic of exceptions."""
    broker.create("clicks", 2)
    broker.create("exceptions", 1)
    lines = [click_line(f"c{i}", f"ad_{i % 3}", START_MS + i * 100).decode().strip() for i in range(900)]
    broker.produce("clicks", [(i % 2, line) for i, line in enumerate([*lines, lines[5]])])
    folder.mkdir()
    with_ = [word for option in (f"clicks.topic={broker.name('clicks')}", "clicks.scan.bounded.mode=latest-offset", f"exceptions.topic={broker.name('exceptions')}",
                                 f"exceptions.sink.transactional-id-prefix={broker.name('p')}") for word in ("--with", option)]
    done = subprocess.run([pathlib.Path(binary).resolve(), "--state", folder / "state", "run", ROOT / "examples/ad-clicks/job.sql", "--profile", ROOT / "examples/ad-clicks/kafka.yaml",
                           *with_], cwd=folder, env=dict(os.environ, KAFKA=broker.url), capture_output=True, text=True, timeout=60)
    checks.equal(done.returncode, DONE, "the job runs and ends" + (done.stderr if done.returncode else ""))
    counted = sqlite3.connect(folder / "ad_metrics.db").execute("SELECT SUM(fast_valid) FROM ad_metrics WHERE bucket LIKE 'M%'").fetchone()[0]
    checks.equal(counted, 900, "each click is counted in a minute")
    rows = [json.loads(value) for *_, value in broker.read("exceptions")]
    checks.equal([(row["verdict"], row["click_id"]) for row in rows], [("duplicate", "c5")], "the copy is in the topic of exceptions")


if __name__ == "__main__":
    run_tests(__doc__, [test_copy, test_start_and_stop, test_reports_commit_nothing, test_transactions_are_read_when_committed, test_resume, test_bounded_resume,
                        test_new_partitions, test_keys_and_metadata, test_written_metadata, test_upsert, test_read_upsert, test_refusals, test_one_owner, test_lost_marker, test_long_record, test_ad_clicks])
