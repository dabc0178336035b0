// A session of node-handlersocket: `node node_session.js MODULE DATABASE READ_PORT WRITE_PORT [READ_SECRET WRITE_SECRET]`.
// Prints the client's results, a line a step.
'use strict';
const [module_path, database, read_port, write_port, read_secret, write_secret] = process.argv.slice(2);
const hs = require(module_path);

function connect(port, auth) {
  return new Promise((resolve, reject) => {
    const connection = hs.connect({host: '127.0.0.1', port: Number(port), auth}, () => resolve(connection));
    connection.on('error', reject);
  });
}

// The client's functions take callbacks last.
const ask = (target, name, ...args) =>
  new Promise((resolve, reject) => target[name](...args, (error, value) => (error ? reject(error) : resolve(value))));

async function step(name, target, operation, ...args) {
  const told = await ask(target, operation, ...args).then(
    value => (operation === 'openIndex' ? 'open' : Number.isNaN(value) ? 'NaN' : JSON.stringify(value)),
    error => `error ${error.message}`);
  console.log(`${name}: ${told}`);
}

async function refused(name, port, auth) {
  await connect(port, auth).then(() => console.log(`${name}: connected`), error => console.log(`${name}: error ${error.message}`));
}

async function main() {
  const reader = await connect(read_port, read_secret);
  const writer = await connect(write_port, write_secret);
  if (read_secret) {
    await refused('a wrong secret', read_port, 'wrong');
    await refused('the other port\'s secret', write_port, read_secret);
    const stranger = await connect(read_port);
    await step('no secret', stranger, 'openIndex', database, 'kv', 'PRIMARY', ['k']);
    stranger.close();
  }
  await step('no such table', reader, 'openIndex', database, 'nothing', 'PRIMARY', ['k']);
  await step('no such index', reader, 'openIndex', database, 'kv', 'nothing', ['k']);
  await step('no such column', reader, 'openIndex', database, 'kv', 'PRIMARY', ['k', 'nothing']);

  const read = await ask(reader, 'openIndex', database, 'kv', 'PRIMARY', ['k', 'v', 'n'], ['n', 'v']);
  const by_number = await ask(reader, 'openIndex', database, 'kv', 'n', ['n', 'k']);
  const write = await ask(writer, 'openIndex', database, 'kv', 'PRIMARY', ['k', 'v', 'n']);
  const text = await ask(writer, 'openIndex', database, 'kv', 'PRIMARY', ['v']);
  const number = await ask(writer, 'openIndex', database, 'kv', 'PRIMARY', ['n'], ['v']);
  const counted = await ask(writer, 'openIndex', database, 'counted', 'PRIMARY', ['v']);

  await step('insert', write, 'insert', ['a', 'A', 1]);
  await step('insert NULL', write, 'insert', ['b', null, null]);
  await step('insert empty', write, 'insert', ['c', '', 0]);
  await step('insert control bytes', write, 'insert', ['d', '\0\x01\t\n\r\x0f\x10 end', -4]);
  await step('insert words of the world', write, 'insert', ['é', '日本語 😀', 2147483647]);
  await step('duplicate', write, 'insert', ['a', 'again', 9]);
  await step('insert, generated', counted, 'insert', 'one');
  await step('insert, generated again', counted, 'insert', 'two');
  await step('insert on the read port', read, 'insert', ['z', 'Z', 26]);

  await step('find', read, 'find', '=', 'a');
  await step('find NULL', read, 'find', '=', ['b']);
  await step('find control bytes', read, 'find', '=', 'd');
  await step('find words of the world', read, 'find', '=', 'é');
  await step('find none', read, 'find', '=', 'nobody');
  await step('range', read, 'find', '>=', 'a', {limit: 3});
  await step('range with offset', read, 'find', '>', 'a', {limit: 2, offset: 1});
  await step('range downwards', read, 'find', '<', 'd', {limit: 10});
  await step('secondary index', by_number, 'find', '>=', -100, {limit: 10});
  await step('IN', read, 'find', '=', [hs.in('d', 'nobody', 'a')], {limit: 10});
  await step('filter', read, 'find', '>=', '', {limit: 10, filters: hs.filter('n', '>', 0)});
  await step('filters', read, 'find', '>=', '', {limit: 10, filters: [hs.filter('n', '>=', 0), hs.filter('v', '!=', 'A')]});
  await step('while', read, 'find', '>=', '', {limit: 10, filters: hs.while('n', '!=', -4)});
  await step('filter on no column', read, 'find', '>=', '', {filters: hs.filter('nothing', '=', 1)});
  await step('too many keys', read, 'find', '=', ['a', 'b']);
  await step('modify on the read port', read, 'update', '=', 'a', ['a', 'changed', 1]);

  await step('update', write, 'update', '=', 'a', ['a', 'new', 10]);
  await step('update to the same', write, 'update', '=', 'a', ['a', 'new', 10]);
  await step('update one column', text, 'update', '=', 'b', 'b');
  await step('update none', write, 'update', '=', 'nobody', ['x', 'y', 1]);
  await step('update to a duplicate', write, 'update', '=', 'b', ['a', 'b', 2]);
  await step('update a range', text, 'update', '>=', 'b', {limit: 2}, ['range']);
  await step('update with IN and filter', number, 'update', '=', [hs.in('a', 'b', 'c')], {limit: 9, filters: hs.filter('v', '=', 'range')}, [77]);
  await step('updateAndGet', write, 'updateAndGet', '=', 'a', ['a', 'newer', 11]);
  await step('updateAndGet none', write, 'updateAndGet', '=', 'nobody', ['a', 'newer', 11]);
  await step('increment', number, 'increment', '=', 'a', 5);
  await step('increment with NULL', write, 'increment', '=', 'a', [null, null, 3]);
  await step('incrementAndGet', number, 'incrementAndGet', '=', 'a', 100);
  await step('increment none', number, 'increment', '=', 'nobody', 1);
  await step('decrement', number, 'decrement', '=', 'a', 19);
  await step('decrement below zero', number, 'decrement', '=', 'a', 1000);
  await step('decrementAndGet', number, 'decrementAndGet', '=', 'a', 1);
  await step('decrement to zero', number, 'decrement', '=', 'a', 99);
  await step('deleteAndGet', write, 'deleteAndGet', '=', 'd');
  await step('delete', write, 'delete', '=', 'é');
  await step('delete none', write, 'delete', '=', 'é');
  await step('delete a range', write, 'delete', '>', 'a', {limit: 2});
  await step('what is left', read, 'find', '>=', '', {limit: 10});

  // Everything in flight at once; replies must find their requests.
  const keys = Array.from({length: 500}, (_, at) => `many${String(at).padStart(3, '0')}`);
  const inserted = await Promise.all(keys.map((key, at) => ask(write, 'insert', [key, key.toUpperCase(), at])));
  const found = await Promise.all(keys.map(key => ask(read, 'find', '=', key)));
  const right = found.filter((rows, at) => JSON.stringify(rows) === JSON.stringify([[keys[at], keys[at].toUpperCase(), String(at)]]));
  console.log(`many inserts: ${inserted.filter(Number.isNaN).length}, finds: ${right.length}`);
  await step('delete many', write, 'delete', '>=', 'many', {limit: 1000});
  reader.close();
  writer.close();
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
