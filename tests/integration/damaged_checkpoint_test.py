#!/usr/bin/env python3
"""Damages checkpoints on purpose: each is refused with a number, the file and a way out, and the older one works.

    damaged_checkpoint_test.py --binary build/release/bin/strandline
"""

import argparse
import ctypes
import pathlib
import re
import shutil
import tempfile
import time

from ad_clicks import AdClicks, Recount, click_line, close_windows, find_differences
from checks import Checks

SHARDS = 2
START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC
SETTINGS = ["execution.checkpointing.interval=200ms", "execution.checkpointing.num-retained=6", "parallelism.default=1"]


def append_clicks(job, first, count, duplicates=0):
    for shard in range(SHARDS):
        with open(job.clicks / f"shard-{shard}.json", "ab") as file:
            for n in range(first, first + count):
                line = click_line(f"{shard}-{n}", f"ad-{n % 5}", START_MS + n * 500)
                file.write(line * (2 if n < first + duplicates else 1))


def make_killed_job(binary, folder, checks):
    """A job that was killed with some checkpoints, the newest two without exceptions between them."""
    job = AdClicks(binary, folder, settings=SETTINGS)
    append_clicks(job, 0, 300, duplicates=20)
    life = job.start()
    for round_ in range(1, 7):
        known = job.epoch_used()
        job.wait_for(lambda: any(epoch > known + 1 for epoch in job.manifests()), life)
        append_clicks(job, round_ * 300, 300)
    known = job.epoch_used()
    job.wait_for(lambda: any(epoch > known + 1 for epoch in job.manifests()), life)
    life.kill()
    checks.check(len(job.manifests()) >= 3, "a killed job with three checkpoints at least", job.manifests())
    return job


def newest(job):
    return list(job.manifests().values())[-1]


def state_file(job):
    """The largest state file that only the newest checkpoint needs."""
    epoch = list(job.manifests())[-1]
    names = set(re.findall(rf'"(e{epoch}-[0-9a-f]+)"', newest(job).read_text()))
    return max((job.checkpoints / "files" / name for name in names), key=lambda path: path.stat().st_size)


