"""Scripts that the door and Redis must answer alike: one a line, without keys and arguments; and COMMANDS, with
them."""

VALUES = """
return 1
return -1
return 1.9
return -1.9
return 1e15
return 3e18
return 1e30
return 0/0
return 1/0
return 'text'
return ''
return true
return false
return nil
return
return {}
return {1,2,'x',{4,{}},nil,6}
return {1,2,nil,4}
return {ok='fine'}
return {ok='a\\nb'}
return {err='BAD thing'}
return {err='bad'}
return {err='a\\r\\nb c'}
return {1,{err='ERR in a list'},{ok='OK'}}
return {double=1.5}
return {double=-0.1}
return {double=1/0}
return {double=100}
return {map={a=1}}
return {map={a={1,2}}}
return {set={a=true}}
return {set={}}
return {big_number='123456789012345678901234567890'}
return {verbatim_string={format='txt',string='abc'}}
return {verbatim_string={format='markdown',string='abc'}}
return {verbatim_string={format='txt'}}
return {ok=1}
return {err=1}
return print
return coroutine.create(function() end)
return cjson.null
redis.setresp(3); return true
redis.setresp(3); return false
redis.setresp(3); return {double=3}
redis.setresp(3); return {map={}}
return redis.status_reply('PONG')
return redis.error_reply('My Err')
return redis.error_reply('-My Err')
return redis.error_reply('MyErr')
return redis.error_reply('ERR a b')
return redis.error_reply(1)
return redis.status_reply(1)
return redis.error_reply('a','b')
return redis.sha1hex('')
return redis.sha1hex('abc')
return redis.sha1hex(('x'):rep(1000))
return redis.sha1hex(12)
return redis.sha1hex()
return redis.REDIS_VERSION
return redis.REDIS_VERSION_NUM
return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING}
return {redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.REPL_ALL}
return redis.replicate_commands()
return redis.set_repl(redis.REPL_ALL)
return redis.set_repl(9)
return redis.set_repl()
return redis.setresp(4)
return redis.setresp()
return redis.log(1)
return redis.log('x','y')
return redis.log(9,'y')
return redis.log(redis.LOG_DEBUG,'y')
return redis.breakpoint()
return redis.debug('x')
""".strip().splitlines()

