# redis-rb: the answers that a program gets.
require "redis"

def tell(name, value)
  puts "#{name}: #{value.inspect}"
end

r = Redis.new(port: ARGV[0].to_i)
tell("flush", r.flushdb)
tell("ping", r.ping)
tell("set", r.set("greeting", "hello", ex: 100))
tell("get", r.get("greeting"))
tell("nx", r.set("greeting", "other", nx: true))
tell("incr", [r.incr("n"), r.incrby("n", 4), r.decr("n"), r.incrbyfloat("x", 1.5)])
tell("mset", r.mset("a", 1, "b", 2))
tell("mget", r.mget("a", "nosuch", "b"))
tell("hset", r.hset("user", "name", "Ann", "age", 30))
tell("hgetall", r.hgetall("user").sort)
tell("type", [r.type("user"), r.type("a"), r.type("nosuch")])
begin
  r.get("user")
rescue Redis::CommandError => e
  tell("wrong type", e.message)
end
tell("expire", [r.expire("a", 100), r.ttl("a") > 90, r.persist("a"), r.ttl("a")])
tell("scan", r.scan_each(match: "*", count: 2).to_a.uniq.sort)
tell("pipeline", r.pipelined { |p| p.incr("n"); p.get("n") })
tell("transaction", r.multi { |m| m.incr("n"); m.get("n") })
other = Redis.new(port: ARGV[0].to_i)
tell("watch", r.watch("n") { other.incr("n"); r.multi { |m| m.set("n", 0) } })
tell("del", r.del("a", "b", "nosuch"))
tell("big", [r.set("big", "x" * 3_000_000), r.get("big").size])
r.flushdb
tell("quit", r.quit)
