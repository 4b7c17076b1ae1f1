"""Counts checks and prints a line for each."""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile


class Checks:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, ok, what, found=""):
        """One check; `found` explains a failure."""
        if ok:
            self.passed += 1
            print(f"ok      {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {what}", flush=True)
            for line in str(found).splitlines()[:12]:
                print(f"        {line[:400]}", flush=True)
        return bool(ok)

    def equal(self, found, expected, what):
        return self.check(found == expected, what, f"expected {expected!r}\nfound    {found!r}")

    def finish(self):
        """Prints the summary and ends the process."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.exit(1 if self.failed or not self.passed else 0)


def run_tests(description, tests):
    """The main program of tests that are functions (checks, binary, folder): --binary, and --only one of them."""
    tests = {test.__name__.removeprefix("test_"): test for test in tests}
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--only", choices=tests)
    arguments = parser.parse_args()
    binary = pathlib.Path(arguments.binary).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-test-")).resolve()
    for variable in [name for name in os.environ if name.startswith("STRANDLINE")]:
        del os.environ[variable]
    checks = Checks()
    for name, test in tests.items():
        if arguments.only in (None, name):
            test(checks, binary, folder / name)
    if not checks.failed:
        shutil.rmtree(folder)
    checks.finish()
