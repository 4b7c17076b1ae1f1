#!/usr/bin/env python3
"""The shell: what -e, -f and a pipe print, and a conversation at a terminal.

    sql_test.py --binary build/release/bin/strandline [--only NAME]
"""

import os
import pty
import re
import select
import subprocess
import time

from checks import run_tests
from command_line_test import DONE, NO, USAGE, Shell, check_refusal

ROWS = "(VALUES (1, 'a', CAST(1.50 AS DECIMAL(5, 2))), (2, 'b,\"c', CAST(NULL AS DECIMAL(5, 2))), (3, 'a', 2.25)) AS t (n, s, d)"
ONE = "SET 'parallelism.default' = '1';\n"
EVENTS = """CREATE TABLE events (s STRING, n INT) WITH ('connector' = 'filesystem', 'path' = 'events', 'format' = 'json');
"""
NEWEST = EVENTS.replace("n INT", "n INT, p AS PROCTIME()") + \
    "SELECT s, n FROM events QUALIFY ROW_NUMBER() OVER (PARTITION BY s ORDER BY p DESC) = 1;"
ENDLESS = "SET 'parallelism.default' = '1'; CREATE TABLE ticks (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '50', 'fields.n.kind' = 'sequence', " \
          "'fields.n.start' = '1', 'fields.n.end' = '1000000');"
NESTED = "SELECT MAP[1, 2] AS m, COLLECT(x) AS c, ARRAY[ARRAY[1]] AS a, ROW(1, MAP['k', CAST(NULL AS INT)]) AS r FROM (VALUES (3)) AS t (x)"

GOLDEN = [
    ("a table", ["--format", "table", "-e", f"{ONE}SELECT * FROM {ROWS}"],
     "+---+------+------+\n| n |    s |    d |\n+---+------+------+\n| 1 |    a | 1.50 |\n| 2 | b,\"c | NULL |\n| 3 |    a | 2.25 |\n"
     "+---+------+------+\n3 rows\n"),
    ("CSV", ["--format", "csv", "-e", f"{ONE}SELECT * FROM {ROWS}"], 'n,s,d\n1,a,1.50\n2,"b,""c",\n3,a,2.25\n'),
    ("JSON, which a pipe gets", ["-e", f"{ONE}SELECT * FROM {ROWS}"],
     '{"n":1,"s":"a","d":1.5}\n{"n":2,"s":"b,\\"c","d":null}\n{"n":3,"s":"a","d":2.25}\n'),
    ("changes in CSV", ["--format", "csv", "-e", ONE + NEWEST], "op,s,n\n+I,a,3\n+I,b,2\n-U,a,3\n+U,a,5\n"),
    ("changes of an anti join", ["--format", "csv", "-e", ONE + "CREATE VIEW a AS SELECT * FROM (VALUES (1)) AS t (n); "
     "SELECT n FROM a WHERE NOT EXISTS (SELECT 1 FROM a AS b WHERE b.n = a.n + 1)"], "op,n\n+I,1\n"),
    ("changes in JSON", ["--format", "json", "-e", ONE + NEWEST],
     '{"s":"a","n":3}\n{"s":"b","n":2}\n{"op":"-U","s":"a","n":3}\n{"op":"+U","s":"a","n":5}\n'),
    ("changes in a table, in the place of the row", ["--format", "table", "-e", ONE + NEWEST],
     "+---+---+\n| s | n |\n+---+---+\n| a | 5 |\n| b | 2 |\n+---+---+\n2 rows\n"),
    ("rows that go", ["--format", "table", "-e", ONE + "SELECT x FROM (VALUES (3), (1), (2)) AS t (x) ORDER BY x LIMIT 2"],
     "+---+\n| x |\n+---+\n| 1 |\n| 2 |\n+---+\n2 rows\n"),
    ("an answer", ["--format", "table", "-e", EVENTS + "SHOW TABLES;"],
     "+------------+\n| table name |\n+------------+\n|     events |\n+------------+\n"),
    ("an answer as CSV", ["--format", "csv", "-e", EVENTS + "SHOW TABLES"], "table name\nevents\n"),
    ("an answer as JSON", ["-e", EVENTS + "SHOW TABLES;"], '{"table name":"events"}\n'),
    ("declarations say nothing", ["-e", EVENTS + "CREATE VIEW v AS SELECT s FROM events; DROP VIEW v; RESET;"], ""),
    ("a view of a view, behind a query", ["--format", "csv", "-e", ONE + EVENTS + "CREATE VIEW v AS SELECT n FROM events; SELECT n FROM v "
     "WHERE n > 2; CREATE VIEW w AS SELECT n + 1 AS m FROM v; SELECT m FROM w WHERE m = 6"], "n\n3\n5\nm\n6\n"),
    ("a database", ["--format", "csv", "-e", "CREATE DATABASE d; USE d; " + EVENTS + "SHOW CURRENT DATABASE; SHOW TABLES;"],
     None),
    ("what would harm a terminal", ["--format", "table", "-e", "SELECT CHR(27) || 'x' || CHR(10) AS s"],
     "+-----------+\n|         s |\n+-----------+\n| \\x1bx\\x0a |\n+-----------+\n1 row\n"),
    ("values in values in JSON", ["-e", ONE + NESTED], '{"m":{"1":2},"c":{"3":1},"a":[[1]],"r":{"EXPR$0":1,"EXPR$1":{"k":null}}}\n'),
    ("values in values in CSV", ["--format", "csv", "-e", ONE + NESTED], 'op,m,c,a,r\n+I,{1=2},{3=1},[[1]],"(1, {k=NULL})"\n'),
    ("values in values in a table", ["--format", "table", "-e", ONE + NESTED],
     "+-------+-------+-------+---------------+\n|     m |     c |     a |             r |\n+-------+-------+-------+---------------+\n"
     "| {1=2} | {3=1} | [[1]] | (1, {k=NULL}) |\n+-------+-------+-------+---------------+\n1 row\n"),
    ("-c is -e", ["--format", "csv", "-c", "SELECT 1 AS one"], "one\n1\n"),
    ("no statement", ["-e", "-- nothing"], ""),
]


