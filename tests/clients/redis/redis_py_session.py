"""redis-py, blocking and with asyncio, in RESP2 and RESP3: prints the program's results."""
import asyncio
import sys

folder, port = sys.argv[1], int(sys.argv[2])
sys.path.insert(0, folder)
import redis  # noqa: E402
import redis.asyncio  # noqa: E402


def tell(name, value):
    print(f"{name}: {sorted(value) if isinstance(value, set) else value!r}")


def told_error(name, error):
    print(f"{name}: {type(error).__name__}: {error}")


def at_once(resp):
    with redis.Redis(port=port, protocol=resp, client_name="session") as r:
        r.flushdb()
        tell("ping", r.ping())
        tell("name", r.client_getname())
        tell("set", r.set("greeting", "hello", ex=100))
        tell("get", r.get("greeting"))
        tell("ttl", 90 < r.ttl("greeting") <= 100)
        tell("set nx", r.set("greeting", "other", nx=True))
        tell("incr", [r.incr("n"), r.incrby("n", 5), r.decr("n")])
        tell("incrbyfloat", r.incrbyfloat("x", 1.5))
        tell("append", [r.append("greeting", "!"), r.strlen("greeting"), r.getrange("greeting", 1, 3)])
        tell("mget", r.mget("greeting", "nosuch", "n"))
        tell("mset", r.mset({"a": 1, "b": b"\x00\xff"}))
        tell("bytes", r.get("b"))
        tell("hset", r.hset("user", mapping={"name": "Ann", "age": 30}))
        tell("hgetall", sorted(r.hgetall("user").items()))
        tell("hmget", r.hmget("user", "name", "nosuch"))
        tell("hincrby", r.hincrby("user", "age", 2))
        tell("exists", r.exists("user", "a", "nosuch"))
        tell("type", [r.type("user"), r.type("a"), r.type("nosuch")])
        tell("scan", sorted(set(r.scan_iter(match="*", count=3))))
        tell("delete", r.delete("a", "b", "nosuch"))
        try:
            r.incr("greeting")
        except redis.ResponseError as error:
            told_error("incr of text", error)
        try:
            r.get("user")
        except redis.ResponseError as error:
            told_error("get of a hash", error)
        with r.pipeline(transaction=False) as pipe:
            for i in range(1000):
                pipe.set(f"p{i}", i)
            for i in range(1000):
                pipe.get(f"p{i}")
            answers = pipe.execute()
        tell("pipeline", (all(answers[:1000]), answers[1000:] == [str(i).encode() for i in range(1000)]))
        with r.pipeline() as pipe:
            pipe.multi()
            pipe.incr("n")
            pipe.get("n")
            tell("transaction", pipe.execute())
        with r.pipeline() as pipe:
            pipe.watch("n")
            r.incr("n")
            pipe.multi()
            pipe.set("n", 0)
            try:
                pipe.execute()
            except redis.WatchError as error:
                told_error("watch", error)
        tell("info", r.info("persistence")["loading"])
        tell("big", r.set("big", b"x" * 5_000_000) and len(r.get("big")))
        tell("time", len(r.time()))
        r.flushdb()


async def by_and_by(resp):
    async with redis.asyncio.Redis(port=port, protocol=resp) as r:
        tell("ping", await r.ping())
        await asyncio.gather(*(r.set(f"k{i}", i) for i in range(100)))
        tell("gathered", await asyncio.gather(*(r.get(f"k{i}") for i in range(5))))
        async with r.pipeline(transaction=True) as pipe:
            tell("transaction", await pipe.incr("n").incr("n").execute())
        tell("hset", await r.hset("h", "f", "v"))
        tell("hgetall", await r.hgetall("h"))
        await r.flushdb()


for version in (2, 3):
    print(f"--- RESP{version}")
    at_once(version)
    asyncio.run(by_and_by(version))
