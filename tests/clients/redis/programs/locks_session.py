"""redis-py's locks, rate limiters of the limits package, and channel layers of channels_redis."""
import asyncio
import sys
import threading
import time

folder, port = sys.argv[1:]
sys.path.insert(0, folder)

import redis  # noqa: E402
from channels_redis.core import RedisChannelLayer  # noqa: E402
from channels_redis.pubsub import RedisPubSubChannelLayer  # noqa: E402
from limits import RateLimitItemPerMinute, RateLimitItemPerSecond, storage, strategies  # noqa: E402

URL = f"redis://127.0.0.1:{port}/0"
client = redis.Redis(port=int(port))
client.flushdb()


def tell(name, value):
    print(f"{name}: {value}", flush=True)


def failure(call, *args, **kwargs):
    try:
        return call(*args, **kwargs)
    except redis.exceptions.LockError as error:
        return type(error).__name__


def locks():
    one, other = client.lock("l", timeout=5), client.lock("l", timeout=5)
    tell("taken", [one.acquire(blocking=False), other.acquire(blocking=False), one.owned(), other.owned()])
    tell("not owned", [failure(other.release), client.exists("l")])
    one.extend(10)
    tell("extended", client.pttl("l") > 10_000)
    one.reacquire()
    tell("begun anew", 0 < client.pttl("l") <= 5_000)
    one.release()
    tell("free", [other.acquire(blocking=False), failure(other.release), client.exists("l")])
    short = client.lock("short", timeout=0.1)
    short.acquire()
    time.sleep(0.3)
    tell("expired", [failure(short.release), failure(short.extend, 1)])
    total = [0]

    def count():
        own = redis.Redis(port=int(port))
        for _ in range(20):
            with own.lock("counter", timeout=20, sleep=0.005):
                before = total[0]
                time.sleep(0.0005)
                total[0] = before + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tell("counted by turns", total)


def limiters():
    where = storage.storage_from_string(URL)
    tell("storage", where.check())
    for name in ("FixedWindowRateLimiter", "MovingWindowRateLimiter", "SlidingWindowCounterRateLimiter"):
        limiter = getattr(strategies, name)(where)
        item = RateLimitItemPerMinute(3)
        tell(name, [limiter.hit(item, name) for _ in range(5)])
        tell("left", [limiter.test(item, name), limiter.get_window_stats(item, name).remaining])
        limiter.clear(item, name)
        tell("cleared", limiter.test(item, name))
    fast = strategies.MovingWindowRateLimiter(where)
    item = RateLimitItemPerSecond(2)
    tell("burst", [fast.hit(item, "burst") for _ in range(3)])
    time.sleep(1.1)
    tell("after a second", fast.hit(item, "burst"))


async def layer(name, made):
    await made.send("one", {"type": "told", "n": 1})
    await made.send("one", {"type": "told", "n": 2})
    tell(f"{name} sent", [await made.receive("one"), await made.receive("one")])
    names = [await made.new_channel() for _ in range(3)]
    for channel in names:
        await made.group_add("group", channel)
    await made.group_discard("group", names[0])
    await made.group_send("group", {"type": "told", "n": 3})
    heard = await asyncio.gather(*(asyncio.wait_for(made.receive(channel), 10) for channel in names[1:]))
    tell(f"{name} group", heard)
    waiting = asyncio.ensure_future(made.receive(names[1]))
    await asyncio.sleep(0.2)
    await made.send(names[1], {"type": "told", "n": 4})
    tell(f"{name} waited for", await asyncio.wait_for(waiting, 10))
    try:
        await asyncio.wait_for(made.receive(names[0]), 0.3)
    except asyncio.TimeoutError:
        tell(f"{name} discarded", "nothing")
    await made.flush()


async def channels():
    core = RedisChannelLayer(hosts=[URL], capacity=3)
    await layer("core", core)
    for _ in range(3):
        await core.send("full", {"type": "told"})
    try:
        await core.send("full", {"type": "told"})
    except Exception as error:
        tell("core full", type(error).__name__)
    await core.flush()


async def pubsub():
    made = RedisPubSubChannelLayer(hosts=[URL])
    names = [await made.new_channel() for _ in range(2)]
    for channel in names:
        await made.group_add("group", channel)
    await made.group_send("group", {"type": "told", "n": 1})
    tell("pubsub group", [await asyncio.wait_for(made.receive(channel), 10) for channel in names])
    await made.send(names[0], {"type": "told", "n": 2})
    tell("pubsub sent", await asyncio.wait_for(made.receive(names[0]), 10))


locks()
limiters()
asyncio.run(channels())
asyncio.run(pubsub())
