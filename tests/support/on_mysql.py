"""The tests' servers as MySQL 9.7, if POSTERN_TEST_ON=mysql: tools/mysql in place of tools/sandbox."""
import os
import re
import signal
import subprocess
from pathlib import Path

from support.clients import mc
from support.server import ROOT, Server, parse_env
from support.waiting import until

TOOL = ROOT / "tools/mysql"
# The names of these ports in other tests.
NAMES = {"MEMCACHED_PORT": "MEMC_PORT"}
REPLACED = re.compile(r"^CREATE OR REPLACE (TABLE) ([\w.`]+)")
SOCKETS = {"handlersocket": "HS_SOCKET", "memcached": "MEMC_SOCKET", "redis": "REDIS_SOCKET"}
PORTS = {"hs_port": "handlersocket-port", "hs_port_wr": "handlersocket-port-wr", "memcached_port": "memcached-port"}
PORTS |= {"redis_port": "redis-port", "sql_port": "port"}


class MysqlServer(Server):
    """One server of tools/mysql."""

    def __init__(self, directory):
        super().__init__(directory)
        self.options, self.environment = [], None

    def run(self, *words, **more):
        done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, check=False, **more)
        assert done.returncode == 0, f"tools/mysql {words[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *options, env=None, containers=False, redis=False, **ports):
        self.options = [*options, *(f"--{PORTS[name]}={port}" for name, port in ports.items())]
        self.environment = env
        self.launch()
        self.execute("CREATE DATABASE IF NOT EXISTS test")
        scripts = ["innodb_memcache", "innodb_memcache_example"] * containers + ["redis"] * redis
        for name in scripts:
            self.load(name)
        for port in ["MEMC_PORT"] * containers + ["REDIS_PORT"] * redis:
            until(lambda its=port: mc.listens(self.env[its]), 30, f"{port} does not open")
        return self

    def load(self, name):
        self.run("sql", self.dir, input=self.run("script", ROOT / f"sql/{name}.sql"))

    def execute(self, *statements, database=None):
        """Rewrites CREATE OR REPLACE TABLE, which MySQL lacks."""
        super().execute(
            *(
                part
                for statement in statements
                for part in REPLACED.sub(r"DROP TABLE IF EXISTS \2;\0CREATE TABLE \2", statement).split(";\0")
            ),
            database=database,
        )

    def launch(self):
        sockets = {word: f"{self.dir}/{door}.sock" for door, word in SOCKETS.items()}
        options = [f"--{door}-socket={sockets[word]}" for door, word in SOCKETS.items()]
        told = parse_env(self.run("start", self.dir, "--", *options, *self.options, env=self.environment))
        self.env = {NAMES.get(name, name): value for name, value in told.items()} | sockets

    def stop(self):
        self.run("stop", self.dir)

    def kill(self):
        os.kill(int(self.env["PID"]), signal.SIGKILL)
        until(lambda: not Path(f"/proc/{self.env['PID']}").exists(), 30, "mysqld does not die")

    def restart(self):
        self.stop()
        self.launch()

    def alive(self):
        return Path(f"/proc/{self.env['PID']}").exists()
