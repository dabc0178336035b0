"""Who watches the threads of the server meets ours at any moment of their lives, and no lock is in between."""
import contextlib
import os
import threading

from pymysql.cursors import SSCursor

from support.waiting import until

# More than a socket takes while its client does not read.
LONG_BYTES = 8 << 20


def test_the_state_of_a_thread_that_has_gone_is_still_shown(sandbox_factory):
    """SHOW PROCESSLIST notes where the states of all threads are, and reads each when it sends its row."""
    # Memory that is freed is filled, so that whoever reads it then is seen.
    server = sandbox_factory("--max-allowed-packet=64M", env={**os.environ, "MALLOC_PERTURB_": "165"})
    server.execute("UNINSTALL SONAME 'postern'")
    with contextlib.ExitStack() as stack:
        long, slow = (stack.enter_context(contextlib.closing(server.connect())) for _ in range(2))
        number = long.thread_id()

        def sleep():
            with contextlib.suppress(Exception):  # KILL ends it
                long.cursor().execute(f"SELECT SLEEP(300) /* {'x' * LONG_BYTES} */")

        sleeper = threading.Thread(target=sleep)
        sleeper.start()
        state = f"SELECT state FROM information_schema.processlist WHERE id = {number}"
        until(lambda: server.query(state) == [("User sleep",)])
        # The rows of our threads come behind the long one, at which the list is held up.
        server.execute("INSTALL SONAME 'postern'")
        cursor = slow.cursor(SSCursor)
        cursor.execute("SHOW FULL PROCESSLIST")
        server.execute("UNINSTALL SONAME 'postern'")
        rows = cursor.fetchall()
        server.execute(f"KILL {number}", "INSTALL SONAME 'postern'")
        sleeper.join()
    states = [row[6] for row in rows if row[1] == "postern"]
    assert states
    assert not [state for state in states if not state.startswith(("starting", "handlersocket", "memcached", "redis"))]
