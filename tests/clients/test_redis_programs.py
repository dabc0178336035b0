"""Programs that people run on Redis: job queues, locks, rate limiters and channel layers. Each runs a whole session and
prints the same results as on Redis, which are in the .expected file beside it. With POSTERN_TEST_ORIGINAL=1 they run on
Debian's redis-server.

Job queues also survive kill -9 of the worker and of the server: no job is lost that the server has acknowledged.
"""
import contextlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from support.program import output_of
from support.server import ORIGINAL, ROOT
from support.waiting import until

HERE = ROOT / "tests" / "clients" / "redis" / "programs"
PYTHON = "/usr/bin/python3"


def command(fetched, program, port, *words):
    """The command line that runs a program's file."""
    if program.endswith(".js"):
        if not shutil.which("node"):
            pytest.skip("there is no node; run tools/deps clients")
        folder = fetched("redis-programs-node") / "redis-programs-node" / "node_modules"
        return ["node", HERE / program, folder, port, *words]
    if program.endswith(".php"):
        if not Path("/usr/share/php/Illuminate/Redis/autoload.php").exists():
            pytest.skip("Laravel's packages are missing; run tools/deps clients")
        return ["php", HERE / program, port, *words]
    folder = fetched("redis-programs-python") / "redis-programs-python"
    return [PYTHON, HERE / program, folder, port, *words]


@pytest.mark.parametrize(
    "program, words",
    [
        ("celery_jobs.py", ["session"]),
        ("dramatiq_jobs.py", ["session"]),
        ("rq_session.py", []),
        ("locks_session.py", []),
        ("node_programs.js", ["session"]),
        ("laravel_queue.php", ["session"]),
    ],
)
def test_a_program_runs_as_on_redis(redis_port, fetched, tmp_path, program, words):
    expected = (HERE / program).with_suffix(".expected").read_text()
    assert output_of(*command(fetched, program, redis_port, *words), cwd=tmp_path) == expected


def test_asynq_and_redsync(redis_port, fetched):
    folder = fetched("asynq")
    assert output_of(folder / "asynq" / "session", redis_port) == (HERE / "asynq.expected").read_text()


class Workers:
    """Worker processes that are killed and replaced."""

    def __init__(self, words, environment, log):
        self.words = [str(word) for word in words]
        self.environment = environment
        self.log = log
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=self.environment
        )

    def kill(self):
        self.process.kill()
        self.process.wait(30)


class Putter(threading.Thread):
    """Puts jobs, and records the acknowledged ones."""

    def __init__(self, words):
        super().__init__()
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
        self.acknowledged = []

    def run(self):
        for line in self.process.stdout:
            if line.startswith("put: "):
                self.acknowledged.append(int(line.split()[1]))
        self.process.wait(30)


@pytest.mark.parametrize("program", ["celery_jobs.py", "dramatiq_jobs.py", "node_programs.js", "laravel_queue.php"])
@pytest.mark.skipif(ORIGINAL, reason="Redis itself keeps nothing through kill -9 here")
def test_no_acknowledged_job_is_lost(sandbox_factory, fetched, tmp_path, program):
    server = sandbox_factory(redis=True)
    port = server.env["REDIS_PORT"]
    done = tmp_path / "done"
    jobs = 80

    def lines():
        with contextlib.suppress(FileNotFoundError):
            return [int(line) for line in done.read_text().split("\n") if line]
        return []

    def finished():
        return set(lines())

    @contextlib.contextmanager
    def amid_a_job():
        # Celery's worker takes a job from the list with one command and records it with the next. A kill between the
        # two loses the job on any server.
        if program != "celery_jobs.py":
            yield
            return
        hold = done.with_name("done.hold")
        hold.touch()
        before = len(lines())
        until(lambda: len(lines()) > before, seconds=90)
        yield
        hold.unlink()

    with (tmp_path / "workers.log").open("wb") as log:
        workers = Workers(command(fetched, program, port, "worker", done), {**os.environ, "JOBS_FILE": str(done)}, log)
        workers.start()
        putter = Putter(command(fetched, program, port, "put", "1", str(jobs)))
        putter.start()
        try:
            until(lambda: len(putter.acknowledged) >= 20 and finished(), seconds=90)
            with amid_a_job():
                workers.kill()
            workers.start()
            until(lambda: len(putter.acknowledged) >= 40, seconds=90)
            with amid_a_job():
                server.kill()
            server.start()
            until(lambda: len(putter.acknowledged) >= 60, seconds=90)
            with amid_a_job():
                workers.kill()
            workers.start()
            putter.join(120)
            assert putter.acknowledged == list(range(1, jobs + 1))
            until(lambda: finished() >= set(putter.acknowledged), seconds=120)
        finally:
            workers.kill()
            putter.process.kill()
    server.assert_alive()
