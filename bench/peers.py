"""The servers that are measured: how each is started, pinned to a core, filled with rows, set and stopped."""
import contextlib
import fcntl
import json
import os
import random
import resource
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import matrix

HERE = Path(__file__).resolve().parent.parent
OUT = HERE / "build" / "bench"
LOOPBACK = "127.0.0.1"
# A store's inserts go over the same keys again and again, so that its memory has a bound.
STORE_INSERTS_FROM = matrix.ROWS + 1


class Failure(Exception):
    """Told to the user as it is; the command ends with exit code 1."""


def free_port():
    for _ in range(1000):
        port = random.randrange(12000, 32000)
        with socket.socket() as probe:
            with contextlib.suppress(OSError):
                probe.bind((LOOPBACK, port))
                return port
    raise Failure("no free port found")


def all_processor_seconds():
    """What all processes of the machine have used, and what a hypervisor has given to others."""
    user, nice, system, _, _, interrupts, softirqs, stolen = (
        int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + interrupts + softirqs + stolen) / os.sysconf("SC_CLK_TCK")


def busy_percent(seconds=0.3):
    """Of a processor, what all processes use now."""
    before = all_processor_seconds()
    time.sleep(seconds)
    return 100 * (all_processor_seconds() - before) / seconds


def processor_seconds(pid):
    """(time, what all processes of the machine have used, what the process and our finished children have)."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    process_clock = ~pid << 3 | 2  # as clock_getcpuclockid() makes it
    return (time.monotonic(), all_processor_seconds(),
            time.clock_gettime(process_clock) + children.ru_utime + children.ru_stime)


class Server:
    """One process under measurement. `places`: peer name -> what bench/load is told about it."""

    def __init__(self, bench, name):
        self.bench = bench
        self.name = name
        self.child = None

    def pid(self):
        return self.child.pid

    def spawn(self, command, ready):
        """Starts a process on the server's core and waits until `ready`, a socket address, takes connections."""
        # It ends with us, however we end.
        command = ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", self.bench.server_core, *command]
        with open(OUT / f"{self.name}.log", "wb") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        family = socket.AF_UNIX if isinstance(ready, str) else socket.AF_INET
        deadline = time.monotonic() + 20
        while True:
            with socket.socket(family) as probe:
                try:
                    probe.connect(ready)
                    return
                except OSError:
                    pass
            try:
                self.child.wait(0.02)
            except subprocess.TimeoutExpired:
                if time.monotonic() < deadline:
                    continue
            raise Failure(f"{self.name} did not start; see {log.name}")

    def stop(self):
        if self.child and self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(20)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()

    def set_state(self, state):
        """Brings the server into a row's state."""

    def make(self, table):
        """Fills what a row reads, if it is not there yet."""

    def renew(self):
        """A process that has not served yet, so that what connections take of its memory can be told."""
        self.stop()
        self.start()

    def wait_for_descriptors(self, wanted):
        """Until the connections of an earlier run are closed at this end, too, and so many more can be had."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        deadline = time.monotonic() + 30
        while len(os.listdir(f"/proc/{self.pid()}/fd")) + wanted > limit:
            if time.monotonic() > deadline:
                raise Failure(f"{self.name} has no descriptors for {wanted} connections; the limit is {limit}")
            time.sleep(0.05)

    def before(self, row):
        """Just before a run; returns what after() wants to know."""

    def after(self, row, memory, result):
        """Just after a run: says what is wrong with what the server holds now, or None."""

    def versions(self):
        return {}


class Null(Server):
    def start(self):
        port, path = free_port(), str(self.bench.sockets / "null.sock")
        self.spawn([str(HERE / "build/tools/standalone"), "--threads", "1", "--null", str(port), "--unix", path], path)
        self.places = {"null": ("null", ["--port", str(port)]), "null-unix": ("null", ["--unix", path])}


class Store(Server):
    """memcached or Redis: filled through the load generator."""

    def fill(self, protocol, place):
        self.filled = {"user"}
        for mix, count in (("insert", matrix.ROWS), ("zero", matrix.COUNTERS)):
            self.put(protocol, place, mix, count)

    def put(self, protocol, place, mix, count, *more):
        # Few requests of many bytes, many of few.
        result = self.bench.load(protocol, place, ["--mix", f"{mix}=100", "--count", str(count), "--keys", "sequential",
                                                   "--max", str(max(count, 100)), "--clients", "4", "--depth",
                                                   str(min(200, max(1, count // 1000))), *more])
        if result["acknowledged"].get(mix) != count:
            raise Failure(f"{self.name} could not be filled: {result}")

    def make(self, table):
        if table.startswith("value_") and table not in self.filled:
            self.put(*next(iter(self.places.values())), "insert", matrix.rows_in(table), "--table", table)
            self.filled.add(table)


class Memcached(Store):
    """It listens on a port or on a socket, not on both."""

    def start(self):
        unix = self.name.endswith("-unix")
        port, path = free_port(), str(self.bench.sockets / "memcached.sock")
        where = ["-s", path] if unix else ["-l", LOOPBACK, "-p", str(port)]
        user = ["-u", "root"] if os.getuid() == 0 else []
        self.program = self.find()
        self.spawn([self.program, *where, "-U", "0", "-t", "1", "-m", "4096", "-I", "2m", "-c",
                    str(matrix.CONNECTIONS_MOST), *user],
                   path if unix else (LOOPBACK, port))
        place = ["--unix", path] if unix else ["--port", str(port)]
        self.places = {"memcached-unix": ("memcached", place)} if unix else {
            "memcached": ("memcached", place), "memcached-meta": ("memcached-meta", place)}
        self.fill("memcached", place)

    def find(self):
        """The installed one, or the distribution's package, unpacked: installing it would start a service."""
        if installed := shutil.which("memcached"):
            return installed
        folder = OUT / "memcached"
        if not (folder / "usr/bin/memcached").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            options = ["-o", "APT::Sandbox::User=root"] if os.getuid() == 0 else []
            done = subprocess.run(["apt-get", "-q", *options, "download", "memcached"], cwd=folder, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            package = next(folder.glob("memcached_*.deb"), None)
            if done.returncode != 0 or not package:
                raise Failure(f"memcached is not installed and cannot be downloaded: {done.stderr.strip()}")
            subprocess.run(["dpkg", "-x", package, folder], check=True)
        return str(folder / "usr/bin/memcached")

    def versions(self):
        return {"memcached": subprocess.run([self.program, "-V"], capture_output=True, text=True,
                                            check=False).stdout.split()[-1]}


class Redis(Store):
    def start(self):
        port, path = free_port(), str(self.bench.sockets / "redis.sock")
        folder = self.bench.data / "data-redis"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.program = self.find()
        self.spawn([self.program, "--bind", LOOPBACK, "--port", str(port), "--unixsocket", path, "--save", "",
                    "--appendonly", "no", "--auto-aof-rewrite-percentage", "0", "--dir", str(folder),
                    "--maxclients", str(matrix.CONNECTIONS), "--daemonize", "no"], (LOOPBACK, port))
        self.port = port
        self.places = {"redis": ("redis", ["--port", str(port)]), "redis-unix": ("redis", ["--unix", path])}
        self.fill("redis", ["--port", str(port)])

    def find(self):
        """The server's package would start a service; its program is in redis-tools, and is what it is called."""
        if installed := shutil.which("redis-server"):
            return installed
        program = shutil.which("redis-check-rdb")
        if not program:
            raise Failure("Redis is missing; tools/deps bench installs it")
        link = OUT / "redis-server"
        link.unlink(missing_ok=True)
        link.symlink_to(program)
        return str(link)

    def command(self, *words):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stdout.strip() == "" or done.stdout.startswith("ERR"):
            raise Failure(f"redis-cli {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def set_state(self, state):
        """Durable means that its log is flushed before it answers. Turning the log on writes all it holds."""
        self.command("CONFIG", "SET", "appendfsync", "always" if state.durable else "everysec")
        self.command("CONFIG", "SET", "appendonly", "yes" if state.durable else "no")
        while "aof_rewrite_in_progress:1" in (said := self.command("INFO", "persistence")) or \
                "aof_rewrite_scheduled:1" in said:
            time.sleep(0.05)

    def versions(self):
        return {"redis": self.command("INFO", "server").partition("redis_version:")[2].split()[0]}

    def stop(self):
        super().stop()
        shutil.rmtree(self.bench.data / "data-redis", ignore_errors=True)


# Raise it when the tables change, so that kept ones are made anew. `made` is written last: what an interrupted run left
# behind does not count.
TABLES_VERSION = 2
TABLES = f"""
DROP DATABASE test;
CREATE DATABASE test;
USE test;
CREATE TABLE user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50), user_email VARCHAR(255), created DATETIME)
  ENGINE=InnoDB;
INSERT INTO user SELECT seq, CONCAT('name', seq), CONCAT('user', seq, '@example.org'), '2010-02-03 11:22:33'
  FROM seq_1_to_{matrix.ROWS};
CREATE TABLE written LIKE user;
INSERT INTO written SELECT * FROM user;
CREATE TABLE fresh LIKE user;
CREATE TABLE counter (id INT UNSIGNED PRIMARY KEY, hits BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB;
INSERT INTO counter SELECT seq, 0 FROM seq_1_to_{matrix.COUNTERS};
CREATE TABLE made (version BIGINT);
INSERT INTO made VALUES ({TABLES_VERSION});
"""
PEOPLE = f"""
DROP TABLE IF EXISTS people;
CREATE TABLE people (user_id INT UNSIGNED PRIMARY KEY, email VARCHAR(255), first_name VARCHAR(50),
  last_name VARCHAR(50), street VARCHAR(100), city VARCHAR(50), zip CHAR(8), country CHAR(2), phone VARCHAR(30),
  company VARCHAR(100), status TINYINT, score INT, created DATETIME, changed DATETIME, notes VARCHAR(255))
  ENGINE=InnoDB;
INSERT INTO people SELECT seq, CONCAT('user', seq, '@example.org'), CONCAT('first', seq), CONCAT('last', seq),
  CONCAT(seq % 1000, ' Example Street, building ', seq), CONCAT('city', seq % 5000), LPAD(seq % 99999, 8, '0'), 'JP',
  CONCAT('+81 3 ', seq), CONCAT('company ', seq % 20000), seq % 5, seq % 1000, '2010-02-03 11:22:33',
  '2012-08-03 11:22:33', REPEAT('note ', 50) FROM seq_1_to_{matrix.PEOPLE};
"""
USERS = """
DROP TABLE IF EXISTS {table};
CREATE TABLE {table} LIKE user;
INSERT INTO {table} SELECT seq, CONCAT('name', seq), CONCAT('user', seq, '@example.org'), '2010-02-03 11:22:33'
  FROM seq_1_to_{rows};
"""
# A value is its key in ten digits, again and again. What fits into a page is there; what does not has pages of its own.
INLINE_BYTES = 8000
VALUES = """
DROP TABLE IF EXISTS {table};
CREATE TABLE {table} (user_id INT UNSIGNED PRIMARY KEY, value {type} NOT NULL) ENGINE=InnoDB;
INSERT INTO {table} SELECT seq, LEFT(REPEAT(LPAD(seq, 10, '0'), {size} DIV 10 + 1), {size}) FROM seq_1_to_{rows};
"""
WIDE = f"""
DROP TABLE IF EXISTS wide;
CREATE TABLE wide (user_id INT UNSIGNED PRIMARY KEY,
  {", ".join(f"c{i} VARCHAR(20) NOT NULL" for i in range(1, matrix.WIDE_COLUMNS + 1))}) ENGINE=InnoDB;
INSERT INTO wide SELECT seq, {", ".join(f"CONCAT('{i}.', seq)" for i in range(1, matrix.WIDE_COLUMNS + 1))}
  FROM seq_1_to_{matrix.WIDE};
"""


def statements_for(table):
    """(number in `made`, what makes the table) of one that not every run needs; None of the others."""
    head, _, size = table.partition("_")
    if table == "people":
        return TABLES_VERSION * 100, PEOPLE
    if head == "wide":
        return TABLES_VERSION * 100 + 1, WIDE
    if not size:
        return None
    # Beyond the numbers above.
    number = TABLES_VERSION * 1_000_000_000 + int(size) * 10
    rows = matrix.rows_in(table)
    if head == "value":
        kind = f"VARBINARY({size})" if int(size) <= INLINE_BYTES else "MEDIUMBLOB"
        return number + 1, VALUES.format(table=table, rows=rows, size=size, type=kind)
    return number, USERS.format(table=table, rows=rows)


class MariaDB(Server):
    """A sandbox with one of the plugins in it. Its data stays in data-* for the next time."""

    def __init__(self, bench, name):
        super().__init__(bench, name)
        self.folder = bench.data / f"data-{name}"
        self.server = self.server_env()
        self.running = None  # the state it was started with
        self.hashed = None   # whether the adaptive hash index is on
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
        # Each door has the write threads it has by default: the original one, ours two a processor.
        options = [f"--handlersocket-threads={state.threads}",
                   f"--innodb-buffer-pool-size={state.buffer_pool}", "--innodb-log-file-size=1G",
                   f"--max-connections={state.connections}", "--max-prepared-stmt-count=100000",
                   "--table-open-cache=4000", "--skip-name-resolve"]
        if self.name == "ours" and not state.durable:
            # It reads and writes with the same threads. Where nobody waits for the disk it gets as many as the others.
            options.append(f"--memcached-threads={state.threads}")
        if state.threads_wr:
            options.append(f"--handlersocket-threads-wr={state.threads_wr}")
        if state.large_pages:
            options.append("--large-pages")
        if state.binlog:
            options += ["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--max-binlog-size=1G"]
        if self.name == "original-unix":
            # Not documented: with this address the ports are paths.
            path = self.bench.sockets
            options += ["--handlersocket-address=/", f"--handlersocket-port={path}/original.sock",
                        f"--handlersocket-port-wr={path}/original-wr.sock"]
        return options

    def sandbox(self, *words, **more):
        done = subprocess.run(["taskset", "-c", self.bench.server_core, str(HERE / "tools/sandbox"), *words],
                              stdout=subprocess.PIPE, text=True, check=False, **more)
        if done.returncode != 0:
            raise Failure(f"tools/sandbox {words[0]} failed for {self.name}")
        return done.stdout

    def sql(self, text):
        return self.sandbox("sql", str(self.folder), "--batch", "--skip-column-names", "test", "-e", text).strip()

    def start(self):
        self.stop()  # what a run that was killed has left
        self.launch(matrix.State())

    def renew(self):
        state = self.running
        self.stop()
        self.launch(state)

    def launch(self, state):
        if state.large_pages:
            self.require_large_pages(state)
        environment = {**os.environ, "POSTERN_SO": self.plugin(), "POSTERN_SERVER_DIR": str(HERE / "build/server")}
        containers = ["--containers"] if self.name == "ours" else []
        told = self.sandbox("start", str(self.folder), *containers, "--", *self.options(state), env=environment)
        self.environment = dict(word.split("=", 1) for line in told.splitlines() for word in shlex.split(line))
        self.running = state
        self.hashed = True  # the sandbox's default
        self.place()
        if not self.has_made(TABLES_VERSION):
            self.bench.say(f"filling {self.name}")
            self.sql(TABLES)
        for table in ("user", "written", "fresh"):
            self.map(table, "user_id", "user_name,user_email,created")
        self.map("counter", "id", "hits")

    def map(self, table, key, columns):
        """Makes a table a container of the memcached door."""
        if self.name == "ours":
            self.sql(f"CALL postern.map_table('{table}', 'test', '{table}', '{key}', '{columns}')")

    def place(self):
        env = self.environment
        if self.name == "original-unix":
            path = self.bench.sockets
            self.places = {"original-unix": ("handlersocket", ["--unix", f"{path}/original.sock", "--write-unix",
                                                               f"{path}/original-wr.sock"])}
            return
        door = ["--port", env["HS_PORT"], "--write-port", env["HS_PORT_WR"]]
        self.places = {self.name: ("handlersocket", door)}
        if self.name == "ours":
            sql, unix = ["--port", env["SQL_PORT"]], ["--unix", env["SQL_SOCKET"]]
            self.places |= {"ours-unix": ("handlersocket", ["--unix", env["HS_SOCKET"]]),
                            "ours-memcached": ("memcached-container", ["--port", env["MEMC_PORT"]]),
                            "ours-memcached-unix": ("memcached-container", ["--unix", env["MEMC_SOCKET"]]),
                            "sql-text": ("sql-text", sql), "sql-prepared": ("sql-prepared", sql),
                            "sql-prepared-unix": ("sql-prepared", unix)}

    def pid(self):
        return int(self.environment["PID"])

    def stop(self):
        if self.folder.exists():
            self.sandbox("stop", str(self.folder))

    @staticmethod
    def require_large_pages(state):
        """Without them the server would start all the same, and the figures would mislead."""
        known = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free_kib = int(known.get("HugePages_Free", "0")) * int(known.get("Hugepagesize", "0 kB").split()[0])
        wanted_kib = int(state.buffer_pool.removesuffix("G")) * 1_153_434  # a tenth more than the pool
        if free_kib < wanted_kib:
            raise Failure(f"the kernel has no large pages: it needs vm.nr_hugepages={wanted_kib // 2048 + 1} "
                          "for each MariaDB")

    def set_state(self, state):
        if state.settled() != self.running.settled():
            self.stop()
            if self.running.binlog:
                for log in (self.folder / "data").glob("binlog.*"):
                    log.unlink()
            self.launch(state)
        flush_log = state.flush_log if state.flush_log is not None else 1 if state.durable else 2
        sync_binlog = state.sync_binlog if state.sync_binlog is not None else 1 if state.durable else 0
        self.sql(f"SET GLOBAL innodb_flush_log_at_trx_commit={flush_log}; SET GLOBAL sync_binlog={sync_binlog};"
                 f"SET GLOBAL innodb_adaptive_hash_index={'ON' if state.adaptive_hash else 'OFF'}")

    def has_made(self, version):
        return self.sql("SHOW TABLES LIKE 'made'") and \
            self.sql(f"SELECT COUNT(*) FROM made WHERE version = {version}") == "1"

    def make(self, table):
        number, statements = statements_for(table) or (None, "")
        if number and not self.has_made(number):
            self.bench.say(f"filling {self.name} with {matrix.rows_in(table):,} rows of {table}, once")
            self.sql(f"{statements} INSERT INTO made VALUES ({number});")
        if table.startswith("value_"):
            self.map(table, "user_id", "value")

    def levels(self, table):
        """Of the primary key's tree, the leaves too: what its root page says, which stands in the file."""
        root = int(self.sql("SELECT i.page_no FROM information_schema.innodb_sys_indexes i JOIN "
                            "information_schema.innodb_sys_tables t USING (table_id) "
                            f"WHERE t.name = 'test/{table}' AND i.name = 'PRIMARY'"))
        self.sql(f"FLUSH TABLES {table} FOR EXPORT; UNLOCK TABLES")
        page_bytes, level_at = 16384, 64
        with open(self.folder / "data/test" / f"{table}.ibd", "rb") as file:
            file.seek(root * page_bytes + level_at)
            return int.from_bytes(file.read(2), "big") + 1

    def before(self, row):
        if row.mix == "insert=100":
            self.sql("TRUNCATE TABLE fresh")
        elif row.mix == "increment=100":
            return int(self.sql("SELECT SUM(hits) FROM counter"))
        return None

    def after(self, row, memory, result):
        """Every write that was acknowledged is there, and none that was not."""
        if row.mix == "insert=100":
            told, there = result["acknowledged"].get("insert", 0), int(self.sql("SELECT COUNT(*) FROM fresh"))
        elif row.mix == "increment=100":
            told = result["acknowledged"].get("increment", 0)
            there = int(self.sql("SELECT SUM(hits) FROM counter")) - memory
        else:
            return None
        return None if told == there else f"{told} acknowledged, {there} in the table"

    def versions(self):
        return {"mariadb": self.sql("SELECT VERSION()")}


SERVERS = {"null": Null, "memcached": Memcached, "memcached-unix": Memcached, "redis": Redis, "original": MariaDB,
           "original-unix": MariaDB, "ours": MariaDB}


def server_of(peer):
    """The server a peer is a way into."""
    if peer in SERVERS:
        return peer
    if peer.startswith(("sql", "ours")):
        return "ours"
    return peer.removesuffix("-unix").removesuffix("-meta")


class Bench:
    """All servers of a run, and the load."""

    def __init__(self, server_core, load_core, data, say):
        self.server_core, self.load_core, self.say = str(server_core), str(load_core), say
        self.data = data.resolve()
        self.servers = {}
        self.absent = {}  # server -> why it could not be started
        self.sockets = None
        self.lock = None

    def __enter__(self):
        OUT.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.data / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f"another bench/run is using {self.data}") from None
        self.sockets = Path(tempfile.mkdtemp(prefix="postern-bench-"))
        return self

    def __exit__(self, *_):
        for server in self.servers.values():
            try:
                server.stop()
            except Failure as failure:
                self.say(failure)
        shutil.rmtree(self.sockets, ignore_errors=True)
        self.lock.close()

    def flushes_per_second(self):
        """How often the disk below the data makes a small write last, one after the other: the floor of durability."""
        path = self.data / "flush-probe"
        with open(path, "wb", buffering=0) as probe:
            os.posix_fallocate(probe.fileno(), 0, 1 << 20)
            begin, count = time.monotonic(), 0
            while time.monotonic() < begin + 0.5:
                os.pwrite(probe.fileno(), b"\1" * 512, count * 512 % (1 << 20))
                os.fdatasync(probe.fileno())
                count += 1
            seconds = time.monotonic() - begin
        path.unlink()
        return count / seconds

    def start(self, peers):
        """Starts what has not been. Without a peer the others are measured; without ours nothing is."""
        for name in dict.fromkeys(server_of(peer) for peer in peers):
            if name in self.servers or name in self.absent:
                continue
            self.say(f"starting {name}")
            server = SERVERS[name](self, name)
            self.servers[name] = server
            try:
                server.start()
            except Failure as failure:
                if name == "ours":
                    raise
                self.say(failure)
                self.absent[name] = str(failure)
                server.stop()
                del self.servers[name]

    def load(self, protocol, place, arguments, server_pid=None):
        command = ["taskset", "-c", self.load_core, str(OUT / "load"), "--protocol", protocol, *place, *arguments]
        if server_pid:
            command += ["--server-pid", str(server_pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise Failure(f"{shlex.join(command)}: {done.stdout}{done.stderr}") from None

    def run(self, peer, row, arguments):
        """One run of `row` against `peer`, verified: (result, what is wrong or None)."""
        server = self.servers[server_of(peer)]
        protocol, place = server.places[peer]
        more = ["--insert-from", str(STORE_INSERTS_FROM)] if isinstance(server, Store) else []
        server.wait_for_descriptors(row.clients + row.idle + 100)
        memory = server.before(row)
        before = processor_seconds(server.pid())
        result = self.load(protocol, place, [*row.arguments(), *arguments, *more], server.pid())
        wall, all_, own = (now - then for now, then in zip(processor_seconds(server.pid()), before))
        result["others_cpu_percent"] = max(0.0, 100 * (all_ - own) / wall)
        return result, server.after(row, memory, result)