def test_golden(checks, binary, folder):
    shell = Shell(binary, folder)
    shell.put("events/a.json", "".join(f'{{"s": "{s}", "n": {n}}}\n' for s, n in (("a", 3), ("b", 2), ("a", 5))))
    for name, words, expected in GOLDEN:
        code, out, err = shell.run("sql", *words)
        if expected is None:
            checks.equal((code, out.splitlines()[1::2], err), (DONE, ["d", "events"], ""), f"{name}: {words[-1][:40]}")
        else:
            checks.equal((code, out, err), (DONE, expected, ""), name)


def test_width(checks, binary, folder):
    code, out, err = Shell(binary, folder).run("sql", "--format", "table", "-e", ONE + "SELECT * FROM (VALUES ('Straße', '日本'), ('a', 'é')) AS t (a, `größe`)")
    checks.equal((code, out, err), (DONE, "+--------+-------+\n|      a | größe |\n+--------+-------+\n| Straße |  日本 |\n|      a |     é |\n"
                                    "+--------+-------+\n2 rows\n", ""), "columns are as wide as their characters")


def test_outside(checks, binary, folder):
    shell = Shell(binary, folder)
    shell.put("events/a.json", '{"s": "a", "n": 1}\n')
    shell.put("prod.yaml", "set:\n  parallelism.default: 1\ntables:\n  events:\n    path: events\n")
    elsewhere = EVENTS.replace("'path' = 'events'", "'path' = 'nowhere'")
    for words in (["--with", "events.path=events"], ["--profile", "prod.yaml"]):
        code, out, err = shell.run("sql", *words, "-e", "SELECT 1 AS one; " + elsewhere + "SELECT n FROM events;")
        checks.equal((code, out, err), (DONE, '{"one":1}\n{"n":1}\n', ""), f"{words[0]} holds for tables that are declared later")
    code, out, err = shell.run("sql", "--set", "table.exec.unheard=1", "-e", "SELECT 1 AS one; SELECT 2 AS two;")
    checks.equal((code, err.count("STRAND-1002")), (DONE, 1), "a warning of the command line is told once")


