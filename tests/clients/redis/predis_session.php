<?php
// Predis: the answers that a program gets.
require "/usr/share/php/Predis/autoload.php";

function tell($name, $value) {
    echo $name, ": ", json_encode($value), "\n";
}

// Servers answer in different orders.
function sorted($map) {
    ksort($map);
    return $map;
}

function connect() {
    global $argv;
    return new Predis\Client(["host" => "127.0.0.1", "port" => (int) $argv[1]]);
}

$r = connect();
$r->flushdb();
tell("ping", (string) $r->ping());
tell("set", (string) $r->set("greeting", "hello", "EX", 100));
tell("get", [$r->get("greeting"), $r->get("nosuch")]);
tell("nx", $r->set("greeting", "other", "NX"));
tell("numbers", [$r->incr("n"), $r->incrby("n", 4), $r->decr("n"), $r->incrbyfloat("x", 1.5)]);
tell("mset", [(string) $r->mset(["a" => 1, "b" => 2]), $r->mget(["a", "nosuch", "b"])]);
tell("hash", [$r->hset("user", "name", "Ann"), (string) $r->hmset("user", ["age" => 30]), sorted($r->hgetall("user"))]);
tell("fields", [$r->hmget("user", ["age", "nosuch"]), $r->hincrby("user", "age", 2), $r->hexists("user", "name")]);
tell("type", [(string) $r->type("user"), $r->ttl("greeting") > 90, $r->persist("greeting")]);
try {
    $r->get("user");
} catch (Predis\Response\ServerException $wrong) {
    tell("wrong type", $wrong->getMessage());
}
tell("list", [$r->rpush("l", ["a", "b", "c"]), $r->lrange("l", 0, -1), $r->lpop("l"), $r->llen("l")]);
tell("set of members", [$r->sadd("s", ["one"]), $r->sismember("s", "one"), $r->smembers("s")]);
tell("sorted set", [$r->zadd("z", ["one" => 1, "two" => 2]), $r->zrange("z", 0, -1, "WITHSCORES"), $r->zrank("z", "two")]);
$keys = iterator_to_array(new Predis\Collection\Iterator\Keyspace($r, "*", 2), false);
sort($keys);
tell("scan", $keys);
tell("hscan", sorted(iterator_to_array(new Predis\Collection\Iterator\HashKey($r, "user"))));
$counted = $r->pipeline(function ($pipe) {
    for ($i = 0; $i < 1000; ++$i) $pipe->incr("counter");
});
tell("pipeline", end($counted));
$told = $r->transaction()->incr("n")->get("n")->execute();
tell("transaction", $told);
$other = connect();
try {
    $r->transaction(["watch" => "n", "cas" => true, "retry" => 0], function ($t) use ($other) {
        $t->get("n");
        $other->incr("n");
        $t->multi();
        $t->set("n", 0);
    });
} catch (Predis\Transaction\AbortedMultiExecException $aborted) {
    tell("watch", $r->get("n"));
}
tell("del", $r->del(["a", "b", "nosuch"]));
$r->flushdb();
