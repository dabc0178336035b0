-- For bench/sysbench: each lookup by key is prepared, executed once and closed, as drivers without emulation do it.

sysbench.cmdline.options = {table_size = {"Rows of sbtest1", 10000}}

function thread_init()
  connection = sysbench.sql.driver():connect()
end

function thread_done()
  connection:disconnect()
end

function event()
  local statement = connection:prepare("SELECT c FROM sbtest1 WHERE id=?")
  local id = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(id)
  id:set(sysbench.rand.default(1, sysbench.opt.table_size))
  statement:execute()
  statement:close()
end