def test_catalog(checks, binary, folder):
    shell = Shell(binary, folder)
    opened = "CREATE CATALOG c WITH ('type' = 'file', 'path' = 'kept/c.sql'); USE CATALOG c; "
    shell.put("events/a.json", '{"s": "a", "n": 1}\n')
    code, out, err = shell.run("sql", "-e", ONE + opened + EVENTS + "CREATE VIEW v AS SELECT n + 1 AS m FROM events; SELECT m FROM v; DROP VIEW v; "
                               "CREATE VIEW w AS SELECT n FROM events;")
    checks.equal((code, out, err), (DONE, '{"m":2}\n', ""), "a catalog in a file is made and used")
    code, out, err = shell.run("sql", "-e", ONE + opened + "SHOW TABLES; SELECT n FROM w;")
    checks.equal((code, out, err), (DONE, '{"table name":"events"}\n{"table name":"w"}\n{"n":1}\n', ""), "the next shell finds what it holds")
    shell.put("more.sql", opened + "CREATE VIEW x AS SELECT n * 3 AS n FROM w;")
    code, out, err = shell.run("run", "more.sql")
    checks.equal((code, out, err), (DONE, "", ""), "run keeps what a file without queries declares")
    code, out, err = shell.run("check", "more.sql")
    checks.check(code == NO and "STRAND-2007" in out + err, "as in Flink, what is there cannot be created again", out + err)
    shell.put("read.sql", ONE + "CREATE CATALOG c WITH ('type' = 'file', 'path' = 'kept/c.sql'); SELECT n FROM c.`default`.x;")
    code, out, err = shell.run("run", "--ui", "off", "read.sql")
    checks.equal((code, out), (DONE, "+I[3]\n"), "a job file reads it")
    kept = os.path.join(shell.folder, "kept", "c.sql")
    with open(kept, "r+", encoding="utf-8") as file:
        text = file.read()
        file.seek(0)
        file.write(text.replace("events", "evenst", 1))
    code, out, err = shell.run("sql", "-e", opened + "SHOW TABLES;")
    checks.check(code == NO and "STRAND-2015" in err, "a file that was changed by hand is refused", err)


def test_terminated(checks, binary, folder):
    shell = Shell(binary, folder)
    os.makedirs(os.path.join(folder, "scratch"))
    process = subprocess.Popen(shell.command("sql", "-e", ENDLESS + " SELECT n FROM ticks;"), stdout=subprocess.PIPE, cwd=shell.folder,
                               env={**os.environ, "TMPDIR": os.path.join(folder, "scratch")})
    checks.check(process.stdout.readline() == b'{"n":1}\n', "a query runs")
    process.terminate()
    process.stdout.read()
    checks.equal(process.wait(timeout=30), -15, "SIGTERM ends the shell")
    checks.equal(os.listdir(os.path.join(folder, "scratch")), [], "which leaves no folder behind")


