"""Planned SELECTs with values for columns of type UUID, which Django and SQLAlchemy make for their keys."""
import random
import uuid

import pytest
from support.random_input import seeds
from support.random_input.planned_once import (
    assert_alike,
    fast,
    plain,
    sessions,
)  # noqa: F401  pylint: disable=unused-import

SEED = seeds.chosen(17)
# Of versions 1, 4, 6 and 7: the server stores the first with its groups turned round.
TABLES = (
    "CREATE OR REPLACE TABLE site (id UUID PRIMARY KEY, name VARCHAR(30) NOT NULL, owner UUID)",
    "CREATE OR REPLACE TABLE page (id UUID PRIMARY KEY, site UUID NOT NULL, parent UUID, n INT NOT NULL,"
    " KEY site_n (site, n), KEY parent (parent))",
    "INSERT INTO site SELECT CONCAT(LPAD(HEX(seq * 7919), 8, '0'), '-1abc-', seq % 8, '00', seq % 3, '-8000-', LPAD(HEX(seq), 12, 'a')),"
    " CONCAT('site ', seq), IF(seq % 7, CONCAT('00000000-0000-4000-9000-', LPAD(HEX(seq DIV 3), 12, '0')), NULL)"
    " FROM seq_1_to_60",
    "INSERT INTO page SELECT CONCAT(LPAD(HEX(p.seq * 104729), 8, '0'), '-2def-', ELT(p.seq % 4 + 1, 1, 4, 6, 7), '00', p.seq % 5,"
    " '-9000-', LPAD(HEX(p.seq), 12, 'b')), s.id, IF(p.seq % 4, s.owner, NULL), p.seq"
    " FROM seq_1_to_1200 p JOIN site s ON s.name = CONCAT('site ', p.seq % 60 + 1)",
    "ANALYZE TABLE site, page",
)
READS = (
    "SELECT p.n, s.name FROM page p JOIN site s ON s.id = p.site WHERE p.id = {page}",
    "SELECT p.id, s.name FROM page p JOIN site s ON s.id = p.site WHERE s.id = {site} ORDER BY p.n DESC LIMIT 5",
    "SELECT p.id, s.name FROM page p LEFT JOIN site s ON s.id = p.site WHERE p.site IN ({site}, {other}) ORDER BY p.n",
    "SELECT s.name, COUNT(*), MAX(p.n) FROM page p JOIN site s ON s.id = p.site WHERE p.parent = {owner} GROUP BY s.name ORDER BY 1",
    "SELECT p.n FROM page p WHERE p.site = {site} AND p.n BETWEEN 100 AND 900 ORDER BY p.id",
    "SELECT p.n FROM page p WHERE p.site <> {site} AND p.parent = {owner} ORDER BY p.n + 1",
    "SELECT DISTINCT p.parent FROM page p WHERE p.site = {site} ORDER BY p.parent",
    "SELECT s.name, (SELECT COUNT(*) FROM page p WHERE p.site = s.id) AS pages FROM site s WHERE s.id IN ({site}, {other}) ORDER BY s.name",
    "SELECT COUNT(*), SUM(n) FROM page WHERE site = {site} AND (parent = {owner} OR parent IS NULL)",
    "SELECT n FROM page WHERE parent <=> {owner} ORDER BY n",
    "SELECT n FROM page WHERE (site, parent) IN (({site}, {owner}), ({other}, {owner})) ORDER BY n",
    "SELECT s.name FROM site s WHERE EXISTS (SELECT 1 FROM page p WHERE p.site = s.id AND p.id = {page})",
    "SELECT n FROM page WHERE id > {page} ORDER BY id LIMIT 7",
    "SELECT n FROM page WHERE id BETWEEN {page} AND {last} ORDER BY n LIMIT 7",
    "SELECT COUNT(*) FROM page WHERE site >= {site} AND site < {other} AND n % 2 = 0",
    "SELECT n FROM page WHERE site = {site} UNION ALL SELECT n FROM page WHERE parent = {owner} ORDER BY 1",
)
COUNTED = 11  # the first ones find their rows by equality


@pytest.fixture(scope="module")
def pages(plain):  # noqa: F811
    plain.execute(*TABLES, database="test")
    yield plain
    plain.execute("DROP TABLE site, page", database="test")


def ids_in(server):
    ids = {"site": "SELECT id FROM site", "page": "SELECT id FROM page", "owner": "SELECT DISTINCT owner FROM site"}
    ids = {name: [uuid.UUID(one) for one, in server.query(q, database="test") if one] for name, q in ids.items()}
    return {**ids, "other": ids["site"], "last": ids["page"]}


def values_of(ids, chance, written):
    return {name: written(chance.choice(all_of)) for name, all_of in ids.items()}


def as_usual(value):
    return repr(str(value))


def otherwise(value, chance):
    """In another way, by which the server finds the same rows, others, or none, with or without a warning."""
    text = str(value)
    ways = (
        text,
        text.upper(),
        value.hex,
        f"{text[:6]}-{text[6:8]}{text[9:]}",
        "{" + value.hex + "}",
        text + " ",
        text[:-1],
        "",
        "ffffffff-ffff-ffff-0fff-ffffffffffff",
        "00000000-0000-0000-0000-000000000000",
    )
    return chance.choice([*map(repr, ways), f"x'{value.hex}'", f"_binary'{text}'", f"_latin1'{text}'", "NULL", "7"])


def test_uuids_are_values_of_executions(pages):
    chance, ids, pair = random.Random(SEED), ids_in(pages), sessions(pages)
    for form in READS:
        for _ in range(4):
            assert_alike(form.format(**values_of(ids, chance, as_usual)), pair)
    for form in READS[:COUNTED]:
        before = fast(pages)
        for _ in range(20):
            pair[0].query(form.format(**values_of(ids, chance, as_usual)))
        assert fast(pages) >= before + 18, form


def test_in_whatever_way_they_are_written(pages):
    chance, ids, pair = random.Random(SEED), ids_in(pages), sessions(pages)
    for round_ in range(25):
        if round_ == 12:
            pages.execute(
                "UPDATE page SET site = (SELECT id FROM site ORDER BY name LIMIT 1) WHERE n % 3 = 0", database="test"
            )
        for form in READS:
            usual = chance.random() < 0.6
            assert_alike(
                form.format(**values_of(ids, chance, as_usual if usual else lambda one: otherwise(one, chance))), pair
            )


def test_texts_without_a_character_set(pages):
    """To the server such a text is the sixteen bytes of a UUID: one of 36 letters finds no row."""
    chance, ids, pair = random.Random(SEED), ids_in(pages), sessions(pages)
    for names in ("SET NAMES utf8mb4", "SET NAMES binary", "SET collation_connection = binary", "SET NAMES latin1"):
        for one in pair:
            one.query(names)
        for form in READS:
            for _ in range(4):
                assert_alike(form.format(**values_of(ids, chance, as_usual)), pair)
                assert_alike(form.format(**values_of(ids, chance, lambda _: repr("a" * 16))), pair)
