"""Every storage engine that the distribution packages, with every kind of request: the answer equals InnoDB's, or is an
error.

Each request is also sent to an InnoDB table with the same rows, and InnoDB's answer is the right one; after a write
both tables must have the same rows. tests/support/engines.py lists the refusals of each engine; there may be no others.
"""
import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest
from support import engines
from support.clients import mc
from support.engines import ENGINES, INDEXES
from support.item_conversation import CONVERSATION, ENDINGS, binary_talk, talk
from support.server import BUILD, ROOT, parse_env
from support.waiting import until

DATABASE = "engines"
FOLDER = Path(os.environ.get("POSTERN_ENGINES") or BUILD / "engines")
IN_VAIN_SECONDS_MAX = 15  # Spider tries to connect for two seconds before it gives up


@pytest.fixture(scope="module")
def fetched_engines():
    """The libraries that are available."""
    subprocess.run([ROOT / "tools" / "server", "engines", FOLDER], capture_output=True, check=False, timeout=280)
    settings = FOLDER / "engines.env"
    missing = parse_env(settings.read_text())["ENGINES_MISSING"] if settings.exists() else None
    wanted = {"oqgraph", *(engine.library for engine in ENGINES)} - {""}
    return [] if missing is None else sorted(wanted - set(missing.split()))


