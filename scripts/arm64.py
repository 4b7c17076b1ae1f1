#!/usr/bin/env python3
"""Compiles the product's sources for arm64, to objects that are thrown away: nothing is linked, so no libraries for arm64
are needed, only the cross compiler (Debian: g++-aarch64-linux-gnu) and the headers of this machine.

  arm64.py [--build build/release] [--folder src/codec]... [-j N]
"""
import argparse, concurrent.futures, json, os, shlex, subprocess, sys

COMPILER = "aarch64-linux-gnu-g++"
# Headers of libraries are the same for every machine; those of C and C++ are the cross compiler's own and come first.
HEADERS = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]


def command_of(entry):
    words = shlex.split(entry["command"])
    words = words[next(i for i, w in enumerate(words) if os.path.basename(w) in ("c++", "g++")) + 1:]
    words[words.index("-o") + 1] = os.devnull
    return [COMPILER, *words, *HEADERS]


def compiles(entry):
    done = subprocess.run(command_of(entry), cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return entry, done.returncode == 0, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--folder", action="append", default=[], help="only these folders of src")
    parser.add_argument("-j", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    with open(os.path.join(arguments.build, "compile_commands.json")) as f:
        entries = [e for e in json.load(f) if not e["file"].endswith("_test.cc") and "/tests/" not in e["file"]]
    if arguments.folder:
        wanted = [os.path.normpath(folder) + "/" for folder in arguments.folder]
        entries = [e for e in entries if any(folder in e["file"] for folder in wanted)]
    if not entries:
        sys.exit("no source matches")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
        for entry, fine, text in pool.map(compiles, entries):
            print(("ok      " if fine else "FAILED  ") + os.path.relpath(entry["file"]), flush=True)
            if not fine:
                failed += 1
                print(text)
    print(f"arm64: {len(entries) - failed} compiled, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
