"""Our Python client: built, installed, type-checked, and against real servers.

Its page's examples run from the installed wheel; everything else runs from the source. Transcripts and hostile replies
are in test_python_transcripts.py; silent, guarded and missing servers are in test_python_logins.py.
"""
import asyncio
import datetime
import decimal
import inspect
import itertools
import pickle
import re
import shutil
import subprocess
import sys
import threading
import typing
import uuid

import pytest
from support.server import ROOT

CLIENT = ROOT / "clients" / "python"
sys.path.insert(0, str(CLIENT / "src"))

import posterndb  # noqa: E402
import posterndb.asyncio  # noqa: E402
import posterndb.index  # noqa: E402

PAGE = (CLIENT / "README.md").read_text()
PYTHON = "/usr/bin/python3"
TYPES = """CREATE TABLE types (id INT AUTO_INCREMENT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED, f DOUBLE, d DECIMAL(20,6), s TEXT,
    b BLOB, bit1 BIT(1), day DATE, moment DATETIME(6), short DATETIME(1), t TIME(3), clock TIME, id2 UUID)
    CHARSET utf8mb4"""
Types = {
    "id": int,
    "i": int,
    "u": int,
    "f": float,
    "d": decimal.Decimal,
    "s": str,
    "b": bytes,
    "bit1": bool,
    "day": datetime.date,
    "moment": datetime.datetime,
    "short": datetime.datetime,
    "t": datetime.timedelta,
    "clock": datetime.time,
    "id2": uuid.UUID,
}


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=240, **options
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def tables(server, database):
    """The page's tables, in the database that its examples name, and a table with a column of every type."""
    server.execute(
        *re.search(r"```sql\n(.*?)```", PAGE, re.S)[1].rstrip().rstrip(";").split(";\n"), TYPES, database=database
    )
    server.execute("CREATE TABLE counted (id INT PRIMARY KEY, n INT, KEY n (n))", database=database)
    return database


@pytest.fixture
def db(server, tables):
    with posterndb.connect(port=int(server.env["HS_PORT_WR"])) as connection:
        yield connection


# --- the package -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The interpreter of a clean environment that contains only the built wheel."""
    folder = tmp_path_factory.mktemp("python")
    # pip builds inside the source folder and leaves files there.
    source = shutil.copytree(
        CLIENT, folder / "source", ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache", "build", "*.egg-info")
    )
    pip = [PYTHON, "-m", "pip", "-q", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", folder / "dist", source)
    [wheel] = (folder / "dist").iterdir()
    assert re.fullmatch(r"posterndb-[0-9.]+-py3-none-any\.whl", wheel.name)
    run(PYTHON, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(*pip, "--python", python, "install", "--no-index", wheel)
    return python


def test_the_pages_examples_run_as_they_stand(installed, server, tables, tmp_path):
    script = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.S))
    for told, real in (("9998", server.env["HS_PORT"]), ("9999", server.env["HS_PORT_WR"]), ('"test"', f'"{tables}"')):
        script = script.replace(told, real)
    printed = run(installed, "-I", "-W", "error", "-c", script, cwd=tmp_path)
    assert printed.splitlines()[0] == "Kei Itō None"
    assert "[1] 121 (duplicate of a primary or unique key)" in printed
    assert not re.search(r"^```python\n", PAGE[: PAGE.index("```python")]), "the page starts with an example"
    first = re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
    assert len(first.strip().splitlines()) <= 10


TYPED = """
from typing import List, NamedTuple, Optional
import posterndb
import posterndb.asyncio


class User(NamedTuple):
    user_id: int
    user_name: Optional[str]


def blocking(db: posterndb.Connection) -> None:
    users = db.open("test", "user", User)
    one: Optional[User] = users.get(1)
    several: List[User] = db.execute_many([users.requests.find(1)])[0]
    new: Optional[int] = users.insert({"user_id": 1})
    row: Optional[posterndb.Row] = db.open("test", "user", ["user_id"]).get(1)
    reveal_type(users)


async def waiting(db: posterndb.asyncio.Connection) -> None:
    users = await db.open("test", "user", User)
    wrong: int = await users.get(1)
"""


