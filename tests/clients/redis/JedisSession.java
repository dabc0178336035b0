import java.util.*;
import redis.clients.jedis.*;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.*;
import redis.clients.jedis.resps.ScanResult;

/** Jedis, in RESP2 and RESP3: a program's results. */
class JedisSession {
  static void tell(String name, Object... values) {
    System.out.println(name + ": " + Arrays.deepToString(values));
  }

  public static void main(String[] arguments) {
    int port = Integer.parseInt(arguments[0]);
    for (RedisProtocol protocol : new RedisProtocol[] {RedisProtocol.RESP2, RedisProtocol.RESP3}) {
      JedisClientConfig config = DefaultJedisClientConfig.builder().protocol(protocol).clientName("session").build();
      try (JedisPooled jedis = new JedisPooled(new HostAndPort("127.0.0.1", port), config)) {
        session(jedis);
      }
      try (Jedis one = new Jedis(new HostAndPort("127.0.0.1", port), config);
          Jedis other = new Jedis("127.0.0.1", port)) {
        transactions(one, other);
      }
    }
  }

  static void session(JedisPooled jedis) {
    jedis.flushDB();
    tell("set", jedis.set("greeting", "hello", SetParams.setParams().ex(100)));
    tell("get", jedis.get("greeting"), jedis.get("nosuch"));
    tell("not again", jedis.set("greeting", "other", SetParams.setParams().nx()));
    tell("numbers", jedis.incr("n"), jedis.decrBy("n", 4), jedis.incrByFloat("x", 1.5));
    tell("mset", jedis.mset("a", "1", "b", "\u00fc"), jedis.mget("a", "nosuch", "b"));
    tell("hash", jedis.hset("user", Map.of("name", "Ann", "age", "30")), new TreeMap<>(jedis.hgetAll("user")));
    tell("fields", jedis.hmget("user", "age", "nosuch"), new TreeSet<>(jedis.hkeys("user")), jedis.hincrBy("user", "age", 1));
    try {
      jedis.get("user");
    } catch (JedisDataException wrong) {
      tell("wrong type", wrong.getMessage());
    }
    tell("type, ttl", jedis.type("user"), jedis.ttl("greeting") > 90, jedis.persist("greeting"), jedis.ttl("greeting"));
    Set<String> keys = new TreeSet<>();
    String cursor = ScanParams.SCAN_POINTER_START;
    do {
      ScanResult<String> some = jedis.scan(cursor, new ScanParams().count(2));
      keys.addAll(some.getResult());
      cursor = some.getCursor();
    } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
    tell("scan", keys);
    try (AbstractPipeline piped = jedis.pipelined()) {
      List<Response<Long>> counted = new ArrayList<>();
      for (int i = 0; i < 1000; ++i) counted.add(piped.incr("counter"));
      piped.sync();
      tell("piped", counted.get(999).get());
    }
    tell("bits", jedis.setbit("bits", 7, true), jedis.getbit("bits", 7), jedis.bitcount("bits"));
    tell("del", jedis.del("a", "b", "nosuch"));
  }

  static void transactions(Jedis one, Jedis other) {
    Transaction multi = one.multi();
    multi.incr("n");
    multi.get("n");
    multi.hgetAll("nosuch");
    tell("transaction", multi.exec());
    one.watch("n");
    other.incr("n");
    multi = one.multi();
    multi.set("n", "0");
    tell("watch", multi.exec(), one.get("n"));
    tell("flush", one.flushAll());
  }
}
