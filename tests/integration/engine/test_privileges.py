"""The rights of a client that has logged in are its account's grants."""
import threading
import time

import pytest
from support.accounts import GOOD, denied, login
from support.waiting import until

# A change of privileges takes effect within this time.
HELD_SECONDS = 1


# --- privileges --------------------------------------------------------------------------------------------------


def test_nobody_learns_whether_a_table_exists(accounts, user):
    name = user()
    with accounts.hs() as client:
        assert login(client, name) == GOOD
        for table in ("t", "absent"):
            assert client.request("P", 0, "test", table, "PRIMARY", "id") == denied("SELECT", name, table)
            assert client.request("P", 0, "test", table, "absent", "absent") == denied("SELECT", name, table)
        accounts.execute(f"GRANT SELECT (id) ON test.t TO {name}@localhost")
    with accounts.hs() as client:
        assert login(client, name) == GOOD
        for column in ("a", "absent"):
            assert client.request("P", 0, "test", "t", "PRIMARY", column) == denied("SELECT", name, column=column)


def test_system_schemas_stay_closed_to_everybody(accounts, user):
    name = user(grants=["ALL ON *.*"])
    with accounts.hs() as client:
        assert login(client, name) == GOOD
        assert client.request("P", 0, "mysql", "global_priv", "PRIMARY", "Host") == ["1", "1", "open_table"]


def test_column_grants_cover_results_keys_and_filters(accounts, user):
    name = user(grants=["SELECT (id, a) ON test.t"])
    with accounts.hs() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "t", "id,`A`")
        assert client.request(0, "=", 1, 3) == ["0", "2", "3", "30"]
        assert client.request("P", 1, "test", "t", "PRIMARY", "id,c") == denied("SELECT", name, column="c")
        assert client.request("P", 1, "test", "t", "PRIMARY", "id", "a,c") == denied("SELECT", name, column="c")
        assert client.request("P", 1, "test", "t", "ab", "id") == denied("SELECT", name, column="b")
        client.open(1, "test", "t", "id", filters="a")
        assert client.request(1, ">", 1, 0, 1, 0, "F", "=", 0, 50) == ["0", "1", "5"]
        assert client.request("P", 2, "test", "other", "PRIMARY", "id") == denied("SELECT", name, "other")


WRITES = {
    "INSERT": (0, "+", 2, 900, 1),
    "UPDATE": (0, "=", 1, 1, 1, 0, "U", 1, 10),
    "DELETE": (0, "=", 1, 900, 1, 0, "D"),
}


@pytest.mark.parametrize("granted", WRITES)
def test_each_write_needs_its_privilege(accounts, user, granted):
    name = user(grants=["SELECT ON test.t", f"{granted} ON test.t"])
    with accounts.hs_wr() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "t", "id,a")
        for command, request in WRITES.items():
            reply = client.request(*request)
            assert (reply[:2] == GOOD) if command == granted else (reply == denied(command, name)), (command, reply)
        accounts.execute("DELETE FROM test.t WHERE id = 900")


def test_writes_need_select_on_the_columns_they_look_at(accounts, user):
    name = user(grants=["UPDATE ON test.t", "DELETE ON test.t", "INSERT ON test.t", "SELECT (id) ON test.t"])
    with accounts.hs_wr() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "t", "a")
        assert client.request(0, "=", 1, 1, 1, 0, "U", 10) == ["0", "1", "1"]
        assert client.request(0, "=", 1, 1, 1, 0, "U?", 10) == denied("SELECT", name, column="a")
        assert client.request(0, "=", 1, 1, 1, 0, "+", 1) == denied("SELECT", name, column="a")
        assert client.request(0, "=", 1, 1, 1, 0, "D?") == denied("SELECT", name, column="a")
        assert client.request(0, "=", 1, 1) == denied("SELECT", name, column="a")
        client.open(1, "test", "t", "id,a", index="ab")
        assert client.request(1, "=", 1, -1, 1, 0, "D") == denied("SELECT", name, column="a")
        assert accounts.query("SELECT a FROM test.t WHERE id = 1") == [(10,)]


