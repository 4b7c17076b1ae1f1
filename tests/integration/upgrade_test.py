#!/usr/bin/env python3
"""What `upgrade-check` predicts is what `run --from` then does: each edit of a job, predicted from the two files alone and from a
snapshot, then run from that snapshot.

    upgrade_test.py --binary build/release/bin/strandline [--only NAME]
"""

import json
import shutil
import re

from checks import run_tests
from command_line_test import DONE, NO, REFUSED, USAGE, Shell, check_refusal

CLICKS = """SET 'pipeline.name' = 'counts';
CREATE TABLE clicks (ad STRING, site STRING, spend INT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), at AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json');
CREATE TABLE ads (ad STRING, n BIGINT, spend BIGINT, PRIMARY KEY (ad) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = 'out.db', 'table-name' = 'ads');
CREATE TABLE minutes (ad STRING, w TIMESTAMP(3), n BIGINT, PRIMARY KEY (ad, w) NOT ENFORCED)
  WITH ('connector' = 'sqlite', 'path' = 'out.db', 'table-name' = 'minutes');
CREATE VIEW firsts AS SELECT ad, site, spend, ts FROM clicks QUALIFY ROW_NUMBER() OVER (PARTITION BY ad, ms ORDER BY at) = 1;
CREATE VIEW totals AS SELECT ad, COUNT(*) AS n, SUM(spend) AS spend FROM firsts GROUP BY ad;
CREATE VIEW per_minute AS SELECT ad, window_start AS w, COUNT(*) AS n
  FROM TABLE(TUMBLE(TABLE firsts, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad, window_start, window_end;
INSERT INTO ads SELECT ad, n, spend FROM totals;
INSERT INTO minutes SELECT ad, w, n FROM per_minute;
"""


def edited(*replacements):
    text = CLICKS
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return text


def without_minutes(text):
    return re.sub(r"INSERT INTO minutes[^;]*;\n", "", text)


RETENTION = ("SELECT ad, COUNT(*) AS n, SUM(spend)", "SELECT /*+ STATE_RETENTION('firsts' = '1 h after ts') */ ad, COUNT(*) AS n, SUM(spend)")
DROP_MINUTES = "SET 'strand.state.drop' = 'per_minute/window,minutes.n/sink';\n"
MANY = "SUM(spend) AS spend FROM firsts"