@pytest.fixture(scope="module")
def bench(module_factory, fetched_engines):
    libraries = [*engines.LOADED, *(f"ha_{name}" for name in fetched_engines)]
    options = [f"--plugin-load-add={name}" for name in libraries]
    made = module_factory(
        *options,
        "--loose-spider-same-server-link=ON",
        "--loose-rocksdb-blind-delete-primary-key=ON",
        "--myisam-recover-options=OFF",
        "--aria-recover-options=",
        containers=True,
        env={**os.environ, "POSTERN_ENGINES": str(FOLDER) if fetched_engines else "none"},
    )
    made.libraries = fetched_engines
    made.execute(*engines.FAR, f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    return made


def need(bench, library):
    if library and library not in bench.libraries:
        pytest.skip(f"the package of {library} cannot be had here")


@pytest.fixture(params=[engine for engine in ENGINES if engine.opens], ids=lambda engine: engine.name)
def engine(bench, request):
    need(bench, request.param.library)
    renew(bench, request.param)
    yield request.param
    bench.assert_alive()


@pytest.fixture
def tables(engine):
    return [engine.name, "neighbour"]


def renew(bench, engine):
    engines.create(bench, DATABASE, engine)
    engines.create(bench, DATABASE, ENGINES[0], "neighbour")
    engines.fill(bench, DATABASE, engine.name, engine.null)
    engines.fill(bench, DATABASE, "neighbour")


def rows(bench, table):
    return sorted(bench.query(f"SELECT * FROM {table}", database=DATABASE), key=repr)


def slots(client, tables, names):
    """Opens the named indexes of all tables; returns their ids by (table, name)."""
    numbers = {}
    for table in tables:
        for name in names:
            index, columns = INDEXES[name]
            numbers[table, name] = len(numbers)
            client.open(
                len(numbers) - 1, DATABASE, table, columns, index=index, filters="k,v" if "," in columns else None
            )
    return numbers


def in_rows(reply, columns):
    return reply[:2], sorted(zip(*[iter(reply[2:])] * columns), key=repr)


def refuses(engine, index, tokens):
    if tokens[0] == "+":
        return False
    if tokens[0] != "=" and not (engine.null_ranges if index.startswith("k") else engine.ranges):
        return True
    return not engine.edits and any(str(token).startswith(("U", "D", "+", "-")) for token in tokens[4:])


def in_words(reply):
    return reply[0] in "12" and len(reply) == 3 and reply[2] not in ("", "-1")


def index_names(engine, *wanted):
    return [name for name in wanted if engine.edits or not name.startswith("k")]


# --- the matrix ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if not engine.opens], ids=lambda engine: engine.name)
def test_what_cannot_be_opened_is_refused_in_words(bench, engine):
    need(bench, engine.library)
    engines.create(bench, DATABASE, engine)
    engines.create(bench, DATABASE, ENGINES[0], "neighbour")
    for client in (bench.hs(), bench.hs_wr()):
        with client:
            assert in_words(client.request("P", 1, DATABASE, engine.name, "PRIMARY", "id"))
            assert client.request(1, "=", 1, 7) == ["2", "1", "stmtnum"]
            client.open(2, DATABASE, "neighbour", "id")
            assert client.request(2, "=", 1, 7) == ["0", "1"]
    bench.assert_alive()


def test_finds(bench, engine, tables):
    wanted = [(index, tokens) for index, tokens in engines.finds() if index in index_names(engine, "id", "k")]
    for client in (bench.hs(timeout=60), bench.hs_wr(timeout=60)):
        with client:
            number = slots(client, tables, index_names(engine, "id", "k"))
            both = [(number[table, index], *tokens) for index, tokens in wanted for table in tables]
            replies = client.pipeline(*both)
            for (index, tokens), ours, judge in zip(wanted, replies[::2], replies[1::2]):
                told = f"{index} {tokens}: {ours}, but InnoDB {judge}"
                if refuses(engine, index, tokens):
                    assert in_words(ours), told
                elif not engine.keeps and judge[0] == "0":
                    assert ours == judge[:2], told
                elif index == "k" and None in tokens:  # rows with equal keys come in any order
                    assert len(ours) == len(judge), told
                    if tokens[-2:] == (100, 0):
                        assert in_rows(ours, 4) == in_rows(judge, 4), told
                elif index == "k" and tokens[0] in ("<", "<="):  # rows with NULL at the end likewise
                    assert in_rows(ours, 4)[0] == in_rows(judge, 4)[0] and len(ours) == len(judge), told
                else:
                    assert ours == judge, told


def test_writes(bench, engine, tables):
    with bench.hs_wr(timeout=60) as client:
        number = slots(client, tables, index_names(engine, *INDEXES))
        for index, tokens in engines.WRITES:
            if (engine.name, index) not in number:
                continue
            before = rows(bench, engine.name)
            ours, judge = client.pipeline(*[(number[table, index], *tokens) for table in tables])
            after, expected = rows(bench, engine.name), rows(bench, "neighbour")
            told = f"{index} {tokens}: {ours}, but InnoDB {judge}"
            if not engine.keeps:
                assert ours[0] in "01" and not after, told
            elif refuses(engine, index, tokens):
                # A find without a match, which no engine refuses.
                assert after == before and (in_words(ours) or ours == judge), told
            elif judge[0] != "0":
                assert in_words(ours) and after == expected, told
            else:
                assert ours == judge or tokens[0] == "+" and ours[:2] == judge[:2], told
                assert after == expected, told
            if after != expected:
                renew(bench, engine)
    problems = [
        row for row in bench.query(f"CHECK TABLE {engine.name} EXTENDED", database=DATABASE) if row[2] == "error"
    ]
    assert not problems


def test_a_batch_of_all_engines(bench):
    """Finds and writes of all tables in one batch: no engine disturbs another."""
    usable = [
        engine for engine in ENGINES if engine.opens and (not engine.library or engine.library in bench.libraries)
    ]
    for engine in usable:
        engines.create(bench, DATABASE, engine)
        engines.fill(bench, DATABASE, engine.name)
    with bench.hs_wr(timeout=60) as client:
        number = slots(client, [engine.name for engine in usable], ["id"])
        requests = [
            (number[engine.name, "id"], *tokens)
            for _ in range(3)
            for engine in usable
            for tokens in (("=", 1, 7), ("=", 1, 7, 1, 0, "U", 7, 70, "new", 700), ("=", 1, 7))
        ]
        replies = client.pipeline(*requests)
    for (slot, *tokens), reply in zip(requests, replies):
        engine = usable[slot]
        if len(tokens) == 3:
            assert reply[0] == "0" and len(reply) == (6 if engine.keeps else 2), (engine, reply)
        else:
            assert reply == (["0", "1", "1" if engine.keeps else "0"] if engine.edits else ["1", "1", "131"]), (
                engine,
                reply,
            )


def test_rocksdb_reads_the_rows_that_it_will_delete(bench):
    """With rocksdb_blind_delete_primary_key a DELETE by key reads only keys; the door must also read the columns of
    filters."""
    need(bench, "rocksdb")
    bench.execute(
        "CREATE OR REPLACE TABLE blind (id INT PRIMARY KEY, v INT) ENGINE=ROCKSDB",
        "INSERT INTO blind SELECT seq, seq % 2 FROM seq_1_to_20",
        database=DATABASE,
    )
    with bench.hs_wr() as client:
        client.open(1, DATABASE, "blind", "id", filters="v")
        assert client.request(1, "=", 1, 0, 9, 0, "@", 0, 4, 1, 2, 3, 4, "F", "=", 0, 1, "D") == ["0", "1", "2"]
        assert client.request(1, ">=", 1, 0, 100, 0, "F", "=", 0, 1, "D") == ["0", "1", "8"]
    assert rows(bench, "blind") == sorted(((i, 0) for i in range(2, 21, 2)), key=repr)


def test_tables_without_rows_of_their_own(bench):
    """SEQUENCE only walks upwards; SPHINX cannot be opened; OQGRAPH answers as SQL does, and refuses writes."""
    bench.execute(
        "CREATE OR REPLACE TABLE sphinx (id INT UNSIGNED NOT NULL, weight INT NOT NULL, query VARCHAR(99) NOT NULL,"
        " KEY (query)) ENGINE=SPHINX CONNECTION='sphinx://127.0.0.1:9/t'",
        database=DATABASE,
    )
    with bench.hs_wr(timeout=60) as client:
        client.open(1, DATABASE, "seq_1_to_20", "seq")
        assert client.request(1, "=", 1, 7) == ["0", "1", "7"]
        assert client.request(1, ">", 1, 7, 3, 0) == ["0", "1", "8", "9", "10"]
        assert all(
            in_words(client.request(1, *tokens))
            for tokens in (
                ("<", 1, 7, 3, 0),
                ("<=", 1, 7),
                ("+", 1, 5),
                ("=", 1, 7, 1, 0, "D"),
                ("=", 1, 7, 1, 0, "U", 8),
            )
        )
        assert in_words(client.request("P", 2, DATABASE, "sphinx", "query", "id,weight,query"))
        if "oqgraph" not in bench.libraries:
            return
        bench.execute(
            "CREATE OR REPLACE TABLE edges (o BIGINT UNSIGNED NOT NULL, d BIGINT UNSIGNED NOT NULL, PRIMARY KEY (o,d),"
            " KEY (d))",
            "INSERT INTO edges VALUES (1,2), (2,3), (3,4)",
            "CREATE OR REPLACE TABLE graph (latch VARCHAR(32), origid BIGINT UNSIGNED, destid BIGINT UNSIGNED, weight"
            " DOUBLE, seq BIGINT UNSIGNED, linkid BIGINT UNSIGNED, KEY (latch, origid, destid) USING HASH, KEY (latch,"
            " destid, origid) USING HASH) ENGINE=OQGRAPH DATA_TABLE='edges' ORIGID='o' DESTID='d'",
            database=DATABASE,
        )
        client.open(3, DATABASE, "graph", "origid,destid,seq,linkid", index="latch")
        expected = bench.query(
            "SELECT origid, destid, seq, linkid FROM graph WHERE latch='dijkstras' AND origid=1 AND destid=4",
            database=DATABASE,
        )
        reply = client.request(3, "=", 3, "dijkstras", 1, 4, 100, 0)
        assert reply[2:] == [str(value) for row in expected for value in row] and len(expected) == 4
        for tokens in (("+", 4, 1, 1, 1, 1), ("=", 3, "dijkstras", 1, 4, 1, 0, "D"), ("=", 1, 7), (">=", 1, 7)):
            assert in_words(client.request(3, *tokens))


# --- memcached -------------------------------------------------------------------------------------------------------------

ITEMS = (
    "(k VARCHAR(80) NOT NULL, v VARCHAR(200), flags INT UNSIGNED, cas BIGINT UNSIGNED, expire_time INT UNSIGNED,"
    " PRIMARY KEY (k))"
)
MEMCACHED = [
    "ENGINE=InnoDB",
    "ENGINE=MyISAM",
    "ENGINE=Aria",
    "ENGINE=MEMORY",
    "ENGINE=ROCKSDB COLLATE utf8mb4_bin",
    engines.spider(', table "items_behind"'),
]


@pytest.fixture(scope="module")
def containers(bench):
    """A table of items for each engine, mapped as i0, i1 and so on."""
    mapped = []
    for number, tail in enumerate(MEMCACHED):
        library = next((name for name in ("spider", "rocksdb") if f"ENGINE={name.upper()}" in tail), "")
        if library and library not in bench.libraries:
            continue
        bench.execute(
            f"CREATE OR REPLACE TABLE items_behind {ITEMS}",
            f"CREATE OR REPLACE TABLE items{number} {ITEMS} {tail.format(port=bench.env['SQL_PORT'])}",
            database=DATABASE,
        )
        bench.query(f"CALL postern.map_table('i{number}', '{DATABASE}', 'items{number}', 'k', 'v')")
        mapped.append((number, tail))
    for table in ("archive", "blackhole", "connect", "federated", "mroonga"):
        if table not in ("connect", "mroonga") or table in bench.libraries:
            engines.create(bench, DATABASE, next(engine for engine in ENGINES if engine.name == table))
            bench.query(f"CALL postern.map_table('{table}', '{DATABASE}', '{table}', 'id', 'v')")
            mapped.append((table, table))
    mc.until_mapped(bench, f"i{MEMCACHED.index('ENGINE=MEMORY')}")
    mc.until_mapped(bench, "blackhole")
    return mapped


def converse(bench, number):
    bench.execute(f"DELETE FROM items{number}", database=DATABASE)
    with bench.mc(timeout=60) as client:
        client.get(f"@@i{number}")
        text = [(command, talk(client, command)) for command in CONVERSATION]
    with bench.mc(timeout=60) as client:
        return text + binary_talk(client, f"i{number}")


def test_memcached(bench, containers):
    judge = converse(bench, 0)
    assert "SERVER_ERROR" not in str(judge)
    for number, tail in containers:
        if isinstance(number, int):
            for ours, expected in zip(converse(bench, number), judge):
                assert ours == expected, tail
            with bench.mc(timeout=60) as client:
                client.get(f"@@i{number}")
                client.set("rest", "x")
                flushed = talk(client, "flush_all")
                walks = "MEMORY" not in tail
                assert flushed == [b"OK"] if walks else b"lookups by key" in flushed[0], (tail, flushed)
                assert client.get("rest") == (None if walks else b"x"), tail
    bench.assert_alive()


@pytest.mark.parametrize("table", ["archive", "blackhole", "connect", "federated", "mroonga"])
def test_memcached_over_a_table_that_cannot_store(bench, containers, table):
    """FEDERATED does not report which key a new row violates, so an existing item cannot be set again."""
    if (table, table) not in containers:
        pytest.skip(f"the package of {table} cannot be had here")
    with bench.mc(timeout=60) as client:
        if table in ("connect", "mroonga"):
            assert b"cannot be opened" in talk(client, f"get @@{table}")[-1]
        else:
            client.get(f"@@{table}")
        for command in ("get 1", "set 1 0 0 1|x", "incr 1 1", "append 1 0 0 1|x", "delete 1", "touch 1 0"):
            answer = talk(client, command)[-1]
            assert answer.split(b" ")[0] in (*ENDINGS, b"SERVER_ERROR", b"CLIENT_ERROR"), f"{command}: {answer}"
    bench.assert_alive()


# --- broken tables
# ------------------------------------------------------------------------------------------------------------


def refused_everything(bench, table, opens=True):
    for client in (bench.hs(timeout=60), bench.hs_wr(timeout=60)):
        with client:
            reply = client.request("P", 1, DATABASE, table, "PRIMARY", "id,k,v,n")
            assert reply == ["0", "1"] if opens else in_words(reply), reply
            requests = [("=", 1, 3), (">", 1, 3, 50, 0), ("=", 1, 3)]
            requests += [
                ("+", 4, 77, 1, "x", 1),
                ("=", 1, 3, 1, 0, "U", 3, 1, "z", 1),
                ("=", 1, 4, 1, 0, "D"),
                ("=", 1, 3),
            ]
            for tokens in requests:
                begin = time.monotonic()
                reply = client.request(1, *tokens)
                assert in_words(reply), f"{tokens}: {reply}"
                assert time.monotonic() - begin < IN_VAIN_SECONDS_MAX, tokens
    bench.assert_alive()


def test_another_server_that_is_down(bench):
    """Every request gets an error, and the handler keeps no state of a failed one."""
    need(bench, "spider")
    engine = next(engine for engine in ENGINES if engine.name == "spider")
    bench.execute(f"CREATE OR REPLACE TABLE down {engine.make.replace('{port}', '9')}", database=DATABASE)
    with bench.hs_wr(timeout=60) as client:
        client.open(1, DATABASE, "down", "id,k,v,n")
        for _ in range(3):
            begin = time.monotonic()
            reply = client.request(1, "=", 1, 3)
            assert reply[0] == "1" and "foreign data source" in reply[2], reply
            assert time.monotonic() - begin < IN_VAIN_SECONDS_MAX
    bench.assert_alive()


@pytest.mark.parametrize("what", ["password", "table"])
def test_another_server_that_refuses(bench, what):
    need(bench, "spider")
    engine = next(engine for engine in ENGINES if engine.name == "spider")
    wrong = engine.make.replace(*{"password": ('password "far"', 'password "no"'), "table": ("behind1", "none")}[what])
    bench.execute(f"CREATE OR REPLACE TABLE refused {wrong.format(port=bench.env['SQL_PORT'])}", database=DATABASE)
    refused_everything(bench, "refused")


def test_a_tablespace_that_was_discarded(bench):
    engines.create(bench, DATABASE, ENGINES[0], "discarded")
    bench.execute("ALTER TABLE discarded DISCARD TABLESPACE", database=DATABASE)
    refused_everything(bench, "discarded")
    bench.execute("DROP TABLE discarded", database=DATABASE)


@pytest.mark.parametrize("kind, rows_file", [("MyISAM", "MYD"), ("Aria", "MAD")])
def test_a_file_that_is_missing(bench, kind, rows_file):
    bench.execute(f"CREATE OR REPLACE TABLE broken {engines.SHAPE} ENGINE={kind}", "FLUSH TABLES", database=DATABASE)
    (Path(bench.env["DATADIR"]) / DATABASE / f"broken.{rows_file}").unlink()
    refused_everything(bench, "broken", opens=False)
    with contextlib.suppress(Exception):
        bench.execute("DROP TABLE IF EXISTS broken", database=DATABASE)


def test_a_table_that_is_marked_as_crashed(bench):
    """Truncates a file, as a crash of the machine can."""
    bench.execute(
        f"CREATE OR REPLACE TABLE crashed {engines.SHAPE} ENGINE=Aria",
        "INSERT INTO crashed SELECT seq, seq, seq, seq" " FROM seq_1_to_50",
        "FLUSH TABLES",
        database=DATABASE,
    )
    os.truncate(Path(bench.env["DATADIR"]) / DATABASE / "crashed.MAD", 100)
    refused_everything(bench, "crashed")
    bench.execute("DROP TABLE crashed", database=DATABASE)


def test_ddl_and_kill_while_another_server_is_asked(bench):
    """A find that waits for Spider can be killed, and DDL proceeds when it has ended."""
    need(bench, "spider")
    engine = next(engine for engine in ENGINES if engine.name == "spider")
    renew(bench, engine)
    with contextlib.closing(bench.connect(database=DATABASE)) as holder, holder.cursor() as cursor, bench.hs_wr(
        timeout=60
    ) as client:
        client.open(1, DATABASE, "spider", "id,k,v,n")
        cursor.execute("LOCK TABLES behind1 WRITE")
        client.send(b"1\t=\t1\t7\t1\t0\tU\t7\t70\tnew\t700\n")
        waits = "SELECT id FROM information_schema.processlist WHERE state LIKE '%%metadata lock%%' AND info LIKE '%%behind1%%'"
        until(lambda: bench.query(waits))
        for (waiting,) in bench.query(waits):
            bench.query(f"KILL {waiting}")
        cursor.execute("UNLOCK TABLES")
        assert client.line()[:1] in b"01"
        bench.execute(
            'ALTER TABLE spider COMMENT=\'wrapper "mysql", host "127.0.0.1", port "9", table "behind1"\'',
            database=DATABASE,
        )
        assert in_words(client.request(1, "=", 1, 7))