ERRORS = """
return foo
foo = 1
return foo.bar
local a; return a.b
local a = {}; return a.b.c
error('oh')
error('oh', 0)
error('oh', 2)
error({err='MINE oh'})
error({err='MINE'})
error()
error(nil)
error(12)
error(true)
return 1 +
this is no Lua
return redis.call()
return redis.call('nosuch')
return redis.call('get')
return redis.call('get', {})
return redis.call('get', nil)
return redis.call('get', true)
return redis.call('multi')
return redis.call('eval', 'return 1', 0)
return redis.call('blpop', 'a', 0)
return redis.call('client', 'nosuch')
return redis.call('client')
return redis.call('config', 'get', 'maxmemory')
return redis.pcall()
return redis.pcall('nosuch')
return redis.pcall('get')
return redis.pcall('get', {})
return redis.pcall('nosuch').err
redis.call('set', 'k', 'x'); return redis.call('lpush', 'k', 1)
redis.call('set', 'k', 'x'); return redis.pcall('lpush', 'k', 1)
redis.call('set', 'k', 'x'); return redis.pcall('lpush', 'k', 1).err
redis.call('set', 'k', 'x'); local ok, e = pcall(redis.call, 'lpush', 'k', 1); return {tostring(ok), e}
local ok, e = pcall(function() error('in') end); return {tostring(ok), e}
local ok, e = pcall(function() error({err='T in'}) end); return {tostring(ok), e}
local ok, e = pcall(function() error({x=1}) end); return {tostring(ok), type(e), e.x}
local ok, e = pcall(error); return {tostring(ok), tostring(e)}
return select('#', pcall(function() return 1, nil, 3 end))
local function f() redis.call('nosuch') end f()
local function f() error('deep') end local function g() f() end g()
string.rep()
('x'):rep({})
table.concat({{}})
tonumber()
setmetatable(1, {})
setmetatable(_G, {})
rawset(_G, 'a', 1)
_G.a = 1
string.a = 1
redis.call = 1
redis.x = 1
table.insert(string, 1)
KEYS = 1
return getmetatable('').__index == string
getmetatable('').__index = 1
return type(getmetatable(''))
return tostring(os)
return io
return require
return module
return package
return debug
return dofile
return loadfile
return print
return _VERSION
return type(_G)
return _G == _G._G
return type(newproxy or 1)
return #KEYS + #ARGV
return math.huge
return loadstring('return 1 + 1')()
return {loadstring('return +')}
return select(2, loadstring('return +', 'name'))
return select(2, loadstring('return +', '=name'))
return load(function() return nil end)()
local n = 0; return load(function() n = n + 1; return ({'return ', '7'})[n] end)()
return loadstring('\\27Lua')
return select(2, loadstring('\\27Lua'))
return {unpack({1,2,3})}
return {unpack({1,2,3}, 2)}
return {unpack({1,2,3}, 2, 3)}
return {unpack({}, 1, 1e8)}
return {unpack({}, -2147483648, 2147483647)}
return unpack({}, 1, 3)
return {tostring(nil), tostring(true), tostring(1.5), tostring(1e100), tostring(2^53)}
return {tonumber('0x10'), tonumber('10', 2), tonumber('z', 36), tonumber(' 5 ')}
return {type(next), type(pairs), type(ipairs), type(rawget), type(xpcall)}
local t = {} for k, v in pairs({a=1}) do t[#t+1] = k end return t
local t = {} for k in pairs(string) do t[#t+1] = k end table.sort(t) return t
local t = {} for k in pairs(table) do t[#t+1] = k end table.sort(t) return t
local t = {} for k in pairs(math) do t[#t+1] = k end table.sort(t) return t
local t = {} for k in pairs(cjson) do t[#t+1] = k end table.sort(t) return t
local t = {} for k in pairs(cmsgpack) do t[#t+1] = k end table.sort(t) return t
local t = {} for k in pairs(struct) do t[#t+1] = k end table.sort(t) return t
local t = {} for k in pairs(bit) do t[#t+1] = k end table.sort(t) return t
local t = {} for k in pairs(coroutine) do t[#t+1] = k end table.sort(t) return t
return collectgarbage('count') > 0 and 1
return collectgarbage()
return gcinfo() > 0 and 1
local c = coroutine.wrap(function() coroutine.yield(1) coroutine.yield(redis.call('ping')) end) return {c(), c()}
local c = coroutine.create(function() redis.call('nosuch') end) local ok, e = coroutine.resume(c) return {tostring(ok), e.err}
return {xpcall(function() error('x') end, function(e) return 'H:' .. e end)}
table.sort({3,1,2}, function(a, b) redis.call('ping') return a < b end) return 1
return (('abc'):gsub('%w', function(c) return redis.call('echo', c .. c) end))
local t = setmetatable({}, {__index = function(t, k) return redis.call('echo', k) end}) return t.hello
local function r() return r() end local t = {} for i = 1, 100 do t[i] = i end return #t
local function r(n) return 1 + r(n + 1) end return r(1)
return string.format('%d %s %5.2f %q %x %c', 42, 'x', 3.14159, 'a"b', 255, 65)
return string.format('%d', 'x')
return {string.byte('abc', 1, -1)}
return string.reverse('abc') .. string.upper('abc') .. string.len('abc')
return {string.find('hello world', 'o w')}
return {string.find('hello world', '(o)( )(w)')}
return {string.find('a.b', '.', 1, true)}
return {string.find('abc', '', 10)}
return {string.match('key = value', '^(%w+)%s*=%s*(%w+)$')}
return {string.match('2026-11-26', '(%d+)-(%d+)-(%d+)')}
return {string.gsub('hello', 'l', {l='L'})}
return {string.gsub('hello', '(h)(e)', '%2%1%0%%')}
return {string.gsub('abc', '%w', '%1')}
return {string.gsub('hello', '', '-')}
return {string.gsub('hello', 'l', 'x', 1)}
local t = {} for w in string.gmatch('one two', '%a+') do t[#t+1] = w end return t
local t = {} for k, v in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do t[#t+1] = k .. v end return t
return {string.find('THE (quick) fox', '%((%a+)%)')}
return string.match('x[[y]]z', '%b[]')
return string.match('THE (quick) fox', '%f[%a]%a+', 5)
return {string.match('abc', '()b()')}
return string.find('a', '[')
return string.find('a', '%')
return string.find('a', '(')
return string.find('a', ')')
return string.find('a', '%1')
return string.find('aa', '(a)%1')
return string.gsub('a', 'a', true)
return string.gsub('a', 'a', function() return {} end)
return string.gsub('abc', 'b', function() return false end)
return ('x'):rep(3)
return ('x'):rep(-1)
return math.floor(3.7) + math.max(1, 2) + math.abs(-3) + math.fmod(7, 3)
return table.concat({1, 2, 'x'}, ',')
return {table.remove({1, 2, 3})}
math.randomseed(42); return {math.random(100), math.random(100), math.random(5, 10), tostring(math.random())}
math.randomseed(-1); return {math.random(1000), math.random(1000)}
math.randomseed(0); return math.random(0)
return math.random(1, 2, 3)
return math.random(10, 1)
""".strip().splitlines()

