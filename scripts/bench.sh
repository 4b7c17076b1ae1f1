#!/bin/sh
# Prints one JSON line per figure: the kernels, then whole jobs.
set -eu
cd "$(dirname "$0")/.."
for program in build/release/bin/bench_codec build/release/bin/bench_state build/release/bin/bench_sqlite build/release/bin/bench_source; do
  [ -x "$program" ] && "$program"
done
build/release/bin/bench_state spilled
python3 bench/jobs/catch_up.py
exec python3 bench/jobs/run.py "$@"
