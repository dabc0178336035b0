"""Columns of type UUID, which Django and SQLAlchemy make for their keys, at both ports."""
import random
import uuid

import pytest
from support.both_ports import ask, fast, filled, pair, same_tables
from support.both_ports import served  # noqa: F401

TABLES = (
    "CREATE TABLE page (id UUID PRIMARY KEY, token UUID NOT NULL, locale INT NOT NULL, parent UUID, title VARCHAR(60),"
    " UNIQUE KEY token (token, locale), KEY locale (locale), KEY parent (parent))",
    # Versions 1, 4 and 7: the server stores the first with its groups turned round.
    "INSERT INTO page SELECT CONCAT(LPAD(HEX(seq * 7919), 8, '0'), '-0000-', seq % 8, '000-8000-', LPAD(HEX(seq), 12, 'a')),"
    " CONCAT('00000000-0000-4000-9000-', LPAD(HEX(seq DIV 2), 12, '0')), seq % 2,"
    " IF(seq % 5, CONCAT('00000000-0000-4000-a000-', LPAD(HEX(seq DIV 4), 12, '0')), NULL), seq FROM seq_1_to_2000",
    "ANALYZE TABLE page",
)
READS = (
    "SELECT * FROM page WHERE id = {id}",
    "SELECT 1 AS a FROM page WHERE locale = 1 AND token = {token} AND NOT (id = {id}) LIMIT 1",
    "SELECT title, token FROM page WHERE token = {token} AND locale = 0",
    "SELECT id, title FROM page WHERE id IN ({id}, {other}) ORDER BY id",
    "SELECT id, parent, title FROM page WHERE parent = {parent} ORDER BY id",
    "SELECT COUNT(*) FROM page WHERE parent = {parent}",
    "SELECT title FROM page WHERE parent = {parent} AND id <> {id} ORDER BY id",
    "SELECT title FROM page WHERE id > {id} ORDER BY id LIMIT 2",
    "SELECT title FROM page WHERE id = {id} FOR UPDATE",
)
WRITES = (
    "UPDATE page SET title = 'again' WHERE id = {id}",
    "UPDATE page SET parent = {other}, title = 'moved' WHERE id = {id}",
    "UPDATE page SET title = 'both' WHERE token = {token} AND locale = 1",
    "DELETE FROM page WHERE id = {other}",
    "INSERT INTO page VALUES ({other}, {token}, 7, NULL, 'new') ON DUPLICATE KEY UPDATE title = 'known'",
)
ROWS = "SELECT * FROM page ORDER BY id"


@pytest.fixture
def pages(served):  # noqa: F811
    yield from filled(served, TABLES)


def as_usual(value):
    return repr(str(value))


def otherwise(value, chance):
    """In another way, by which the server finds the same row, another, or none, with or without a warning."""
    text = str(value)
    return chance.choice(
        [
            repr(text.upper()),
            repr(value.hex),
            repr(f"{text[:6]}-{text[6:8]}{text[9:]}"),
            repr("{" + value.hex + "}"),
            repr(text + " "),
            repr(" " + text),
            repr(text[:-1]),
            repr(text[:19] + "0" + text[20:14] + text[20:]),
            f"x'{value.hex}'",
            f"_binary'{text}'",
            f"_latin1'{text}'",
            f"N'{text}'",
            "''",
            "NULL",
            "7",
            "'ffffffff-ffff-ffff-0fff-ffffffffffff'",
        ]
    )


def values_of(pages, chance):
    row, other = (chance.choice(pages) for _ in range(2))
    return {"id": row[0], "token": row[1], "parent": row[3] or row[1], "other": other[0]}


def known(server):
    rows = server.query(ROWS, database="by_port")
    return [[uuid.UUID(one) if one and i in (0, 1, 3) else one for i, one in enumerate(row)] for row in rows]


@pytest.mark.parametrize("within", ["autocommit", "a transaction"])
def test_workers_find_rows_by_uuids(pages, within):
    chance = random.Random(within)
    sessions = pair(pages)
    rows = known(pages)
    for form in (*READS, *WRITES):
        if within == "a transaction":
            ask(sessions, "BEGIN")
        for _ in range(3):
            ask(sessions, form.format(**{k: as_usual(v) for k, v in values_of(rows, chance).items()}))
        before = fast(pages)
        for _ in range(8):
            ask(sessions, form.format(**{k: as_usual(v) for k, v in values_of(rows, chance).items()}))
        if "id >" not in form:
            assert fast(pages) >= before + 6, form
        if within == "a transaction":
            ask(sessions, "COMMIT")
    same_tables(pages, {"page": ROWS})


@pytest.mark.parametrize("seed", range(3))
def test_in_whatever_way_they_are_written(pages, seed):
    chance = random.Random(seed)
    sessions = pair(pages)
    rows = known(pages)
    for _ in range(12):
        for form in (*READS, *WRITES):
            values = values_of(rows, chance)
            ask(
                sessions,
                form.format(
                    **{k: as_usual(v) if chance.random() < 0.5 else otherwise(v, chance) for k, v in values.items()}
                ),
            )
            ask(sessions, "SHOW WARNINGS")
    same_tables(pages, {"page": ROWS})


def test_prepared(pages):
    chance = random.Random(9)
    sessions = pair(pages)
    rows = known(pages)
    before = fast(pages)
    for _ in range(10):
        values = values_of(rows, chance)
        for id_ in (
            str(values["id"]),
            values["id"].hex,
            str(values["id"]).upper(),
            str(values["id"])[1:],
            values["id"].bytes,
        ):
            ask(sessions, "SELECT * FROM page WHERE id = ?", (id_,))
            ask(
                sessions,
                "SELECT title FROM page WHERE parent = ? AND NOT id = ? ORDER BY id",
                (str(values["parent"]), id_),
            )
            ask(sessions, "UPDATE page SET title = ? WHERE id = ?", (f"t{chance.random()}", id_))
    assert fast(pages) > before + 60
    same_tables(pages, {"page": ROWS})


@pytest.mark.parametrize(
    "names", ["SET NAMES binary", "SET collation_connection = binary", "SET character_set_client = binary"]
)
def test_texts_without_a_character_set(pages, names):
    """To the server such a text is the sixteen bytes of a UUID: one of 36 letters finds no row."""
    chance = random.Random(names)
    sessions = pair(pages)
    rows = known(pages)
    forms = (
        "SELECT title FROM page WHERE id = {}",
        "UPDATE page SET title = 'again' WHERE id = {}",
        "DELETE FROM page WHERE id = {}",
    )
    for form in forms:
        for _ in range(4):
            ask(sessions, form.format(as_usual(chance.choice(rows)[0])))
    ask(sessions, names)
    for form in forms:
        for _ in range(4):
            id_ = chance.choice(rows)[0]
            for text in ("'" + "a" * 16 + "'", as_usual(id_), repr(id_.hex)):
                ask(sessions, form.format(text))
                ask(sessions, "SHOW WARNINGS")
            ask(sessions, form.format("?"), (str(id_),))
    same_tables(pages, {"page": ROWS})
