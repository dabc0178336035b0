"""Streams as tables: SQL reads them, they survive a kill of the server, and an older keyspace gets their tables."""
import json
import threading

from support.clients.resp import decode, encode
from support.server import ROOT, sandbox
from support.waiting import until

SERVER_OPTIONS = ("--redis-threads=3",)


def test_sql_reads_entries_and_pending_ones(server):
    with server.resp() as client:
        client.ask("FLUSHALL")
        client.ask("XADD", "events", "1-1", "user", "Ann", "note", 'a "quoted" é')
        client.ask("XADD", "events", "1-2", "user", "Ben")
        client.ask("XGROUP", "CREATE", "events", "workers", "0")
        client.ask("XREADGROUP", "GROUP", "workers", "one", "COUNT", "1", "STREAMS", "events", ">")
    rows = server.query("SELECT id, fields FROM postern_redis.v_streams WHERE k = 'events' ORDER BY ms, seq")
    assert [(one, json.loads(fields)) for one, fields in rows] == [
        ("1-1", {"user": "Ann", "note": 'a "quoted" é'}),
        ("1-2", {"user": "Ben"}),
    ]
    assert server.query("SELECT k, g, id, c, times FROM postern_redis.v_stream_pending") == [
        (b"events", b"workers", "1-1", b"one", 1)
    ]
    assert server.query("SELECT type, len FROM postern_redis.entries WHERE k = 'events'") == [(6, 2)]


def test_ids_have_all_of_64_bits(server, original):
    with server.resp() as ours, original.client() as theirs:
        for request in [
            ("DEL", "s"),
            ("XADD", "s", "9223372036854775807-18446744073709551615", "a", "b"),
            ("XADD", "s", "18446744073709551614-*", "a", "b"),
            ("XADD", "s", "18446744073709551615-18446744073709551615", "c", "d"),
            ("XADD", "s", "*", "a", "b"),
            ("XRANGE", "s", "-", "+"),
            ("XREVRANGE", "s", "+", "(9223372036854775807-18446744073709551615"),
            ("XRANGE", "s", "(18446744073709551615-18446744073709551615", "+"),
            ("XDEL", "s", "18446744073709551614-0"),
            ("XREAD", "STREAMS", "s", "18446744073709551615-18446744073709551614"),
            ("XINFO", "GROUPS", "s"),
        ]:
            assert ours.ask_raw(*request) == theirs.ask_raw(*request), request


def test_readers_of_all_workers_are_woken(server):
    with server.resp() as says:
        says.ask("DEL", "s")
        says.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
        readers = [server.resp() for _ in range(6)]
        workers = [server.resp() for _ in range(6)]
        for reader in readers:
            reader.send(encode("XREAD", "BLOCK", "0", "STREAMS", "s", "$"))
        for number, worker in enumerate(workers):
            worker.send(
                encode("XREADGROUP", "GROUP", "g", f"c{number}", "COUNT", "1", "BLOCK", "0", "STREAMS", "s", ">")
            )
        until(lambda: b"blocked_clients:12\r\n" in says.ask("INFO", "clients"))
        for number in range(6):
            says.ask("XADD", "s", f"1-{number + 1}", "n", number)
        assert all(decode(reader.raw())[0][1][0][0] == b"1-1" for reader in readers)
        delivered = sorted(decode(worker.raw())[0][1][0][0] for worker in workers)
        assert delivered == [b"1-%d" % number for number in range(1, 7)]
        for client in (*readers, *workers):
            client.close()


def test_acknowledged_entries_and_pending_lists_outlive_a_kill(server):
    with server.resp() as client:
        client.ask("DEL", "s")
        client.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    added, taken, acknowledged = [], [], []

    def add(who):
        try:
            with server.resp() as client:
                for number in range(100_000):
                    added.append(client.ask("XADD", "s", "*", "who", who, "n", number))
        except (OSError, EOFError):
            pass

    def work(who):
        try:
            with server.resp() as client:
                while True:
                    told = client.ask("XREADGROUP", "GROUP", "g", who, "COUNT", "3", "BLOCK", "0", "STREAMS", "s", ">")
                    ids = [one for one, _ in told[0][1]]
                    taken.extend((one, who.encode()) for one in ids)
                    if client.ask("XACK", "s", "g", ids[0]) == 1:
                        acknowledged.append(ids[0])
        except (OSError, EOFError):
            pass

    threads = [threading.Thread(target=add, args=(f"a{i}",)) for i in range(3)]
    threads += [threading.Thread(target=work, args=(f"w{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: len(acknowledged) > 200, seconds=60)
    server.kill()
    for thread in threads:
        thread.join()
    server.restart()
    with server.resp() as client:
        there = {one for one, _ in client.ask("XRANGE", "s", "-", "+")}
        assert set(added) <= there
        pending = {one: who for one, who, _, _ in client.ask("XPENDING", "s", "g", "-", "+", "1000000")}
    # The server may have done more than it acknowledged, but no less.
    assert not set(acknowledged) & set(pending)
    unsure = 2 * len(threads)
    lost = [one for one, who in taken if one not in acknowledged and pending.get(one) != who]
    assert len(lost) <= unsure, lost
    assert server.query("SELECT len FROM postern_redis.entries WHERE k = 's'") == [(len(there),)]


def test_an_older_keyspace_works_and_gets_the_tables_from_the_script(module_factory):
    server = module_factory(redis=True)
    tables = ("streams", "stream_groups", "stream_consumers", "stream_pending")
    for table in tables:
        server.query(f"DROP TABLE postern_redis.{table}")
    with server.resp() as client:
        told = client.error("XADD", "s", "*", "a", "b")
        assert told == "ERR the keyspace has no tables for streams: an administrator has to run redis.sql again"
        assert client.ask("RPUSH", "l", "a") == 1
        assert client.ask("FLUSHALL") == "OK"
        server.query("UPDATE postern.redis_maps SET options = 'no_flush'")
        with open(ROOT / "sql" / "redis.sql", encoding="utf-8") as script:
            sandbox("sql", server.dir, stdin=script)
        until(lambda: client.ask_raw("XADD", "s", "1-1", "a", "b") == b"$3\r\n1-1\r\n")
        assert client.ask("XRANGE", "s", "-", "+") == [[b"1-1", [b"a", b"b"]]]
    assert server.query("SELECT options FROM postern.redis_maps") == [("no_flush",)]
    server.assert_alive()