LIBRARIES = """
return {bit.tobit(4294967295), bit.tobit(1.5), bit.tobit(-1.5), bit.tobit(1e15)}
return {bit.bnot(0), bit.band(255, 15, 7), bit.bor(1, 2, 4), bit.bxor(5, 3)}
return {bit.lshift(1, 31), bit.rshift(-1, 4), bit.arshift(-256, 4), bit.lshift(1, 33)}
return {bit.rol(1, 31), bit.ror(1, 1), bit.bswap(1)}
return {bit.tohex(255), bit.tohex(-1, 4), bit.tohex(48879, -8), bit.tohex(1, 0), bit.tohex(1, 100)}
return bit.band()
return bit.band('x')
return bit.tohex()
return cjson.encode({1, 2, 3})
return cjson.encode({a=1})
return cjson.encode({})
return cjson.encode({{}})
return cjson.encode('a"b\\\\c/d\\n\\t\\1\\127\\195\\169')
return cjson.encode(1.5)
return cjson.encode(1e100)
return cjson.encode(123456789012345)
return cjson.encode(0.1)
return cjson.encode(-0)
return cjson.encode(0/0)
return cjson.encode(1/0)
return cjson.encode(true) .. cjson.encode(false) .. cjson.encode(nil) .. cjson.encode(cjson.null)
return cjson.encode(print)
return cjson.encode({[{}]=1})
return cjson.encode({[1]=1, [100]=2})
return cjson.encode({[1]=1, [5]=2})
return cjson.encode({[1.5]=1})
return cjson.encode({[0]=1})
return cjson.encode()
return cjson.encode(1, 2)
local t = {} t.t = t return cjson.encode(t)
local t = {} for i = 1, 1000 do t = {t} end return cjson.encode(t)
local t = {} for i = 1, 999 do t = {t} end return #cjson.encode(t)
return cjson.decode('[1,2,3]')
return cjson.decode('{"a":1}').a
return cjson.decode('{"a":{"b":[null,true,false]}}').a.b
return tostring(cjson.decode('null') == cjson.null)
return cjson.decode('"\\\\u00e9\\\\ud83d\\\\ude00\\\\n\\\\/\\\\b"')
return cjson.decode('"\\\\ud83d"')
return cjson.decode('"\\\\ude00"')
return cjson.decode('"\\\\uZZZZ"')
return cjson.decode('"\\\\x"')
return cjson.decode('"abc')
return cjson.decode('[1,]')
return cjson.decode('[1 2]')
return cjson.decode('{1:2}')
return cjson.decode('{"a" 1}')
return cjson.decode('{"a":1,}')
return cjson.decode('{"a":1 "b"}')
return cjson.decode('{')
return cjson.decode('[')
return cjson.decode('')
return cjson.decode('x')
return cjson.decode('tru')
return cjson.decode('nul')
return cjson.decode('1 2')
return cjson.decode('-')
return cjson.decode('+1')
return cjson.decode('.5')
return cjson.decode('\\0a')
return tostring(cjson.decode('0x10'))
return tostring(cjson.decode('nan'))
return tostring(cjson.decode('-inf'))
return tostring(cjson.decode('1.5e3'))
return tostring(cjson.decode('1e400'))
return tostring(cjson.decode('00012'))
return cjson.decode(('['):rep(1000) .. (']'):rep(1000)) and 1
return cjson.decode(('['):rep(1001) .. (']'):rep(1001)) and 1
return cjson.decode()
return cjson.decode({})
return cjson.decode(12)
return {cjson.encode_sparse_array(true, 1, 1), cjson.encode({[1]=1, [9]=2})}
return {cjson.encode_sparse_array()}
return {cjson.encode_max_depth(2), pcall(cjson.encode, {{{}}})}
return {cjson.decode_max_depth(2), pcall(cjson.decode, '[[[]]]')}
return {cjson.encode_number_precision(3), cjson.encode(3.14159)}
return cjson.encode_number_precision(15)
return {cjson.encode_invalid_numbers('null'), cjson.encode(0/0)}
return {tostring(cjson.encode_invalid_numbers(true)), cjson.encode(0/0), cjson.encode(1/0)}
return {tostring(cjson.decode_invalid_numbers(false)), pcall(cjson.decode, 'nan')}
return cjson.encode_keep_buffer('off')
local c = cjson.new() return {c.encode({1}), c.decode('[2]')[1]}
return {cjson._NAME, cjson._VERSION}
return cmsgpack.pack(1)
return cmsgpack.pack(-1, 127, 128, 255, 256, 65535, 65536, 4294967295, 4294967296, 2^53)
return cmsgpack.pack(-32, -33, -128, -129, -32768, -32769, -2147483648, -2147483649)
return cmsgpack.pack(1.5, 0.1, 1/0, -1/0, 1e300)
return cmsgpack.pack('', 'abc', ('x'):rep(31), ('x'):rep(32), ('x'):rep(255), ('x'):rep(256))
return cmsgpack.pack(('x'):rep(65536)):sub(1, 10)
return cmsgpack.pack(true, false, nil, print)
return cmsgpack.pack({1, 2, 3}, {a=1}, {}, {{}}, {[1]=1, [3]=3})
local t = {} for i = 1, 16 do t[i] = i end return cmsgpack.pack(t)
local t = {} t.t = t return cmsgpack.pack(t)
return cmsgpack.pack()
return {cmsgpack.unpack(cmsgpack.pack(1, 'a', {1, 2}, {x=5}.x))}
return {cmsgpack.unpack(cmsgpack.pack(-1, -200, -40000, -3000000000, 70000, 5000000000))}
return tostring(cmsgpack.unpack(cmsgpack.pack(0.1)))
return cmsgpack.unpack(cmsgpack.pack({a={b={1, 2}}})).a.b
return cmsgpack.unpack('\\217')
return cmsgpack.unpack('\\193')
return cmsgpack.unpack('\\221\\255\\255\\255\\255')
return cmsgpack.unpack('\\219\\255\\255\\255\\255')
return {cmsgpack.unpack('')}
return {cmsgpack.unpack_one(cmsgpack.pack(1, 2, 3))}
return {cmsgpack.unpack_one(cmsgpack.pack(1, 2, 3), 1)}
return {cmsgpack.unpack_limit(cmsgpack.pack(1, 2, 3), 2)}
return {cmsgpack.unpack_limit(cmsgpack.pack(1, 2, 3), 2, 1)}
return cmsgpack.unpack_limit('abc', -1)
return cmsgpack.unpack_one('abc', 10)
return cmsgpack.unpack_limit('abc')
return cmsgpack.unpack({})
return {cmsgpack._NAME, cmsgpack._VERSION, cmsgpack._COPYRIGHT, cmsgpack._DESCRIPTION}
return struct.pack('HH', 1, 2)
return struct.pack('>I2I4', 1, 2)
return struct.pack('<i8', -1)
return struct.pack('bBhHlLT', -1, 255, -2, 65534, -3, 3, 4)
return struct.pack('fd', 1.5, 2.5)
return struct.pack('>fd', 1.5, 2.5)
return struct.pack('s', 'abc')
return struct.pack('c3', 'abcdef')
return struct.pack('c0', 'abcdef')
return struct.pack('c', 'abcdef')
return struct.pack('c9', 'abc')
return struct.pack('!4bI4', 1, 2)
return struct.pack('!3b', 1)
return struct.pack('!b!8d', 1, 2)
return struct.pack('x b', 1)
return struct.pack('i3', 70000)
return struct.pack('i33', 1)
return struct.pack('i99999999999', 1)
return struct.pack('z', 1)
return struct.pack('H')
return struct.pack('H', 'x')
return struct.pack()
return {struct.unpack('HH', struct.pack('HH', 1, 2))}
return {struct.unpack('>I2i4', struct.pack('>I2i4', 1, -2))}
return {struct.unpack('bs', struct.pack('bs', 1, 'abc'))}
return {struct.unpack('bc0', '\\3abcdef')}
return {struct.unpack('c0', 'abc')}
return {struct.unpack('c2', 'abc')}
return {struct.unpack('s', 'abc')}
return {struct.unpack('I4', 'abc')}
return {struct.unpack('c4', 'abc')}
return {struct.unpack('b', 'abc', 3)}
return {struct.unpack('b', 'abc', 0)}
return {struct.unpack('b', 'abc', 99)}
return {struct.unpack('i3', struct.pack('i3', -5))}
return tostring(struct.unpack('f', struct.pack('f', 0.1)))
return {struct.size('HH'), struct.size('!8bd'), struct.size('c10x')}
return struct.size('s')
return struct.size('c0')
return struct.size('q')
""".strip().splitlines()

