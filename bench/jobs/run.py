#!/usr/bin/env python3
"""Runs the benchmark jobs on the release binary and prints one JSON line per figure.

  run.py --binary build/release/bin/strandline --generate build/release/bin/bench_generate [--rows 5000000] [--runs 3] [JOB...]

Records per CPU-second count user and system time of the whole process, helper threads included; best of the runs. An
answer that differs from the generator's own count makes the figure invalid (exit code 1).
"""
import argparse, collections, csv, glob, json, os, re, resource, shutil, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
FAILED = []
BLACKHOLE = "'connector' = 'blackhole'"
# Thousand records per CPU-second of Flink 2.3.0, parallelism 1, without checkpoints, warm; once measured on two virtual cores
# of the same kind, on files of the same shape (docs/performance.md).
FLINK = {"q0": 402, "q2": 351, "q3": 450, "q4": 159, "q5": 259, "q7": 122, "q8": 348, "q9": 127, "q11": 233, "q12": 304, "q15": 249,
         "q17": 290, "q18": 220, "q19": 179, "q20": 166}


def files_sink(folder):
    return f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv'"


def generate(arguments, name, shards, options=()):
    base = os.path.join(arguments.work, name)
    parts = [f"{base}-{i:02d}.jsonl" for i in range(shards)] if shards > 1 else [base + ".jsonl"]
    if not all(os.path.exists(p) for p in parts):
        os.makedirs(arguments.work, exist_ok=True)
        subprocess.run([arguments.generate, "clicks", "--rows", str(arguments.rows), "--shards", str(shards),
                        *options, "--out", base], check=True, stdout=subprocess.DEVNULL)
    for p in parts:  # into the page cache
        with open(p, "rb") as f:
            while f.read(1 << 24):
                pass
    return base, parts