# name: (the edited file; fates of operators that are not kept; what is said to have changed)
EDITS = {
    "nothing": (CLICKS, {}, []),
    "a comment and a view that nobody reads": ("-- edited\n" + CLICKS + "CREATE VIEW unused AS SELECT ad FROM clicks;", {}, []),
    "an aggregate added": (edited((MANY, MANY.replace("AS spend", "AS spend, MAX(spend) AS most"))), {"totals/group": "changed"}, []),
    "an operator added": (
        CLICKS + "CREATE VIEW sites AS SELECT site, COUNT(*) AS n FROM clicks GROUP BY site;\nSELECT site, n FROM sites;",
        {"sites/group": "new", "print/sink": "new"}, []),
    "operators removed": (without_minutes(CLICKS), {"per_minute/window": "gone", "minutes.n/sink": "gone"}, []),
    "operators removed and named": (
        DROP_MINUTES + without_minutes(CLICKS), {"per_minute/window": "dropped", "minutes.n/sink": "dropped"}, []),
    "a view renamed": (edited(("totals", "sums")), {"totals/group": "gone", "sums/group": "new"}, []),
    "a view renamed and named": (
        "SET 'strand.state.drop' = 'totals/group';\n" + edited(("totals", "sums")), {"totals/group": "dropped", "sums/group": "new"}, []),
    "another key": (
        edited(("PARTITION BY ad, ms", "PARTITION BY site, ms")), {"firsts/deduplicate": "changed"}, [("firsts/deduplicate", "keys")]),
    "a key widened": (
        edited(("PARTITION BY ad, ms", "PARTITION BY ad, ts")), {"firsts/deduplicate": "changed"}, [("firsts/deduplicate", "keys")]),
    "a type widened": (edited(("spend INT", "spend BIGINT")), {"totals/group": "changed"}, []),
    "a type narrowed": (edited(("spend INT", "spend SMALLINT")), {"totals/group": "changed"}, []),
    "a nullable field added": (edited(("spend INT,", "spend INT, note STRING,")), {}, [("clicks/scan", "read")]),
    "another window": (
        edited(("INTERVAL '1' MINUTE", "INTERVAL '2' MINUTE")), {"per_minute/window": "changed"}, [("per_minute/window", "window")]),
    "another watermark": (edited(("INTERVAL '5' SECOND", "INTERVAL '9' SECOND")), {}, [("clicks/scan", "watermark")]),
    "an idle timeout": (
        edited(("'path' = 'clicks'", "'path' = 'clicks', 'scan.watermark.idle-timeout' = '1 min'")), {}, [("clicks/scan", "watermark")]),
    "another sink": (edited(("'table-name' = 'ads'", "'table-name' = 'advertisements'")), {}, [("ads/sink", "table")]),
    "fewer columns of a sink": (
        edited(("INSERT INTO ads SELECT ad, n, spend", "INSERT INTO ads (ad, n) SELECT ad, n")),
        {"ads/sink": "gone", "ads.n/sink": "new"}, []),
    "a retention added": (edited(RETENTION), {"totals/group": "changed"}, [("totals/group", "state")]),
    "other parallelism": ("SET 'parallelism.default' = '3';\n" + CLICKS, {}, []),
    "another filter": (edited(("FROM per_minute;", "FROM per_minute WHERE n > 1;")), {}, []),
    "another job": (edited(("'counts'", "'others'")), {}, []),
    "another maximum parallelism": ("SET 'pipeline.max-parallelism' = '64';\n" + CLICKS, {}, []),
}
REFUSED_ALL = {"another job": 5003, "another maximum parallelism": 5009}


def lines():
    return "".join(json.dumps({"ad": ad, "site": "s", "spend": 7, "ms": 1_704_103_200_000 + i * 20_000 + k}) + "\n"
                   for i in range(12) for k, ad in enumerate(("a", "b", "c")))


class Case:
    """One edit: the old file has run once and left a checkpoint."""

    def __init__(self, binary, folder, old=CLICKS):
        self.shell = Shell(binary, folder)
        self.shell.put("clicks/part.json", lines())
        self.shell.put("old.sql", old)
        code, out, err = self.shell.run("run", "old.sql", "--once", "--ui", "off")
        assert code == DONE, err
        self.snapshot = json.loads(self.shell.run("state", "state/counts", "--json")[1])["path"]

    def predict(self, *words):
        code, out, err = self.shell.run("upgrade-check", "old.sql", "new.sql", *words, "--json")
        return code, json.loads(out) if out else {}, err

    def run(self):
        """What really happens: exit code, and per operator what the restore says of it."""
        code, _, err = self.shell.run("run", "new.sql", "--once", "--ui", "off", "--log-format", "json", "--from", self.snapshot)
        found = {}
        for line in err.splitlines():
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("event") == "operator_starts_empty":
                found[event["operator"]] = "new"
            elif event.get("event") == "state_dropped":
                found[event["operator"]] = "dropped"
            told = re.match(r"    (\S+): (.*)", line)
            if told:
                found[told.group(1)] = "gone" if "no such operator" in told.group(2) else "changed"
        return code, found, err


def states(report):
    return {operator["id"]: operator["state"] for operator in report["operators"] if operator["state"] != "kept"}


