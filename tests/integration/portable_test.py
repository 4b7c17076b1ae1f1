#!/usr/bin/env python3
"""Files that run on Flink, too: `check --for flink`, its rewriting, tables of files with partitions, and names of tables in databases.

    portable_test.py --binary build/release/bin/strandline [--only NAME]
"""

import json
import pathlib

from checks import run_tests
from command_line_test import DONE, NO, USAGE, Shell, check_refusal

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONE = "SET 'parallelism.default' = '1';\n"
PARTS = """CREATE TABLE parts (n INT, `day` STRING, `hour` INT) PARTITIONED BY (`day`, `hour`) WITH (
  'connector' = 'filesystem', 'path' = 'parts', 'format' = 'json', 'sink.partition-commit.policy.kind' = 'success-file');
"""
ROWS = "(VALUES (1, 'a', 7), (2, 'b', 8), (3, CAST(NULL AS STRING), 7)) AS v (n, d, h)"


def below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not str(path.relative_to(folder)).startswith("."))


def test_partitions(checks, binary, folder):
    """What one job writes into partitions another one reads, and the condition says which of them at all."""
    shell = Shell(binary, folder)
    shell.put("write.sql", ONE + PARTS + f"INSERT INTO parts SELECT n, d, h FROM {ROWS};\nINSERT INTO parts /*+ OPTIONS('strand.writer' = 'two') */ "
              f"PARTITION (`day` = 'c', `hour` = 9) SELECT n + 10 FROM {ROWS} WHERE n = 1;\n")
    code, _, err = shell.run("run", "write.sql", "--ui", "off")
    checks.equal(code, DONE, "a job writes" + (err if code else ""))
    found = below(folder / "parts")
    folders = sorted({name.rsplit("/", 1)[0] for name in found})
    checks.equal(folders, ["day=__DEFAULT_PARTITION__/hour=7", "day=a/hour=7", "day=b/hour=8", "day=c/hour=9"], "a folder for each partition")
    checks.equal(sum(name.endswith("_SUCCESS") for name in found), 4, "at the end of the input each is complete")
    rows = {name: (folder / "parts" / name).read_text() for name in found if not name.endswith("_SUCCESS")}
    checks.equal(sorted(rows.values()), ['{"n":11}\n', '{"n":1}\n', '{"n":2}\n', '{"n":3}\n'], "files hold the other columns")

    def read(condition):
        code, out, err = shell.run("sql", "--format", "csv", "-e", ONE + PARTS + "SELECT n, `day`, `hour` FROM parts" + condition)
        return sorted(out.splitlines()[1:]) if code == DONE else err
    checks.equal(read(""), ["1,a,7", "11,c,9", "2,b,8", "3,,7"], "all are read, with the values of their folders")
    checks.equal(read(" WHERE `hour` = 7"), ["1,a,7", "3,,7"], "those of an hour")
    shell.put("parts/day=d/hour=soon/broken.json", '{"n": 9}\n')
    checks.check("STRAND-3007" in read(""), "a folder whose name is no value fails the job")


