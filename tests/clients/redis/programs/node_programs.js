// Programs of Node's on Redis: BullMQ, Bull, rate-limiter-flexible, Redlock and socket.io's adapter.
//
//   session             what came of their jobs
//   worker FILE         runs a worker of BullMQ; each job adds a line to the file
//   put FIRST N         puts N jobs; prints each number that the server has acknowledged
"use strict";
const [, , modules, port, what, ...rest] = process.argv;
const path = require("path");
const fs = require("fs");
const load = (name) => require(path.join(modules, name));
const { Queue, Worker, QueueEvents, FlowProducer, Job } = load("bullmq");
const Bull = load("bull");
const Redis = load("ioredis");
const Redlock = load("redlock").default || load("redlock");
const { RateLimiterRedis } = load("rate-limiter-flexible");
const { Server } = load("socket.io");
const client = load("socket.io-client");
const { createAdapter } = load("@socket.io/redis-adapter");

const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };
const SECONDS = 60;
const tell = (name, value) => console.log(`${name}: ${JSON.stringify(value)}`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (check) => {
  for (let i = 0; i < SECONDS * 50; ++i) {
    if (await check()) return;
    await sleep(20);
  }
  throw new Error("it never happened");
};

async function bullmq() {
  const queue = new Queue("jobs", { connection });
  const events = new QueueEvents("jobs", { connection });
  await events.waitUntilReady();
  const order = [];
  let tries = 0;
  const worker = new Worker(
    "jobs",
    async (job) => {
      order.push(job.name);
      if (job.name === "fails") throw new Error("no");
      if (job.name === "again" && ++tries < 3) throw new Error("not yet");
      if (job.name === "parent") return Object.values(await job.getChildrenValues()).sort((a, b) => a - b);
      await job.updateProgress(50);
      return job.data.n * 2;
    },
    { connection, concurrency: 1, autorun: false },
  );
  worker.on("error", () => {});
  const failed = await queue.add("fails", {});
  const again = await queue.add("again", { n: 4 }, { attempts: 3, backoff: { type: "fixed", delay: 50 } });
  const low = await queue.add("low", { n: 1 }, { priority: 10 });
  const high = await queue.add("high", { n: 2 }, { priority: 1 });
  const began = Date.now();
  const later = await queue.add("later", { n: 5 }, { delay: 800 });
  const same = await queue.add("once", { n: 6 }, { jobId: "once" });
  const twin = await queue.add("once", { n: 7 }, { jobId: "once" });
  tell("bullmq waiting", await queue.getJobCounts("waiting", "prioritized", "delayed"));
  worker.run();
  tell("bullmq low", await low.waitUntilFinished(events, SECONDS * 1000));
  tell("bullmq high", await high.waitUntilFinished(events, SECONDS * 1000));
  tell("bullmq again", await again.waitUntilFinished(events, SECONDS * 1000));
  tell("bullmq later", [await later.waitUntilFinished(events, SECONDS * 1000), Date.now() - began >= 750]);
  tell("bullmq once", [await same.waitUntilFinished(events, SECONDS * 1000), twin.id]);
  tell("bullmq high before low", order.indexOf("high") < order.indexOf("low"));
  await until(() => failed.isFailed());
  tell("bullmq failed", (await Job.fromId(queue, failed.id)).failedReason);
  const flow = new FlowProducer({ connection });
  const parent = await flow.add({
    name: "parent",
    queueName: "jobs",
    children: [1, 2, 3].map((n) => ({ name: "child", data: { n }, queueName: "jobs" })),
  });
  tell("bullmq flow", await parent.job.waitUntilFinished(events, SECONDS * 1000));
  const many = await queue.addBulk([...Array(20).keys()].map((n) => ({ name: "many", data: { n } })));
  tell("bullmq many", await Promise.all(many.map((job) => job.waitUntilFinished(events, SECONDS * 1000))));
  await queue.upsertJobScheduler("each", { every: 200, limit: 3 }, { name: "each", data: { n: 1 } });
  await until(() => order.filter((name) => name === "each").length >= 3);
  await until(async () => (await queue.getActiveCount()) === 0);
  tell("bullmq repeated", order.filter((name) => name === "each").length);
  tell("bullmq counts", await queue.getJobCounts("active", "waiting", "delayed", "prioritized", "failed"));
  await queue.pause();
  tell("bullmq paused", await queue.isPaused());
  await queue.drain(true);
  await worker.close();
  await events.close();
  await flow.close();
  await queue.obliterate({ force: true });
  await queue.close();
}

async function bull() {
  const queue = new Bull("old", { redis: connection });
  let tries = 0;
  const again = await queue.add("again", { n: 3 }, { attempts: 3, backoff: 50 });
  const failed = await queue.add("fails", {});
  const later = await queue.add("double", { n: 5 }, { delay: 500 });
  const jobs = await queue.addBulk([...Array(10).keys()].map((n) => ({ name: "double", data: { n } })));
  queue.process("double", async (job) => job.data.n * 2);
  queue.process("again", async () => {
    if (++tries < 3) throw new Error("not yet");
    return tries;
  });
  queue.process("fails", async () => {
    throw new Error("no");
  });
  tell("bull many", await Promise.all(jobs.map((job) => job.finished())));
  tell("bull again", await again.finished());
  tell("bull later", await later.finished());
  tell("bull failed", await failed.finished().catch((error) => error.message));
  tell("bull counts", await queue.getJobCounts());
  await queue.close();
}

async function limits() {
  const redis = new Redis(connection);
  const limiter = new RateLimiterRedis({ storeClient: redis, points: 3, duration: 60, blockDuration: 0 });
  const taken = [];
  for (let i = 0; i < 5; ++i) taken.push(await limiter.consume("one").then((res) => res.remainingPoints, (res) => -res.consumedPoints));
  tell("limiter", taken);
  tell("limiter got", (await limiter.get("one")).consumedPoints);
  await limiter.reward("one", 2);
  tell("limiter rewarded", (await limiter.get("one")).consumedPoints);
  await limiter.delete("one");
  tell("limiter deleted", await limiter.get("one"));
  const lock = new Redlock([redis], { retryCount: 0 });
  const held = await (lock.acquire ? lock.acquire(["res"], 5000) : lock.lock("res", 5000));
  tell("redlock second", await (lock.acquire ? lock.acquire(["res"], 5000) : lock.lock("res", 5000)).then(() => "taken", (error) => error.name));
  const longer = await held.extend(10000);
  tell("redlock extended", (await redis.pttl("res")) > 5000);
  await (longer.release ? longer.release() : longer.unlock());
  tell("redlock released", await redis.exists("res"));
  await redis.quit();
}

async function sockets() {
  const servers = [];
  for (let i = 0; i < 2; ++i) {
    const pub = new Redis(connection);
    const sub = new Redis(connection);
    const io = new Server(0, { adapter: createAdapter(pub, sub) });
    io.on("connection", (socket) => {
      socket.on("join", (room, done) => {
        socket.join(room);
        done();
      });
    });
    await until(() => io.httpServer.listening);
    servers.push({ io, pub, sub });
  }
  const heard = [];
  const clients = servers.map(({ io }, i) => {
    const socket = client(`http://127.0.0.1:${io.httpServer.address().port}`, { transports: ["websocket"] });
    socket.on("told", (text) => heard.push(`${i} ${text}`));
    return socket;
  });
  await until(() => clients.every((socket) => socket.connected));
  await clients[1].emitWithAck("join", "room");
  await until(async () => (await servers[0].io.fetchSockets()).length === 2);
  servers[0].io.emit("told", "all");
  await until(() => heard.length === 2);
  servers[0].io.to("room").emit("told", "room");
  await until(() => heard.length === 3);
  tell("socket.io", heard.sort());
  tell("socket.io sockets", (await servers[0].io.in("room").fetchSockets()).length);
  servers[1].io.on("asked", (answer) => answer("here"));
  tell("socket.io asked", await servers[0].io.serverSideEmitWithAck("asked"));
  for (const socket of clients) socket.close();
  for (const { io, pub, sub } of servers) {
    await io.close();
    pub.disconnect();
    sub.disconnect();
  }
}

async function session() {
  const redis = new Redis(connection);
  await redis.flushdb();
  await bullmq();
  await bull();
  await limits();
  await sockets();
  await redis.quit();
}

async function work() {
  const worker = new Worker("notes", async (job) => fs.appendFileSync(rest[0], `${job.data.number}\n`), {
    connection,
    lockDuration: 1500,
    stalledInterval: 1000,
    maxStalledCount: 20,
  });
  worker.on("error", () => {});
  await sleep(3600 * 1000);
}

async function put() {
  const [first, count] = rest.map(Number);
  const queue = new Queue("notes", { connection: { ...connection, maxRetriesPerRequest: 1 } });
  queue.on("error", () => {});
  for (let number = first; number < first + count; ++number) {
    for (;;) {
      try {
        await queue.add("note", { number });
        break;
      } catch (error) {
        await sleep(200); // the server is not there just now
      }
    }
    console.log(`put: ${number}`);
    await sleep(20);
  }
}

({ session, worker: work, put })[what]()
  .then(() => process.exit(0))
  .catch((error) => {
    console.log(`failed: ${error.stack}`);
    process.exit(1);
  });
