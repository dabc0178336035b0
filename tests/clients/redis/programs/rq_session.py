"""RQ: prints the outcomes of its jobs, with a worker in this process and RQ's scheduler."""
import logging
import sys
import time
from datetime import timedelta

folder, port = sys.argv[1:]
sys.path.insert(0, folder)

import redis  # noqa: E402
import rq  # noqa: E402
from rq.registry import FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry, StartedJobRegistry  # noqa: E402

logging.disable(logging.CRITICAL)
client = redis.Redis(port=int(port))
client.flushdb()
queue, low = rq.Queue("high", connection=client), rq.Queue("low", connection=client)


def tell(name, value):
    print(f"{name}: {value}", flush=True)


def add(one, other):
    return one + other


def fails():
    raise ValueError("no")


def at_the_third_try():
    if client.incr("tries") < 3:
        raise ValueError("not yet")
    return "done"


def told(job):
    job.refresh()
    return [job.get_status().value, job.return_value()]


sys.modules["rq_session"] = sys.modules["__main__"]
for function in (add, fails, at_the_third_try):
    function.__module__ = "rq_session"

sums = [low.enqueue(add, i, i) for i in range(20)]
first = queue.enqueue(add, 1, 2)
second = queue.enqueue(add, 3, 4, depends_on=first)
failure = queue.enqueue(fails)
never = queue.enqueue(add, 5, 6, depends_on=failure)
again = queue.enqueue(at_the_third_try, retry=rq.Retry(max=3))
canceled = low.enqueue(add, 7, 8)
canceled.cancel()
many = queue.enqueue_many([rq.Queue.prepare_data(add, (i, 1)) for i in range(5)])
tell("waiting", [queue.count, low.count, second.get_status().value])
worker = rq.SimpleWorker([queue, low], connection=client)
worker.work(burst=True)
tell("first", told(first))
tell("second", told(second))
tell("failure", told(failure)[0])
tell("never", told(never)[0])
tell("again", told(again))
tell("canceled", told(canceled)[0])
tell("sums", [told(job)[1] for job in sums])
tell("many", [told(job)[1] for job in many])
tell("finished", [len(FinishedJobRegistry(queue=one)) for one in (queue, low)])
tell("failed", [len(FailedJobRegistry(queue=one)) for one in (queue, low)])
tell("started", [len(StartedJobRegistry(queue=one)) for one in (queue, low)])
queue.enqueue_in(timedelta(seconds=1), add, 10, 10)
tell("scheduled", len(ScheduledJobRegistry(queue=queue)))
scheduler = rq.scheduler.RQScheduler([queue], connection=client, interval=1)
scheduler.acquire_locks()
for _ in range(100):
    scheduler.enqueue_scheduled_jobs()
    if queue.count:
        break
    time.sleep(0.1)
tell("came", queue.count)
scheduler.release_locks()
rq.SimpleWorker([queue], connection=client).work(burst=True)
tell("left", [queue.count, low.count, len(ScheduledJobRegistry(queue=queue))])
tell("workers", rq.Worker.count(connection=client))
