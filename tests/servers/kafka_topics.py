"""A broker, its topics, and jobs on them, for tests."""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
from ad_clicks import Life  # noqa: E402
from checks import Checks  # noqa: E402
from fixture import skipped  # noqa: E402

SKIPPED = 77  # what ctest takes for "not run"


class Broker:
    """The broker that the run shares, or one of a test's own. Topics have names that no other test has."""

    def __init__(self, directory, probe):
        self.directory = pathlib.Path(directory)
        self.probe = pathlib.Path(probe).resolve()
        self.url = json.loads((self.directory / "server.json").read_text())["url"]
        self.mark = f"{os.getpid()}-{random.randrange(1 << 30):x}"

    def name(self, topic):
        return f"{topic}-{self.mark}"

    def ask(self, *words, lines=None, check=True):
        done = subprocess.run([self.probe, self.url, *map(str, words)], input=lines, capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise RuntimeError(f"kafka_probe {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def create(self, topic, partitions=1, *config):
        self.ask("create", self.name(topic), partitions, *config)

    def produce(self, topic, records):
        """(partition, value), (partition, key, value) or (partition, key, value, milliseconds); None is none."""
        lines = []
        for partition, *rest in records:
            key, value, *time = [None, *rest] if len(rest) == 1 else rest
            lines.append("\t".join(["-" if part is None else str(part) for part in [partition, key, value, *time]]))
        self.ask("produce", self.name(topic), lines="".join(line + "\n" for line in lines))

    def read(self, topic):
        """[(partition, offset, key, value)] of what read_committed sees, in the order of each partition."""
        rows = []
        for line in self.ask("read", self.name(topic)).splitlines():
            partition, offset, key, value = line.split("\t")
            rows.append((int(partition), int(offset), None if key == "-" else key, None if value == "-" else value))
        return sorted(rows, key=lambda row: row[:2])

    def offsets(self, group, topic, partitions):
        return {int(line.split("\t")[0]): (int(line.split("\t")[1]), line.split("\t")[2])
                for line in self.ask("offsets", group, self.name(topic), partitions).splitlines()}

    def script(self, verb):
        subprocess.run([sys.executable, HERE / "kafka", *verb], check=True, stdout=subprocess.DEVNULL)

    def kill(self):
        self.script(["kill9", self.directory])

    def start(self):
        self.script(["start", "--dir", self.directory])


class Job:
    """A job file with its state and logs. `{broker}` and `{topic:NAME}` in the text become this run's."""

    def __init__(self, binary, folder, broker, sql, name="job"):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.broker = broker
        self.lives = 0
        self.file = self.folder / f"{name}.sql"
        self.write(sql)

    def write(self, sql):
        text = sql.replace("{broker}", self.broker.url)
        while "{topic:" in text:
            begin = text.index("{topic:")
            end = text.index("}", begin)
            text = text[:begin] + self.broker.name(text[begin + 7:end]) + text[end + 1:]
        self.file.write_text(text)

    def command(self, *more):
        return [self.binary, "--state", self.folder / "state", "run", self.file, *more]

    def run(self, *more, seconds=60):
        """(exit code, what it printed, what it logged)"""
        done = subprocess.run([str(word) for word in self.command(*more)], capture_output=True, text=True, timeout=seconds, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def start(self, *more):
        self.lives += 1
        return Life(self.command(*more), self.folder / f"{self.lives:04}.log", self.folder)


def run_tests(description, tests):
    """The main program of tests that are functions (checks, binary, broker, folder)."""
    tests = {test.__name__.removeprefix("test_"): test for test in tests}
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--server", required=True, help="the folder that `tests/servers/kafka start --dir` has used")
    parser.add_argument("--probe", default="build/release/bin/kafka_probe")
    parser.add_argument("--only", choices=tests)
    arguments = parser.parse_args()
    if skipped("kafka"):
        print("skipped: STRAND_SKIP_SERVERS names kafka")
        sys.exit(SKIPPED)
    for variable in [name for name in os.environ if name.startswith("STRANDLINE")]:
        del os.environ[variable]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-kafka-")).resolve()
    checks = Checks()
    for name, test in tests.items():
        if arguments.only in (None, name):
            test(checks, arguments.binary, Broker(arguments.server, arguments.probe), folder / name)
    if not checks.failed:
        shutil.rmtree(folder)
    checks.finish()