def test_edits(checks, binary, folder):
    for number, (name, (new, fates, changes)) in enumerate(EDITS.items()):
        case = Case(binary, folder / str(number))
        case.shell.put("new.sql", new)
        files_code, by_files, err = case.predict()
        code, report, err = case.predict("--from", case.snapshot)
        checks.equal(states(report), fates, f"{name}: what is not kept")
        checks.equal((files_code, by_files.get("operators"), by_files["goes_on"]), (code, report["operators"], report["goes_on"]),
                     f"{name}: the old file alone tells the same")
        told = [(change["operator"], change["what"]) for change in report["changes"]]
        checks.check(set(changes) <= set(told), f"{name}: what has changed", (changes, told))
        ran, found, err = case.run()
        checks.equal((code, ran), (NO, REFUSED) if ran == REFUSED else (DONE, DONE), f"{name}: run --from does what was said")
        ends = {operator["id"] for operator in report["operators"] if operator["kind"] in ("scan", "sink")}
        seen = {id: fate for id, fate in fates.items() if fate != "new" or id not in ends}
        if not report["goes_on"]:  # the refusal tells no more than what it refuses
            seen = {id: fate for id, fate in seen.items() if fate in ("gone", "changed")}
        checks.equal(found, seen, f"{name}: and says so of the same operators")
        if "refused" in report:
            refused = report["refused"]
            checks.equal(refused["code"], REFUSED_ALL.get(name, 5003), f"{name}: the number of the refusal")
            checks.check(all(line in err for line in refused["message"].splitlines()), f"{name}: in the same words", (refused, err))


def test_retention(checks, binary, folder):
    """A GROUP BY that forgot by event time keeps an instant beside each total."""
    case = Case(binary, folder, edited(RETENTION))
    case.shell.put("new.sql", CLICKS)
    code, report, _ = case.predict("--from", case.snapshot)
    checks.equal((code, states(report)), (NO, {"totals/group": "changed"}), "a retention removed is refused")
    ran, found, _ = case.run()
    checks.equal((ran, found), (REFUSED, {"totals/group": "changed"}), "by run, too")
    case.shell.put("new.sql", edited(RETENTION, ("1 h after", "2 h after")))
    code, report, _ = case.predict("--from", case.snapshot)
    checks.equal((code, states(report), case.run()[0]), (DONE, {}, DONE), "a longer retention keeps its state")


def test_savepoint_first(checks, binary, folder):
    """From a checkpoint, other watermarks and sinks are asked for by name: what it holds beside state is of the old ones."""
    for number, (name, edit) in enumerate({"another watermark": ("INTERVAL '5' SECOND", "INTERVAL '9' SECOND"),
                                           "another table": ("'table-name' = 'ads'", "'table-name' = 'advertisements'")}.items()):
        case = Case(binary, folder / str(number))
        case.shell.put("new.sql", edited(edit))
        latest = ("run", "new.sql", "--once", "--ui", "off")
        before = folder / f"{number}-before"
        shutil.copytree(case.shell.folder / "state/counts/checkpoints", before)
        check_refusal(checks, name, case.shell.run(*latest), REFUSED, 5003, "a checkpoint, and the job has changed since", "--from none")
        code, _, err = case.shell.run(*latest, "--from", case.snapshot)
        checks.equal(code, DONE, f"{name}: the checkpoint by its name" + (err if code else ""))
        shutil.rmtree(case.shell.folder / "state/counts/checkpoints")
        shutil.copytree(before, case.shell.folder / "state/counts/checkpoints")
        code, _, err = case.shell.run(*latest)
        checks.equal(code, DONE, f"{name}: a restart behind a crash before the first checkpoint does not ask again" + (err if code else ""))
    case = Case(binary, folder / "comment")
    case.shell.put("new.sql", "-- a comment\n" + CLICKS)
    checks.equal(case.shell.run("run", "new.sql", "--once", "--ui", "off")[0], DONE, "nothing changed")


FILES = CLICKS[:CLICKS.index("CREATE TABLE ads")] + """CREATE TABLE copies (ad STRING, spend INT)
  WITH ('connector' = 'filesystem', 'path' = 'copies', 'format' = 'json');
INSERT INTO copies SELECT ad, spend FROM clicks;
"""


