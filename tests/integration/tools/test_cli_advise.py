"""postern advise on workloads with a known share of key-value statements: run through a server, read back from all its
logs."""
import collections
import contextlib
import csv
import io
import json
import re

import pytest
from support import cli
from support.server import ROOT
from support.waiting import until

WIRE = ROOT / "tests/wire/sql"
KEY_VALUE = {
    "point_select",
    "in_list",
    "count",
    "exists",
    "point_update",
    "increment",
    "point_delete",
    "insert",
    "upsert",
}


@pytest.fixture(scope="module")
def recorded(module_factory):
    """A server with all statement logs, and the tables."""
    server = module_factory(
        "--performance-schema=ON",
        "--general-log",
        "--slow-query-log",
        "--long-query-time=0",
        containers=True,
        redis=True,
    )
    server.execute(*statements((WIRE / "tables.sql").read_text()))
    return server


def statements(text):
    return [one for one in re.split(r";\s*\n", text) if one.strip()]


def applications():
    rows = csv.DictReader(io.StringIO((WIRE / "applications.tsv").read_text()), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [(row["application"], int(row["times"]), row["kind"], row["statement"]) for row in rows]


def work(server, application):
    """Runs the application's work on the server, each statement as often as it occurs; returns the number of each
    kind."""
    expected = collections.Counter()
    with contextlib.closing(server.connect(database=application)) as connection, connection.cursor() as cursor:
        for name, times, kind, statement in applications():
            if name != application:
                continue
            for _ in range(times):
                with contextlib.suppress(Exception):  # a duplicate: it was requested all the same
                    cursor.execute(statement)
            expected[kind] += times
    return expected


def kinds(told):
    return {entry["kind"]: entry["count"] for entry in told["kinds"]}


@pytest.fixture
def logged(recorded, request):
    """Separate logs for a test: (general, slow)."""
    name = re.sub(r"\W", "_", request.node.name)
    general, slow = recorded.dir / f"general-{name}.log", recorded.dir / f"slow-{name}.log"
    recorded.execute(
        f"SET GLOBAL general_log_file = '{general}'",
        f"SET GLOBAL slow_query_log_file = '{slow}'",
        "TRUNCATE performance_schema.events_statements_summary_by_digest",
    )
    return general, slow


@pytest.mark.parametrize("application", ["wordpress", "mediawiki"])
def test_what_applications_do(recorded, logged, application):
    expected = work(recorded, application)
    share = sum(expected[kind] for kind in KEY_VALUE) / sum(
        count for kind, count in expected.items() if kind not in ("session", "transaction", "definition")
    )
    asked = ["--only", application, "--limit", 500]
    [digests] = cli.told(recorded, "advise", *asked)
    for path in logged:
        [told] = cli.told(recorded, "advise", path, *asked)
        # The driver's own SET statements and the like come on top.
        assert {k: n for k, n in kinds(told).items() if k != "session"} == {
            k: n for k, n in expected.items() if k != "session"
        }
        assert told["key_value_of_statements_on_tables"]["count_share"] == pytest.approx(share, abs=1e-4)
        assert (told["seconds"] is not None) == (path == logged[1])
    ours = {k: n for k, n in kinds(digests).items() if k in KEY_VALUE or k == "unindexed"}
    assert ours == {k: n for k, n in expected.items() if k in KEY_VALUE or k == "unindexed"}
    assert digests["seconds"] > 0 and 0 < digests["key_value"]["time_share"] < 1
    text = cli.run(recorded, "advise", logged[1], *asked)
    assert f"are key-value shaped" in text and "SQL door: the statement as it is, about" in text


def test_mappings_that_it_advises_work(recorded, logged):
    work(recorded, "wordpress")
    [told] = cli.told(recorded, "advise", "--only", "wordpress")
    made = [line for entry in told["tables"] for line in entry["sql"]]
    of_redis = {re.search(r"'([^']*)'", line)[1] for line in made if "redis" in line}
    assert len(made) - len(of_redis) >= 4 and of_redis
    recorded.execute(*made)
    assert recorded.query("SELECT COUNT(*) FROM innodb_memcache.containers WHERE db_schema = 'wordpress'")[0][0] == len(
        [line for line in made if "redis" not in line]
    )
    mapped = recorded.query("SELECT prefix FROM postern.redis_maps WHERE db_schema = 'wordpress'")
    assert {prefix.decode() for (prefix,) in mapped} == of_redis
    with recorded.resp() as redis:
        until(lambda: "ERR" not in str(redis.ask("EXISTS", min(of_redis) + "1")))
    for entry in told["indexes"]:
        recorded.execute(entry["sql"])
    [after] = cli.told(recorded, "advise", "--only", "wordpress")
    assert told["indexes"] and not after["indexes"]


def test_prepared_statements_are_missed_by_digests_and_found_in_logs(recorded, logged):
    general, _ = logged
    with contextlib.closing(recorded.connect(database="shop")) as connection:
        prepared = prepare(connection, "SELECT name FROM users WHERE id = ?")
        for _ in range(3):
            execute(connection, prepared)
    [told] = cli.told(recorded, "advise", general)
    assert [(s["kind"], s["count"], s["prepared"]) for s in told["statements_by_weight"] if s["prepared"]] == [
        ("point_select", 3, 3)
    ]
    assert "prepared statements" in cli.run(recorded, "advise")


def prepare(connection, text):
    """The id of a prepared statement with one parameter and one column."""
    connection._execute_command(0x16, text)
    answer = connection._read_packet().get_all_data()
    for _ in range(4):
        connection._read_packet()
    return answer[1:5]


def execute(connection, prepared):
    connection._execute_command(0x17, prepared + b"\0\1\0\0\0" + b"\0\1" + b"\3\0" + b"\1\0\0\0")
    for _ in range(4):
        connection._read_packet()


def test_it_watches_for_a_while(recorded):
    [told] = cli.told(recorded, "advise", "--watch", "0.2")
    assert all(
        "performance_schema" in one["statement"] or one["kind"] == "session" for one in told["statements_by_weight"]
    )


def test_tables_from_a_dump_and_statements_from_the_standard_input():
    trace = (WIRE / "libraries.jsonl").read_text()
    [told] = cli.told(None, "advise", "--tables", WIRE / "tables.sql", "--database", "shop", "-", stdin=trace)
    expected = collections.Counter(json.loads(line)["kind"] for line in trace.splitlines())
    assert kinds(told) == expected
    assert cli.run(None, "advise", "--tables", "/nonexistent", "-", code=4).startswith("postern: cannot read")


def test_a_server_that_records_nothing_says_how_to_record(server):
    words = cli.run(server, "advise", code=4)
    assert "performance_schema is OFF" in words and "general_log = ON" in words
