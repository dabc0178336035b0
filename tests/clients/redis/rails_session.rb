# Rails' cache store for Redis: the answers that a program gets.
require "active_support"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "active_support/core_ext/integer/time"

def tell(name, value)
  puts "#{name}: #{value.inspect}"
end

errors = []
cache = ActiveSupport::Cache::RedisCacheStore.new(
  url: "redis://127.0.0.1:#{ARGV[0]}", namespace: "app", error_handler: ->(method:, **told) { errors << [method, told] }
)
cache.clear
tell "write", cache.write("greeting", { "hello" => ["wörld", 1] }, expires_in: 100)
tell "read", cache.read("greeting")
tell "absent", cache.read("nosuch")
tell "fetch", [cache.fetch("made") { 7 }, cache.fetch("made") { 8 }]
tell "unless", [cache.write("made", 1, unless_exist: true), cache.write("new", 1, unless_exist: true)]
tell "exist", [cache.exist?("made"), cache.exist?("nosuch")]
cache.write_multi({ "a" => 1, "b" => "x" * 5000, "c" => nil })
many = cache.read_multi("a", "b", "c", "d")
tell "many", [many["a"], many["b"].size, many["c"], many.key?("d")]
tell "numbers", [cache.increment("n", 5), cache.increment("n"), cache.decrement("n", 2)]
cache.write("short", 1, expires_in: 0.2)
late = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
sleep 0.01 while cache.read("short") && Process.clock_gettime(Process::CLOCK_MONOTONIC) < late
tell "expired", cache.read("short")
tell "delete", [cache.delete("a") ? true : false, cache.read("a")]
tell "matched", [cache.delete_matched("m*").nil?, cache.read("made")]
cache.clear
tell "cleared", cache.read("greeting")
tell "errors", errors
