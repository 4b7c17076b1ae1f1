#!/usr/bin/env python3
"""The whole matrix, in parts that can be run alone. `make test` takes every case once and a sample of the rest.

  test_all.py [PART ...] [--jobs 2] [--list]

Prints the minutes of each part; the exit code is 0 only if all of them passed. What a part has printed is in build/test-all/PART.log.
"""
import argparse
import itertools
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = "build/release/bin"
# What the engine answers otherwise than the record, and why: docs/sql/differences.md.
DECIDED = ["connectors/begin_statement_set", "expr_string/string_basic UPPER('abcÄß')", "window_tvf/hop_ltz_zone",
           "window_tvf/tumble_ltz_shanghai"]


def operators():
    play = [f"{BIN}/conformance", "operators", "tests/conformance/operators"]
    for backend in ("hashmap", "spill", "rocksdb"):
        for batch in (1, 7, 1024):
            yield [*play, "--batch", str(batch), "--strict", "--backend", backend]
    for backend in ("hashmap", "spill"):
        yield [*play, "--restore-each-step", "--backend", backend]


def sql():
    for backend in ("hashmap", "spill", "rocksdb"):
        for parallelism in (1, 3):
            yield [f"{BIN}/conformance", "sql", "tests/conformance/sql", "-v", "--backend", backend, "--parallelism", str(parallelism)]


def batches():
    """So many rows at once leave the tables that they leave one by one."""
    for folder in ("tests/conformance/sql", "tests/sql"):
        for batch in (7, 1024):
            for parallelism in (1, 3):
                yield [f"{BIN}/conformance", "sql", folder, "-v", "--batch", str(batch), "--parallelism", str(parallelism)]


def restored():
    """All topics but Nexmark, whose thousands of rows would be restored before each."""
    topics = sorted(path.name for path in (ROOT / "tests/conformance/sql").iterdir() if path.is_dir() and path.name != "nexmark")
    for backend in ("hashmap", "spill"):
        for topic in topics:
            yield [f"{BIN}/conformance", "sql", "tests/conformance/sql", "-v", "--backend", backend, "--where", f"topic={topic}",
                   "--restore-each-step"]


def commands(part, jobs):
    simulate = [f"{BIN}/strandline", "sim", "examples/ad-clicks/job.sql", "--random-jobs"]
    return {
        "tests": [["ctest", "--preset", "release", "-j", jobs]],
        "operators": operators(),
        "sql": itertools.chain(sql(), batches()),
        "restored": restored(),
        "facts": [[f"{BIN}/story_test", "--facts"]],
        "sim": [[*simulate, "--runs", "200000", "--seed", "20001"]],
        "crash": [["python3", "tests/integration/kill_test.py", "--binary", f"{BIN}/strandline", "--kills", "200"],
                  ["python3", "tests/servers/kafka_kill_test.py", "--kills", "1000"]],
        "mutations": [["python3", "tests/mutations/run.py", "-j", jobs]],
        "sanitize": [["make", "sanitize", f"JOBS={jobs}"]],
    }[part]


def passed(command, log):
    """Whether the command is content, or found nothing but what was decided."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log.write("$ " + " ".join(command) + "\n" + done.stdout)
    log.flush()
    if done.returncode == 0:
        return True
    failed = [line.removeprefix("failed ") for line in done.stdout.splitlines() if line.startswith("failed ")]
    return "conformance" in command[0] and failed and all(line.startswith(tuple(f"{name}:" for name in DECIDED)) for line in failed)


def run(part, jobs):
    logs = ROOT / "build/test-all"
    logs.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    bad = []
    with open(logs / f"{part}.log", "w") as log:
        for command in commands(part, jobs):
            if not passed(command, log):
                bad.append(" ".join(command))
    print(f"{part:10} {'FAILED' if bad else 'passed'} {(time.monotonic() - began) / 60:6.1f} min", flush=True)
    for command in bad:
        print(f"    {command}", flush=True)
    return not bad


def main():
    parts = ["tests", "operators", "sql", "restored", "facts", "sim", "crash", "mutations", "sanitize"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help=", ".join(parts))
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--list", action="store_true", help="print the parts")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.part if part not in parts]
    if unknown:
        parser.error(f"no such part: {unknown[0]}; there are {', '.join(parts)}")
    if arguments.list:
        print("\n".join(parts))
        return 0
    results = [run(part, arguments.jobs) for part in arguments.part or parts]
    print(f"{sum(results)} parts passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
