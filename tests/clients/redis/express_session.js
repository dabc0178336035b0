// Sessions of Express (express-session, which needs no more of it) in connect-redis: visitors' pages.
const { createRequire } = require("module");
const http = require("http");

const [folder, port] = process.argv.slice(2);
const own = createRequire(`${folder}/`);
const session = own("express-session");
const RedisStore = own("connect-redis").default;
const { createClient } = own("redis");

const tell = (name, value) => console.log(`${name}: ${JSON.stringify(value)}`);

function ask(to, path, cookie) {
  return new Promise((resolve, reject) => {
    const headers = cookie ? { cookie } : {};
    http.get({ host: "127.0.0.1", port: to, path, headers }, (answer) => {
      let text = "";
      answer.on("data", (some) => (text += some));
      answer.on("end", () => resolve({ text, cookie: (answer.headers["set-cookie"] || [""])[0].split(";")[0] }));
    }).on("error", reject);
  });
}

async function main() {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  await client.flushDb();
  const store = new RedisStore({ client, prefix: "sess:", ttl: 600 });
  const with_session = session({ store, secret: "s", resave: false, saveUninitialized: false });
  const server = http.createServer((request, answer) =>
    with_session(request, answer, () => {
      if (request.url === "/leave") return request.session.destroy(() => answer.end("bye"));
      request.session.visits = (request.session.visits || 0) + 1;
      answer.end(String(request.session.visits));
    })
  );
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const to = server.address().port;

  const first = await ask(to, "/visit");
  tell("first", [first.text, first.cookie.startsWith("connect.sid=")]);
  tell("again", (await ask(to, "/visit", first.cookie)).text);
  const other = await ask(to, "/visit");
  tell("another visitor", other.text);
  tell("kept", await new Promise((resolve) => store.length((error, length) => resolve(length))));
  const [key] = await client.keys("sess:*");
  tell("expires", (await client.ttl(key)) > 500);
  tell("leave", (await ask(to, "/leave", first.cookie)).text);
  tell("as new", (await ask(to, "/visit", first.cookie)).text);
  tell("all", (await new Promise((resolve) => store.all((error, all) => resolve(all)))).length);
  await new Promise((resolve) => store.clear(resolve));
  tell("cleared", await client.dbSize());
  server.close();
  await client.quit();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