def test_files(checks, binary, folder):
    shell = Shell(binary, folder)
    shell.put("job.sql", "-- two queries\nSELECT 1 AS one;\n\nSELECT nothing\nFROM (VALUES (1)) AS t (n);\nSELECT 3 AS three;\n")
    code, out, err = shell.run("sql", "-f", "job.sql")
    checks.equal((code, out), (NO, '{"one":1}\n'), "statements run until one fails")
    checks.check("STRAND-2003  job.sql:4:8" in err, "an error has its place in the file", err)
    shell.put("stored.sql", ONE + "CREATE TABLE kept (n INT) WITH ('connector' = 'filesystem', 'path' = 'kept', 'format' = 'json');\n"
              "INSERT INTO kept VALUES (1), (2);\nCREATE TABLE copied WITH ('connector' = 'filesystem', 'path' = 'copied', 'format' = 'csv') "
              "AS SELECT n, n * 10 AS m FROM kept;\nSELECT n, m FROM copied;\n")
    code, out, err = shell.run("sql", "--format", "csv", "-f", "stored.sql")
    checks.equal((code, out), (DONE, "n,m\n1,10\n2,20\n"), "INSERT and CREATE TABLE AS are done before what follows" + (err if code else ""))
    done = subprocess.run(shell.command("sql", "--format", "csv"), input=b"SELECT 5 AS five;", capture_output=True, cwd=shell.folder, timeout=60)
    checks.equal((done.returncode, done.stdout), (DONE, b"five\n5\n"), "statements from a pipe")
    check_refusal(checks, "a syntax error", shell.run("sql", "-e", "SELECT 1; SELEC 2;"), NO, 2001, "sql:1:11", "SELECT")
    check_refusal(checks, "a file that is not there", shell.run("sql", "-f", "none.sql"), USAGE, 1004, r"none\.sql", "check the path")
    check_refusal(checks, "another format", shell.run("sql", "--format", "xml", "-e", "SELECT 1"), USAGE, 1003, "xml", "sql --help")
    check_refusal(checks, "a setting without a value", shell.run("sql", "--set", "a", "-e", "SELECT 1"), USAGE, 1003, "KEY=VALUE", "--set")


def test_another_table(checks, binary, folder):
    """The same INSERT from another table is another job: it reads that from its start."""
    shell = Shell(binary, folder)
    shell.put("first/p.json", '{"n": 1}\n{"n": 2}\n')
    shell.put("second/p.json", '{"n": 7}\n{"n": 8}\n{"n": 9}\n')
    for source, expected in (("first", 2), ("second", 3)):
        code, _, err = shell.run("sql", "-e", ONE + f"CREATE TABLE a (n INT) WITH ('connector' = 'filesystem', 'path' = '{source}', "
                                 f"'format' = 'json'); CREATE TABLE s (n INT) WITH ('connector' = 'filesystem', 'path' = "
                                 f"'to-{source}', 'format' = 'json'); INSERT INTO s SELECT n FROM a;")
        rows = sum(len(path.read_text().splitlines()) for path in (folder / f"to-{source}").glob("*part-*"))
        checks.equal((code, rows), (DONE, expected), f"from {source}" + (err if code else ""))


def test_full(checks, binary, folder):
    shell = Shell(binary, folder)
    with open("/dev/full", "w") as full:
        done = subprocess.run(shell.command("sql", "-e", "SELECT 1 AS one"), stdout=full, stderr=subprocess.PIPE, cwd=shell.folder,
                              text=True, timeout=60)
    checks.check(done.returncode not in (DONE, NO) and "STRAND-5000" in done.stderr, "an answer that nobody takes is an error",
                 f"{done.returncode} {done.stderr}")
    done = subprocess.run(shell.command("sql", "-e", "SELECT 1 AS one"), capture_output=True, cwd=shell.folder, text=True, timeout=60,
                          env={**os.environ, "TMPDIR": "/nowhere"})
    checks.check(done.returncode not in (DONE, NO) and "TMPDIR" in done.stderr, "a query that has no folder says the way out",
                 f"{done.returncode} {done.stderr}")


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, shell, *words):
        self.process, self.master = pty.fork()
        if self.process == 0:
            os.chdir(shell.folder)
            os.environ["TERM"] = "xterm"
            command = shell.command("sql", *words)
            os.execv(command[0], command)
        self.seen = ""

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self, pattern, seconds=30):
        """Reads until the pattern is there; what came up to it is used up."""
        until = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.seen, re.S)
            if found:
                self.seen = self.seen[found.end():]
                return found
            ready = select.select([self.master], [], [], max(0, until - time.monotonic()))[0]
            if not ready:
                return None
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                return None

    def end(self, seconds=30):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.wait("(?!)", 0.05)
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                return os.waitstatus_to_exitcode(status)
        os.kill(self.process, 9)
        return None


