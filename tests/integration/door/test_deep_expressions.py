"""A large thread_stack allows deeper expressions, at the doors as at the server's port."""
import pymysql
import pytest

DEPTHS = (1000, 3000, 5000, 7000)  # 3000 levels use about 2 MiB of stack; the parser accepts at most about 8000


@pytest.fixture(scope="module")
def server(module_factory):
    return module_factory("--thread-stack=32M", "--max-connections=50", postern_port=0)


def nested(depth, inside):
    return "ABS(" * depth + inside + ")" * depth


def answer(server, port, statement):
    with pymysql.connect(host="127.0.0.1", port=int(server.env[port]), user="root", database="test") as connection:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_sql_door_answers_what_the_port_answers(server, depth):
    statement = f"SELECT {nested(depth, '-1')}"
    assert answer(server, "SQL_PORT", statement) == ((1,),)
    assert answer(server, "POSTERN_PORT", statement) == ((1,),)
    server.assert_alive()


@pytest.mark.parametrize("depth", DEPTHS)
def test_handlersocket_reads_and_writes_a_table_with_a_check(server, depth):
    server.execute(
        f"CREATE OR REPLACE TABLE st (k INT PRIMARY KEY, v INT, CHECK ({nested(depth, 'k')} >= 0))",
        "FLUSH TABLES",
        "INSERT INTO st VALUES (-1, 1)",
        database="test",
    )
    for client in (server.hs(timeout=30), server.hs_wr(timeout=30)):
        client.open(1, "test", "st", "k,v")
        assert client.request(1, "=", 1, -1) == ["0", "2", "-1", "1"]
    assert client.request(1, "+", 2, 5, 5)[0] == "0"
    assert server.query("SELECT v FROM st WHERE k = 5", database="test") == [(5,)]
    server.assert_alive()
