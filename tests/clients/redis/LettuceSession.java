import io.lettuce.core.*;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import java.util.*;
import java.util.concurrent.TimeUnit;

/** Lettuce, in RESP2 and RESP3: what a program is told, one command after the other, and by many at once on one connection. */
class LettuceSession {
  static void tell(String name, Object... values) {
    System.out.println(name + ": " + Arrays.deepToString(values));
  }

  public static void main(String[] arguments) throws Exception {
    RedisURI uri = RedisURI.create("127.0.0.1", Integer.parseInt(arguments[0]));
    uri.setClientName("session");
    for (ProtocolVersion protocol : new ProtocolVersion[] {ProtocolVersion.RESP2, ProtocolVersion.RESP3}) {
      RedisClient client = RedisClient.create(uri);
      client.setOptions(ClientOptions.builder().protocolVersion(protocol).build());
      try (StatefulRedisConnection<String, String> one = client.connect();
          StatefulRedisConnection<String, String> other = client.connect()) {
        session(one.sync());
        collections(one.sync());
        transactions(one.sync(), other.sync());
        many(one.async());
        one.sync().flushall();
      }
      client.shutdown(0, 1, TimeUnit.SECONDS);
    }
  }

  static void session(RedisCommands<String, String> redis) {
    redis.flushdb();
    tell("name", redis.clientGetname(), redis.ping());
    tell("set", redis.set("greeting", "hello", SetArgs.Builder.ex(100)), redis.get("greeting"), redis.get("nosuch"));
    tell("not again", redis.set("greeting", "other", SetArgs.Builder.nx()), redis.getdel("greeting"));
    tell("numbers", redis.incr("n"), redis.decrby("n", 4), redis.incrbyfloat("x", 1.5));
    tell("mset", redis.mset(Map.of("a", "1", "b", "\u00fc")), redis.mget("a", "nosuch", "b"));
    tell("hash", redis.hset("user", Map.of("name", "Ann", "age", "30")), new TreeMap<>(redis.hgetall("user")));
    tell("fields", redis.hmget("user", "age", "nosuch"), redis.hincrby("user", "age", 1), redis.hlen("user"));
    tell("hscan", new TreeMap<>(redis.hscan("user", ScanArgs.Builder.matches("*a*")).getMap()));
    tell("hrandfield", redis.hrandfieldWithvalues("user", 5).size());
    try {
      redis.get("user");
    } catch (RedisCommandExecutionException wrong) {
      tell("wrong type", wrong.getMessage());
    }
    tell("expire", redis.pexpire("user", 100_000), redis.ttl("user") > 90, redis.persist("user"), redis.ttl("user"));
    Set<String> keys = new TreeSet<>();
    for (ScanIterator<String> all = ScanIterator.scan(redis, ScanArgs.Builder.limit(2)); all.hasNext(); ) keys.add(all.next());
    tell("scan", keys);
  }

  static void collections(RedisCommands<String, String> redis) {
    tell("list", redis.rpush("l", "a", "b", "c"), redis.lrange("l", 0, -1), redis.lpop("l"), redis.rpop("l", 2), redis.exists("l"));
    tell("set", redis.sadd("s", "a", "b"), redis.sismember("s", "a"), new TreeSet<>(redis.smembers("s")), redis.srem("s", "a"));
    tell("scores", redis.zadd("z", 1.0, "one", 2.5, "two"), redis.zincrby("z", 3, "one"), redis.zrangeWithScores("z", 0, -1));
    tell("by score", redis.zrangebyscore("z", Range.create(0, 3)), redis.zrank("z", "one"), redis.zpopmin("z"));
  }

  static void transactions(RedisCommands<String, String> one, RedisCommands<String, String> other) {
    one.multi();
    one.incr("n");
    one.hgetall("nosuch");
    tell("transaction", one.exec().stream().toList());
    one.watch("n");
    other.incr("n");
    one.multi();
    one.set("n", "0");
    tell("watch", one.exec().wasDiscarded(), one.get("n"));
  }

  static void many(RedisAsyncCommands<String, String> redis) throws Exception {
    List<RedisFuture<Long>> counted = new ArrayList<>();
    for (int i = 0; i < 1000; ++i) counted.add(redis.incr("counter"));
    tell("at once", LettuceFutures.awaitAll(30, TimeUnit.SECONDS, counted.toArray(new RedisFuture[0])), counted.get(999).get());
  }
}
