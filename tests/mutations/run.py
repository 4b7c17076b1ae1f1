#!/usr/bin/env python3
"""Breaks rules of the engine, one at a time, in a copy of the source, and expects that the simulator or a test notices.

    tests/mutations/run.py                    # all; some minutes each
    tests/mutations/run.py --only "late test" # those whose name contains this
    tests/mutations/run.py --list
    tests/mutations/run.py --there             # builds nothing: is what the mutants change still in the source?

The copy is in build/mutations; the first build there takes as long as one from nothing. A mutant that nobody notices, or
whose text is not in the source any more, makes the exit code 1.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import time

from mutants import MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMULATE = ["bin/strandline", "sim", "examples/ad-clicks/job.sql", "--random-jobs", "--runs", "1500", "--stop"]
KEPT = ["CMakeLists.txt", "CMakePresets.json", "apps", "bench", "cmake", "examples", "include", "src", "tests"]


def copy_source(into):
    """Files keep their times, so that only what a mutant has touched is compiled again."""
    into.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        source = ROOT / name
        if source.is_dir():
            subprocess.run(["rsync", "-a", "--delete", "--exclude", "conformance/operators", f"{source}/", str(into / name)],
                           check=True)
        elif source.exists():
            shutil.copy2(source, into / name)


def edits_of(mutant):
    return [(mutant.file, mutant.old, mutant.new), *([mutant.more] if mutant.more else [])]


def there(source, mutant):
    return all((source / file).exists() and (source / file).read_text().count(old) == 1 for file, old, _ in edits_of(mutant))


def build(source, targets, jobs):
    folder = source / "build/release"
    if not (folder / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=source, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["ninja", "-C", str(folder), f"-j{jobs}", *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != 0:
        print(done.stdout[-3_000:])
    return done.returncode == 0


def noticed(source, command, seconds):
    """What the command has to say, if it fails; nothing if it is content."""
    words = SIMULATE if command is None else command
    try:
        done = subprocess.run([str(source / "build/release" / words[0]), *words[1:]], cwd=ROOT, timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stdout.splitlines() if "seed" in line or "FAILED" in line or "Failure" in line]
    return lines[0][:160] if lines else f"exit code {done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--there", action="store_true", help="only look whether the source has the texts")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    arguments = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if arguments.only in mutant.name]
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.name:60} {mutant.file}")
        return 0
    if arguments.there:
        gone = [mutant for mutant in chosen if not there(ROOT, mutant)]
        for mutant in gone:
            print(f"{mutant.name:60} NOT THERE: the source has other text")
        print(f"{len(chosen) - len(gone)} there, {len(gone)} not")
        return 1 if gone or not chosen else 0
    source = ROOT / "build/mutations"
    copy_source(source)
    targets = sorted({(mutant.command or SIMULATE)[0].removeprefix("bin/") for mutant in chosen})
    if not build(source, targets, arguments.jobs):
        return 1
    for command in {tuple(mutant.command or SIMULATE) for mutant in chosen}:
        found = noticed(source, list(command), 1_200)
        if found:
            print(f"without a mutation: {found}")
            return 1
    missed = 0
    for mutant in chosen:
        began = time.monotonic()
        edits = edits_of(mutant)
        texts = {file: (source / file).read_text() for file, _, _ in edits}
        if not there(source, mutant):
            print(f"{mutant.name:60} NOT THERE: the source has other text", flush=True)
            missed += 1
            continue
        for file, old, new in edits:
            (source / file).write_text(texts[file].replace(old, new))
        target = (mutant.command or SIMULATE)[0].removeprefix("bin/")
        built = build(source, [target], arguments.jobs)
        found = noticed(source, mutant.command, 1_200) if built else None
        for file, text in texts.items():
            (source / file).write_text(text)
        if found is None:
            missed += 1
        verdict = "NOT BUILT" if not built else f"caught: {found}" if found else "NOT CAUGHT"
        print(f"{mutant.name:60} {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{len(chosen) - missed} caught, {missed} not")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
