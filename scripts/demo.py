#!/usr/bin/env python3
"""The demonstration: counts ad clicks while they arrive, kills the process three times, compares every row.

  demo.py [--binary build/release/bin/strandline] [--seconds 90] [--rate 35000] [--kills 3] [--seed N] [--work build/demo]

Ends with a table and exit code 0 only if no row differs, the ledger balances, every click was read, each kill fell on open
windows while event time moved, and late, duplicate, bad and replayed clicks were really among the input.
"""
import argparse, glob, json, os, random, re, shutil, signal, subprocess, sys, time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOB = os.path.join(HERE, "examples", "ad-clicks", "job.sql")


class Demo:
    def __init__(self, arguments):
        self.arguments = arguments
        self.random = random.Random(arguments.seed)
        self.job = None
        self.replayed = 0
        self.caught_up = []
        self.event_times = []  # at each kill
        self.faults = []
        self.began = time.monotonic()

    def say(self, text):
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def strandline(self, *words, check=True):
        done = subprocess.run([self.arguments.binary, "--state", "state", *words], capture_output=True, text=True)
        if check and done.returncode != 0:
            sys.exit(f"strandline {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start_job(self):
        log = open("run.log", "a")
        self.job = subprocess.Popen([self.arguments.binary, "--state", "state", "run", JOB, "--set",
                                     "execution.checkpointing.interval=1s"], stdout=log, stderr=log)

    def status(self):
        """What the running job says, or nothing while it does not answer."""
        done = self.strandline("status", "ad-clicks", "--json", check=False)
        try:
            status = json.loads(done.stdout) if done.returncode == 0 else None
        except ValueError:
            return None
        return status if status and status.get("running") else None

    def wait_for(self, what, ready, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.job.poll() is not None:
                sys.exit(f"the job ended with exit code {self.job.returncode}:\n" + open("run.log").read()[-3000:])
            status = self.status()
            if status and ready(status):
                return status
            time.sleep(0.02)
        sys.exit(f"waited {seconds} s in vain: {what}\n" + open("run.log").read()[-3000:])

    def note_kill(self, number, before):
        """Each kill must fall on open windows and a moving watermark."""
        event_time = (before or {}).get("complete_to")
        held = self.in_open_windows()
        if event_time is None or event_time in self.event_times:
            self.faults.append(f"kill {number} did not fall on a moving watermark ({event_time})")
        if held == 0:
            self.faults.append(f"kill {number} did not fall on open windows")
        self.event_times.append(event_time)
        return event_time, held

    def in_open_windows(self):
        ledger = json.loads(self.strandline("ledger", "ad-clicks", "--json", check=False).stdout or "{}")
        return sum(o["in_state"] for o in ledger.get("operators", []) if o["kind"] == "window")

    def kill_times(self):
        """Random moments at which event time moves: before two shards fall silent half-way, the last one after their idle
        timeout (30 s), from which they are not waited for."""
        half, uniform = self.arguments.seconds / 2, self.random.uniform
        return sorted([uniform(6, half - 1) for _ in range(self.arguments.kills - 1)] +
                      [uniform(half + 32, self.arguments.seconds - 6)])

    def kill_and_restart(self, number):
        before = self.status()
        event_time, held = self.note_kill(number, before)
        self.job.send_signal(signal.SIGKILL)
        self.job.wait()
        killed = time.monotonic()
        read_before = before["read"] if before else 0
        self.say(f"kill {number}: SIGKILL after {read_before:,} clicks, event time at {event_time}, {held:,} clicks in open "
                 "windows; starting again")
        self.start_job()
        first = self.wait_for("the restart", lambda s: True)
        known = first.get("restore", {}).get("replayed_records", 0)  # at least
        self.replayed += max(known, read_before - first["read"], 0)
        # Caught up: as far as the files had come by now.
        rate = self.arguments.rate
        self.wait_for("catching up", lambda s: s["read"] >= read_before + rate * (time.monotonic() - killed) * 0.9)
        self.caught_up.append(time.monotonic() - killed)
        self.say(f"kill {number}: caught up {self.caught_up[-1]:.2f} s after the kill")

    def generate(self):
        a = self.arguments
        return subprocess.Popen([a.binary, "gen", "clicks", "--out", "clicks", "--shards", "64", "--seconds",
                                 str(a.seconds), "--rate", str(a.rate), "--pace", str(a.rate), "--silent-shards", "2"],
                                stdout=subprocess.DEVNULL, stderr=open("gen.log", "w"))

    def lines(self):
        total = 0
        for path in glob.glob("clicks/**/*", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    while block := f.read(1 << 24):
                        total += block.count(b"\n")
        return total

    def run(self):
        a = self.arguments
        shutil.rmtree(a.work, ignore_errors=True)
        os.makedirs(os.path.join(a.work, "clicks"))
        os.chdir(a.work)
        self.say(f"writing {a.seconds * a.rate:,} clicks into 64 shard files, {a.rate:,} a second, while the job runs")
        generator = self.generate()
        time.sleep(0.5)
        started = time.monotonic()
        self.start_job()
        self.wait_for("the first clicks", lambda s: s["read"] > 0)
        for number, at in enumerate(self.kill_times(), 1):
            while time.monotonic() - self.began < at:
                time.sleep(0.05)
                if int((time.monotonic() - self.began) * 20) % 100 == 0:
                    status = self.status()
                    if status:
                        self.say(f"{status['read']:,} read, {status['late']:,} late, {status['duplicate']:,} duplicates, "
                                 f"checkpoint {status.get('last_checkpoint', 'under way')}")
            self.kill_and_restart(number)
        self.say("waiting for the last clicks")
        while generator.poll() is None:
            time.sleep(1)
            status = self.status()
            if status:
                self.say(f"{status['read']:,} read, checkpoint {status.get('last_checkpoint', 'under way')}")
        if generator.returncode != 0:
            sys.exit(f"gen clicks: exit code {generator.returncode}\n" + open("gen.log").read()[-1000:])
        total = self.lines()
        status = self.wait_for("the last clicks", lambda s: s["read"] >= total)
        self.seconds = time.monotonic() - started
        ledger = json.loads(self.strandline("ledger", "ad-clicks", "--json", check=False).stdout)
        self.say("stopping with a drain: every open window closes")
        self.strandline("stop", "ad-clicks", "--drain")
        if self.job.wait(timeout=60) != 0:
            self.faults.append(f"the drained job ended with exit code {self.job.returncode}")
        self.say("recounting the files")
        recount = self.strandline("recount", JOB, "--diff", check=False)
        return self.report(total, status, ledger, recount)

    def report(self, total, status, ledger, recount):
        compared = re.search(r"^([\d,]+) rows? compared$", recount.stdout, re.M)
        differing = re.search(r"^([\d,]+) differing rows?$", recount.stdout, re.M)
        counted = next(o["counted"] for o in ledger["operators"] if o["kind"] == "deduplicate")
        rows = [("clicks read", f"{status['read']:,}"), ("counted", f"{counted:,}"), ("late", f"{status['late']:,}"),
                ("duplicates", f"{status['duplicate']:,}"), ("bad", f"{status['bad']:,}"), ("restarts", str(len(self.caught_up))),
                ("replayed", f"{self.replayed:,}"),
                ("kill to caught up", ", ".join(f"{s:.2f} s" for s in self.caught_up)),
                ("records/s", f"{(status['read'] + self.replayed) / self.seconds:,.0f}"),
                ("ledger", "balanced" if ledger["balanced"] else "NOT BALANCED"),
                ("rows compared", compared.group(1) if compared else "none"),
                ("differing rows", differing.group(1) if differing else "not known")]
        print()
        for name, value in rows:
            print(f"  {name:<20}{value}")
        faults = self.faults
        if not compared or compared.group(1) == "0" or not differing or differing.group(1) != "0":
            faults.append("the recount has not shown that no row differs")
        if recount.returncode != 0:
            faults.append("the tables differ from the recount:\n" + recount.stdout[-2000:] + recount.stderr[-2000:])
        if not ledger["balanced"]:
            faults.append("the ledger does not balance")
        if len(self.caught_up) != self.arguments.kills:
            faults.append(f"{len(self.caught_up)} kills of {self.arguments.kills}")
        if status["read"] != total:
            faults.append(f"{status['read']:,} clicks read, {total:,} in the files")
        for name, value in (("late", status["late"]), ("duplicate", status["duplicate"]), ("bad", status["bad"]),
                            ("replayed", self.replayed)):
            if value == 0:
                faults.append(f"no {name} clicks: nothing was proved")
        for fault in faults:
            print(fault)
        print()
        print("0 differing rows: nothing lost, nothing counted twice" if not faults else f"{len(faults)} faults")
        return 1 if faults else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--seconds", type=int, default=90)
    parser.add_argument("--rate", type=int, default=35_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--work", default="build/demo")
    args = parser.parse_args()
    if args.kills < 1 or args.seconds < 80:
        parser.error("expected 1 kill at least and 80 seconds: the last kill waits for the idle timeout of silent shards")
    args.binary, args.work = os.path.abspath(args.binary), os.path.abspath(args.work)
    demo = Demo(args)
    try:
        code = demo.run()
    finally:
        if demo.job and demo.job.poll() is None:
            demo.job.kill()
    sys.exit(code)
