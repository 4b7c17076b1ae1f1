#!/usr/bin/env python3
"""Two versions of a job side by side on one SQLite table (replay.md B1): the newer one leaves the ad `bot` out.

    beside_test.py --binary build/release/bin/strandline
"""

import argparse
import os
import pathlib
import shutil
import signal
import sqlite3
import tempfile

from ad_clicks import Life, click_line
from checks import Checks
from command_line_test import FAILED, JOB, NO_JOB, START_MS, USAGE, WINDOWS, Shell, check_refusal, wait_for

WATCHED = ", 'source.monitor-interval' = '50 ms'"


class Jobs:
    """Both versions, and the table that they share."""

    def __init__(self, binary, folder):
        self.shell = Shell(binary, folder)
        self.shell.put("v1.sql", self.sql(""))
        self.shell.put("v2.sql", self.sql("WHERE ad_id <> 'bot' "))
        (self.shell.folder / "clicks").mkdir()
        self.lines = 0

    def sql(self, where):
        counted = WINDOWS.replace("GROUP BY", where + "GROUP BY")
        return "SET 'pipeline.name' = 'counts';\n" + JOB % WATCHED + counted

    def run(self, version, *words):
        settings = ("--set", "parallelism.default=1", "--set", "execution.checkpointing.interval=100ms")
        return Life(self.shell.command("run", version + ".sql", *settings, *words), self.shell.folder / f"{version}.log", self.shell.folder)

    def click(self, minute, **ads):
        """So many clicks of each ad in the minute."""
        with open(self.shell.folder / "clicks" / "a.json", "ab") as file:
            for ad, count in ads.items():
                for _ in range(count):
                    self.lines += 1
                    file.write(click_line(f"c{self.lines}", ad, START_MS + minute * 60_000 + 10_000))

    def rows(self):
        """(ad, bucket) -> (count, generation of the writer)."""
        try:
            database = sqlite3.connect(self.shell.folder / "minutes.db", timeout=10)
            return {(ad, bucket): (n, gen) for ad, bucket, n, gen in database.execute("SELECT ad_id, bucket, n, n_gen FROM minutes")}
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            return {}

    def wait_row(self, ad, minute, found):
        return wait_for(lambda: self.rows().get((ad, f"10:{minute:02}")) == found)


def test(checks, jobs):
    shell = jobs.shell
    check_refusal(checks, "beside nothing", shell.run("run", "v2.sql", "--beside", "counts"), NO_JOB, 1005, "'counts'", "without --beside")
    v1 = jobs.run("v1")
    jobs.click(0, a=3, bot=2)
    jobs.click(1, a=4)
    checks.check(jobs.wait_row("a", 0, (3, 1)), "the older version counts", jobs.rows())
    check_refusal(checks, "without a savepoint", shell.run("run", "v2.sql", "--beside", "counts"), USAGE, 1003, "--from", "strandline savepoint counts")
    code, savepoint, err = shell.run("savepoint", "counts")
    checks.equal(code, 0, "a savepoint of it")
    jobs.click(2, a=5, bot=1)
    jobs.click(3, a=1, bot=7)
    checks.check(jobs.wait_row("bot", 2, (1, 1)), "it counts on behind the savepoint", jobs.rows())

    begin = ("--beside", "counts", "--from", savepoint.strip())
    v2 = jobs.run("v2", *begin)
    checks.check(jobs.wait_row("a", 2, (5, 2)), "the newer version counts again what is behind the savepoint", (jobs.rows(), v2.log()))
    checks.check(("bot", "10:02") not in jobs.rows(), "and has taken away what the older one wrote since", jobs.rows())
    checks.equal(jobs.rows().get(("bot", "10:00")), (2, 1), "what was written before the savepoint stays")
    jobs.click(4, a=2)
    checks.check(jobs.wait_row("bot", 3, (7, 1)), "the older one goes on", jobs.rows())
    checks.check(jobs.wait_row("a", 3, (1, 2)), "and does not write what the newer one has written", jobs.rows())
    listed = shell.run("status")[1]
    checks.check("counts.g2" in listed, "both are known by names of their own", listed)

    v2.kill()
    v2.end()
    jobs.click(5, a=6, bot=3)
    jobs.click(6, a=1)
    checks.check(jobs.wait_row("bot", 5, (3, 1)), "the older one writes while the newer one is dead", jobs.rows())
    v2 = jobs.run("v2", "--beside", "counts")
    checks.check(jobs.wait_row("a", 5, (6, 2)), "started again it goes on as it was", (jobs.rows(), v2.log()))
    checks.check(wait_for(lambda: ("bot", "10:05") not in jobs.rows()), "and takes away what was written meanwhile", jobs.rows())
    jobs.click(7, a=1, bot=4)
    jobs.click(8, a=1)
    checks.check(jobs.wait_row("bot", 7, (4, 1)), "until it is stopped the older one writes", jobs.rows())

    stray = shell.put("state/counts/checkpoints/attempts/g1-a9", "no record")
    checks.check(wait_for(lambda: "older_version_hidden" in v2.log()), "a folder of the older version that cannot be read is told of", v2.log()[-800:])
    checks.check("STRAND-5002" in v2.log() and "g1-a9" in v2.log(), "with its number and the file", v2.log()[-800:])
    (shell.folder / stray).unlink()
    shell.run("stop", "counts")
    checks.equal(v1.end(), 0, "the older version is stopped")
    checks.check(wait_for(lambda: ("bot", "10:07") not in jobs.rows()), "then what only that has written goes", (jobs.rows(), v2.log()))
    v1 = jobs.run("v1")
    checks.equal(v1.end(), FAILED, "it cannot be started again")
    checks.check("STRAND-4007" in v1.log(), "because a newer version has taken over", v1.log()[-800:])
    code, _, err = shell.run("stop", "counts.g2", "--drain")
    checks.equal((code, v2.end()), (0, 0), "the newer one is stopped by its name")
    expected = {("bot", "10:00"): 2, ("a", "10:00"): 3, ("a", "10:01"): 4, ("a", "10:02"): 5, ("a", "10:03"): 1, ("a", "10:04"): 2,
                ("a", "10:05"): 6, ("a", "10:06"): 1, ("a", "10:07"): 1, ("a", "10:08"): 1}
    checks.equal({key: n for key, (n, _) in jobs.rows().items()}, expected, "the table is what the newer version says")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    binary = pathlib.Path(parser.parse_args().binary).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-beside-")).resolve()
    for variable in [name for name in os.environ if name.startswith("STRANDLINE")]:
        del os.environ[variable]
    checks = Checks()
    test(checks, Jobs(binary, folder))
    if not checks.failed:
        shutil.rmtree(folder)
    checks.finish()


if __name__ == "__main__":
    main()
