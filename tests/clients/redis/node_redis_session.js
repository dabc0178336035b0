// node-redis: a program's results.
const { createRequire } = require("module");

const [folder, port] = process.argv.slice(2);
const { createClient, commandOptions } = createRequire(`${folder}/`)("redis");

const tell = (name, value) => console.log(`${name}: ${JSON.stringify(value)}`);

async function main() {
  const r = createClient({ url: `redis://127.0.0.1:${port}`, name: "session" });
  await r.connect();
  tell("flush", await r.flushDb());
  tell("name", await r.clientGetName());
  tell("set", await r.set("greeting", "hello", { EX: 100 }));
  tell("get", await r.get("greeting"));
  tell("nx", await r.set("greeting", "other", { NX: true }));
  tell("get and set", await r.set("greeting", "ho", { GET: true }));
  tell("numbers", [await r.incr("n"), await r.decrBy("n", 4), await r.incrByFloat("x", 1.5)]);
  tell("mset", await r.mSet({ a: "1", b: "\u00fc" }));
  tell("mget", await r.mGet(["a", "nosuch", "b"]));
  tell("buffer", (await r.get(commandOptions({ returnBuffers: true }), "b")).toString("hex"));
  tell("hset", await r.hSet("user", { name: "Ann", age: 30 }));
  const all = await r.hGetAll("user");
  tell("hgetall", Object.keys(all).sort().map((key) => [key, all[key]]));
  tell("hmget", await r.hmGet("user", ["age", "nosuch"]));
  tell("wrong type", await r.get("user").catch((error) => error.message));
  const keys = [];
  for await (const key of r.scanIterator({ MATCH: "*", COUNT: 2 })) keys.push(key);
  tell("scan", [...new Set(keys)].sort());
  tell("type, ttl", [await r.type("user"), (await r.ttl("greeting")) > 90, await r.persist("greeting")]);
  tell("transaction", await r.multi().incr("n").get("n").hGetAll("nosuch").exec());
  await r.executeIsolated(async (one) => {
    await one.watch("n");
    await r.incr("n");
    const lost = one.multi().set("n", 0).exec();
    tell("watch", await lost.catch((error) => error.constructor.name));
  });
  tell("many", (await Promise.all(Array.from({ length: 1000 }, (_, i) => r.set(`p${i}`, i)))).length);
  tell("del", await r.del(["a", "b", "nosuch"]));
  await r.flushDb();
  tell("quit", await r.quit());
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