def truncate(path):
    data = path.read_bytes()
    path.write_bytes(data[:len(data) // 2])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def newer_manifest(path):
    """Format 2, sealed with the checksum that it must have: XXH3 of everything before it."""
    body = path.read_bytes().rpartition(b',"checksum":"')[0]
    assert body.startswith(b'{"format":1,')
    body = body.replace(b'{"format":1,', b'{"format":2,', 1)
    xxhash = ctypes.CDLL("libxxhash.so.0")
    xxhash.XXH3_64bits.restype = ctypes.c_uint64
    checksum = xxhash.XXH3_64bits(body, ctypes.c_size_t(len(body)))
    path.write_bytes(body + b',"checksum":"%016x"}\n' % checksum)


def newer_state_file(path):
    data = bytearray(path.read_bytes())
    assert data.startswith(b"STRNDST\n\1")
    data[8] = 2
    path.write_bytes(data)


def snapshot_of_outputs(job):
    return job.query("SELECT * FROM ad_metrics"), job.query("SELECT * FROM ad_running"), job.read_exceptions()


def finish_and_compare(checks, job, life, what):
    """Lets the job read everything, stops it and recounts."""
    close_windows(job, SHARDS, START_MS + 3_000_000)
    read = job.wait_for(lambda: job.sentinels_counted() == SHARDS, life)
    time.sleep(1.5)  # a tick for the watermark, a second for the last early firing
    code = life.stop()
    checks.check(read and code == 0, what + ": the job goes on to the end", life.log()[-2_000:])
    differences, _ = find_differences(job, Recount(job.clicks))
    checks.check(not differences, what + ": the tables equal the recount", "\n".join(differences))


def check_refused(checks, job, what, number, named, *more):
    """A start that must be refused without touching anything. Gives its message."""
    before = snapshot_of_outputs(job)
    life = job.start(*more)
    checks.equal(life.end(), 4, what + ": refused with exit code 4")
    log = life.log()
    checks.check(f"STRAND-{number}" in log, what + f": says STRAND-{number}", log)
    checks.check(str(named) in log, what + f": names {pathlib.Path(named).name}", log)
    checks.check(snapshot_of_outputs(job) == before, what + ": no table was touched")
    return log


def copy_of(job, folder):
    shutil.copytree(job.folder, folder)
    return AdClicks(job.binary, folder, settings=SETTINGS)


DAMAGES = [  # (what, number, which file, how)
    ("a truncated state file", 5002, state_file, truncate),
    ("a state file with a flipped bit", 5002, state_file, flip),
    ("a missing state file", 5002, state_file, pathlib.Path.unlink),
    ("an empty state file", 5002, state_file, lambda path: path.write_bytes(b"")),
    ("a truncated manifest", 5002, newest, truncate),
    ("a manifest with a flipped bit", 5002, newest, flip),
    ("an empty manifest", 5002, newest, lambda path: path.write_bytes(b"")),
    ("a manifest of a newer format", 5005, newest, newer_manifest),
    ("a state file of a newer format", 5005, state_file, newer_state_file),
]


def check_damage(checks, origin, folder, what, number, which, how):
    job = copy_of(origin, folder)
    path = which(job)
    how(path)
    log = check_refused(checks, job, what, number, path.name)
    offered = re.search(r"--from (\S*manifests/m\d+\S*)", log)
    if not checks.check(offered, what + ": offers the older checkpoint", log):
        return
    older = pathlib.Path(offered.group(1))
    checks.check(older.resolve() == list(job.manifests().values())[-2].resolve(), what + ": it is the newest of the older ones", log)
    finish_and_compare(checks, job, job.start("--from", older), what + ", --from the older one")


def check_irreplaceable(checks, origin, folder):
    """Without the highest number used or the record of an attempt no restore is known to be right."""
    for name, path_of in (("epoch", lambda job: job.checkpoints / "epoch"),
                          ("attempt", lambda job: job.checkpoints / "attempts/g1-a1")):
        job = copy_of(origin, folder / name)
        path = path_of(job)
        content = path.read_bytes()
        flip(path)
        what = f"a damaged record ({name})"
        log = check_refused(checks, job, what, 5002, path)
        checks.check("backup" in log, what + ": says what helps", log)
        path.write_bytes(content)
        finish_and_compare(checks, job, job.start(), what + ", put back")


def check_sink_ahead(checks, origin, folder):
    """An older checkpoint than what a transaction sink has shown is refused, and the latest still works."""
    job = copy_of(origin, folder)
    life = job.start()
    known = job.epoch_used()
    older = newest(job)
    job.wait_for(lambda: any(epoch > known for epoch in job.manifests()), life)
    append_clicks(job, 5_000, 20, duplicates=5)
    expected = len(job.read_exceptions()) + 5 * SHARDS
    checks.check(job.wait_for(lambda: len(job.read_exceptions()) == expected, life), "sink ahead: new exceptions are shown")
    life.kill()
    what = "an older checkpoint than the sink"
    log = check_refused(checks, job, what, 4009, job.exceptions, "--from", older)
    checks.check("--from latest" in log, what + ": says the way out", log)
    finish_and_compare(checks, job, job.start("--from", "latest"), what + ", --from latest instead")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--keep", help="work in this folder and leave it there")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="strandline-damage-")).resolve()
    checks = Checks()
    origin = make_killed_job(arguments.binary, folder / "origin", checks)
    for number, damage in enumerate(DAMAGES):
        check_damage(checks, origin, folder / f"damage-{number}", *damage)
    check_irreplaceable(checks, origin, folder / "irreplaceable")
    check_sink_ahead(checks, origin, folder / "ahead")
    if not arguments.keep and not checks.failed:
        shutil.rmtree(folder)
    checks.finish()


if __name__ == "__main__":
    main()
