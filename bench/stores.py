"""Peers without tables: memcached, Redis, and a server that stores nothing."""
import os
import shutil
import subprocess
import time

import matrix
from process import HERE, LOOPBACK, OUT, Failure, Server, free_port


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
        # Fewer requests in flight for large values, more for small ones.
        result = self.bench.load(
            protocol,
            place,
            [
                "--mix",
                f"{mix}=100",
                "--count",
                str(count),
                "--keys",
                "sequential",
                "--max",
                str(max(count, 100)),
                "--clients",
                "4",
                "--depth",
                str(min(200, max(1, count // 1000))),
                *more,
            ],
        )
        if result["acknowledged"].get(mix) != count:
            raise Failure(f"{self.name} could not be filled: {result}")

    def make(self, table):
        if table.startswith("value_") and table not in self.filled:
            self.put(*next(iter(self.places.values())), "insert", matrix.rows_in(table), "--table", table)
            self.filled.add(table)


class Memcached(Store):
    """A memcached listens on a port or on a socket, not on both."""

    def start(self):
        unix = self.name.endswith("-unix")
        port, path = free_port(), str(self.bench.sockets / "memcached.sock")
        where = ["-s", path] if unix else ["-l", LOOPBACK, "-p", str(port)]
        user = ["-u", "root"] if os.getuid() == 0 else []
        self.program = self.find()
        self.spawn(
            [
                self.program,
                *where,
                "-U",
                "0",
                "-t",
                "1",
                "-m",
                "4096",
                "-I",
                "2m",
                "-c",
                str(matrix.CONNECTIONS_MOST),
                *user,
            ],
            path if unix else (LOOPBACK, port),
        )
        place = ["--unix", path] if unix else ["--port", str(port)]
        self.places = (
            {"memcached-unix": ("memcached", place)}
            if unix
            else {"memcached": ("memcached", place), "memcached-meta": ("memcached-meta", place)}
        )
        self.fill("memcached", place)

    def find(self):
        """The installed program, or the distribution's package, unpacked: installing it would start a service."""
        if installed := shutil.which("memcached"):
            return installed
        folder = OUT / "memcached"
        if not (folder / "usr/bin/memcached").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            options = ["-o", "APT::Sandbox::User=root"] if os.getuid() == 0 else []
            done = subprocess.run(
                ["apt-get", "-q", *options, "download", "memcached"],
                cwd=folder,
                text=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
            package = next(folder.glob("memcached_*.deb"), None)
            if done.returncode != 0 or not package:
                raise Failure(f"memcached is not installed and cannot be downloaded: {done.stderr.strip()}")
            subprocess.run(["dpkg", "-x", package, folder], check=True)
        return str(folder / "usr/bin/memcached")

    def versions(self):
        return {
            "memcached": subprocess.run(
                [self.program, "-V"], capture_output=True, text=True, check=False
            ).stdout.split()[-1]
        }


class Redis(Store):
    """`redis-everysec` writes its log in rows without durability, too. `...-hash` stores rows as hashes alone."""

    def start(self):
        port, path = free_port(), str(self.bench.sockets / f"{self.name}.sock")
        folder = self.folder()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.program = self.find()
        self.spawn(
            [
                self.program,
                "--bind",
                LOOPBACK,
                "--port",
                str(port),
                "--unixsocket",
                path,
                "--save",
                "",
                "--appendonly",
                "no",
                "--auto-aof-rewrite-percentage",
                "0",
                "--dir",
                str(folder),
                "--maxclients",
                str(matrix.CONNECTIONS),
                "--daemonize",
                "no",
            ],
            (LOOPBACK, port),
        )
        self.port = port
        if (base := self.name.removesuffix("-hash")) != self.name:
            self.places = {f"{base}-{way}": (f"redis-{way}", ["--port", str(port)]) for way in ("hgetall", "hmget")}
            self.filled = {"user"}
            self.put(*self.places[f"{base}-hgetall"], "insert", matrix.ROWS)
            return
        self.places = {self.name: ("redis", ["--port", str(port)]), f"{self.name}-unix": ("redis", ["--unix", path])}
        self.fill("redis", ["--port", str(port)])

    def folder(self):
        return self.bench.data / f"data-{self.name}"

    def find(self):
        """The server's package would start a service; redis-tools has its program under another name."""
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
        """Sets whether the log is flushed before each reply. Turning the log on writes the whole data set."""
        self.command("CONFIG", "SET", "appendfsync", "always" if state.durable else "everysec")
        logs = state.durable or "everysec" in self.name
        self.command("CONFIG", "SET", "appendonly", "yes" if logs else "no")
        while (
            "aof_rewrite_in_progress:1" in (said := self.command("INFO", "persistence"))
            or "aof_rewrite_scheduled:1" in said
        ):
            time.sleep(0.05)

    def versions(self):
        return {"redis": self.command("INFO", "server").partition("redis_version:")[2].split()[0]}

    def stop(self):
        super().stop()
        shutil.rmtree(self.folder(), ignore_errors=True)
