-- For bench/sysbench: executes --statement again and again, with another number from 1 to --table-size for each ?.

sysbench.cmdline.options = {
  table_size = {"The largest number", 10000},
  statement = {"SQL with a ? for each number", "SELECT ?"}
}

function thread_init()
  connection = sysbench.sql.driver():connect()
  statement = connection:prepare(sysbench.opt.statement)
  numbers = {}
  for _ in sysbench.opt.statement:gmatch("%?") do
    numbers[#numbers + 1] = statement:bind_create(sysbench.sql.type.INT)
  end
  statement:bind_param(unpack(numbers))
end

function thread_done()
  statement:close()
  connection:disconnect()
end

function event()
  for _, number in ipairs(numbers) do
    number:set(sysbench.rand.default(1, sysbench.opt.table_size))
  end
  statement:execute()
end