def test_upserts_need_update_too_and_columns_count(accounts, user):
    name = user(grants=["INSERT (id, a) ON test.other", "UPDATE (a) ON test.other"])
    with accounts.hs_wr() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "other", "id,a")
        assert client.request("P", 1, "test", "other", "PRIMARY", "id,b")[0] == "3", "nothing could be done with it"
        assert client.request(0, "+", 2, 1, 1) == GOOD
        assert client.request(0, "U", 2, 1, 2) == denied("UPDATE", name, "other", "id")
        accounts.execute(f"GRANT UPDATE (id) ON test.other TO {name}@localhost")
        until(lambda: client.request(0, "U", 2, 1, 2)[0] == "0", HELD_SECONDS)
    assert accounts.query("SELECT id, a FROM test.other") == [(1, 2)]
    accounts.execute("TRUNCATE test.other")


def test_only_insert_is_enough_to_insert(accounts, user):
    name = user(grants=["INSERT ON test.other"])
    with accounts.hs_wr() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "other", "id,a")
        assert client.request(0, "+", 2, 1, 1) == GOOD
        assert client.request(0, "=", 1, 1) == denied("SELECT", name, "other")
    accounts.execute("TRUNCATE test.other")


def test_a_default_role_counts_and_others_do_not(accounts, user):
    name = user()
    accounts.execute("CREATE ROLE reader", "GRANT SELECT ON test.t TO reader", f"GRANT reader TO {name}@localhost")
    try:
        with accounts.hs() as client:
            assert login(client, name) == GOOD
            assert client.request("P", 0, "test", "t", "PRIMARY", "id") == denied("SELECT", name)
            accounts.execute(f"SET DEFAULT ROLE reader FOR {name}@localhost")
            assert login(client, name) == GOOD
            client.open(0, "test", "t", "id")
            assert client.request(0, "=", 1, 5) == ["0", "1", "5"]
            accounts.execute(f"REVOKE reader FROM {name}@localhost")
            until(lambda: client.request(0, "=", 1, 5) == denied("SELECT", name), HELD_SECONDS)
    finally:
        accounts.execute("DROP ROLE reader")


# --- when that changes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "revoke, grant",
    [
        ("REVOKE SELECT ON test.t FROM {0}@localhost", "GRANT SELECT ON test.t TO {0}@localhost"),
        ("DROP USER {0}@localhost", None),
        ("RENAME USER {0}@localhost TO {0}x@localhost", "RENAME USER {0}x@localhost TO {0}@localhost"),
    ],
)
@pytest.mark.alone
def test_under_load_revoking_holds_within_a_second(accounts, user, revoke, grant):
    name = user(grants=["SELECT ON test.t"])
    with accounts.hs() as client:
        assert login(client, name) == GOOD
        client.open(0, "test", "t", "id")
        allowed_until, stop, problems = [time.monotonic()], threading.Event(), []

        busy = accounts.hs()
        assert login(busy, name) == GOOD
        busy.open(0, "test", "t", "id")

        def load():
            while not stop.is_set():
                for reply in busy.pipeline(*[(0, "=", 1, 5)] * 50):
                    if reply[0] == "0":
                        allowed_until[0] = time.monotonic()
                    elif reply[:2] != ["3", "1"]:
                        problems.append(reply)

        thread = threading.Thread(target=load)
        thread.start()
        try:
            until(lambda: client.request(0, "=", 1, 5) == ["0", "1", "5"], HELD_SECONDS)
            accounts.execute(revoke.format(name))
            revoked = time.monotonic()
            until(lambda: client.request(0, "=", 1, 5)[0] == "3", HELD_SECONDS)
            until(lambda: time.monotonic() - allowed_until[0] > 0.3, 3)
            assert allowed_until[0] - revoked < 1
            if grant:
                accounts.execute(grant.format(name))
                until(lambda: client.request(0, "=", 1, 5) == ["0", "1", "5"], HELD_SECONDS)
        finally:
            stop.set()
            thread.join()
            busy.close()
        assert not problems
