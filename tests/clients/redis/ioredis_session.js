// ioredis: a program's results.
const [folder, port] = process.argv.slice(2);
const Redis = require(`${folder}/ioredis`);

const tell = (name, value) => console.log(`${name}: ${JSON.stringify(value)}`);

async function main() {
  const r = new Redis({ port: Number(port), host: "127.0.0.1", connectionName: "session" });
  tell("flush", await r.flushdb());
  tell("ping", await r.ping());
  tell("name", await r.client("GETNAME"));
  tell("set", await r.set("greeting", "hello", "EX", 100));
  tell("get", await r.get("greeting"));
  tell("nx", await r.set("greeting", "other", "NX"));
  tell("incr", [await r.incr("n"), await r.incrby("n", 4), await r.incrbyfloat("x", 1.5)]);
  tell("mset", await r.mset({ a: 1, b: "\u00fc" }));
  tell("mget", await r.mget("a", "nosuch", "b"));
  tell("buffer", (await r.getBuffer("b")).toString("hex"));
  tell("hset", await r.hset("user", { name: "Ann", age: 30 }));
  const all = await r.hgetall("user");
  tell("hgetall", Object.keys(all).sort().map((key) => [key, all[key]]));
  tell("wrong type", await r.get("user").catch((error) => error.message));
  const keys = [];
  for await (const some of r.scanStream({ match: "*", count: 2 })) keys.push(...some);
  tell("scan", [...new Set(keys)].sort());
  tell("piped", await r.pipeline().incr("n").get("n").hget("n", "f").exec());
  tell("transaction", await r.multi().incr("n").get("n").exec());
  const other = r.duplicate();
  await r.watch("n");
  await other.incr("n");
  tell("watch", await r.multi().set("n", 0).exec());
  tell("many", (await Promise.all(Array.from({ length: 1000 }, (_, i) => r.set(`p${i}`, i)))).length);
  tell("del", await r.del("a", "b", "nosuch"));
  await r.flushdb();
  tell("quit", [await r.quit(), await other.quit()]);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
