"""Dramatiq: a queue of tasks.

session       prints the outcomes of tasks of all kinds
worker FILE   runs a worker; each task adds a line to the file
put FIRST N   puts N tasks; prints each number that the server has acknowledged
"""
import logging
import os
import sys
import time

folder, port, what, *rest = sys.argv[1:]
sys.path.insert(0, folder)

import dramatiq  # noqa: E402
from dramatiq import group, pipeline  # noqa: E402
from dramatiq.brokers.redis import RedisBroker  # noqa: E402
from dramatiq.middleware import GroupCallbacks  # noqa: E402
from dramatiq.rate_limits import BucketRateLimiter, ConcurrentRateLimiter, WindowRateLimiter  # noqa: E402
from dramatiq.rate_limits.backends import RedisBackend as Limits  # noqa: E402
from dramatiq.results import Results  # noqa: E402
from dramatiq.results.backends import RedisBackend  # noqa: E402

logging.disable(logging.CRITICAL)
MS = 60_000
broker = RedisBroker(port=int(port), heartbeat_timeout=2_000, maintenance_chance=100_000)
broker.add_middleware(Results(backend=RedisBackend(client=broker.client)))
limits = Limits(client=broker.client)
broker.add_middleware(GroupCallbacks(limits))
dramatiq.set_broker(broker)
tries = []


def tell(name, value):
    print(f"{name}: {value}", flush=True)


@dramatiq.actor(store_results=True)
def add(one, other):
    return one + other


@dramatiq.actor(store_results=True, max_retries=3, min_backoff=50, max_backoff=50)
def at_the_third_try():
    tries.append(1)
    if len(tries) < 3:
        raise ValueError("not yet")
    return len(tries)


@dramatiq.actor(max_retries=0)
def fails():
    raise ValueError("no")


@dramatiq.actor
def all_done():
    tell("all", "done")


@dramatiq.actor(queue_name="notes", max_retries=0)
def note(number):
    with open(os.environ["JOBS_FILE"], "a", encoding="ascii") as file:
        file.write(f"{number}\n")


def session():
    broker.client.flushdb()
    worker = dramatiq.Worker(broker, worker_threads=2, worker_timeout=100)
    worker.start()
    tell("sum", add.send(1, 2).get_result(block=True, timeout=MS))
    tell(
        "chain", pipeline([add.message(1, 2), add.message(3), add.message(4)]).run().get_result(block=True, timeout=MS)
    )
    tell("group", list(group(add.message(i, i) for i in range(20)).run().get_results(block=True, timeout=MS)))
    tell("again", at_the_third_try.send().get_result(block=True, timeout=MS))
    began = time.monotonic()
    later = add.send_with_options(args=(5, 5), delay=1_000)
    tell("later", [later.get_result(block=True, timeout=MS), time.monotonic() - began >= 0.9])
    fails.send()
    broker.join("default")
    worker.join()
    tell("dead", broker.client.zcard("dramatiq:default.XQ"))
    both = group(add.message(i, i) for i in range(3))
    both.add_completion_callback(all_done.message())
    both.run().wait(timeout=MS)
    while broker.client.hlen("dramatiq:default.msgs") or broker.client.llen("dramatiq:default"):
        time.sleep(0.05)
    worker.join()
    worker.stop()
    for made in (
        BucketRateLimiter(limits, "bucket", limit=2, bucket=60_000),
        WindowRateLimiter(limits, "window", limit=2, window=60),
    ):
        taken = []
        for _ in range(4):
            with made.acquire(raise_on_failure=False) as one:
                taken.append(one)
        tell(type(made).__name__, taken)
    mutex = ConcurrentRateLimiter(limits, "mutex", limit=1)
    with mutex.acquire() as one, mutex.acquire(raise_on_failure=False) as other:
        tell("mutex", [one, other])
    tell("left", [broker.client.llen("dramatiq:default"), broker.client.hlen("dramatiq:default.msgs")])


def work():
    os.environ["JOBS_FILE"] = rest[0]
    worker = dramatiq.Worker(broker, queues={"notes"}, worker_threads=2, worker_timeout=100)
    worker.start()
    while True:
        time.sleep(60)


def put():
    first, count = map(int, rest)
    for number in range(first, first + count):
        while True:
            try:
                note.send(number)
                break
            except Exception:  # the server is down at the moment
                time.sleep(0.2)
        tell("put", number)
        time.sleep(0.02)


{"session": session, "worker": work, "put": put}[what]()
os._exit(0)
