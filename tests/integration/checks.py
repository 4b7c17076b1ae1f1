"""Counts checks and prints a line for each."""

import sys


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
