"""The meaning that recognition finds in statements, from the server's own parse tree: tests/recorded/forms.

Below each statement stands its meaning: the form of a read or a change by key with the number of its values, or the tables
and values of a SELECT that is planned once; or why it has none. "odd": the normaliser leaves it to the server. Write a
new statement and any line below it, run this with RECORD=1 in the environment, and read the difference.
"""
import os
import shutil

import pytest
from support.server import BUILD, ROOT, SERIES

FORMS = ROOT / "tests" / "recorded" / "forms"
UNPLANNED = "not: the server is of a series for which nothing is planned once"
# Texts that later series parse otherwise.
OTHERWISE = {"SELECT id FROM users WHERE id = 1 INTO OUTFILE '/tmp/x'": "not: INTO, PROCEDURE or EXPLAIN"}


@pytest.fixture(scope="module")
def server(module_factory):
    server = module_factory()
    shutil.copy(BUILD / "tests" / "contract" / "plan_functions.so", server.query("SELECT @@plugin_dir")[0][0])
    server.execute("CREATE FUNCTION postern_form RETURNS STRING SONAME 'plan_functions.so'", database="test")
    yield server
    server.execute("DROP FUNCTION postern_form", database="test")


def recorded(path):
    lines = path.read_text().splitlines()
    return dict(zip(lines[::2], (line.strip() for line in lines[1::2])))


def found(connection, recogniser, statements):
    forms = {}
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute("SELECT CONVERT(postern_form(%s, %s) USING utf8mb4)", (recogniser, statement))
            forms[statement] = cursor.fetchone()[0]
            cursor.execute("SHOW WARNINGS")
            assert cursor.fetchall() == (), statement
    return forms


@pytest.mark.parametrize("recogniser", ["reads", "changes", "planned"])
def test_statements_have_the_meaning_that_is_recorded(server, recogniser):
    path = FORMS / f"{recogniser}.txt"
    wanted = recorded(path)
    if SERIES != "10.11":
        wanted |= {statement: form for statement, form in OTHERWISE.items() if statement in wanted}
        unions = [statement for statement, form in wanted.items() if " UNION " in statement and form != "odd"]
        if recogniser == "planned":
            wanted |= dict.fromkeys(unions, "not: UNION, a subquery or a derived table")
    with server.connect(database="test") as connection:
        forms = found(connection, recogniser, wanted)
    if set(forms.values()) == {UNPLANNED}:
        pytest.skip(f"nothing is planned once on {SERIES}")
    if os.environ.get("RECORD"):
        path.write_text("".join(f"{statement}\n    {form}\n" for statement, form in forms.items()))
    assert forms == wanted
