"""Huey, a job queue on lists, sorted sets and hashes: prints the results of its tasks, with its scheduler and
consumer."""
import logging
import sys
import threading
import time

*folders, port = sys.argv[1:]
sys.path[:0] = folders

from huey import PriorityRedisHuey, RedisExpireHuey, RedisHuey  # noqa: E402
from huey.exceptions import TaskException  # noqa: E402

SECONDS = 30


def tell(name, value):
    print(f"{name}: {value}")


def in_the_end(result):
    """The result of a task; each failure is reported when huey retries the task."""
    while True:
        try:
            return result.get(blocking=True, timeout=SECONDS)
        except TaskException:
            result.reset()


class Workers:
    """Threads that run tasks as Huey's consumer does."""

    def __init__(self, huey, count):
        self.huey, self.ends = huey, threading.Event()
        self.threads = [threading.Thread(target=self.work) for _ in range(count)]

    def work(self):
        while not self.ends.is_set():
            if (task := self.huey.dequeue()) is not None:
                self.huey.execute(task)

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join()


def session(name, make):
    huey = make(name, port=int(port), blocking=True, read_timeout=0.2)
    huey.storage.conn.flushdb()
    order = []

    @huey.task()
    def add(one, other):
        return one + other

    @huey.task(retries=2)
    def at_the_third_try(_tries=[]):
        _tries.append(1)
        if len(_tries) < 3:
            raise ValueError("not yet")
        return len(_tries)

    @huey.task()
    def fails():
        raise ValueError("no")

    @huey.task()
    @huey.lock_task("one at a time")
    def note(what):
        order.append(what)

    @huey.task(context=True)
    def revoked(task=None):
        order.append("revoked")

    again = at_the_third_try()
    jobs = {"sum": add(1, 2), "chain": huey.enqueue(add.s(1, 2).then(add, 3))}
    failure, never = fails(), revoked()
    never.revoke()
    tell(f"{name} pending", len(huey.pending()))
    for what in "abc":
        note(what)
    with Workers(huey, 1):
        for job, result in jobs.items():
            tell(f"{name} {job}", result.get(blocking=True, timeout=SECONDS))
        tell(f"{name} again", in_the_end(again))
        try:
            failure.get(blocking=True, timeout=SECONDS)
        except TaskException as error:
            tell(f"{name} failure", error)
        last = add(0, 0)
        last.get(blocking=True, timeout=SECONDS)
    tell(f"{name} order", order)
    many = [add(i, i) for i in range(60)]
    with Workers(huey, 4):
        tell(f"{name} many", sum(result.get(blocking=True, timeout=SECONDS) for result in many))
    tell(f"{name} left", [huey.pending_count(), huey.result_count()])
    began = time.monotonic()
    later = [add.schedule((n, n), delay=1) for n in range(5)]
    dropped = add.schedule((1, 1), delay=1)
    dropped.revoke()
    tell(f"{name} scheduled", huey.scheduled_count())
    consumer = huey.create_consumer(workers=2, scheduler_interval=1, initial_delay=0.05, backoff=1)
    consumer.start()
    sums = [result.get(blocking=True, timeout=SECONDS) for result in later]
    tell(f"{name} later", [sums, time.monotonic() - began >= 0.9, dropped.get()])
    consumer.stop(graceful=True)
    tell(f"{name} put twice", [huey.put_if_empty("k", 1), huey.put_if_empty("k", 2), huey.get("k", peek=True)])
    huey.storage.flush_all()
    tell(f"{name} flushed", [huey.pending_count(), huey.result_count(), huey.get("k")])


logging.getLogger("huey").setLevel(logging.CRITICAL)
session("lists", RedisHuey)
session("expiring", RedisExpireHuey)
session("priorities", PriorityRedisHuey)

# Tasks with higher priority run first.
urgent = PriorityRedisHuey("urgent", port=int(port), blocking=False)


@urgent.task()
def told(what):
    print(f"priority {what}")


for number in (1, 5, 3, 5, 2):
    told(number, priority=number)
while (waiting := urgent.dequeue()) is not None:
    urgent.execute(waiting)
urgent.storage.conn.flushdb()