PROMPT = "sql> "


def test_shared_catalog(checks, binary, folder):
    shell = Shell(binary, folder)
    opened = "CREATE CATALOG c WITH ('type' = 'file', 'path' = 'c.sql'); "
    kept = os.path.join(shell.folder, "c.sql")

    def read():
        with open(kept, encoding="utf-8") as file:
            return file.read()

    code, out, err = shell.run("sql", "-e", opened + "CREATE VIEW c.`default`.v AS SELECT 1 AS n; DROP VIEW c.`default`.v;")
    checks.check((code, out, err) == (DONE, "", "") and "VIEW" not in read(), "what is dropped again goes from the file", err + read())
    whole = read()
    shell.put("c.sql", "nonsense")
    terminal = Terminal(shell)
    checks.check(terminal.wait(PROMPT), "a shell waits")

    def answers(text, pattern, what):
        terminal.type(text + " SHOW CURRENT CATALOG;\r")
        checks.check(terminal.wait(pattern + ".*" + PROMPT), what, terminal.seen)

    done = r"default_catalog \|"
    answers(opened, "STRAND-2015", "a file that is none is refused")
    shell.put("c.sql", whole)
    answers(opened, done, "the repaired file is opened in the same shell")
    checks.equal(shell.run("sql", "-e", opened + "CREATE VIEW c.`default`.theirs AS SELECT 1 AS n;")[0], DONE, "somebody else writes")
    ours = "CREATE VIEW c.`default`.ours AS SELECT 2 AS n;"
    answers(ours, "STRAND-2015.*somebody else.*run the statements again", "which is told")
    answers(ours, done, "and the statement may be run again")
    checks.check("theirs AS" in read() and "ours AS" in read(), "the file holds both", read())
    checks.equal(shell.run("sql", "-e", opened + "CREATE VIEW c.`default`.more AS SELECT 1 AS n;")[0], DONE, "they write again")
    answers("CREATE VIEW c.`default`.late AS SELECT 2 AS n;", "STRAND-2015.*leave the shell", "a shell that has written, too, says the way out")
    checks.check("more" in read() and "late" not in read(), "nobody's change is lost", read())
    answers("", done, "the shell goes on")
    terminal.type(".exit\r")
    terminal.end()