def test_tables(checks, binary, folder):
    """With a snapshot, the tables are asked what they would say to it."""
    case = Case(binary, folder, FILES)
    case.shell.put("new.sql", FILES)
    older = case.snapshot
    case.shell.put("clicks/more.json", lines())
    checks.equal(case.shell.run("run", "old.sql", "--once", "--ui", "off")[0], DONE, "it goes on")
    code, report, _ = case.predict("--from", older)
    checks.equal((code, report["refused"]["code"]), (NO, 4009), "rows have been written that the older snapshot does not know")
    checks.check(any("copies says" in line for line in report["held"]), "and the table says so", report["held"])
    code, report, err = case.predict("--from", json.loads(case.shell.run("state", "state/counts", "--json")[1])["path"])
    checks.equal(code, DONE, "the newest one fits" + err)


def test_text(checks, binary, folder):
    case = Case(binary, folder)
    new = edited(("INTERVAL '5' SECOND", "INTERVAL '9' SECOND"), ("PARTITION BY ad, ms", "PARTITION BY site, ms"))
    case.shell.put("new.sql", without_minutes(new))
    code, out, err = case.shell.run("upgrade-check", "old.sql", "new.sql")
    checks.equal((code, err), (NO, ""), "what would be refused is the answer no")
    for said in ("counts  new.sql, from a savepoint of old.sql\n", "keeps its state\n  ads/sink\n  clicks/scan", "positions of its shards",
                 "refused: its state has another form\n  firsts/deduplicate", "keys of the snapshot: ad STRING, ms BIGINT; of the plan: site",
                 "refused: the job has it no longer\n", "watermark: ", "(no state: a snapshot from before the change fits",
                 "STRAND-5003", "give view firsts another name", "minutes.n/sink: put it back",
                 "'strand.state.drop' = 'firsts/deduplicate,minutes.n/sink,per_minute/window'", "--beside counts", "--from none",
                 "strandline stop counts", "is refused: 3 operators keep their state, 0 new, 0 dropped, 3 refused\n"):
        checks.check(said in out, f"the text says: {said.strip()}", out)
    case.shell.put("new.sql", CLICKS)
    code, out, _ = case.shell.run("upgrade-check", "old.sql", "new.sql")
    checks.check(code == DONE and out.endswith("goes on: 6 operators keep their state, 0 new, 0 dropped, 0 refused\n"), "nothing changed", out)


def test_names(checks, binary, folder):
    """Files that give no name are called as their file: two of them are taken for one job, and the way to run it so is told."""
    shell = Shell(binary, folder)
    unnamed = edited(("SET 'pipeline.name' = 'counts';\n", ""))
    shell.put("old.sql", unnamed)
    shell.put("new.sql", unnamed)
    code, out, _ = shell.run("upgrade-check", "old.sql", "new.sql")
    checks.check(code == DONE and "--set pipeline.name=old" in out, "two files without a name", out)
    shell.put("new.sql", CLICKS)
    code, out, _ = shell.run("upgrade-check", "old.sql", "new.sql")
    checks.check(code == NO and "expected a snapshot of job 'counts', found one of job 'old'" in out, "a name that was not there", out)
    code, out, _ = shell.run("upgrade-check", "old.sql", "new.sql", "--set", "pipeline.name=old")
    checks.equal(code, DONE, "a name for both from the command line")


def test_usage(checks, binary, folder):
    shell = Shell(binary, folder)
    shell.put("old.sql", CLICKS)
    shell.put("bad.sql", CLICKS + "SELECT nothing FROM clicks;")
    check_refusal(checks, "one file", shell.run("upgrade-check", "old.sql"), USAGE, 1003, "job", "upgrade-check --help")
    check_refusal(checks, "no old file", shell.run("upgrade-check", "none.sql", "old.sql"), USAGE, 1004, r"none\.sql", "check the path")
    check_refusal(checks, "a new file with an error", shell.run("upgrade-check", "old.sql", "bad.sql"), NO, 2003, r"bad\.sql:\d+", "nothing")
    check_refusal(checks, "no snapshot", shell.run("upgrade-check", "old.sql", "old.sql", "--from", "nowhere"), USAGE, 1004, "nowhere", "check the path")


if __name__ == "__main__":
    run_tests(__doc__, (test_edits, test_retention, test_savepoint_first, test_tables, test_text, test_names, test_usage))
