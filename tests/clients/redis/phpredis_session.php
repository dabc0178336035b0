<?php
// phpredis: the answers that a program gets.
function tell($name, $value) {
    echo $name, ": ", json_encode($value), "\n";
}

$r = new Redis();
$r->connect("127.0.0.1", (int) $argv[1]);
tell("flush", $r->flushDB());
tell("ping", $r->ping());
tell("set", $r->set("greeting", "hello", ["ex" => 100]));
tell("get", $r->get("greeting"));
tell("nx", $r->set("greeting", "other", ["nx"]));
tell("absent", $r->get("nosuch"));
tell("incr", [$r->incr("n"), $r->incrBy("n", 4), $r->decr("n"), $r->incrByFloat("x", 1.5)]);
tell("mset", $r->mset(["a" => 1, "b" => 2]));
tell("mget", $r->mget(["a", "nosuch", "b"]));
tell("hmset", $r->hMSet("user", ["name" => "Ann", "age" => 30]));
$all = $r->hGetAll("user");
ksort($all);
tell("hgetall", $all);
tell("hincrby", $r->hIncrBy("user", "age", 2));
tell("type", [$r->type("user") == Redis::REDIS_HASH, $r->type("a") == Redis::REDIS_STRING]);
tell("wrong type", [$r->get("user"), $r->getLastError()]);
$r->clearLastError();
tell("expire", [$r->expire("a", 100), $r->ttl("a") > 90, $r->persist("a"), $r->ttl("a")]);
$keys = [];
$cursor = null;
while (($some = $r->scan($cursor, "*", 2)) !== false) $keys = array_merge($keys, $some);
sort($keys);
tell("scan", $keys);
tell("pipeline", $r->pipeline()->incr("n")->get("n")->exec());
tell("transaction", $r->multi()->incr("n")->get("n")->exec());
// An error in the middle of a pipeline.
tell("no such command", [$r->pipeline()->rawCommand("NOSUCH", "k")->incr("n")->exec(), $r->getLastError()]);
$r->clearLastError();
tell("no such command by itself", [$r->rawCommand("NOSUCH", "k"), $r->getLastError()]);
$r->clearLastError();
$r->multi();
$queued = $r->rawCommand("NOSUCH", "k");
tell("no such command in a transaction", [$queued, $r->exec()]);
$r->clearLastError();
tell("script", [$r->eval("return redis.call('incrby', KEYS[1], ARGV[1])", ["n", 2], 1), $r->getLastError()]);
$other = new Redis();
$other->connect("127.0.0.1", (int) $argv[1]);
$r->watch("n");
$other->incr("n");
tell("watch", $r->multi()->set("n", 0)->exec());
tell("del", $r->del("a", "b", "nosuch"));
// Sessions and caches of frameworks store what they serialize.
$r->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);
$r->set("session", ["user" => 7, "roles" => ["a", "b"]]);
tell("serialized", $r->get("session"));
tell("big", [$r->set("big", str_repeat("x", 3000000)), strlen($r->get("big"))]);
$r->flushDB();
