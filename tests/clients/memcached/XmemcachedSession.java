// A session of xmemcached: `java XmemcachedSession.java PORT text|binary [USER PASSWORD]`, its jars in the class path.
// Prints the client's results, a line a step; the same in both protocols.
import java.util.Arrays;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.auth.AuthInfo;
import net.rubyeye.xmemcached.command.BinaryCommandFactory;
import net.rubyeye.xmemcached.utils.AddrUtil;

public class XmemcachedSession {
  static Object step(String name, Callable<Object> asked) {
    Object told;
    try {
      told = asked.call();
    } catch (Exception error) {
      told = "error";
    }
    System.out.println(name + ": " + told);
    return told;
  }

  /// The client logs in beside its other requests.
  static void waitUntilLoggedIn(MemcachedClient client) throws InterruptedException {
    for (int i = 0; i < 1_000; ++i) {
      try {
        client.get("k");
        return;
      } catch (Exception error) {
        Thread.sleep(20);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    boolean binary = arguments[1].equals("binary");
    // The client looks logins up by name.
    String server = "localhost:" + arguments[0];
    XMemcachedClientBuilder builder = new XMemcachedClientBuilder(AddrUtil.getAddresses(server));
    if (binary) builder.setCommandFactory(new BinaryCommandFactory());
    if (arguments.length > 2)
      builder.addAuthInfo(AddrUtil.getOneAddress(server), AuthInfo.plain(arguments[2], arguments[3]));
    builder.setOpTimeout(60_000);
    builder.setConnectTimeout(10_000);
    MemcachedClient client = builder.build();
    client.setEnableHeartBeat(false);
    if (arguments.length > 2) waitUntilLoggedIn(client);
    byte[] anyBytes = new byte[1024];
    for (int i = 0; i < anyBytes.length; ++i) anyBytes[i] = (byte) i;
    byte[] large = new byte[500_000];
    new java.util.Random(7).nextBytes(large);

    step("flush", () -> { client.flushAll(); return "done"; });
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
    GetsResponse<Object> got = client.gets("k");
    step("gets", () -> got.getValue());
    step("cas", () -> client.cas("k", 0, "four", got.getCas()));
    step("cas again", () -> client.cas("k", 0, "five", got.getCas()));
    step("get after cas", () -> client.get("k"));
    step("incr makes it", () -> client.incr("n", 1, 10));
    step("incr", () -> client.incr("n", 89));
    step("incr to more digits", () -> client.incr("n", 1));
    step("decr", () -> client.decr("n", 1));
    step("decr below zero", () -> client.decr("n", 1_000));
    step("incr a word", () -> client.incr("k", 1));
    step("touch", () -> client.touch("k", 100));
    step("touch nothing", () -> client.touch("nothing", 100));
    step("get and touch", () -> binary ? client.getAndTouch("k", 100) : client.get("k"));
    step("delete", () -> client.delete("added"));
    step("delete nothing", () -> client.delete("added"));
    for (int i = 0; i < 100; ++i) client.setWithNoReply("m" + i, 0, "value " + i);
    step("get many", () -> new TreeMap<>(client.get(Arrays.asList("m0", "m50", "nothing", "m99"))));
    step("set any bytes", () -> client.set("bytes", 0, anyBytes));
    step("get any bytes", () -> Arrays.equals((byte[]) client.get("bytes"), anyBytes));
    step("set nothing at all", () -> client.set("empty", 0, ""));
    step("get nothing at all", () -> client.get("empty"));
    step("set much", () -> client.set("large", 0, large));
    step("get much", () -> Arrays.equals((byte[]) client.get("large"), large));
    step("set the longest key", () -> client.set("k".repeat(250), 0, "x"));
    step("get the longest key", () -> client.get("k".repeat(250)));
    step("stats", () -> client.getStats().values().iterator().next().keySet().containsAll(Arrays.asList("pid", "version", "curr_items", "cmd_get")));
    step("versions", () -> client.getVersions().size());
    step("set what stays", () -> client.set("left", 0, "by xmemcached"));
    client.shutdown();
  }
}