def test_types_are_whole(tmp_path):
    """mypy --strict, for Python 3.9, accepts the types, and programs that use the client see them."""
    (tmp_path / "typed.py").write_text(TYPED)
    done = subprocess.run(
        ["mypy", "--cache-dir", tmp_path / "cache", "src", tmp_path / "typed.py"],
        cwd=CLIENT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = re.sub(r"[^\n]*/typed.py:", "", done.stdout)
    assert re.search(r'Revealed type is "posterndb.index.Index\[.*typed.User\]', said), said
    assert re.findall(r"^.*error: .*$", said, re.M) == [
        '23: error: Incompatible types in assignment (expression has type "Optional[User]", variable has type "int")'
        "  [assignment]"
    ], said


def test_both_clients_have_the_same_requests():
    def shape(cls):
        return {
            name: [str(one) for one in inspect.signature(method).parameters.values()]
            for name, method in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_")
        }

    assert shape(posterndb.Index) == shape(posterndb.asyncio.Index) == shape(posterndb.Requests)
    blocking, waiting = shape(posterndb.Connection), shape(posterndb.asyncio.Connection)
    assert {name: blocking[name] for name in waiting} == waiting
    assert blocking.keys() - waiting.keys() == {"is_alive", "pipeline"}
    assert str(inspect.signature(posterndb.connect)) == str(inspect.signature(posterndb.asyncio.connect))


# --- requests ----------------------------------------------------------------------------------------------------


def test_every_request(db, tables):
    rows = db.open(tables, "counted", {"id": int, "n": int}, filter_columns=["n"])
    assert [rows.insert([id, id * 10]) for id in range(1, 6)] == [None] * 5
    assert rows.get(3) == (3, 30) and rows.get(3).n == 30 and rows.get(9) is None
    assert [row.id for row in rows.find(2, op=">")] == [3, 4, 5]
    assert [row.id for row in rows.find(4, op="<=", limit=2, offset=1)] == [3, 2]
    assert [row.id for row in rows.find(posterndb.In([5, 9, 1]))] == [5, 1]
    assert [row.id for row in rows.find(0, op=">", filters=[("n", "!=", 20), ("n", "<", 50)])] == [1, 3, 4]
    assert [row.id for row in rows.find(0, op=">", filters=[posterndb.While("n", "<", 30)])] == [1, 2]
    assert rows.update(1, {"n": 11, "id": 1}) == 1 and rows.get(1).n == 11
    assert rows.update_returning(1, [1, 12]) == [(1, 11)]
    assert rows.increment(1, {"n": 5}) == 1 and rows.get(1) == (1, 17)
    assert rows.increment_returning(1, {"n": 1}) == [(1, 17)]
    assert rows.decrement(1, {"n": 100}) == 0 and rows.get(1).n == 18
    assert rows.decrement_returning(1, {"n": 8}) == [(1, 18)]
    assert rows.upsert([1, 1]) == 2 and rows.upsert([1, 1]) == 0 and rows.upsert([6, None]) == 1
    assert rows.insert_ignore([6, 1]) is False and rows.insert_ignore([7, 1]) is True
    assert rows.get(6).n is None
    by_n = db.open(tables, "counted", {"id": int}, index="n")
    assert [row.id for row in by_n.find(1)] == [1, 7]
    assert rows.delete_returning(7) == [(7, 1)]
    assert rows.delete(0, op=">") == 6 and rows.find(0, op=">=") == []


def test_values_of_every_type_come_back_as_they_went(db, tables, server):
    rows = db.open(tables, "types", Types)
    moment = datetime.datetime(2010, 10, 20, 11, 22, 33, 456789)
    values = {
        "i": -(2**63),
        "u": 2**64 - 1,
        "f": 1.5e-300,
        "d": decimal.Decimal("1E+5"),
        "s": "tab\t nul\0 lf\n 日本語 \x0f\x10",
        "b": bytes(range(256)),
        "bit1": True,
        "day": moment.date(),
        "moment": moment,
        "short": moment.replace(microsecond=500_000),
        "t": -datetime.timedelta(hours=700, minutes=1, seconds=2, milliseconds=345),
        "clock": datetime.time(23, 59, 58),
        "id2": uuid.UUID("12345678-1234-5678-1234-567812345678"),
    }
    new = rows.insert({"id": None, **values, "bit1": b"\1"})
    assert rows.get(new).asdict() == {"id": new, **values}
    assert rows.insert([new + 5]) == 0
    assert rows.get(new + 5) == (new + 5,) + (None,) * (len(Types) - 1)
    assert server.query("SELECT i, d, s, t FROM types WHERE id=%s", (new,), database=tables) == [
        (values["i"], decimal.Decimal(100000), values["s"], values["t"])
    ]


def test_a_value_that_a_type_cannot_hold_is_a_data_error_and_harms_nothing(db, tables, server):
    server.execute("SET sql_mode=''", "INSERT INTO types SET id=1, day='0000-00-00', s=NULL, b=0xff", database=tables)
    with pytest.raises(posterndb.DataError, match="column day: b'0000-00-00'"):
        db.open(tables, "types", {"day": datetime.date}).get(1)
    with pytest.raises(posterndb.DataError, match="column b"):
        db.open(tables, "types", ["b"]).get(1)

    class Strict(typing.NamedTuple):
        s: str

    with pytest.raises(posterndb.DataError, match="column s is NULL"):
        db.open(tables, "types", Strict).get(1)
    assert db.open(tables, "types", {"id": int}).get(1).id == 1


@pytest.mark.parametrize(
    "misuse, what",
    [
        (lambda rows: rows.get(1, op="!="), "no such operator"),
        (lambda rows: rows.get("1", op="=\t1"), "no such operator"),
        (lambda rows: rows.find(1, limit=0), "limit"),
        (lambda rows: rows.get(object()), "cannot send"),
        (lambda rows: rows.get(float("nan")), "no form in SQL"),
        (lambda rows: rows.insert({"n": 1}), r"\['id'\] have none"),
        (lambda rows: rows.insert([1, 2, 3]), "3 values"),
        (lambda rows: rows.insert("12"), "a sequence"),
        (lambda rows: rows.insert({}), "no values"),
        (lambda rows: rows.update(1, {"nothing": 1}), "not opened with"),
        (lambda rows: rows.get(1, filters=[("id", "=", 1)]), "filter columns"),
        (lambda rows: rows.find(posterndb.In([])), "without values"),
        (lambda rows: rows.get(datetime.datetime.now(datetime.timezone.utc)), "time zone"),
        (lambda rows: rows.connection.open("a\tb", "t", ["c"]), "TAB"),
        (lambda rows: rows.connection.open("a", "t", ["c\nQ"]), "TAB"),
        (lambda rows: rows.connection.open("a", "t", "id"), "list of names"),
    ],
)
def test_misuse_is_reported_before_anything_is_sent(db, tables, misuse, what):
    rows = db.open(tables, "counted", ["id", "n"], filter_columns=["n"])
    with pytest.raises(posterndb.InterfaceError, match=what):
        misuse(rows)
    assert rows.find(0, op=">=") == [] and not db.closed


def test_refusals_are_raised_by_kind(server, db, tables):
    server.execute(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, v VARCHAR(3) NOT NULL DEFAULT '', CHECK (id < 100),"
        " FOREIGN KEY (p) REFERENCES parent (id))",
        database=tables,
    )
    child = db.open(tables, "child", ["id", "p", "v"])
    child.insert([1, None, "a"])
    for error, ask in [
        (posterndb.IntegrityError, lambda: child.insert([1])),
        (posterndb.IntegrityError, lambda: child.insert([2, 7])),
        (posterndb.IntegrityError, lambda: child.insert([100])),
        (posterndb.IntegrityError, lambda: child.insert([2, None, None])),
        (posterndb.DataError, lambda: child.insert([2, None, "long"])),
        (posterndb.DataError, lambda: child.insert(["x"])),
        (posterndb.ProgrammingError, lambda: db.open(tables, "nothing", ["id"])),
        (posterndb.ProgrammingError, lambda: db.open(tables, "child", ["nothing"])),
        (posterndb.ProgrammingError, lambda: child.get((1, 2, 3))),
        (posterndb.AuthenticationError, lambda: db.raw("A", 2, "root", "")),
    ]:
        with pytest.raises(error) as caught:
            ask()
        assert caught.value.code in (1, 2, 3) and caught.value.message
    assert child.get(1) == ("1", None, "a")
    with posterndb.connect(port=int(server.env["HS_PORT"])) as reader:
        with pytest.raises(posterndb.NotSupportedError, match="readonly"):
            reader.open(tables, "child", ["id"]).delete(1)


# --- pipelines ---------------------------------------------------------------------------------------------------


def test_a_pipeline_larger_than_every_buffer(db, tables):
    rows = db.open(tables, "types", {"id": int, "i": int, "u": int, "f": float, "d": str, "s": str})
    text = "x" * 30_000
    outcomes = db.execute_many(rows.requests.insert([id, None, None, None, None, text]) for id in range(1, 401))
    assert outcomes == [0] * 400
    requests = [rows.requests.get(id % 400 + 1) for id in range(3000)]
    assert [len(row.s) for row in db.execute_many(requests)] == [30_000] * 3000
    assert rows.delete(0, op=">") == 400


def test_errors_stand_in_their_places(db, tables):
    rows = db.open(tables, "counted", {"id": int, "n": int})
    pipe = db.pipeline()
    first, second, third = (pipe.add(rows.requests.insert([id])) for id in (1, 1, 2))
    with pytest.raises(posterndb.InterfaceError):
        first.result()
    outcomes = pipe.execute(raise_on_error=False)
    assert outcomes[0] is None and isinstance(outcomes[1], posterndb.IntegrityError) and outcomes[2] is None
    assert first.result() is None and third.result() is None and len(pipe) == 0
    with pytest.raises(posterndb.IntegrityError):
        second.result()
    with pytest.raises(posterndb.IntegrityError):
        db.execute_many([rows.requests.insert([3]), rows.requests.insert([3]), rows.requests.insert([4])])
    assert [row.id for row in rows.find(0, op=">")] == [1, 2, 3, 4]
    assert db.execute_many([]) == []


def test_threads_that_open_at_once_get_their_own_index(db, tables):
    rows = {}
    barrier = threading.Barrier(8)

    def open_and_read(at):
        barrier.wait()
        names = ["id", "i", "u", "f", "d", "s", "b", "t"][at:] + ["clock"]
        rows[at] = (names, list(db.open(tables, "types", names).get(1).asdict()))

    db.open(tables, "types", ["id"]).insert([1])
    threads = [threading.Thread(target=open_and_read, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 8 and all(names == read for names, read in rows.values())


def test_rows_and_errors_are_plain_values(server, db, tables):
    server.execute(
        "CREATE TABLE odd (`count` INT, `index` INT, asdict INT, `a b` INT, PRIMARY KEY (`count`))", database=tables
    )
    rows = db.open(tables, "odd", {"count": int, "index": int, "asdict": int, "a b": int})
    rows.insert([1, 2, 3, 4])
    row = rows.get(1)
    assert (row.count, row.index, row[2]) == (1, 2, 3)
    assert row.asdict() == {"count": 1, "index": 2, "asdict": 3, "a b": 4}
    assert row == pickle.loads(pickle.dumps(row)) == (1, 2, 3, 4) and repr(row).startswith("Row(count=1, ")
    with pytest.raises(AttributeError):
        row.nothing
    for error in (posterndb.IntegrityError("121", 1), posterndb.TimeoutError("late"), posterndb.InterfaceError("x")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)


def test_threads_may_share_a_connection(db, tables):
    rows = db.open(tables, "counted", {"id": int, "n": int})
    for id in range(8):
        rows.insert([id, id])
    wrong = []

    def read(id):
        wrong.extend(row for row in (rows.get(id) for _ in range(300)) if row != (id, id))

    threads = [threading.Thread(target=read, args=(id,)) for id in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- asyncio -----------------------------------------------------------------------------------------------------


def test_tasks_share_a_connection_and_are_pipelined(server, tables):
    port = int(server.env["HS_PORT_WR"])
    text = "y" * 30_000

    async def main():
        async with posterndb.asyncio.connect(port=port) as db:
            rows = await db.open(tables, "types", {"id": int, "i": int})
            assert await asyncio.gather(*(rows.insert([id, -id]) for id in range(1, 2001))) == [0] * 2000
            found = await asyncio.gather(*(rows.get(id) for id in range(1, 2001)))
            assert found == [(id, -id) for id in range(1, 2001)]
            long = await db.open(tables, "types", ["s"])
            assert await long.update(0, [text], op=">", limit=300) == 300
            requests = (long.requests.get(id % 300 + 1) for id in range(1000))
            assert {len(row.s) for row in await db.execute_many(requests)} == {30_000}
            outcomes = await db.execute_many([rows.requests.insert([1]), rows.requests.get(2)], raise_on_error=False)
            assert isinstance(outcomes[0], posterndb.IntegrityError) and outcomes[1] == (2, -2)
            return await rows.delete(0, op=">")

    assert asyncio.run(main(), debug=False) == 2000


def test_a_cancelled_task_disturbs_nobody(server, tables):
    async def main():
        async with posterndb.asyncio.connect(port=int(server.env["HS_PORT_WR"])) as db:
            rows = await db.open(tables, "counted", {"id": int})
            await rows.insert([1])
            tasks = [asyncio.ensure_future(rows.get(id)) for id in itertools.islice(itertools.cycle([1, 9]), 40)]
            await asyncio.sleep(0)
            for task in tasks[::3]:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            for at, outcome in enumerate(outcomes):
                assert isinstance(outcome, asyncio.CancelledError) if at % 3 == 0 else outcome == [(1,), None][at % 2]
            assert (await rows.get(1)).id == 1

    asyncio.run(main())


def test_an_asyncio_pool(server, tables):
    async def main():
        pool = posterndb.asyncio.Pool(port=int(server.env["HS_PORT"]), max_connections=2, wait_timeout=0.2)
        async with pool, pool.connection() as first:
            async with pool.connection() as second:
                assert first is not second
                with pytest.raises(posterndb.TimeoutError):
                    async with pool.connection():
                        pass
                await second.close()
            async with pool.connection() as third:
                assert third is not second and (await third.open(tables, "counted", ["id"])) is not None
        with pytest.raises(posterndb.InterfaceError, match="closed"):
            async with pool.connection():
                pass
        assert first.closed

    asyncio.run(main())


# --- connections -------------------------------------------------------------------------------------------------


def test_a_pool_replaces_what_broke(server, tables):
    with posterndb.Pool(port=int(server.env["HS_PORT"]), max_connections=2, wait_timeout=0.2) as pool:
        with pool.connection() as first, pool.connection() as second:
            with pytest.raises(posterndb.TimeoutError, match="busy"):
                with pool.connection():
                    pass
            # As the server does to a connection that was idle for long.
            second._socket.shutdown(2)
        with pool.connection() as one:
            assert one is first and one.open(tables, "counted", ["id"]).get(1) is None
            with pool.connection() as other:
                assert other not in (first, second) and second.closed
    assert first.closed


def test_an_interrupted_request_ends_the_connection(db, tables, monkeypatch):
    """Otherwise the next request would read the reply to this one."""
    rows = db.open(tables, "counted", ["id"])
    monkeypatch.setattr(db, "_next_line", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        rows.get(1)
    with pytest.raises(posterndb.ConnectionError, match="interrupted"):
        rows.get(1)
