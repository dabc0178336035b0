"""Planned SELECTs are answered if the server would answer them, while accounts and their databases change."""
from support.random_input.planned_once import assert_alike, fast, plain, sessions  # noqa: F401

OWN = "SELECT s.id, h.name FROM sale s JOIN person h ON h.id = s.person WHERE s.id = %d"
NEXT_TO_IT = "SELECT s.id, h.name FROM sale s JOIN beside.person h ON h.id = s.person WHERE s.id = %d"
NAMED = "SELECT s.id, h.name FROM test.sale s JOIN test.person h ON h.id = s.person WHERE s.id = %d"


def ask(pair, *texts):
    for number in range(1, 6):
        for text in texts:
            assert_alike(text % number, pair)


def test_privileges_on_databases_and_roles(plain):  # noqa: F811
    plain.execute(
        "CREATE OR REPLACE DATABASE beside",
        "CREATE TABLE beside.person AS SELECT * FROM test.person",
        "CREATE USER part@'%' IDENTIFIED BY ''",
        "CREATE ROLE reader",
        "GRANT SELECT ON test.* TO part@'%'",
        "GRANT SELECT ON beside.* TO reader",
        "GRANT reader TO part@'%'",
    )
    texts = (OWN, NEXT_TO_IT, NAMED)
    # Another account has them planned.
    ask(sessions(plain), *texts)
    part = sessions(plain, "part")
    before = fast(plain)
    ask(part, *texts)
    assert fast(plain) - before >= 8
    assert b"\xff\x76\x04" in part[0].query(NEXT_TO_IT % 1)  # 1142
    for change in ("SET ROLE reader", "USE beside", "USE test", "SET ROLE NONE"):
        for one in part:
            one.query(change)
        ask(part, *texts)
    # A session keeps its privileges on its current database until it changes the database; privileges on others change
    # at once.
    for change in (
        "GRANT SELECT ON beside.* TO part@'%'",
        "REVOKE SELECT ON beside.* FROM part@'%'",
        "REVOKE SELECT ON test.* FROM part@'%'",
        "GRANT SELECT ON test.sale TO part@'%'",
        "GRANT SELECT ON test.person TO part@'%'",
    ):
        plain.execute(change)
        ask(part, *texts)
        if change != "REVOKE SELECT ON test.* FROM part@'%'":  # an account needs some privilege to use a database
            ask(sessions(plain, "part"), *texts[::2])
        for one in part:
            one.query("USE test")
        ask(part, *texts)
    plain.execute("DROP DATABASE beside", "DROP USER part@'%'", "DROP ROLE reader")
