// A session of spymemcached: `java SpymemcachedSession.java PORT text|binary [USER PASSWORD]`, its jar in the class path.
// Prints the client's results, a line a step; the same in both protocols.
import java.util.Arrays;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.logging.Level;
import java.util.logging.Logger;
import net.spy.memcached.AddrUtil;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.auth.AuthDescriptor;
import net.spy.memcached.auth.PlainCallbackHandler;

public class SpymemcachedSession {
  static Object step(String name, Callable<Object> asked) {
    Object told;
    try {
      told = asked.call();
      if (told instanceof Future) told = ((Future<?>) told).get();
    } catch (Exception error) {
      told = "error";
    }
    System.out.println(name + ": " + told);
    return told;
  }

  public static void main(String[] arguments) throws Exception {
    System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
    Logger.getLogger("net.spy.memcached").setLevel(Level.OFF);
    boolean binary = arguments[1].equals("binary");
    ConnectionFactoryBuilder builder = new ConnectionFactoryBuilder()
        .setProtocol(binary ? ConnectionFactoryBuilder.Protocol.BINARY : ConnectionFactoryBuilder.Protocol.TEXT)
        .setOpTimeout(60_000)
        .setDaemon(true);
    if (arguments.length > 2)
      builder.setAuthDescriptor(new AuthDescriptor(new String[] {"PLAIN"}, new PlainCallbackHandler(arguments[2], arguments[3])));
    MemcachedClient client = new MemcachedClient(builder.build(), AddrUtil.getAddresses("127.0.0.1:" + arguments[0]));
    byte[] anyBytes = new byte[1024];
    for (int i = 0; i < anyBytes.length; ++i) anyBytes[i] = (byte) i;
    byte[] large = new byte[500_000];
    new java.util.Random(7).nextBytes(large);

    step("flush", () -> client.flush());
    step("get of nothing", () -> client.get("k"));
    step("set", () -> client.set("k", 0, "one"));
    step("get", () -> client.get("k"));
    step("add over it", () -> client.add("k", 0, "two"));
    step("add", () -> client.add("added", 0, "two"));
    step("replace", () -> client.replace("k", 0, "three"));
    step("replace nothing", () -> client.replace("nothing", 0, "x"));
    step("append", () -> client.append("k", ">"));
    step("prepend", () -> client.prepend("k", "<"));
    step("append to nothing", () -> client.append("nothing", "x"));
    CASValue<Object> got = client.gets("k");
    step("gets", () -> got.getValue());
    step("cas", () -> client.cas("k", got.getCas(), "four"));
    step("cas again", () -> client.cas("k", got.getCas(), "five"));
    step("cas of nothing", () -> client.cas("nothing", got.getCas(), "x"));
    step("get after cas", () -> client.get("k"));
    step("incr nothing", () -> client.incr("n", 1));
    step("incr makes it", () -> client.incr("n", 1, 10));
    step("incr", () -> client.incr("n", 89));
    step("incr to more digits", () -> client.incr("n", 1));
    step("decr", () -> client.decr("n", 1));
    step("decr below zero", () -> client.decr("n", 1_000));
    step("incr a word", () -> client.incr("k", 1));
    step("touch", () -> client.touch("k", 100));
    step("touch nothing", () -> client.touch("nothing", 100));
    step("get and touch", () -> binary ? client.getAndTouch("k", 100).getValue() : client.get("k"));
    step("get and touch nothing", () -> binary ? client.getAndTouch("nothing", 100) : client.get("nothing"));
    step("delete", () -> client.delete("added"));
    step("delete nothing", () -> client.delete("added"));
    for (int i = 0; i < 100; ++i) client.set("m" + i, 0, "value " + i);
    step("get many", () -> new TreeMap<>(client.getBulk("m0", "m50", "nothing", "m99")));
    step("set any bytes", () -> client.set("bytes", 0, anyBytes));
    step("get any bytes", () -> Arrays.equals((byte[]) client.get("bytes"), anyBytes));
    step("set nothing at all", () -> client.set("empty", 0, ""));
    step("get nothing at all", () -> client.get("empty"));
    step("set much", () -> client.set("large", 0, large));
    step("get much", () -> Arrays.equals((byte[]) client.get("large"), large));
    step("set any object", () -> client.set("object", 0, new TreeMap<>(java.util.Map.of("a", 1L))));
    step("get any object", () -> client.get("object"));
    step("set the longest key", () -> client.set("k".repeat(250), 0, "x"));
    step("get the longest key", () -> client.get("k".repeat(250)));
    step("stats", () -> client.getStats().values().iterator().next().keySet().containsAll(Arrays.asList("pid", "version", "curr_items", "cmd_get")));
    step("versions", () -> client.getVersions().size());
    step("set what stays", () -> client.set("left", 0, "by spymemcached"));
    client.shutdown();
  }
}
