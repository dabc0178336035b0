// Plays a session by one of Node's drivers and prints the results: node node_session.js DRIVER MODULES PORT SESSION.
const [driver, modules, port, session] = process.argv.slice(2)
const { readFileSync } = require('fs')
const { join } = require('path')

const common = { host: '127.0.0.1', port: Number(port), user: 'root', database: 'shop', multipleStatements: true }

function valueOf(text) {
  const value = text.slice(2)
  return { i: Number, d: Number, s: String, b: (hex) => Buffer.from(hex, 'hex'), n: () => null }[text[0]](value)
}

function shown(what) {
  return JSON.stringify(what, (key, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

async function play(run, error) {
  for (const line of readFileSync(session, 'utf8').trimEnd().split('\n')) {
    const [how, times, text, ...values] = line.split('\t')
    for (let i = 0; i < Number(times); ++i) {
      console.log('>', text.slice(0, 200))
      try {
        await run(how, text.replaceAll('\\n', '\n'), values.map(valueOf))
      } catch (problem) {
        console.log(' ', problem.errno, problem.sqlState, error(problem))
      }
    }
  }
}

const columnOf = (one) => [one.name, one.columnType, one.type, one.columnLength, one.flags, one.decimals, one.table, one.orgTable, one.orgName, one.characterSet]

async function byMysql2() {
  const connection = await require(join(modules, 'mysql2/promise.js')).createConnection(common)
  await play(async (how, text, values) => {
    const [rows, columns] = how === 'p' ? await connection.execute(text, values) : await connection.query(text, values)
    for (const one of (columns ?? []).flat()) if (one) console.log(' ', shown(columnOf(one)))
    for (const row of [rows].flat()) console.log(' ', shown(row))
  }, (problem) => problem.sqlMessage ?? problem.message)
  await connection.end()
}

async function byMariadb() {
  const connection = await require(join(modules, 'mariadb/promise.js')).createConnection({ ...common, permitLocalInfile: true })
  await play(async (how, text, values) => {
    const rows = how === 'p' ? await connection.execute(text, values) : await connection.query(text, values)
    for (const one of rows.meta ?? []) if (one.name) console.log(' ', one.name(), one.table(), one.type, one.columnLength, one.flags, one.scale)
    for (const row of [rows].flat()) console.log(' ', shown(row))
  }, (problem) => problem.sqlMessage)
  await connection.end()
}

;(driver === 'mysql2' ? byMysql2() : byMariadb()).catch((problem) => {
  console.log(problem)
  process.exit(1)
})
