// A session of memjs: `node memjs_session.js MODULE PORT [USER PASSWORD]`. Prints the client's results, a line a step.
'use strict';
const [module_path, port, user, password] = process.argv.slice(2);
const memjs = require(module_path);

const any_bytes = Buffer.from(Array.from({length: 1024}, (_, i) => i % 256));
const large = Buffer.from('0123456789abcdef'.repeat(32000));
const told = value => {
  if (Buffer.isBuffer(value)) return value.length > 100 ? value.equals(large) || value.equals(any_bytes) : JSON.stringify(value.toString());
  if (Array.isArray(value)) return `[${value.map(told).join(', ')}]`;
  if (value && typeof value === 'object') return `{${Object.keys(value).sort().map(key => `${key}: ${told(value[key])}`).join(', ')}}`;
  return JSON.stringify(value);
};

async function step(name, asked) {
  console.log(`${name}: ${await asked.then(told, error => `error ${error.message}`)}`);
}

const connect = secret => memjs.Client.create(`127.0.0.1:${port}`, {username: user, password: secret, timeout: 60, conntimeout: 10, retries: 1, logger: {log: () => {}}});

async function main() {
  if (user) {
    const stranger = connect('wrong');
    await step('a wrong password', stranger.get('k'));
    stranger.close();
  }
  const client = connect(password);
  await step('flush', client.flush().then(done => Object.values(done)));
  await step('get of nothing', client.get('k'));
  await step('set', client.set('k', 'one', {}));
  await step('get', client.get('k'));
  await step('add over it', client.add('k', 'two', {}));
  await step('add', client.add('added', 'two', {}));
  await step('replace', client.replace('k', 'three', {}));
  await step('replace nothing', client.replace('nothing', 'x', {}));
  await step('append', client.append('k', '>'));
  await step('prepend', client.prepend('k', '<'));
  await step('append to nothing', client.append('nothing', 'x'));
  await step('get what was joined', client.get('k'));
  await step('incr makes it', client.increment('n', 1, {initial: 10}));
  await step('incr', client.increment('n', 90, {}));
  await step('decr', client.decrement('n', 1, {}));
  await step('decr below zero', client.decrement('n', 1000, {}));
  await step('incr a word', client.increment('k', 1, {}));
  await step('touch', client.touch('k', 100));
  await step('touch nothing', client.touch('nothing', 100));
  await step('delete', client.delete('added'));
  await step('delete nothing', client.delete('added'));
  await step('set with an end', client.set('short', 'x', {expires: 1000}));
  await step('set any bytes', client.set('bytes', any_bytes, {}));
  await step('get any bytes', client.get('bytes'));
  await step('set nothing at all', client.set('empty', '', {}));
  await step('get nothing at all', client.get('empty'));
  await step('set much', client.set('large', large, {}));
  await step('get much', client.get('large'));
  await step('many at once', Promise.all(Array.from({length: 50}, (_, i) => client.set(`m${i}`, `value ${i}`, {}))).then(all => all.every(Boolean)));
  await step('get many at once', Promise.all(['m0', 'm49', 'nothing'].map(key => client.get(key).then(found => found.value))));
  await step('set the longest key', client.set('k'.repeat(250), 'x', {}));
  await step('get the longest key', client.get('k'.repeat(250)));
  await step('set what stays', client.set('left', 'by memjs', {}));
  client.quit();
}

main().catch(error => {
  console.log(error);
  process.exit(1);
});
