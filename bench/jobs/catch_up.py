#!/usr/bin/env python3
"""From SIGKILL to caught up: the ad-click job reads clicks while they are written at a pace, is killed and started again.

  catch_up.py --binary build/release/bin/strandline [--rate 1000000] [--kills 3] [--input /dev/shm/strandline-clicks] [--work build/bench]

Prints one JSON line. Caught up means that the job has read all but the clicks of the last half second: files are looked at anew
every 200 ms, and status is asked every 100 ms. Clicks are written to memory where there is a file system for it, so that the
generator's writes do not hold up the job's syncs; state and tables are on disk.
"""
import argparse, json, os, shutil, signal, subprocess, sys, tempfile, time

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "ad-clicks", "job.sql")


class Job:
    def __init__(self, binary, work, clicks):
        self.binary, self.work = binary, work
        self.state = os.path.join(work, "state")
        self.file = os.path.join(work, "job.sql")
        with open(JOB) as f, open(self.file, "w") as out:
            out.write(f.read().replace("'path' = 'clicks'", f"'path' = '{clicks}'"))

    def start(self):
        with open(os.path.join(self.work, "run.log"), "w") as log:
            self.process = subprocess.Popen([self.binary, "--state", self.state, "run", self.file, "--set",
                                             "execution.checkpointing.interval=1s"], cwd=self.work, stdout=log, stderr=log)

    def read(self):
        """Clicks read so far; 0 while the job does not answer."""
        if self.process.poll() is not None:
            sys.exit("the job has ended:\n" + open(os.path.join(self.work, "run.log")).read()[-3000:])
        done = subprocess.run([self.binary, "--state", self.state, "status", "ad-clicks", "--json"], capture_output=True, text=True)
        status = json.loads(done.stdout) if done.returncode == 0 else {}
        return status["read"] if status.get("running") else 0

    def wait_until_read(self, clicks, limit_s):
        deadline = time.monotonic() + limit_s
        while (read := self.read()) < clicks():
            if time.monotonic() > deadline:
                sys.exit(f"not caught up after {limit_s} s: {read:,} clicks read of {clicks():,.0f}")
            time.sleep(0.1)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--rate", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--input", default="/dev/shm/strandline-clicks" if os.path.isdir("/dev/shm") else None)
    parser.add_argument("--work", default="build/bench")
    a = parser.parse_args()
    work = tempfile.mkdtemp(prefix="catch-up-", dir=os.makedirs(a.work, exist_ok=True) or a.work)
    clicks = os.path.abspath(a.input or os.path.join(work, "clicks"))
    shutil.rmtree(clicks, ignore_errors=True)
    os.makedirs(clicks)
    seconds = 6 * (a.kills + 1)
    binary = os.path.abspath(a.binary)
    generator = subprocess.Popen([binary, "gen", "clicks", "--out", clicks, "--shards", "64", "--seconds", str(seconds), "--rate",
                                  str(a.rate), "--pace", str(a.rate)], stdout=subprocess.DEVNULL)
    began = time.monotonic()
    offered = lambda: a.rate * min(time.monotonic() - began - 0.5, seconds)
    job = Job(binary, os.path.abspath(work), clicks)
    took = []
    try:
        job.start()
        for number in range(a.kills):
            time.sleep(max(0, began + 6 * (number + 1) - time.monotonic()))
            job.wait_until_read(offered, 30)
            job.kill()
            killed = time.monotonic()
            job.start()
            job.wait_until_read(offered, 60)
            took.append(round(time.monotonic() - killed, 2))
        print(json.dumps({"figure": "SIGKILL to caught up", "offered_per_s": a.rate, "seconds": took, "worst_s": max(took)}))
    finally:
        generator.kill()
        job.kill()
        shutil.rmtree(clicks, ignore_errors=True)
        shutil.rmtree(work, ignore_errors=True)


main()
