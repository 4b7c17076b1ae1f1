#!/usr/bin/env python3
"""Runs a program with the URL of a test server in its environment: with_server.py DIR VARIABLE PROGRAM [ARGUMENT ...]."""
import json
import os
import pathlib
import sys

from fixture import skipped

SKIPPED = 77  # what ctest takes for "not run"


def main():
    directory, variable, *command = sys.argv[1:]
    name = pathlib.Path(directory).name
    if skipped(name):
        print(f"skipped: STRAND_SKIP_SERVERS names {name}")
        return SKIPPED
    url = json.loads((pathlib.Path(directory) / "server.json").read_text())["url"]
    os.execve(command[0], command, dict(os.environ, **{variable: url}))


if __name__ == "__main__":
    sys.exit(main())
