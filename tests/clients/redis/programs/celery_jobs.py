"""Celery: a queue of tasks with results.

session       prints the outcomes of tasks of all kinds
worker FILE   runs a worker; each task adds a line to the file, and then lasts as long as there is a FILE.hold
put FIRST N   puts N tasks; prints each number that the server has acknowledged
"""
import logging
import os
import sys
import threading
import time

folder, port, what, *rest = sys.argv[1:]
sys.path.insert(0, folder)

from celery import Celery, chain, chord, group  # noqa: E402
from celery.contrib.testing.worker import start_worker  # noqa: E402

SECONDS = 60
URL = f"redis://127.0.0.1:{port}/0"
app = Celery("jobs", broker=URL, backend=URL, set_as_current=True)
app.conf.update(
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    broker_transport_options={"visibility_timeout": 2},
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)


@app.task
def add(one, other):
    return one + other


@app.task
def total(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=3)
def at_the_third_try(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0.1)
    return self.request.retries


@app.task
def fails():
    raise ValueError("no")


@app.task
def note(number):
    with open(os.environ["JOBS_FILE"], "a", encoding="ascii") as file:
        file.write(f"{number}\n")
    while os.path.exists(os.environ["JOBS_FILE"] + ".hold"):
        time.sleep(0.005)


def tell(name, value):
    print(f"{name}: {value}", flush=True)


def session():
    with start_worker(app, perform_ping_check=False, pool="threads", concurrency=2, shutdown_timeout=SECONDS):
        tell("sum", add.delay(1, 2).get(SECONDS))
        tell("chain", chain(add.s(1, 2), add.s(3), add.s(4))().get(SECONDS))
        tell("group", group(add.s(i, i) for i in range(20))().get(SECONDS))
        tell("chord", chord((add.s(i, i) for i in range(10)), total.s())().get(SECONDS))
        tell("again", at_the_third_try.delay().get(SECONDS))
        tell("failure", repr(fails.delay().get(SECONDS, propagate=False)))
        began = time.monotonic()
        tell("later", [add.apply_async((1, 1), countdown=1).get(SECONDS), time.monotonic() - began >= 0.9])
        result = add.delay(5, 5)
        result.get(SECONDS)
        result.forget()
        tell("forgotten", result.status)
        tell("ping", [list(answer.values()) for answer in app.control.ping(timeout=2)])
    with app.connection_for_read() as connection:
        tell("left", connection.default_channel.client.llen("celery"))


def work():
    app.worker_main(
        ["worker", "--pool=solo", "--loglevel=CRITICAL", "--without-gossip", "--without-mingle", "-Q", "notes"]
    )


def put():
    first, count = map(int, rest)
    for number in range(first, first + count):
        while True:
            try:
                note.apply_async((number,), queue="notes", retry=False)
                break
            except Exception:  # the server is down at the moment
                time.sleep(0.2)
        tell("put", number)
        time.sleep(0.02)


if what == "worker":
    os.environ["JOBS_FILE"] = rest[0]
    work()
else:
    logging.disable(logging.CRITICAL)
    {"session": session, "put": put}[what]()
    os._exit(0)