def run_once(arguments, sql, settings):
    job = os.path.join(arguments.work, "job.sql")
    with open(job, "w") as f:
        f.write(sql)
    state = os.path.join(arguments.work, "state")
    shutil.rmtree(state, ignore_errors=True)
    command = [arguments.binary, "--state", state, "run", job, "--from", "none"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr[-3000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def read_answer(path, with_start):
    """(ad, window start in ms) -> count"""
    rows = collections.Counter()
    for file in glob.glob(os.path.join(path, "*")) if os.path.isdir(path) else [path]:
        with open(file) as f:
            for row in csv.reader(f):
                if not row or not row[-1].lstrip("-").isdigit() and not row[2].lstrip("-").isdigit():
                    continue
                rows[row[0], row[1]] += int(row[2])
    return rows


def to_millis(text):
    import datetime
    return int(datetime.datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


def check(folder, truth_file):
    """Windows and clicks of the job's output against the generator's own count."""
    got = {(ad, to_millis(start)): n for (ad, start), n in read_answer(folder, True).items()}
    want = {(ad, int(start)): n for (ad, start), n in read_answer(truth_file, False).items()}
    wrong = [k for k in got.keys() | want.keys() if got.get(k) != want.get(k)]
    return len(wrong), len(want)


def figure(name, **values):
    print(json.dumps({"figure": name, **values}), flush=True)


def measure(arguments, name, query, truth=None, shards=1, settings=None, sink=None, hot=0, options=None, check_rows=None, streams=1):
    """`options`: of the generator, none late; `check_rows`: a function of the input and the output, gives what is wrong."""
    # Which rows are late depends on how far apart the readers are, so files of several shards have none.
    on_time = shards > 1 or options is not None
    which = (f"-{shards}-on-time" if on_time else "") + (f"-hot-{hot}" if hot else "") + "".join(options or ())
    base, parts = generate(arguments, f"clicks-{arguments.rows}{which}", shards,
                           (*(("--late-permille", "0") if on_time else ()), *(options or ()), "--hot-permille", str(hot)))
    out = os.path.join(arguments.work, "out")
    with open(os.path.join(HERE, "sql", query + ".sql")) as f:
        text = f.read()
    source = base + ".jsonl"
    if shards > 1:
        source = os.path.join(arguments.work, f"in-{arguments.rows}{which}")
        os.makedirs(source, exist_ok=True)
        for p in parts:
            link = os.path.join(source, os.path.basename(p))
            if not os.path.exists(link):
                os.link(p, link)
    sql = text.replace("${INPUT}", source).replace("${SINK}", sink or files_sink(out))
    # At 10 M rows a second 100 s of event time pass between two watermarks 200 ms apart, and rows that the answer calls late
    # come before the watermark that makes them late.
    base_settings = {"parallelism.default": "1", "execution.checkpointing.interval": "1 s",
                     "pipeline.auto-watermark-interval": "20 ms"}
    base_settings.update(settings or {})
    best = None
    for _ in range(arguments.runs):
        shutil.rmtree(out, ignore_errors=True)
        wall, cpu = run_once(arguments, sql, base_settings)
        if best is None or cpu < best[1]:
            best = (wall, cpu)
    wrong = None
    if truth and not sink:
        wrong, windows = check(out, f"{base}.{truth}.csv")
        if wrong:
            figure(name, error=f"{wrong} of {windows} windows differ")
            FAILED.append(name)
    if check_rows:
        wrong = check_rows(base, out)
        if wrong:
            figure(name, error=wrong)
            FAILED.append(name)
    rows = streams * arguments.rows
    figure(name, records_per_cpu_second=round(rows / best[1]), records_per_second=round(rows / best[0]),
           wall_s=round(best[0], 3), cpu_s=round(best[1], 3), rows=rows, windows_wrong=wrong)
    return best


def filter_job(a):
    return measure(a, "parse + filter + project", "q_filter", sink=BLACKHOLE)


def tumble_job(a):
    return measure(a, "tumbling count, 10 K keys", "q_tumble", truth="tumble")


def rocksdb_job(a):
    measure(a, "tumbling count on RocksDB, working set in cache, 10 s checkpoints", "q_tumble", truth="tumble",
            settings={"state.backend.type": "rocksdb", "execution.checkpointing.interval": "10 s"})


def clicks_of(base):
    """(user, event time in ms, ad, country, price) of each row"""
    field = re.compile(r'"ad_id":"(\w+)","user_id":"(\w+)","ts":(\d+),.*"price_micros":(\d+),"country":"(\w+)"')
    with open(base + ".jsonl") as f:
        for line in f:
            ad, user, ts, price, country = field.search(line).groups()
            yield user, int(ts), ad, country, int(price)


def output_rows(out):
    for file in glob.glob(os.path.join(out, "*")):
        with open(file) as f:
            yield from csv.reader(f)


def wrong_sessions(base, out):
    """The sessions of all rows, made anew, by the sum of their starts, ends and counts for each user."""
    times = collections.defaultdict(list)
    for user, ts, *_ in clicks_of(base):
        times[user].append(ts)
    wanted = collections.Counter()
    for user, all_of_user in times.items():
        all_of_user.sort()
        start = last = None
        n = 0
        for ts in [*all_of_user, None]:
            if last is not None and (ts is None or ts > last + 30_000):
                wanted[user, start, last + 30_000, n] += 1
                start, n = None, 0
            if ts is not None:
                start = ts if start is None else start
                last, n = ts, n + 1
    got = collections.Counter((user, to_millis(start), to_millis(end), int(n)) for user, start, end, n in output_rows(out))
    differing = len((got - wanted) + (wanted - got))
    return f"{differing} of {len(wanted)} sessions differ" if differing else 0


def session_job(a):
    measure(a, "session count, 100 K keys", "q_session", options=("--users", "100000"), check_rows=wrong_sessions)


def wrong_pairs(base, out):
    wanted = collections.Counter((ad, country, price) for _, _, ad, country, price in clicks_of(base))
    got = collections.Counter((ad, country, int(price)) for ad, country, price in output_rows(out))
    differing = sum(((got - wanted) + (wanted - got)).values())
    return f"{differing} of {sum(wanted.values())} pairs differ" if differing else 0


def pairs_job(a):
    measure(a, "interval join, two JSON streams, one to one within 10 s", "q_pairs", options=("--dup-permille", "0"),
            check_rows=wrong_pairs, streams=2)


def dedup_job(a):
    measure(a, "deduplication by processing time", "q_dedup", truth="dedup")


def ad_click_job(a):
    measure(a, "ad-click job", "ad_clicks", truth="dedup")


def longer(a):
    """For figures that are a ratio of two runs: start, end and one slow sync weigh too much in a run of a second."""
    return argparse.Namespace(**{**vars(a), "rows": 3 * a.rows})


def two_cores_job(arguments):
    a = longer(arguments)
    one = measure(a, "ad-click job, 8 shards, 1 core", "ad_clicks", truth="dedup", shards=8)
    two = measure(a, "ad-click job, 8 shards, 2 cores", "ad_clicks", truth="dedup", shards=8,
                  settings={"parallelism.default": "2"})
    figure("second core", speedup=round(one[0] / two[0], 2))


def checkpoints_job(arguments):
    a = longer(arguments)
    with_them = measure(a, "ad-click job, checkpoints each second", "ad_clicks", truth="dedup")
    without = measure(a, "ad-click job, no checkpoints", "ad_clicks", truth="dedup",
                      settings={"execution.checkpointing.interval": "0 s"})
    figure("cost of 1 s checkpoints", percent=round((with_them[1] / without[1] - 1) * 100, 1))


def skew_job(arguments):
    """On two cores, where the hot key has one of them."""
    a = longer(arguments)
    settings = {"parallelism.default": "2"}
    even = measure(a, "tumbling count, 2 cores", "q_tumble", truth="tumble", shards=8, settings=settings)
    hot = measure(a, "tumbling count, 2 cores, 40 % of the rows have one key", "q_tumble", truth="tumble", shards=8, settings=settings,
                  hot=400)
    figure("cost of a hot key", percent=round((hot[0] / even[0] - 1) * 100, 1))


def start_job(a):
    small = os.path.join(a.work, "small.jsonl")
    base, _ = generate(a, f"clicks-{a.rows}", 1)
    with open(base + ".jsonl", "rb") as f, open(small, "wb") as out:
        for _ in range(1000):
            out.write(f.readline())
    with open(os.path.join(HERE, "sql", "q_tumble.sql")) as f:
        sql = f.read().replace("${INPUT}", small).replace("${SINK}", files_sink(os.path.join(a.work, "out")))
    best = None
    for _ in range(a.runs):
        shutil.rmtree(os.path.join(a.work, "out"), ignore_errors=True)
        wall, _ = run_once(a, sql, {"parallelism.default": "1"})
        best = wall if best is None else min(best, wall)
    figure("process start to the end of a small file", seconds=round(best, 3))


def nexmark_job(a):
    """Each query on one file. That the answers are Flink's, the recorded cases prove (tests/conformance/sql/nexmark)."""
    rows = 2 * a.rows // 5
    folder = os.path.join(a.work, f"nexmark-{rows}")
    if not os.path.exists(folder):
        subprocess.run([a.binary, "gen", "nexmark", "--rows", str(rows), "--out", folder], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(os.path.join(HERE, "nexmark", "tables.sql")) as f:
        tables = f.read()
    ratios = []
    for path in sorted(glob.glob(os.path.join(HERE, "nexmark", "q*.sql")), key=lambda p: int(os.path.basename(p)[1:-4])):
        query = os.path.basename(path)[:-4]
        with open(path) as f:
            sql = (tables + f.read()).replace("${INPUT}", folder).replace("${SINK}", BLACKHOLE)
        settings = {"parallelism.default": "1", "execution.checkpointing.interval": "1 s"}
        cpu = min(run_once(a, sql, settings)[1] for _ in range(a.runs))
        times_flink = round(rows / cpu / 1000 / FLINK[query], 1) if query in FLINK else None
        if times_flink:
            ratios.append(times_flink)
        figure(f"Nexmark {query}", records_per_cpu_second=round(rows / cpu), times_flink=times_flink, cpu_s=round(cpu, 3), rows=rows)
    figure("Nexmark", median_times_flink=sorted(ratios)[len(ratios) // 2], lowest_times_flink=min(ratios))


DUCKDB = {
    "filter": """SELECT count(*), sum(price_micros), max(click_id), max(ad_id), max(ts) FROM {clicks}
                 WHERE valid AND country IN ('DE', 'US') AND price_micros > 100000""",
    "tumble": "SELECT ad_id, ts - ts % 60000 AS minute, count(*) FROM {clicks} GROUP BY ALL",
}
# Each query names the columns that it needs, as the engine itself finds out.
DUCKDB_COLUMNS = {
    "filter": "click_id: 'VARCHAR', ad_id: 'VARCHAR', ts: 'BIGINT', price_micros: 'BIGINT', country: 'VARCHAR', valid: 'BOOLEAN'",
    "tumble": "ad_id: 'VARCHAR', ts: 'BIGINT'",
}


def duckdb_job(a):
    """Beside DuckDB's batch scan of the same file on one thread, which keeps no state, no event time and no checkpoints."""
    if subprocess.run([sys.executable, "-c", "import duckdb"], capture_output=True).returncode != 0:
        return figure("beside DuckDB", skipped="python3 -m pip install duckdb, and run this with that python3")
    base, _ = generate(a, f"clicks-{a.rows}", 1)
    for query, job in (("filter", filter_job), ("tumble", tumble_job)):
        clicks = f"read_json('{base}.jsonl', format = 'newline_delimited', columns = {{{DUCKDB_COLUMNS[query]}}})"
        code = ("import duckdb; c = duckdb.connect(); c.execute('SET threads = 1'); "
                f"print(len(c.execute({DUCKDB[query].format(clicks=clicks)!r}).fetchall()))")
        best = None
        for _ in range(a.runs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best = cpu if best is None else min(best, cpu)
        ours = job(a)[1]
        figure(f"beside DuckDB: {query}", duckdb_records_per_cpu_second=round(a.rows / best), times_duckdb=round(best / ours, 2))


JOBS = {"filter": filter_job, "tumble": tumble_job, "rocksdb": rocksdb_job, "session": session_job, "pairs": pairs_job, "dedup": dedup_job, "ad-clicks": ad_click_job,
        "two-cores": two_cores_job, "checkpoints": checkpoints_job, "start": start_job,
        "skew": skew_job, "nexmark": nexmark_job, "duckdb": duckdb_job}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", help=", ".join(JOBS))
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--generate", default="build/release/bin/bench_generate")
    parser.add_argument("--work", default="build/bench")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    for key in ("binary", "generate", "work"):
        setattr(args, key, os.path.abspath(getattr(args, key)))
    for job in args.jobs or JOBS:
        JOBS[job](args)
    sys.exit(1 if FAILED else 0)