def test_terminal(checks, binary, folder):
    shell = Shell(binary, folder)
    shell.put("events/a.json", '{"s": "a", "n": 3}\n{"s": "b", "n": 2}\n')
    at = Terminal(shell)
    checks.check(at.wait(PROMPT), "there is a prompt", at.seen)
    at.type(".help\r")
    checks.check(at.wait(r"Tab completes.*" + PROMPT), ".help tells what there is", at.seen)
    at.type("SELECT 6\r")
    checks.check(at.wait("  -> "), "a statement goes on until its ;", at.seen)
    at.type("* 7 AS x, 'fünf' AS y;\r")
    checks.check(at.wait(r"\| +42 \| fünf \|.*1 row.*" + PROMPT), "and its rows are a table", at.seen)
    at.type(EVENTS.replace("\n", "\r"))
    at.wait(PROMPT)
    at.type("sel\t")
    checks.check(at.wait("sel.*ect "), "a keyword is completed in the case in which it is begun", at.seen)
    at.type("n from eve\t")
    checks.check(at.wait("from eve.*nts "), "so is a table that has been declared", at.seen)
    at.type("where n = 2;\r")
    checks.check(at.wait(r"\| +2 \|.*1 row.*" + PROMPT), "the completed statement runs", at.seen)
    at.type("SELECT CHAR_L\t'abcd') AS f;\r")
    checks.check(at.wait(r"ENGTH"), "a function is completed", at.seen)
    at.wait(PROMPT)
    at.type("SELECT 1 \x03")
    checks.check(at.wait(r"\^C.*" + PROMPT), "Ctrl-C cancels the line", at.seen)
    at.type("SELECT (1\r")
    at.wait("  -> ")
    at.type("\x03")
    checks.check(at.wait(PROMPT), "and a statement of several lines", at.seen)
    at.type("SELECT nothing FROM events;\r")
    checks.check(at.wait(r"STRAND-2003  sql:1:8.*" + PROMPT), "an error has its place in the statement and ends nothing else", at.seen)

    at.type(ENDLESS + " SELECT COUNT(*) AS c FROM ticks;\r")
    checks.check(at.wait(r"1 row\r\n\x1b\[\d+A\x1b\[J.*1 row"), "the table of a query that runs is drawn again in place", at.seen[-500:])
    at.type("\x03")
    checks.check(at.wait(PROMPT), "Ctrl-C ends the query only", at.seen[-500:])
    at.type("\x1b[A\x1b[A\r")
    checks.check(at.wait(r"STRAND-2003.*SELECT nothing FROM events;.*" + PROMPT), "the arrow goes back in history", at.seen)
    at.type("CREATE TABLE nowhere (n INT) WITH ('connector' = 'blackhole');\r")
    at.wait(PROMPT)
    at.type("EXECUTE STATEMENT SET BEGIN INSERT INTO nowhere VALUES (1);\r")
    checks.check(at.wait(r"\(1\);\r\n.*  -> "), "a statement set goes on behind its statements", at.seen)
    at.type("END;\r")
    checks.check(at.wait(r"END;\r\n.*" + PROMPT), "until its END", at.seen)
    at.type(".format csv\rSELECT 1 AS one;\r")
    checks.check(at.wait(r"one\r\n1\r\n" + PROMPT), ".format changes how rows are written", at.seen)
    at.type(".exit\r")
    checks.equal(at.end(), DONE, ".exit ends it")

    again = Terminal(shell)
    again.wait(PROMPT)
    again.type("\x1b[A\x1b[A\r")
    checks.check(again.wait(r"\| one \|.*\| +1 \|.*" + PROMPT), "the next shell knows the history of the last", again.seen)
    again.type("\x04")
    checks.equal(again.end(), DONE, "Ctrl-D ends it")


def test_inserts(checks, binary, folder):
    """Ctrl-C stops an INSERT with a savepoint, as `run`; the next one is not stopped by it."""
    at = Terminal(Shell(binary, folder))
    at.wait(PROMPT)
    at.type(ENDLESS + " CREATE TABLE nowhere (n BIGINT) WITH ('connector' = 'blackhole');\r")
    at.wait(PROMPT)
    for which in ("an INSERT", "the same one, which goes on from there,"):
        at.type("INSERT INTO nowhere SELECT n FROM ticks;\r")
        checks.check(at.wait("rows out"), f"{which} runs", at.seen)
        at.type("\x03")
        checks.check(at.wait("stopped; savepoint .*" + PROMPT), f"{which} is stopped with a savepoint", at.seen[-500:])
    at.type(".exit\r")
    checks.equal(at.end(), DONE, "the shell lives on until .exit")


def test_interrupted_script(checks, binary, folder):
    """Ctrl-C ends the query of a script; what follows runs."""
    shell = Shell(binary, folder)
    at = Terminal(shell, "--format", "csv", "-e", ENDLESS + "SELECT n FROM ticks; SELECT 'behind' AS it;")
    checks.check(at.wait(r"n\r\n1\r\n2\r\n"), "an endless query prints as it reads", at.seen)
    at.type("\x03")
    checks.check(at.wait(r"it\r\nbehind\r\n"), "after Ctrl-C the next statement runs", at.seen[-300:])
    checks.equal(at.end(), DONE, "and the script ends as others do")


if __name__ == "__main__":
    run_tests(__doc__, (test_golden, test_width, test_outside, test_catalog, test_shared_catalog, test_terminated, test_files, test_another_table, test_full, test_terminal, test_inserts, test_interrupted_script))
