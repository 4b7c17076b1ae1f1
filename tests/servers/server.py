"""What the scripts of real servers have in common: install once, start on loopback, wait until ready, stop by pid.

A server lives in a directory, DIR. DIR/server.json says which processes belong to it, on which ports, and
with which options it was started, so `start --dir DIR` after a `kill9` brings it back on the same ports with
the same data. Starting a running server changes nothing and prints the same line again. Every command takes
a lock in DIR; installing takes a lock in the cache. Only processes named in server.json are ever signalled,
and only if the start time recorded there still matches, so a recycled pid is safe.

Exit codes: 0 done, 1 failed (the reason is on stderr), 2 usage, 3 not installed.
"""
import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HOST = "127.0.0.1"
PORTS = range(20000, 32000)  # below the range from which the kernel takes client ports
PORT_QUARANTINE_S = 120


class ServerError(Exception):
    pass


def home():
    """The cache that installs go to; safe to delete."""
    base = os.environ.get("STRAND_SERVERS")
    if not base:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        base = os.path.join(cache, "strandline", "servers")
    path = pathlib.Path(base).absolute()
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def call(argv, **options):
    """Runs a command whose output nobody wants, unless it fails."""
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise ServerError(f"{' '.join(str(a) for a in argv)}: exit {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def apt(*packages, options=()):
    """Installs Debian packages that are missing. Needs root."""
    def present(package):
        query = subprocess.run(["dpkg-query", "-W", "-f=${Status}", package], capture_output=True, text=True)
        return query.stdout.endswith("ok installed")

    missing = [p for p in packages if not present(p)]
    if not missing:
        return
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "-o", "DPkg::Lock::Timeout=900", "install", "-y", "--no-install-recommends", *options, *missing]
    try:
        call(install, env=env)
    except ServerError:
        call(["apt-get", "-o", "DPkg::Lock::Timeout=900", "update"], env=env)
        call(install, env=env)


def pick_ports(count):
    """Free ports that no other start has been given lately."""
    book = home() / "ports.json"
    with locked(home() / "ports.lock"):
        now = time.time()
        try:
            taken = {int(p): t for p, t in json.loads(book.read_text()).items() if now - t < PORT_QUARANTINE_S}
        except (OSError, ValueError):
            taken = {}
        found = []
        for port in random.sample(PORTS, len(PORTS)):
            if len(found) == count:
                break
            if port not in taken and not listening(port):
                found.append(port)
                taken[port] = now
        book.write_text(json.dumps(taken))
    return found