def test_for_flink(checks, binary, folder):
    shell = Shell(binary, folder)
    shell.put("job.sql", ONE + """CREATE TABLE clicks (ad STRING, n BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'filesystem', 'path' = 'clicks', 'format' = 'json');
CREATE TABLE counts (ad STRING, fast BIGINT, late BIGINT, PRIMARY KEY (ad) NOT ENFORCED) WITH (
  'connector' = 'sqlite', 'path' = 'out.db');
INSERT INTO counts /*+ OPTIONS('strand.writer' = 'fast') */ (ad, fast) SELECT ad, COUNT(*) FROM clicks GROUP BY ad;
""")
    code, out, err = shell.run("check", "job.sql", "--for", "flink")
    checks.equal((code, err), (NO, ""), "what Flink would not take is the answer no")
    for said in ("job.sql:5:3: warning STRAND-2201 Flink has no connector 'sqlite'", "STRAND-2202", "STRAND-2205", "'jdbc'"):
        checks.check(said in out, f"it says: {said}", out)
    code, out, _ = shell.run("check", "job.sql", "--for", "flink", "--json")
    checks.check(2201 in [finding["code"] for finding in json.loads(out)["findings"]], "as JSON", out)
    shell.put("prod.yaml", "tables:\n  counts:\n    connector: jdbc\n    url: jdbc:postgresql://db/shop\n    table-name: counts\n    password: hush\n")
    code, out, err = shell.run("check", "job.sql", "--for", "flink", "--rewrite", "--profile", "prod.yaml")
    checks.equal(code, NO, "another writer's columns are left to be changed by hand")
    checks.check("STRAND-2205" in err and "STRAND-2201" not in err and "STRAND-2202" not in err, "and nothing else", err)
    checks.check("'connector' = 'jdbc'" in out and "strand" not in out and "hush" not in out + err, "the profile is filled in", out)
    shell.put("portable.sql", out.replace("'password' = '****', ", ""))
    checks.equal(shell.run("explain", "portable.sql")[0], DONE, "what is printed is a job")
    check_refusal(checks, "--rewrite alone", shell.run("check", "job.sql", "--rewrite"), USAGE, 1003, "rewrite", "check --help")
    check_refusal(checks, "another engine", shell.run("check", "job.sql", "--for", "spark"), USAGE, 1003, "for", "check --help")


def test_example(checks, binary, folder):
    """The example without words of ours passes."""
    shell = Shell(binary, folder)
    for path in (ROOT / "src/sql/testdata/ad_clicks_portable.sql", ROOT / "src/sql/testdata/payments.sql"):
        shell.put("job.sql", path.read_text())
        code, out, _ = shell.run("check", "job.sql", "--for", "flink")
        checks.check("warning STRAND-22" not in out, f"{path.name} is portable", out)


def test_qualified_names(checks, binary, folder):
    shell = Shell(binary, folder)
    shell.put("in/a.json", '{"n": 1}\n')
    job = ONE + "CREATE DATABASE shop;\nCREATE TABLE shop.t (n INT) WITH ('connector' = 'filesystem', 'path' = 'nowhere', 'format' = 'json');\nSELECT n FROM shop.t;\n"
    shell.put("job.sql", job)
    code, out, err = shell.run("run", "job.sql", "--ui", "off", "--with", "shop.t.path=in")
    checks.equal((code, out), (DONE, "+I[1]\n"), "--with names a table of a database" + (err if code else ""))
    shell.put("prod.yaml", "tables:\n  shop.t:\n    path: in\n")
    code, out, err = shell.run("run", "job.sql", "--ui", "off", "--from", "none", "--profile", "prod.yaml")
    checks.equal((code, out), (DONE, "+I[1]\n"), "so does a profile" + (err if code else ""))
    check_refusal(checks, "no such table", shell.run("check", "job.sql", "--with", "shop.u.path=in"), USAGE, 1007, "shop", "shop.t")


def test_places_in_the_shell(checks, binary, folder):
    """EXPLAIN in a shell names the lines of the text, not those of what the shell has kept of it."""
    shell = Shell(binary, folder)
    text = "\n\n  CREATE TABLE t (n INT)\n    WITH ('connector' = 'datagen', 'number-of-rows' = '1');\nSELECT n FROM t;\n\nSELECT n + 1 AS m FROM t;\n" \
           "EXPLAIN\n  SELECT n + 2 AS m\n  FROM t;\n"
    shell.put("text.sql", text)
    code, out, err = shell.run("sql", "-f", "text.sql", "--format", "table")
    checks.check(code == DONE and "(scan, text.sql:3:16)" in out and "text.sql:9:3" in out, "places of EXPLAIN", out + err)
    shell.put("text.sql", text.replace("EXPLAIN\n", "CREATE TABLE t (n INT) WITH ('connector' = 'print');\n"))
    code, out, err = shell.run("sql", "-f", "text.sql")
    checks.check(code == NO and "text.sql:8:14" in err and "created at text.sql:3:16" in err, "and of errors", err)


if __name__ == "__main__":
    run_tests(__doc__, (test_partitions, test_for_flink, test_example, test_qualified_names, test_places_in_the_shell))
