"""Plans and the session features that MariaDB 11.8 has added."""
import pytest
from support.random_input.planned_once import assert_alike, fast, plain, sessions  # noqa: F401
from support.server import SERIES

pytestmark = pytest.mark.skipif(SERIES == "10.11", reason="MariaDB 10.11 does not have it")

SORT = (
    "SELECT s.id FROM sale s JOIN person h ON h.id = s.person WHERE s.n >= %d" " ORDER BY RPAD(h.name, 60, s.id), s.id"
)


def files(session):
    """The bytes of the session's temporary files, as its status shows them."""
    return session.query("SHOW STATUS LIKE 'Tmp_space_used'")


def test_files_of_sorts_are_counted_for_nobody_afterwards(plain):  # noqa: F811
    """A plan keeps the file of its last sort until the next one, which may be another session's."""
    pairs = [sessions(plain), sessions(plain)]
    for door, port in pairs:
        for one in (door, port):
            one.query("SET sort_buffer_size = 16384")
            one.query("SET max_tmp_session_space_usage = 1048576")
    none = files(sessions(plain)[1])
    before, made = fast(plain), plain.status("Created_tmp_files")["created_tmp_files"]
    for number in range(30):
        for door, port in pairs:
            assert_alike(SORT % (number % 2 + 3), (door, port))
            assert files(door) == none
    assert fast(plain) - before >= 30
    assert plain.status("Created_tmp_files")["created_tmp_files"] - made >= 30
    # Without plans there are no files.
    plain.execute("ALTER TABLE sale COMMENT = 'as new'", database="test")
    assert plain.query("SHOW GLOBAL STATUS LIKE 'Tmp_space_used'") == [("Tmp_space_used", "0")]


def test_a_character_set_stands_for_the_collation_of_the_session(plain):  # noqa: F811
    text = (
        "SELECT s.id, h.name FROM sale s JOIN person h ON h.id = s.person"
        " WHERE s.id = %d AND CAST(h.name AS CHAR CHARACTER SET utf8mb4) LIKE 'NAME%%'"
    )
    loose, exact = sessions(plain), sessions(plain)
    for one in exact:
        one.query("SET character_set_collations = 'utf8mb4=utf8mb4_bin'")
    before = fast(plain)
    for number in range(1, 21):
        for pair in (loose, exact):
            assert_alike(text % number, pair)
    assert fast(plain) - before >= 20
    assert b"name3" in loose[0].query(text % 3) and b"name3" not in exact[0].query(text % 3)


def test_sessions_keep_the_address_that_they_redirect_to(plain):  # noqa: F811
    text = "SELECT s.id, h.name FROM sale s JOIN person h ON h.id = s.person WHERE s.n = 1 AND s.id > %d"
    for number in range(4):
        pair = sessions(plain)
        for one in pair:
            one.query(f"SET redirect_url = 'mariadb://127.0.0.1:330{number}'")
            one.query(f"SET sql_mode = '{'ANSI_QUOTES' if number % 2 else ''}'")
        for other in range(5):
            assert_alike(text % other, pair)
        assert_alike("SELECT @@redirect_url", pair)
        for one in pair:
            one.socket.close()
    plain.restart()
    assert "got signal" not in plain.log_tail()
