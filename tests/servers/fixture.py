#!/usr/bin/env python3
"""Starts or stops the server that a test run shares: fixture.py start|stop NAME DIR.

Whoever sets STRAND_SKIP_SERVERS="NAME ..." goes without it: nothing is started, and the tests that need it skip themselves.
"""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def skipped(name):
    return name in os.environ.get("STRAND_SKIP_SERVERS", "").replace(",", " ").split()


def script(name, *words):
    return subprocess.run([sys.executable, HERE / name, *words]).returncode


def main():
    verb, name, directory = sys.argv[1:]
    folder = pathlib.Path(directory)
    if (folder / "server.json").exists():
        script(name, "stop", directory)  # also what a run that was interrupted has left
    if verb == "stop":
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    if skipped(name):
        print(f"not started: STRAND_SKIP_SERVERS names {name}")
        return 0
    code = script(name, "install") or script(name, "start", "--dir", directory)
    if code != 0:
        print(f"{name} cannot be had. To test without it: STRAND_SKIP_SERVERS={name}")
    return code


if __name__ == "__main__":
    sys.exit(main())
