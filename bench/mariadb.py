"""Starts MariaDB with one of the plugins, fills and configures it, and checks that acknowledged rows are there."""
import os
import shlex
import subprocess
from pathlib import Path

import matrix
import tables
from process import HERE, Failure, Server


class MariaDB(Server):
    """A sandbox with one of the plugins. Its data stays in data-* for later runs."""

    def __init__(self, bench, name):
        super().__init__(bench, name)
        self.folder = bench.data / f"data-{name}"
        self.server = self.server_env()
        self.running = None  # the state that it was started with
        self.hashed = None  # whether the adaptive hash index is on
        self.environment = {}
        self.places = {}

    @staticmethod
    def server_env():
        lines = (HERE / "build/server/server.env").read_text().splitlines()
        return dict(word.split("=", 1) for line in lines for word in shlex.split(line))

    def plugin(self):
        if self.name == "ours":
            return str(HERE / "build/src/plugin/postern.so")
        return self.server["PLUGIN_DIR"] + "/handlersocket.so"

    def options(self, state):
        # Each door has its default number of write threads: the original one, ours one per processor.
        options = [
            f"--handlersocket-threads={state.threads}",
            f"--innodb-buffer-pool-size={state.buffer_pool}",
            "--innodb-log-file-size=1G",
            "--innodb-log-file-buffering=OFF",  # the default; a sandbox sets ON
            f"--max-connections={state.connections}",
            "--max-prepared-stmt-count=100000",
            f"--innodb-adaptive-hash-index-parts={state.hash_parts}",
            "--table-open-cache=4000",
            "--skip-name-resolve",
        ]
        if self.name == "ours" and not state.durable:
            # It reads and writes with the same threads. If no client waits for the disk it gets as many as others.
            options += [f"--{door}-threads={state.threads}" for door in ("memcached", "redis", "postern")]
        if state.threads_wr:
            options.append(f"--handlersocket-threads-wr={state.threads_wr}")
        if state.large_pages:
            options.append("--large-pages")
        if state.binlog:
            options += ["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--max-binlog-size=1G"]
        if self.name == "original-unix":
            # Undocumented: with this address the ports are paths.
            path = self.bench.sockets
            options += [
                "--handlersocket-address=/",
                f"--handlersocket-port={path}/original.sock",
                f"--handlersocket-port-wr={path}/original-wr.sock",
            ]
        return options

    def sandbox(self, *words, **more):
        done = subprocess.run(
            ["taskset", "-c", self.bench.server_core, str(HERE / "tools/sandbox"), *words],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            **more,
        )
        if done.returncode != 0:
            raise Failure(f"tools/sandbox {words[0]} failed for {self.name}")
        return done.stdout

    def sql(self, text):
        return self.sandbox("sql", str(self.folder), "--batch", "--skip-column-names", "test", "-e", text).strip()

    def start(self):
        self.stop()  # the server of a run that was killed
        self.launch(matrix.State())

    def renew(self):
        state = self.running
        self.stop()
        self.launch(state)

    def launch(self, state):
        environment = {**os.environ, "POSTERN_SO": self.plugin(), "POSTERN_SERVER_DIR": str(HERE / "build/server")}
        doors = ["--containers", "--redis", "--redis-port", "0", "--postern-port", "0"] if self.name == "ours" else []
        told = self.sandbox("start", str(self.folder), *doors, "--", *self.options(state), env=environment)
        self.environment = dict(word.split("=", 1) for line in told.splitlines() for word in shlex.split(line))
        self.running = state
        self.hashed = True  # the sandbox's default
        self.place()
        self.fill()

    def fill(self):
        """Creates, once, the tables that any row may need, and configures the doors for them."""
        if not self.has_made(tables.VERSION):
            self.bench.say(f"filling {self.name}")
            self.sql(tables.ALWAYS)
        if self.name == "ours" and not self.has_made(tables.ENTRIES_VERSION):
            self.sql(tables.ENTRIES)
        if self.name == "ours":
            self.sql("CALL postern.redis_map_row('row:', 'test', 'user', 'user_name,user_email,created')")
        for table in ("user", "written", "fresh"):
            self.map(table, "user_id", "user_name,user_email,created")
        self.map("counter", "id", "hits")

    def map(self, table, key, columns):
        """Maps a table as a container of the memcached door."""
        if self.name == "ours":
            self.sql(f"CALL postern.map_table('{table}', 'test', '{table}', '{key}', '{columns}')")

    def place(self):
        env = self.environment
        if self.name == "original-unix":
            path = self.bench.sockets
            self.places = {
                "original-unix": (
                    "handlersocket",
                    ["--unix", f"{path}/original.sock", "--write-unix", f"{path}/original-wr.sock"],
                )
            }
            return
        door = ["--port", env["HS_PORT"], "--write-port", env["HS_PORT_WR"]]
        self.places = {self.name: ("handlersocket", door)}
        if self.name == "ours":
            sql, unix = ["--port", env["SQL_PORT"]], ["--unix", env["SQL_SOCKET"]]
            sql_door, door_unix = ["--port", env["POSTERN_PORT"]], ["--unix", env["POSTERN_SOCKET"]]
            self.places |= {
                "ours-unix": ("handlersocket", ["--unix", env["HS_SOCKET"]]),
                "ours-memcached": ("memcached-container", ["--port", env["MEMC_PORT"]]),
                "ours-memcached-unix": ("memcached-container", ["--unix", env["MEMC_SOCKET"]]),
                "sql-text": ("sql-text", sql),
                "sql-prepared": ("sql-prepared", sql),
                "sql-prepared-unix": ("sql-prepared", unix),
                "sql-door-text": ("sql-text", sql_door),
                "sql-door-prepared": ("sql-prepared", sql_door),
                "sql-door-prepared-unix": ("sql-prepared", door_unix),
                "ours-redis": ("redis", ["--port", env["REDIS_PORT"]]),
                "ours-redis-hgetall": ("redis-hgetall", ["--port", env["REDIS_PORT"]]),
                "ours-redis-hmget": ("redis-hmget", ["--port", env["REDIS_PORT"]]),
                "ours-redis-unix": ("redis", ["--unix", env["REDIS_SOCKET"]]),
            }

    def pid(self):
        return int(self.environment["PID"])

    def stop(self):
        if self.folder.exists():
            self.sandbox("stop", str(self.folder))

    @staticmethod
    def require_large_pages(state):
        """Fails without them: the server would start all the same, and the figures would mislead."""
        known = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free_kib = int(known.get("HugePages_Free", "0")) * int(known.get("Hugepagesize", "0 kB").split()[0])
        wanted_kib = int(state.buffer_pool.removesuffix("G")) * 1_153_434  # a tenth more than the pool
        if free_kib < wanted_kib:
            raise Failure(
                f"the kernel has no large pages: it needs vm.nr_hugepages={wanted_kib // 2048 + 1} " "for each MariaDB"
            )

    def set_state(self, state):
        if state.settled() != self.running.settled():
            if state.large_pages:
                self.require_large_pages(state)
            self.stop()
            if self.running.binlog:
                for log in (self.folder / "data").glob("binlog.*"):
                    log.unlink()
            self.launch(state)
        flush_log = state.flush_log if state.flush_log is not None else 1 if state.durable else 2
        sync_binlog = state.sync_binlog if state.sync_binlog is not None else 1 if state.durable else 0
        self.sql(
            f"SET GLOBAL innodb_flush_log_at_trx_commit={flush_log}; SET GLOBAL sync_binlog={sync_binlog};"
            f"SET GLOBAL innodb_adaptive_hash_index={'ON' if state.adaptive_hash else 'OFF'}"
        )

    def hash_index(self):
        """The state of the server's adaptive hash index: off, or its number of parts."""
        on, parts = self.sql("SELECT @@innodb_adaptive_hash_index, @@innodb_adaptive_hash_index_parts").split()
        return f"{parts} part{'s' if parts != '1' else ''}" if on == "1" else "off"

    def has_made(self, version):
        return (
            self.sql("SHOW TABLES LIKE 'made'")
            and self.sql(f"SELECT COUNT(*) FROM made WHERE version = {version}") == "1"
        )

    def make(self, table):
        number, statements = tables.statements_for(table) or (None, "")
        if number and not self.has_made(number):
            self.bench.say(f"filling {self.name} with {matrix.rows_in(table):,} rows of {table}, once")
            self.sql(f"{statements} INSERT INTO made VALUES ({number});")
        if table.startswith("value_"):
            self.map(table, "user_id", "value")

    def levels(self, table):
        """The number of levels of the primary key's tree, leaves included, from its root page in the file."""
        root = int(
            self.sql(
                "SELECT i.page_no FROM information_schema.innodb_sys_indexes i JOIN "
                "information_schema.innodb_sys_tables t USING (table_id) "
                f"WHERE t.name = 'test/{table}' AND i.name = 'PRIMARY'"
            )
        )
        self.sql(f"FLUSH TABLES {table} FOR EXPORT; UNLOCK TABLES")
        page_bytes, level_at = 16384, 64
        with open(self.folder / "data/test" / f"{table}.ibd", "rb") as file:
            file.seek(root * page_bytes + level_at)
            return int.from_bytes(file.read(2), "big") + 1

    def before(self, row):
        if row.mix == "insert=100":
            self.sql("TRUNCATE TABLE fresh")
        elif row.mix == "increment=100":
            return self.counted()
        return None

    def counted(self):
        """The sum of all counters, in the table and at the Redis door."""
        strings = " + (SELECT COALESCE(SUM(v), 0) FROM postern_redis.entries WHERE k LIKE 'count:%')"
        return int(float(self.sql(f"SELECT SUM(hits){strings if self.name == 'ours' else ''} FROM counter")))

    def after(self, row, memory, result):
        """Checks that every acknowledged write is there, and no other."""
        if row.mix == "insert=100":
            told, there = result["acknowledged"].get("insert", 0), int(self.sql("SELECT COUNT(*) FROM fresh"))
        elif row.mix == "increment=100":
            told = result["acknowledged"].get("increment", 0)
            there = self.counted() - memory
        else:
            return None
        return None if told == there else f"{told} acknowledged, {there} in the table"

    def versions(self):
        return {"mariadb": self.sql("SELECT VERSION()")}