def listening(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def process_stat(pid):
    """(state letter, start time in ticks, process group, resident KiB), or None."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return fields[0], int(fields[19]), int(fields[2]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 1024
    except (OSError, IndexError, ValueError):
        return None


def alive(process):
    stat = process_stat(process["pid"])
    return stat is not None and stat[0] not in "ZX" and stat[1] == process["ticks"]


def group_members(pgid):
    members = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            stat = process_stat(int(entry))
            if stat and stat[2] == pgid and stat[0] not in "ZX":
                members.append(int(entry))
    return members


class Process:
    """One process of a server. `ready()` is asked every few milliseconds until it says yes."""

    def __init__(self, key, argv, ready, env=None, cwd=None):
        self.key, self.argv, self.ready = key, [str(a) for a in argv], ready
        self.env, self.cwd = env or {}, cwd


class Server:
    name = ""
    version = ""
    ready_timeout_s = 60
    stop_timeout_s = 30
    stop_signal = signal.SIGTERM
    scheme = "http"
    about = ""

    # --- to be given by each script -------------------------------------------------------------------
    def install(self, where):
        raise NotImplementedError

    def installed(self, where):
        return (where / ("installed-" + self.version)).exists()

    def options(self, parser):
        """Adds options of `start`; the default of each must be None (see `defaults`)."""

    defaults = {}

    def port_names(self, options):
        return ["main"]

    def prepare(self, where, directory, ports, options):
        """Writes configuration; called before every start, must keep the data."""

    def processes(self, where, directory, ports, options):
        raise NotImplementedError

    def url(self, ports, options):
        return f"{self.scheme}://{HOST}:{ports['main']}"

    # --- the uniform interface --------------------------------------------------------------------------
    def main(self, argv=None):
        try:
            return self._main(sys.argv[1:] if argv is None else argv)
        except ServerError as error:
            print(f"{self.name}: {error}", file=sys.stderr)
            return 1

    def _main(self, argv):
        parser = argparse.ArgumentParser(prog=self.name, description=self.about)
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("install", help="install once, into $STRAND_SERVERS")
        verbs.add_parser("check", help="exit 0 if installed, 3 if not")
        start = verbs.add_parser("start", help="start, or start again, and wait until ready")
        start.add_argument("--port", type=int, default=0, help="0 (default): any free port, or the one used before in DIR")
        start.add_argument("--dir", help="default: a new temporary directory")
        start.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the server's own")
        self.options(start)
        for verb, text in [("stop", "stop in good order"), ("kill9", "SIGKILL, and wait until gone"),
                           ("pause", "SIGSTOP"), ("resume", "SIGCONT"), ("status", "print state and memory")]:
            sub = verbs.add_parser(verb, help=text)
            sub.add_argument("dir")
        options = parser.parse_args(argv)
        where = home() / self.name
        if options.verb == "install":
            with locked(home() / f"{self.name}.lock"):
                if not self.installed(where):
                    where.mkdir(parents=True, exist_ok=True)
                    self.install(where)
                    (where / ("installed-" + self.version)).touch()
            return 0
        if options.verb == "check":
            return 0 if self.installed(where) else 3
        if options.verb == "start":
            if not self.installed(where):
                print(f"{self.name}: not installed; run `{sys.argv[0]} install` first", file=sys.stderr)
                return 3
            directory = pathlib.Path(options.dir or tempfile.mkdtemp(prefix=f"strand-{self.name}-")).absolute()
            directory.mkdir(parents=True, exist_ok=True)
            with locked(directory / ".lock"):
                print(json.dumps(self.start(where, directory, options)), flush=True)
            return 0
        directory = pathlib.Path(options.dir).absolute()
        state = self.load(directory)
        if state is None:
            raise ServerError(f"nothing was started in {directory}")
        with locked(directory / ".lock"):
            state = self.load(directory)
            return getattr(self, options.verb)(directory, state, state["procs"]) or 0

    def load(self, directory):
        try:
            return json.loads((directory / "server.json").read_text())
        except FileNotFoundError:
            return None

    def save(self, directory, state):
        part = directory / "server.json.part"
        part.write_text(json.dumps(state, indent=1))
        part.rename(directory / "server.json")

    def start(self, where, directory, asked):
        before = self.load(directory)
        own = {k: v for k, v in vars(asked).items() if k in self.defaults}
        options = dict(self.defaults, **(before or {}).get("options", {}))
        options.update({k: v for k, v in own.items() if v is not None})
        if asked.set or "set" not in options:
            options["set"] = dict(options.get("set", {}), **dict(pair.split("=", 1) for pair in asked.set))
        attempts = 1 if before or asked.port else 4
        for attempt in range(attempts):
            names = self.port_names(options)
            ports = dict((before or {}).get("ports", {}))
            if asked.port:
                ports["main"] = asked.port
            missing = [n for n in names if n not in ports]
            ports.update(zip(missing, pick_ports(len(missing))))
            try:
                return self._start(where, directory, ports, options, before)
            except ServerError:
                # Perhaps somebody else took a port in between. A start that never became ready left no data.
                if attempt + 1 == attempts:
                    raise
                for child in directory.iterdir():
                    if child.name != ".lock":
                        shutil.rmtree(child) if child.is_dir() else child.unlink()

    def _start(self, where, directory, ports, options, before):
        began = time.time()
        old = {p["key"]: p for p in (before or {}).get("procs", []) if alive(p)}
        state = {"name": self.name, "pid": 0, "port": ports.get("main", 0), "url": self.url(ports, options),
                 "dir": str(directory), "version": self.version, "ports": ports, "options": options, "procs": []}
        if not old:
            # Else the answer of whoever has the port would be taken for that of the new process.
            deadline = time.monotonic() + 5
            for name in self.port_names(options):
                while listening(ports[name]):
                    if time.monotonic() > deadline:
                        raise ServerError(f"port {ports[name]} is in use")
                    time.sleep(0.05)
        self.prepare(where, directory, ports, options)
        wanted = self.processes(where, directory, ports, options)
        started = []
        for process in wanted:
            if process.key in old:
                state["procs"].append(old[process.key])
                continue
            with open(directory / f"{process.key}.log", "ab") as log:
                child = subprocess.Popen(process.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                         start_new_session=True, cwd=process.cwd or directory,
                                         env=dict(os.environ, **process.env))
            stat = process_stat(child.pid)
            state["procs"].append({"key": process.key, "pid": child.pid, "ticks": stat[1] if stat else 0})
            started.append((process, child))
        try:
            for process, child in started:
                self.wait_ready(directory, process, child)
        except ServerError:
            for _, child in started:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
            raise
        state["pid"] = state["procs"][0]["pid"]
        self.save(directory, state)
        state["start_ms"] = round((time.time() - began) * 1000)
        return {k: v for k, v in state.items() if k not in ("options", "ports")}

    def wait_ready(self, directory, process, child):
        deadline = time.monotonic() + self.ready_timeout_s
        while time.monotonic() < deadline:
            if child.poll() is not None:
                raise ServerError(f"{process.key} ended with {child.returncode} before it was ready\n" + self.tail(directory, process.key))
            if process.ready():
                return
            time.sleep(0.02)
        raise ServerError(f"{process.key} not ready after {self.ready_timeout_s} s\n" + self.tail(directory, process.key))

    def tail(self, directory, key):
        with contextlib.suppress(OSError):
            return (directory / f"{key}.log").read_text(errors="replace")[-3000:]
        return ""

    def signal(self, process, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process["pid"], number)

    def stop(self, directory, state, chosen):
        for process in chosen:
            if alive(process):
                self.signal(process, signal.SIGCONT)
                os.kill(process["pid"], self.stop_signal)
        deadline = time.monotonic() + self.stop_timeout_s
        for process in chosen:
            while alive(process) and time.monotonic() < deadline:
                time.sleep(0.02)
        self.kill9(directory, state, chosen)

    def kill9(self, directory, state, chosen):
        killed = [process for process in chosen if alive(process)]
        for process in killed:
            self.signal(process, signal.SIGKILL)
        deadline = time.monotonic() + 30
        for process in killed:
            while (alive(process) or group_members(process["pid"])) and time.monotonic() < deadline:
                time.sleep(0.01)

    def pause(self, directory, state, chosen):
        for process in chosen:
            if alive(process):
                self.signal(process, signal.SIGSTOP)

    def resume(self, directory, state, chosen):
        for process in chosen:
            if alive(process):
                self.signal(process, signal.SIGCONT)

    def status(self, directory, state, chosen):
        rows = []
        for process in chosen:
            up = alive(process)
            members = group_members(process["pid"]) if up else []
            rss = sum((process_stat(pid) or (0, 0, 0, 0))[3] for pid in members)
            rows.append({"key": process["key"], "pid": process["pid"], "alive": up,
                         "state": (process_stat(process["pid"]) or "-")[0] if up else "-", "rss_mib": round(rss / 1024)})
        print(json.dumps({"name": self.name, "dir": str(directory), "url": state["url"], "procs": rows}))
        return 0 if all(r["alive"] for r in rows) else 1


def run(server):
    sys.exit(server.main())
