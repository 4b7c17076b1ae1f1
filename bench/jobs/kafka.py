#!/usr/bin/env python3
"""Kafka JSON -> tumbling count -> Kafka exactly once, beside a bare consume-produce loop over the same topic. Prints one JSON line per figure.

  kafka.py [--binary build/release/bin/strandline] [--probe build/release/bin/kafka_probe] [--rows 5000000] [--runs 3]

The broker is a real one of its own (tests/servers/kafka). Seconds are those of the whole process, CPU seconds those of all of its threads; the best of
the runs counts. A count that differs from the number of rows makes the figure invalid (exit code 1).
"""
import argparse, json, os, pathlib, resource, shutil, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = ROOT / "tests/servers/kafka"
PARTITIONS = 4
SQL = """
SET 'pipeline.name' = 'counts';
SET 'parallelism.default' = '1';
SET 'execution.checkpointing.interval' = '1 s';
CREATE TABLE clicks (ad_id STRING, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = '{url}', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'latest-offset');
CREATE TABLE counts (ad_id STRING, s TIMESTAMP(3), n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{url}', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{topic}');
INSERT INTO counts SELECT ad_id, window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY ad_id, window_start, window_end;
"""


def run_once(arguments, url, work, number):
    """(seconds, CPU seconds, rows counted)"""
    topic = f"counts-{number}"
    probe(arguments, url, "create", topic, 2)
    job = work / f"{topic}.sql"
    job.write_text(SQL.replace("{url}", url).replace("{topic}", topic))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run([arguments.binary, "--state", work / topic, "run", job], check=True, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counted = sum(json.loads(line.split("\t")[3])["n"] for line in probe(arguments, url, "read", topic).splitlines())
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, counted


def probe(arguments, url, *words):
    return subprocess.run([arguments.probe, url, *map(str, words)], check=True, capture_output=True, text=True).stdout


def figure(job, rows, seconds, cpu):
    return print(json.dumps({"job": job, "rows": rows, "records_per_second": round(rows / seconds), "records_per_cpu_second": round(rows / cpu)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / "build/release/bin/strandline")
    parser.add_argument("--probe", default=ROOT / "build/release/bin/kafka_probe")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="strandline-bench-kafka-"))
    subprocess.run([sys.executable, SERVER, "install"], check=True)
    started = subprocess.run([sys.executable, SERVER, "start", "--dir", work / "broker", "--heap", "1g"], check=True, capture_output=True, text=True)
    url = json.loads(started.stdout)["url"]
    ok = True
    try:
        probe(arguments, url, "create", "clicks", PARTITIONS)
        probe(arguments, url, "fill", "clicks", arguments.rows)
        runs = [run_once(arguments, url, work, number) for number in range(arguments.runs)]
        ok = all(counted == arguments.rows for *_, counted in runs)
        figure("kafka_json_tumble_kafka", arguments.rows, min(run[0] for run in runs), min(run[1] for run in runs))
        loops = []
        for number in range(arguments.runs):
            probe(arguments, url, "create", f"copy-{number}", PARTITIONS)
            loops.append(json.loads(probe(arguments, url, "copy", "clicks", f"copy-{number}")))
        figure("kafka_bare_loop", arguments.rows, min(loop["seconds"] for loop in loops), min(loop["cpu_seconds"] for loop in loops))
    finally:
        subprocess.run([sys.executable, SERVER, "kill9", work / "broker"], check=True)
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
