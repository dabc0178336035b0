"""arq, a job queue on strings, sorted sets and transactions: prints the outcomes of its jobs."""
import asyncio
import logging
import sys
from datetime import timedelta

*folders, port = sys.argv[1:]
sys.path[:0] = folders

from arq import create_pool  # noqa: E402
from arq.connections import RedisSettings  # noqa: E402
from arq.worker import Retry, Worker  # noqa: E402

SETTINGS = RedisSettings(port=int(port))
SECONDS = 30


async def add(_, one, other):
    return one + other


async def fails(_):
    raise ValueError("no")


async def at_the_third_try(context):
    if context["job_try"] < 3:
        raise Retry(defer=0.1)
    return context["job_try"]


def tell(name, value):
    print(f"{name}: {value}")


async def told(name, job):
    try:
        tell(name, await job.result(timeout=SECONDS, poll_delay=0.02))
    except ValueError as error:
        tell(name, f"failed: {error}")


async def main():
    logging.getLogger("arq.worker").setLevel(logging.CRITICAL)
    pool = await create_pool(SETTINGS)
    await pool.flushdb()
    jobs = {
        "sum": await pool.enqueue_job("add", 1, 2),
        "failure": await pool.enqueue_job("fails"),
        "again": await pool.enqueue_job("at_the_third_try"),
        "later": await pool.enqueue_job("add", 3, 4, _defer_by=timedelta(seconds=1)),
    }
    tell("the same job", await pool.enqueue_job("add", 1, 1, _job_id=jobs["sum"].job_id))
    tell("waiting", [(await job.status()).value for job in jobs.values()])
    tell("queued", sorted(job.function for job in await pool.queued_jobs()))
    # Two workers share one queue; each job is done once.
    workers = [
        Worker([add, fails, at_the_third_try], redis_settings=SETTINGS, poll_delay=0.05, handle_signals=False)
        for _ in range(2)
    ]
    running = [asyncio.create_task(worker.async_run()) for worker in workers]
    many = [await pool.enqueue_job("add", i, i) for i in range(50)]
    for name, job in jobs.items():
        await told(name, job)
    tell("many", sum([await job.result(timeout=SECONDS, poll_delay=0.02) for job in many]))
    tell("done", sorted({(await job.status()).value for job in jobs.values()}))
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    for worker in workers:
        await worker.close()
    await pool.flushdb()
    await pool.aclose()


asyncio.run(main())
