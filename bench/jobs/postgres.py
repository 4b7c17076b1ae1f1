#!/usr/bin/env python3
"""Rows a second into PostgreSQL: the tumbling counts of the generator's clicks and a row for each click, upserted, in a server of its own.

  postgres.py [--binary build/release/bin/strandline] [--generate build/release/bin/bench_generate] [--rows 2000000]
"""
import argparse, json, os, pathlib, shutil, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = """
SET 'execution.checkpointing.interval' = '1 s';
SET 'parallelism.default' = '1';
CREATE TABLE clicks (click_id STRING, ad_id STRING, ts BIGINT, price_micros BIGINT)
  WITH ('connector' = 'filesystem', 'path' = '{input}', 'format' = 'json');
CREATE TABLE seen (click_id STRING, ad_id STRING, ts BIGINT, price_micros BIGINT, PRIMARY KEY (click_id) NOT ENFORCED)
  WITH ('connector' = 'jdbc', 'url' = 'jdbc:{url}', 'sink.mode' = '{mode}');
INSERT INTO seen SELECT click_id, ad_id, ts, price_micros FROM clicks ON CONFLICT DO DEDUPLICATE;
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--generate", default="build/release/bin/bench_generate")
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-bench-"))
    script = ROOT / "tests/servers/postgres"
    subprocess.run([script, "install"], check=True)
    started = subprocess.run([script, "start", "--dir", folder / "server"], check=True, capture_output=True, text=True).stdout
    url = json.loads(started)["url"]
    try:
        subprocess.run([arguments.generate, "clicks", "--rows", str(arguments.rows), "--dup-permille", "0", "--out", folder / "clicks"],
                       check=True, stdout=subprocess.DEVNULL)
        for mode in ("flush", "transaction"):
            subprocess.run(["psql", "-qX", url, "-c", "DROP TABLE IF EXISTS seen; DROP TABLE IF EXISTS strandline_writers"], check=True,
                           stderr=subprocess.DEVNULL)
            for again in (False, True):  # a row that is there already is updated
                (folder / "job.sql").write_text(JOB.format(input=folder / "clicks.jsonl", url=url, mode=mode))
                shutil.rmtree(folder / "state", ignore_errors=True)
                # A new job without the state of the first: it must not be taken for one that has lost it.
                subprocess.run(["psql", "-qX", url, "-c", "DROP TABLE IF EXISTS strandline_markers"], check=True, stderr=subprocess.DEVNULL)
                began = time.monotonic()
                subprocess.run([os.path.abspath(arguments.binary), "--state", folder / "state", "run", folder / "job.sql", "--from", "none",
                                "--set", f"pipeline.name={mode}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                seconds = time.monotonic() - began
                count = subprocess.run(["psql", "-qAtX", url, "-c", "SELECT count(*) FROM seen"], check=True, capture_output=True, text=True)
                print(json.dumps({"figure": f"PostgreSQL, mode {mode}, rows {'updated' if again else 'inserted'}",
                                  "rows_per_second": round(arguments.rows / seconds), "rows": int(count.stdout)}), flush=True)
    finally:
        subprocess.run([script, "stop", folder / "server"], check=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
