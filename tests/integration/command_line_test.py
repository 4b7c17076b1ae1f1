#!/usr/bin/env python3
"""The command line as an unkind user finds it: each wrong word, file and folder gets a number, a place, a way out and an exit code.

    command_line_test.py --binary build/release/bin/strandline [--only NAME]
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time

from ad_clicks import JOB_FILE, Life, click_line
from checks import Checks

DONE, NO, USAGE, FAILED, REFUSED, NO_JOB = range(6)
START_MS = 1_704_103_200_000  # 2024-01-01 10:00 UTC

JOB = """CREATE TABLE clicks (
  click_id STRING, ad_id STRING, spend_micros BIGINT, device_ms BIGINT,
  ts AS TO_TIMESTAMP_LTZ(device_ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '5.001' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json'%s);
"""
PRINT = JOB % "" + "SELECT click_id, ad_id FROM clicks;\n"
WINDOWS = """CREATE TABLE minutes (ad_id STRING, bucket STRING, n BIGINT, PRIMARY KEY (ad_id, bucket) NOT ENFORCED)
WITH ('connector' = 'sqlite', 'path' = 'minutes.db');
INSERT INTO minutes SELECT ad_id, DATE_FORMAT(window_start, 'HH:mm'), COUNT(*)
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end;
"""


class Shell:
    """Runs the binary in a folder of its own."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def command(self, *words):
        state = () if "--state" in words else ("--state", "state")
        return [str(word) for word in (self.binary, *state, *words)]

    def run(self, *words, wrapper=(), seconds=60, **environment):
        done = subprocess.run([*wrapper, *self.command(*words)], capture_output=True, timeout=seconds, cwd=self.folder,
                              env={**os.environ, **environment})
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def start(self, *words):
        return Life(self.command(*words), self.folder / "run.log", self.folder)


def check_refusal(checks, what, done, code, number, where, way_out):
    """One error: exit code, `STRAND-number  where: …`, and a way out on a line of its own."""
    found, out, err = done
    said = err if "STRAND-" in err else out
    checks.equal(found, code, what + f": exit code {code}")
    head = re.search(rf"STRAND-{number}  ([^\n]*)\n", said)
    if not checks.check(head, what + f": says STRAND-{number}", said[:1_500]):
        return
    checks.check(re.search(where, head.group(1)), what + ": says where and what", said[:1_500])
    rest = said[head.end():]
    checks.check(re.search(r"^  \S", rest, re.M) and re.search(way_out, said), what + ": says what to do", said[:1_500])
    checks.check(all(c.isprintable() or c in "\n\t" for c in said), what + ": prints nothing that harms a terminal",
                 repr(said[:500]))


def commands_of(shell):
    text = shell.run("--help")[1]
    return re.findall(r"^  ([a-z-]+) ", text[text.index("Subcommands"):], re.M)


def test_help(checks, shell):
    names = commands_of(shell)
    checks.check({"run", "check", "explain", "recount", "sim", "story", "gen", "why", "ledger", "state", "savepoint", "stop",
                  "status", "upgrade-check", "sql"} <= set(names), "--help lists the commands", names)
    for words in [[name] for name in names] + [["gen", "clicks"]]:
        code, out, err = shell.run(*words, "--help")
        checks.check(code == DONE and "Example: strandline" in out and not err, f"{' '.join(words)} --help has an example", out + err)
    code, out, _ = shell.run("--version")
    checks.check(code == DONE and re.fullmatch(r"strandline \d+\.\d+\.\d+\n", out), "--version says which", out)


def test_usage(checks, shell):
    shell.put("job.sql", PRINT)
    words = [
        ([], r"expected a command, found none", "commands: run, check"),
        (["rnu"], "expected a command, found 'rnu'", "did you mean 'run'"),
        (["frobnicate"], "found 'frobnicate'", "commands: run, check"),
        (["gen"], "expected a command, found none", "clicks"),
        (["gen", "click"], "found 'click'", "did you mean 'clicks'"),
        (["run"], "job", "run --help"),
        (["run", "job.sql", "--frobnicate"], "--frobnicate", "run --help"),
        (["run", "job.sql", "again.sql"], "again.sql", "run --help"),
        (["run", "job.sql", "--set"], "--set", "run --help"),
        (["run", "job.sql", "--set", "parallelism.default"], "--set", "KEY=VALUE"),
        (["run", "job.sql", "--with", "path=x"], "--with", r"TABLE\.KEY=VALUE"),
        (["run", "job.sql", "--ui", "everywhere"], "--ui", "127"),
        (["run", "job.sql", "--ui", "0.0.0.0:8081"], "--ui", "127"),
        (["run", "job.sql", "--log-format", "xml"], "--log-format", "logfmt"),
        (["explain", "job.sql", "--rate", "many"], "--rate", "explain --help"),
        (["explain", "job.sql", "--restart", "soon"], "--restart", "30 s"),
        (["recount", "job.sql", "--diff", "--final"], "--", "recount --help"),
        (["state"], "path", "state --help"),
        (["gen", "clicks", "--out", "x", "--shards", "0"], "shards", "1"),
        (["gen", "clicks", "--out", "x", "--rows", "0"], "--rows", "gen clicks --help"),
        (["gen", "clicks"], "--out", "gen clicks --help"),
    ]
    for given, where, way_out in words:
        check_refusal(checks, " ".join(["strandline", *given]), shell.run(*given), USAGE, "100[13]", where, way_out)
    check_refusal(checks, "STRANDLINE_LOG=loud", shell.run("run", "job.sql", STRANDLINE_LOG="loud"), USAGE, 1003,
                  "STRANDLINE_LOG", "info")


def test_files_that_are_not_there(checks, shell):
    shell.put("job.sql", PRINT)
    for command in ("run", "check", "explain", "recount", "sim"):
        check_refusal(checks, f"{command} of no file", shell.run(command, "none.sql"), USAGE, 1004, r"none\.sql", "check the path")
    for more in (["--profile", "none.yaml"], ["--profile", "job.sql", "--env-file", "none.yaml"]):
        check_refusal(checks, f"check {more[-2]} of no file", shell.run("check", "job.sql", *more), USAGE, 1004, r"none\.yaml",
                      "check the path")
    check_refusal(checks, "a profile of the environment that is not there",
                  shell.run("check", "job.sql", STRANDLINE_PROFILE="none.yaml"), USAGE, 1004, r"none\.yaml", "check the path")
    check_refusal(checks, "run --from nowhere", shell.run("run", "job.sql", "--from", "nowhere"), USAGE, 1004, "nowhere", "check the path")
    check_refusal(checks, "a snapshot of the settings that is not there",
                  shell.run("run", "job.sql", "--set", "execution.state-recovery.path=nowhere"), USAGE, 1004, "nowhere", "check the path")
    check_refusal(checks, "state of nothing", shell.run("state", "nowhere"), USAGE, 1004, "nowhere", "check the path")


def test_files_that_are_no_job(checks, shell):
    (shell.folder / "folder.sql").mkdir()
    files = [
        ("empty.sql", "", NO, 2012, r"empty\.sql", "INSERT INTO"),
        ("comments.sql", "-- nothing\n/* at all */\n", NO, 2012, r"comments\.sql", "INSERT INTO"),
        ("tables.sql", JOB % "", NO, 2012, r"tables\.sql", "INSERT INTO"),
        ("words.sql", "make it so", NO, 2001, r"words\.sql:1:1", "begins with SET, CREATE"),
        ("binary.sql", bytes(range(256)) * 16, NO, 2001, r"binary\.sql:1:1", "right file"),
        ("program.sql", pathlib.Path(shell.binary).read_bytes()[:100_000], NO, 2001, r"program\.sql:1:1", "right file"),
        ("latin.sql", "SELECT 'fünf';".encode("latin-1"), NO, 2001, r"latin\.sql:1:10", "UTF-8"),
        ("huge.sql", "-- " + "x" * (17 << 20), NO, 2013, r"huge\.sql", "data belongs"),
        ("deep.sql", JOB % "" + "SELECT " + "(" * 5_000 + "1" + ")" * 5_000 + " FROM clicks;", NO, 2013, r"deep\.sql:\d+:\d+", "."),
        ("open.sql", "SELECT 'text", NO, 2001, r"open\.sql:1:8", "'"),
        ("folder.sql", None, USAGE, 5000, r"folder\.sql", "names a folder"),
    ]
    for name, text, code, number, where, way_out in files:
        if text is not None:
            shell.put(name, text)
        for command in ("check", "run", "explain", "recount"):
            check_refusal(checks, f"{command} {name}", shell.run(command, name), code, number, where, way_out)
    code, out, _ = shell.run("check", "words.sql", "--json")
    found = json.loads(out)
    checks.check(code == NO and found["findings"][0]["code"] == 2001 and not found["clean"], "check --json tells the same", out)


def obey_permissions():
    """Root may read everything; without these capabilities it may do what the permissions of its own files allow."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]


def test_no_access(checks, shell):
    shell.put("job.sql", PRINT)
    shell.put("secret.sql", PRINT)
    shell.put("clicks/a.json", click_line("c", "ad", START_MS))
    (shell.folder / "locked").mkdir()
    os.chmod(shell.folder / "secret.sql", 0)
    os.chmod(shell.folder / "locked", 0)
    may_not = {"wrapper": obey_permissions()}
    check_refusal(checks, "a job that may not be read", shell.run("check", "secret.sql", **may_not), USAGE, 5010, r"secret\.sql",
                  "give the user")
    check_refusal(checks, "a profile that may not be read", shell.run("check", "job.sql", "--profile", "secret.sql", **may_not), USAGE,
                  5010, r"secret\.sql", "give the user")
    check_refusal(checks, "state in a folder without access", shell.run("state", "locked", **may_not), REFUSED, 5010, "locked",
                  "give the user")
    for command in ("status", "why"):
        check_refusal(checks, f"{command} below a state root without access",
                      shell.run("--state", "locked", command, **may_not), REFUSED, 5010, "locked", "give the user")
    check_refusal(checks, "run below a state root without access", shell.run("--state", "locked/state", "run", "job.sql", **may_not),
                  REFUSED, 5010, "locked", "give the user")
    check_refusal(checks, "input without access", shell.run("run", "job.sql", "--with", "clicks.path=locked", **may_not), REFUSED, 5010,
                  "locked", "give the user")
    check_refusal(checks, "gen into a folder without access",
                  shell.run("gen", "clicks", "--out", "locked/clicks", "--rows", "100", **may_not), REFUSED, 5010, "locked",
                  "give the user")
    for path in ("secret.sql", "locked"):
        os.chmod(shell.folder / path, 0o755)


def test_check_says_what_run_refuses(checks, shell):
    """Whatever `run` would refuse before it reads, `check` finds, word for word."""
    shell.put("clicks/a.json", click_line("c", "ad", START_MS))
    options = [
        (", 'source.monitor-interval' = 'often'", 1001, "source.monitor-interval"),
        (", 'source.monitor-interval' = '0 s'", 1001, "source.monitor-interval"),
        (", 'json.ignore-parse-errors' = 'perhaps'", 1001, "json.ignore-parse-errors"),
        (", 'source.path.regex-pattern' = '('", 1001, "source.path.regex-pattern"),
        (", 'strand.max-record-bytes' = 'many'", 1001, "strand.max-record-bytes"),
        (", 'scan.watermark.idle-timeout' = 'later'", 1001, "scan.watermark.idle-timeout"),
        (", 'source.monitor-intervall' = '1 s'", 1002, "source.monitor-intervall"),
    ]
    jobs = [(JOB % option + "SELECT ad_id FROM clicks;", number, "job.sql:5:.*" + re.escape(said)) for option, number, said in options]
    sink = "INSERT INTO out SELECT ad_id FROM clicks ON CONFLICT DO DEDUPLICATE;"
    jobs += [
        (JOB.replace("'json'%s", "'jsn'") + "SELECT ad_id FROM clicks;", 4010, "job.sql:5:.*jsn"),
        (JOB.replace("'filesystem'", "'filesystm'") % "" + "SELECT ad_id FROM clicks;", 4010, "job.sql:5:.*filesystm"),
        (JOB % "" + "CREATE TABLE out (a STRING) WITH ('connector' = 'sqlite', 'path' = 'o.db');" + sink, 1001, "PRIMARY KEY"),
        (JOB % "" + "CREATE TABLE out (a STRING, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'sqlite');" + sink, 1001, "path"),
        (JOB % "" + "CREATE TABLE out (a STRING) WITH ('connector' = 'sqlite', 'path' = 'o.db', 'sink.mode' = 'fast');" + sink, 1001,
         "sink.mode"),
        (JOB % "" + "CREATE TABLE out (a STRING) WITH ('connector' = 'filesystem', 'path' = 'o');" + sink, 1001, "format"),
        ("SET 'table.local-time-zone' = 'Mars';" + PRINT, 1001, "Mars"),
        ("SET 'pipeline.max-parallelism' = '128'; SET 'parallelism.default' = '500';" + PRINT, 1001, "job.sql:1:.*parallelism.default"),
        ("SET 'parallelism.default' = '40000';" + PRINT, 1001, "job.sql:1:.*parallelism.default"),
        ("SET 'parallelism.default' = 'all';" + PRINT, 1001, "job.sql:1:.*parallelism.default"),
        ("SET 'state.backend.type' = 'paper';" + PRINT, 1001, "job.sql:1:.*paper"),
        ("SET 'execution.runtime-mode' = 'AUTOMATIC';" + PRINT, 1001, "job.sql:1:.*AUTOMATIC"),
        ("SET 'execution.runtime-mode' = 'BATCH';" + JOB % ", 'source.monitor-interval' = '1 s'" + "SELECT ad_id FROM clicks;", 1001,
         "job.sql:1:.*clicks has no end"),
    ]
    for sql, number, where in jobs:
        shell.put("job.sql", sql)
        what = f"{number} {where}"
        checked, ran = shell.run("check", "job.sql"), shell.run("run", "job.sql")
        check_refusal(checks, "check: " + what, checked, NO, number, where, ".")
        checks.check(ran[0] == NO and ran[2].strip() in checked[1], "run says the same: " + what, ran[2] + "\n---\n" + checked[1])
    checks.check(not (shell.folder / "state").exists(), "what is refused leaves nothing behind")


def traps_source(time_column="LEAST(device_ms, arrival_ms)", idle=", 'scan.watermark.idle-timeout' = '30 s'",
                 growing=", 'source.monitor-interval' = '1 s'"):
    return f"""CREATE TABLE clicks (click_id STRING, ad_id STRING, device_ms BIGINT, arrival_ms BIGINT, read_time AS PROCTIME(),
      ts AS TO_TIMESTAMP_LTZ({time_column}, 3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json'{growing}{idle});"""


def traps_sink(name="t", key="ad_id, w", stored=None):
    return f"""CREATE TABLE {name} (ad_id STRING, w TIMESTAMP(3), n BIGINT, PRIMARY KEY ({key}) NOT ENFORCED)
    WITH ('connector' = 'sqlite', 'path' = 'a.db', 'table-name' = '{stored or name}');"""


def traps_count(over="clicks", time_column="ts", minutes=1, columns="ad_id, window_start, COUNT(*)"):
    return f"""SELECT {columns} FROM TABLE(TUMBLE(TABLE {over}, DESCRIPTOR({time_column}), INTERVAL '{minutes}' MINUTE))
    GROUP BY ad_id, window_start, window_end, window_time"""


def test_settings_without_effect(checks, shell):
    """What changes no answer is accepted: `check` warns by number, and `run` runs."""
    shell.put("clicks/a.json", click_line("c", "ad", START_MS))
    shell.put("job.sql", "SET 'execution.checkpointing.max-concurrent-checkpoints' = '2';\n" + PRINT)
    check_refusal(checks, "a setting without effect", shell.run("check", "job.sql"), NO, 1012, r"job\.sql:1:1: .*max-concurrent", "one checkpoint")
    code, out, err = shell.run("run", "job.sql")
    checks.check(code == DONE and "+I[c, ad]" in out and "STRAND-1012" in err, "run warns and runs", out + err)


def test_lag_alarm(checks, shell):
    """Event time that stays too far behind raises STRAND-1109 once, and the log says when it has caught up."""
    clicks = shell.folder / "clicks/a.json"
    shell.put("clicks/a.json", click_line("old", "ad", int(time.time() * 1_000) - 600_000))
    life = growing(shell, name="behind", sets="SET 'strand.lag.max' = '1 min';SET 'strand.lag.for' = '1 s';")
    log = wait_for(lambda: "1109" in life.log() and life.log())
    if checks.check(log, "a lag raises STRAND-1109", life.log()[-1_500:]):
        alarm = [line for line in log.splitlines() if "1109" in line][0]
        checks.check("behind the wall clock" in alarm and "strand.lag.max" in alarm, "the alarm says how much and what to do", alarm)
        checks.equal(sum("1109" in line for line in log.splitlines()), 1, "it is told once")
    with open(clicks, "ab") as file:
        file.write(click_line("new", "ad", int(time.time() * 1_000)))
    checks.check(wait_for(lambda: "caught up" in life.log().rsplit("1109", 1)[-1]), "the log says when it is over", life.log()[-800:])
    life.stop()


def test_traps(checks, shell):
    """Each lint rule on a job that it flags and on one alike that it does not (L07, L12: what they are about is refused in SQL)."""
    minutes = traps_sink() + "INSERT INTO t " + traps_count() + ";"
    view = "CREATE VIEW per_minute AS " + traps_count(columns="ad_id, window_start AS w, window_time AS wt, COUNT(*) AS n") + ";"
    hours = "INSERT INTO u SELECT ad_id, window_start, SUM(n) FROM TABLE(TUMBLE(TABLE %s, DESCRIPTOR(%s), INTERVAL '1' HOUR)) " \
            "GROUP BY ad_id, window_start, window_end;"
    both = traps_source() + traps_sink() + traps_sink("u") + view + "INSERT INTO t SELECT ad_id, w, n FROM per_minute;"
    unique = "CREATE VIEW d AS SELECT %s ad_id, ts FROM clicks QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;"
    counted_once = traps_sink() + "INSERT INTO t " + traps_count("d") + ";"
    retention = "/*+ STATE_RETENTION('clicks' = '2 h after ts') */"
    late = "CREATE VIEW m AS " + traps_count() + ";INSERT INTO t SELECT * FROM m;INSERT INTO u SELECT ad_id, window_start, COUNT(*) " \
           "FROM m$late GROUP BY ad_id, window_start;"
    two_phases = "SET 'table.optimizer.agg-phase-strategy' = '%s';" + traps_source() + traps_sink() + traps_sink("u") + late
    changes = traps_source() + "CREATE TABLE c (ad_id STRING, n BIGINT%s) WITH ('connector' = 'filesystem', 'path' = 'c', " \
        "'format' = 'debezium-json');INSERT INTO c SELECT ad_id, COUNT(*) FROM clicks GROUP BY ad_id;"
    rules = {
        "L01": (traps_source("device_ms") + minutes, traps_source() + minutes),
        "L02": (traps_source(idle="") + minutes, traps_source(idle="", growing="") + minutes),
        "L03": (both + "INSERT INTO u " + traps_count(minutes=60) + ";", both + hours % ("per_minute", "wt")),
        "L04": (two_phases % "TWO_PHASE", two_phases % "AUTO"),
        "L06": (changes % "", changes % ", PRIMARY KEY (ad_id) NOT ENFORCED"),
        "L05": (traps_source() + unique % "" + counted_once, traps_source() + unique % retention + counted_once),
        "L08": ("SET 'execution.checkpointing.interval' = '0 s';" + traps_source() + minutes, traps_source() + minutes),
        "L10": (traps_source() + traps_sink(key="ad_id") + "INSERT INTO t " + traps_count() + " ON CONFLICT DO DEDUPLICATE;", traps_source() + minutes),
    }
    for rule, (trapped, alike) in rules.items():
        shell.put("trapped.sql", trapped)
        shell.put("alike.sql", alike)
        code, out, err = shell.run("check", "trapped.sql", "--json")
        found = [finding for finding in json.loads(out or "{}").get("findings", []) if finding.get("rule") == rule]
        if checks.check(found, f"{rule} is found", out + err):
            checks.check(all(found[0][part] for part in ("message", "explanation", "hint", "where")), f"{rule} explains and rewrites", out)
            checks.equal(code, DONE if found[0]["severity"] == "note" else NO, f"{rule}: exit code of a {found[0]['severity']}")
        code, out, err = shell.run("check", "alike.sql", "--json")
        checks.check(out and not any(finding.get("rule") == rule for finding in json.loads(out)["findings"]) and code == DONE,
                     f"{rule} is not found in a job alike", out + err)
    twice = traps_source() + minutes + traps_sink("u", stored="t") + "INSERT INTO u %s" + traps_count() + ";"
    shell.put("trapped.sql", twice % "")
    check_refusal(checks, "L07 in SQL: two declarations of one table", shell.run("check", "trapped.sql"), NO, 2008, r"trapped\.sql:\d+",
                  "strand.writer")
    shell.put("alike.sql", twice % "/*+ OPTIONS('strand.writer' = 'other') */ ")
    checks.equal(shell.run("check", "alike.sql")[0], DONE, "writers with names of their own may share it")
    mixed = traps_source() + traps_sink() + "CREATE VIEW m AS " + traps_count(columns="ad_id, window_start, COUNT(*) AS n") + \
        ";INSERT INTO t SELECT * FROM m UNION ALL SELECT * FROM m$early;"
    shell.put("trapped.sql", mixed)
    check_refusal(checks, "L12 in SQL: closed rows that come again", shell.run("check", "trapped.sql"), NO, 2008, r"trapped\.sql:\d+",
                  "INSERT and columns of its own")


def test_options_from_outside(checks, shell):
    shell.put("job.sql", PRINT)
    cases = [(["--set", "parallelism.default=all"], "--set"), (["--set", "paralelism.default=1"], "--set"),
             (["--with", "clicks.source.monitor-interval=0 s"], "--with"), (["--with", "clicks.formt=json"], "--with"),
             (["--with", "clickz.path=x"], "--with")]
    for more, where in cases:
        for command in ("check", "run"):
            check_refusal(checks, f"{command} {' '.join(more)}", shell.run(command, "job.sql", *more), USAGE, "100[127]", where, ".")
    profiles = [("set:\n  parallelism.default: all\n", r"prod\.yaml:2"), ("sets:\n  a: 1\n", r"prod\.yaml:1"), ("a: [\n", r"prod\.yaml"),
                ("tables:\n  clicks:\n    formt: json\n", r"prod\.yaml:2"), ("tables:\n  clickz:\n    path: x\n", r"prod\.yaml:2"),
                ("set:\n  pipeline.name: ${NOWHERE}\n", r"prod\.yaml:2")]
    for text, where in profiles:
        shell.put("prod.yaml", text)
        check_refusal(checks, f"a profile: {text!r}", shell.run("check", "job.sql", "--profile", "prod.yaml"), USAGE, 1007, where, ".")


def test_gen(checks, shell):
    for shards in ("1", "2", "3"):
        code, out, err = shell.run("gen", "clicks", "--out", "in" + shards, "--rows", "2000", "--shards", shards)
        files = list((shell.folder / ("in" + shards)).iterdir())
        checks.check(code == DONE and len(files) == int(shards) and f"in {shards} shard" in out, f"gen clicks --shards {shards} works",
                     out + err)
    for more, said in ((["--shards", "-1"], "shards"), (["--silent-shards", "9", "--shards", "8"], "silent"),
                       (["--duplicate-permille", "2000"], "of 1000"), (["--ads", "0"], "ads"), (["--rate", "0"], "rate"),
                       (["--seconds", "-5"], "seconds")):
        check_refusal(checks, f"gen clicks {' '.join(more)}", shell.run("gen", "clicks", "--out", "x", *more), USAGE, "100[13]", said, ".")
    shell.put("file", "x")
    check_refusal(checks, "gen clicks into a file", shell.run("gen", "clicks", "--out", "file", "--rows", "10"), REFUSED, 5000, "file",
                  "folder is needed|names a file|another")


def test_explain_tells_where_state_lives(checks, shell):
    shell.put("job.sql", JOB % "" + WINDOWS + "SELECT ad_id, SUM(device_ms) OVER (PARTITION BY ad_id ORDER BY ts) AS n FROM clicks;")
    code, out, err = shell.run("explain", "job.sql")
    checks.check(code == DONE and "rocksdb" not in out, "explain of a job in memory says nothing of RocksDB", out + err)
    code, out, err = shell.run("explain", "job.sql", "--set", "state.backend.type=rocksdb")
    line = next((line for line in out.splitlines() if "rocksdb: beyond" in line), "")
    on_disk, _, in_memory = line.partition("in memory only: ")
    checks.check(code == DONE and "window" in on_disk and "nothing" not in in_memory, "explain tells what spills and what does not",
                 out + err)


def test_no_job(checks, shell):
    for words in (["status"], ["why"], ["ledger"], ["savepoint"], ["stop"], ["status", "nobody"], ["why", "nobody"], ["ledger", "nobody"],
                  ["savepoint", "nobody"], ["stop", "nobody"], ["stop", "nobody", "--drain"]):
        check_refusal(checks, " ".join(words), shell.run(*words), NO_JOB, 1005, "no job", "--state")


def test_damaged_state(checks, shell):
    for name, text in (("garbage", os.urandom(2_000)), ("empty", ""), ("json", "{}"), ("list", "[1, 2]"), ("deep", "[" * 100_000)):
        shell.put(name, text)
        check_refusal(checks, f"state of a file of {name}", shell.run("state", name), REFUSED, 5002, name, "snapshot|checkpoint|savepoint")
    (shell.folder / "nothing").mkdir()
    check_refusal(checks, "state of an empty folder", shell.run("state", "nothing"), USAGE, 1004, "nothing", "name a manifest")


def test_rows_that_cannot_be_computed(checks, shell):
    lines = [click_line(f"c{n}", f"ad-{n}", START_MS + n, spend=5 - n) for n in range(10)]
    shell.put("clicks/a.json", b"".join(lines))
    for what, expression, number, said, way_out in (
            ("a CAST", "CAST(ad_id AS INT)", 3007, r"cannot be cast to INT: CAST\('ad-0'\), in row \+I\[.*ad-0", "TRY_CAST"),
            ("a division by zero", "10 / spend_micros", 3007, r"division by zero: /\(10, 0\), in row \+I\[", "CASE WHEN"),
            ("a remainder by zero", "MOD(10, spend_micros)", 3007, r"division by zero: .*in row \+I\[", "CASE WHEN")):
        for where, sql in (("in a SELECT", f"SELECT {expression} AS x FROM clicks;"),
                           ("in a WHERE", f"SELECT ad_id FROM clicks WHERE {expression} > 0;")):
            shell.put("job.sql", JOB % "" + sql)
            done = shell.run("run", "job.sql", "--set", "parallelism.default=1")
            check_refusal(checks, f"{what} {where}", done, FAILED, number, r"clicks/a\.json records 1 to 10.*" + said, way_out)
            checks.check("no checkpoint" in done[2], f"{what} {where}: no checkpoint stands, and nothing says so", done[2][-600:])
    shell.put("job.sql", JOB % "" + "SELECT TRY_CAST(ad_id AS INT) AS x FROM clicks;")
    code, out, _ = shell.run("run", "job.sql")
    checks.check(code == DONE and out.count("null") == 10, "TRY_CAST is the way out that it promises to be", out)


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    return condition()


def growing(shell, name="counts", more="", sets=""):
    shell.put("job.sql", f"SET 'pipeline.name' = '{name}';\n" + sets + JOB % (", 'source.monitor-interval' = '100 ms'" + more) +
              WINDOWS.replace("minutes.db", name + ".db"))
    return shell.start("run", "job.sql", "--set", "parallelism.default=1", "--set", "execution.checkpointing.interval=200ms",
                       "--set", "strand.no-progress.after=1 s")


def test_after_the_end(checks, shell):
    """A job that has ended is still told of: how, when, and what is left."""
    shell.put("clicks/a.json", b"".join(click_line(f"c{n}", "ad", START_MS + n * 1_000) for n in range(300)))
    life = growing(shell)
    wait_for(lambda: shell.run("status")[0] == DONE)
    code, out, _ = shell.run("stop", "counts")
    savepoint = out.strip()
    checks.check(code == DONE and (shell.folder / savepoint).exists(), "stop prints the savepoint", out)
    checks.equal(life.end(), DONE, "the job ends with exit code 0")
    check_refusal(checks, "status of a stopped job", shell.run("status", "counts"), NO_JOB, 1005,
                  "'counts' does not run.*stopped at .*with savepoint .*" + re.escape(savepoint), "strandline run")
    for command in ("status", "why", "ledger"):
        check_refusal(checks, f"{command} where a job has stopped", shell.run(command), NO_JOB, 1005, "no job runs", "strandline run")

    life = growing(shell)
    wait_for(lambda: shell.run("status")[0] == DONE)
    shell.run("stop", "counts", "--drain")
    life.end()
    check_refusal(checks, "status of a drained job", shell.run("status", "counts"), NO_JOB, 1005, "drained at .*with savepoint", "--from none")
    rows = sqlite3.connect(shell.folder / "counts.db").execute("SELECT SUM(n) FROM minutes").fetchone()[0]
    checks.equal(rows, 300, "and its windows are all in the table")

    life = growing(shell)
    wait_for(lambda: shell.run("status")[0] == DONE)
    life.kill()
    check_refusal(checks, "status of a killed job", shell.run("status", "counts"), NO_JOB, 1005, r"does not answer at .*pid \d+", "strandline run")

    shell.put("clicks/b.json", "not a click\n")
    life = growing(shell)
    checks.equal(life.end(), FAILED, "a job that meets a bad record fails")
    checks.check("the last checkpoint stands" in life.log(), "and says that a checkpoint stands", life.log()[-600:])
    check_refusal(checks, "status of a failed job", shell.run("status", "counts"), NO_JOB, 1005, "failed at .*STRAND-3001", "strandline run")


def test_once(checks, shell):
    """A run that reads once ends without the end of event time: a window that spans runs is counted whole, whether files grow or are new."""
    def minutes(name):
        rows = sqlite3.connect(shell.folder / (name + ".db")).execute("SELECT bucket, n FROM minutes ORDER BY bucket")
        return dict(rows.fetchall())

    def put(name, seconds):
        with open(shell.folder / "clicks" / name, "ab") as file:
            file.write(b"".join(click_line(f"{name}{n}", "ad", START_MS + n * 1_000) for n in seconds))

    def read_once(name, options):
        shell.put("job.sql", f"SET 'pipeline.name' = '{name}';\n" + JOB % options + WINDOWS.replace("minutes.db", name + ".db"))
        code, _, err = shell.run("run", "job.sql", "--once", "--set", "execution.checkpointing.interval=200ms")
        checks.equal(code, DONE, "a run that reads once ends with exit code 0")
        return err

    growing_files, idle = ", 'source.monitor-interval' = '100 ms'", ", 'scan.watermark.idle-timeout' = '1 h'"
    (shell.folder / "clicks").mkdir()
    put("a.json", range(100))
    err = read_once("grow", growing_files)
    checks.check("read what was there; the last checkpoint stands" in err, "the run says how it ended and where the next goes on", err)
    checks.equal(minutes("grow"), {"10:00": 60}, "only the minute that is over is told")
    put("a.json", range(100, 200))
    read_once("grow", growing_files)
    checks.equal(minutes("grow"), {"10:00": 60, "10:01": 60, "10:02": 60}, "a minute that spans two runs is counted whole")
    read_once("grow", growing_files)
    checks.equal(minutes("grow"), {"10:00": 60, "10:01": 60, "10:02": 60}, "a run that finds nothing new changes nothing")
    put("b.json", range(200, 300))
    err = read_once("grow", growing_files)
    checks.equal(len(minutes("grow")), 3, "a file that had nothing for this run may go on, and is waited for")
    checks.check("STRAND-1107" in err and "a.json" in err and "idle-timeout" in err, "which the run says, with the way out", err)
    put("b.json", range(300, 360))
    read_once("grow", growing_files + idle)
    checks.equal(minutes("grow"), {f"10:0{n}": 60 for n in range(5)}, "but not where the table has an idle timeout")
    read_once("files", "")
    put("c.json", range(360, 420))
    read_once("files", "")
    checks.equal(minutes("files"), {f"10:0{n}": 60 for n in range(6)}, "a file of a table that is not watched has ended with its run")
    check_refusal(checks, "status behind such a run", shell.run("status", "files"), NO_JOB, 1005, "had read what was there at", "strandline run")
    done = shell.run("run", "job.sql")
    checks.check(done[0] == DONE and minutes("files")["10:06"] == 60, "a run to the end closes what is left", done[2])


def test_why_and_alarm(checks, shell):
    """No window closes: the log says so by itself, `why` says the cause, and both what would release it."""
    shell.put("clicks/a.json", b"".join(click_line(f"a{n}", "ad", START_MS + n * 1_000) for n in range(300)))
    shell.put("clicks/b.json", click_line("b0", "ad", START_MS))
    life = growing(shell, name="silent")
    wait_for(lambda: " 301 read" in shell.run("status", "silent")[1])
    code, out, _ = shell.run("ledger", "silent", "--row", "click_id=a7")
    checks.check(code == DONE and "clicks/a.json record 8 " in out and "no operator has the column" in out,
                 "ledger --row finds a record by a column that the job does not use", out)
    code, out, _ = shell.run("ledger", "silent", "--row", "ts=2024-01-01 10:00:07.000")
    checks.check(code == DONE and "in the window from 2024-01-01 10:00:00.000" in out, "ledger --row follows a record", out)
    code, out, _ = shell.run("ledger", "silent", "--row", "click_id=nobody")
    checks.check(code == NO and "no record" in out, "ledger --row of no record is exit code 1", out)
    check_refusal(checks, "ledger --row of no column", shell.run("ledger", "silent", "--row", "clik_id=a7"), NO, 2003, "--row", "click_id")
    log = wait_for(lambda: "1107" in life.log() and life.log(), 40)
    if checks.check(log, "a silent shard raises STRAND-1107", life.log()[-1_500:]):
        alarm = [line for line in log.splitlines() if "1107" in line][0]
        checks.check("clicks/b.json" in alarm and "scan.watermark.idle-timeout" in alarm, "the alarm names shard and way out", alarm)
        checks.equal(sum("1107" in line for line in log.splitlines()), 1, "it is told once")
    code, out, _ = shell.run("why")
    checks.check(code == DONE and "clicks/b.json is silent" in out and "idle-timeout" in out, "why says the same", out)
    with open(shell.folder / "clicks/b.json", "ab") as file:
        file.write(click_line("b1", "ad", START_MS + 400_000))
    with open(shell.folder / "clicks/a.json", "ab") as file:
        file.write(click_line("a400", "ad", START_MS + 400_000))
    checks.check(wait_for(lambda: "progress" in life.log().rsplit("1107", 1)[-1]), "the log says when it is over", life.log()[-800:])
    code, out, _ = shell.run("why")
    checks.check("waiting: " in out and "closes when" in out, "a window that is not over yet is told with what closes it", out)
    life.stop()

    causes = [
        ("bad", "not json\n" * 20, ", 'json.ignore-parse-errors' = 'true'", "every record of clicks is bad", r"clicks\$bad"),
        ("future", click_line("f", "ad", int(time.time() * 1_000) + 10**11), "", "lies in the future", "future-skew"),
        ("nothing", "", "", "nothing was read from clicks", "no record|without a record|was written"),
    ]
    for name, text, more, headline, way_out in causes:
        shutil.rmtree(shell.folder / "clicks")
        shell.put("clicks/a.json", text)
        life = growing(shell, name=name, more=more)
        found = wait_for(lambda: (lambda out: headline in out and out)(shell.run("why", name)[1]), 40)
        checks.check(found and re.search(way_out, found), f"why of a job with {name}: {headline}", shell.run("why", name)[1])
        checks.check(wait_for(lambda: "1107" in life.log()), f"and the alarm of a job with {name}", life.log()[-800:])
        life.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/strandline")
    parser.add_argument("--only", help="the tests whose names contain this")
    arguments = parser.parse_args()
    binary = pathlib.Path(arguments.binary).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strandline-words-")).resolve()
    for variable in [name for name in os.environ if name.startswith("STRANDLINE")]:
        del os.environ[variable]
    checks = Checks()
    for name, test in list(globals().items()):
        if name.startswith("test_") and (arguments.only or "") in name:
            test(checks, Shell(binary, folder / name[5:]))
    if not checks.failed:
        shutil.rmtree(folder)
    checks.finish()


if __name__ == "__main__":
    main()