COMMANDS = [
    ("return redis.call('set', KEYS[1], ARGV[1])", ["k"], ["v"]),
    ("return redis.call('get', KEYS[1])", ["k"], []),
    ("return redis.call('get', 'nosuch')", [], []),
    ("return tostring(redis.call('get', 'nosuch'))", [], []),
    ("return redis.call('incr', KEYS[1])", ["n"], []),
    ("return redis.call('incrby', KEYS[1], 2.0)", ["n"], []),
    ("return redis.call('set', 'f', 0.1)", [], []),
    ("return redis.call('get', 'f')", [], []),
    ("return redis.call('set', 'f', 12345678901234567890)", [], []),
    ("return redis.call('get', 'f')", [], []),
    ("return redis.call('mget', unpack(KEYS))", ["k", "nosuch", "n"], []),
    ("return type(redis.call('mget', unpack(KEYS))[2])", ["k", "nosuch", "n"], []),
    ("return redis.call('hset', KEYS[1], 'a', 1, 'b', 2)", ["h"], []),
    ("return redis.call('hgetall', KEYS[1])", ["h"], []),
    ("redis.setresp(3) return redis.call('hgetall', KEYS[1])", ["h"], []),
    ("redis.setresp(3) return redis.call('hgetall', KEYS[1]).map.a", ["h"], []),
    ("redis.setresp(3) return redis.call('get', 'nosuch')", [], []),
    ("redis.setresp(3) return type(redis.call('get', 'nosuch'))", [], []),
    (
        "redis.call('zadd', KEYS[1], 1.5, 'm', 2, 'n') return redis.call('zrange', KEYS[1], 0, -1, 'WITHSCORES')",
        ["z"],
        [],
    ),
    ("redis.setresp(3) return redis.call('zrange', KEYS[1], 0, -1, 'WITHSCORES')", ["z"], []),
    ("redis.setresp(3) return redis.call('zscore', KEYS[1], 'm')", ["z"], []),
    ("redis.setresp(3) return tostring(redis.call('zscore', KEYS[1], 'm').double)", ["z"], []),
    ("redis.call('sadd', KEYS[1], 'x') redis.setresp(3) return redis.call('smembers', KEYS[1])", ["s"], []),
    ("redis.setresp(3) return tostring(redis.call('smembers', KEYS[1]).set.x)", ["s"], []),
    ("redis.call('rpush', KEYS[1], 1, 2, 3) return redis.call('lrange', KEYS[1], 0, -1)", ["l"], []),
    ("return redis.call('lpop', KEYS[1])", ["l"], []),
    ("return redis.call('type', KEYS[1])", ["l"], []),
    ("return redis.call('type', KEYS[1]).ok", ["l"], []),
    ("return redis.call('ping')", [], []),
    ("return redis.call('PING').ok", [], []),
    ("return redis.call('echo', 'a\\0b')", [], []),
    ("return redis.call('exists', 'in3')", [], []),
    ("return redis.call('del', unpack(KEYS))", ["k", "n", "l"], []),
    ("return redis.call('lpush', KEYS[1], 'x') + redis.call('llen', KEYS[1])", ["l"], []),
    ("return redis.call('bzmpop', 0, 1, 'nosuchz', 'min')", [], []),
    ("return redis.call('blmpop', 0, 1, 'nosuchl', 'left')", [], []),
    ("return {redis.call('exists', 'k'), redis.call('exists', 'h'), KEYS, ARGV}", ["a", ""], ["b", "c"]),
    ("return redis.call('expire', KEYS[1], 100)", ["h"], []),
    ("return redis.call('ttl', KEYS[1])", ["h"], []),
    ("return redis.call('sort', KEYS[1])", ["l"], []),
    ("redis.call('rpush', KEYS[1], 3, 1, 2) return redis.call('sort', KEYS[1])", ["sorted"], []),
    ("return redis.call('object', 'encoding', 'nosuch')", [], []),
    ("return redis.call('setnx', KEYS[1], ARGV[1])", ["lock"], ["token"]),
    (
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
        ["lock"],
        ["no"],
    ),
    (
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
        ["lock"],
        ["token"],
    ),
    ("#!lua\nreturn 1", [], []),
    ("#!lua flags=no-writes\nreturn redis.call('set', 'k', 1)", [], []),
    ("#!lua flags=no-writes\nreturn redis.call('get', 'h2')", [], []),
    ("#!lua flags=no-writes,allow-stale\nreturn redis.pcall('del', 'k').err", [], []),
    ("#!lua flags=nosuch\nreturn 1", [], []),
    ("#!lua name=x\nreturn 1", [], []),
    ("#!python\nreturn 1", [], []),
    ("#!lua", [], []),
    ("#!lua\n\nreturn foo", [], []),
]
