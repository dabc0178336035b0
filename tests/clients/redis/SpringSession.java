import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.springframework.context.ApplicationEvent;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisTemplate;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.PatternTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.data.redis.serializer.JdkSerializationRedisSerializer;
import org.springframework.data.redis.serializer.StringRedisSerializer;
import org.springframework.session.FindByIndexNameSessionRepository;
import org.springframework.session.Session;
import org.springframework.session.SessionRepository;
import org.springframework.session.data.redis.RedisIndexedSessionRepository;
import org.springframework.session.data.redis.RedisSessionRepository;
import org.springframework.session.data.redis.config.ConfigureNotifyKeyspaceEventsAction;
import org.springframework.session.events.AbstractSessionEvent;

/** Spring Session: both of its repositories, the index by user, and events of sessions that end. */
public class SpringSession {
  static void tell(String name, Object value) {
    System.out.println(name + ": " + value);
  }

  static final BlockingQueue<String> events = new LinkedBlockingQueue<>();
  static RedisTemplate<String, Object> template;
  static LettuceConnectionFactory factory;

  static RedisTemplate<String, Object> template() {
    RedisTemplate<String, Object> made = new RedisTemplate<>();
    made.setKeySerializer(new StringRedisSerializer());
    made.setHashKeySerializer(new StringRedisSerializer());
    made.setDefaultSerializer(new JdkSerializationRedisSerializer());
    made.setConnectionFactory(factory);
    made.afterPropertiesSet();
    return made;
  }

  static <S extends Session> void play(String name, SessionRepository<S> one, SessionRepository<S> other) {
    S session = one.createSession();
    session.setAttribute("cart", List.of("a", "b"));
    session.setAttribute("visits", 1);
    one.save(session);
    S seen = other.findById(session.getId());
    tell(name + " seen", seen.getAttribute("cart") + " " + seen.getAttribute("visits"));
    seen.setAttribute("visits", 2);
    seen.removeAttribute("cart");
    seen.setLastAccessedTime(seen.getLastAccessedTime().minusSeconds(5));
    other.save(seen);
    S again = one.findById(session.getId());
    tell(name + " changed", again.getAttributeNames() + " " + again.getAttribute("visits") + " "
        + again.getLastAccessedTime().equals(seen.getLastAccessedTime()));
    String before = again.getId();
    String after = again.changeSessionId();
    one.save(again);
    tell(name + " id changed", (other.findById(before) == null) + " " + (other.findById(after) != null));
    // Two that have the same session open change different attributes.
    S left = one.findById(after);
    S right = other.findById(after);
    left.setAttribute("left", "l");
    right.setAttribute("right", "r");
    one.save(left);
    other.save(right);
    tell(name + " both", new TreeSet<>(one.findById(after).getAttributeNames()));
    one.deleteById(after);
    tell(name + " deleted", other.findById(after) == null);
  }

  static String event() throws InterruptedException {
    return events.poll(30, TimeUnit.SECONDS);
  }

  static void watch(RedisIndexedSessionRepository repository, RedisMessageListenerContainer container) {
    repository.setApplicationEventPublisher(event -> {
      if (event instanceof AbstractSessionEvent ended)
        events.add(ended.getClass().getSimpleName() + " " + ended.getSession().<String>getAttribute("name"));
    });
    container.addMessageListener(repository,
        List.of(new ChannelTopic(repository.getSessionDeletedChannel()), new ChannelTopic(repository.getSessionExpiredChannel())));
    container.addMessageListener(repository, List.of(new PatternTopic(repository.getSessionCreatedChannelPrefix() + "*")));
  }

  static void playIndexed(RedisIndexedSessionRepository one, RedisIndexedSessionRepository other) throws Exception {
    var first = one.createSession();
    first.setAttribute("name", "first");
    first.setAttribute(FindByIndexNameSessionRepository.PRINCIPAL_NAME_INDEX_NAME, "ann");
    one.save(first);
    tell("created", event());
    var second = other.createSession();
    second.setAttribute("name", "second");
    second.setAttribute(FindByIndexNameSessionRepository.PRINCIPAL_NAME_INDEX_NAME, "ann");
    other.save(second);
    tell("created", event());
    tell("of ann", one.findByPrincipalName("ann").keySet().equals(new TreeSet<>(List.of(first.getId(), second.getId()))));
    one.deleteById(second.getId());
    tell("ended", event());
    tell("of ann", one.findByPrincipalName("ann").keySet().equals(new TreeSet<>(List.of(first.getId()))));
    var third = one.createSession();
    third.setAttribute("name", "third");
    third.setMaxInactiveInterval(Duration.ofSeconds(1));
    one.save(third);
    tell("created", event());
    tell("expired", event());
    tell("gone", other.findById(third.getId()) == null);
    one.deleteById(first.getId());
    tell("ended", event());
    Map<String, RedisIndexedSessionRepository.RedisSession> left = one.findByPrincipalName("ann");
    tell("of ann", left.size());
  }

  public static void main(String[] arguments) throws Exception {
    factory = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(arguments[0]));
    factory.afterPropertiesSet();
    factory.start();
    template = template();
    try (RedisConnection connection = factory.getConnection()) {
      connection.serverCommands().flushDb();
      new ConfigureNotifyKeyspaceEventsAction().configure(connection);
      tell("notifications", connection.serverCommands().getConfig("notify-keyspace-events"));
    }
    play("simple", new RedisSessionRepository(template), new RedisSessionRepository(template()));
    RedisIndexedSessionRepository one = new RedisIndexedSessionRepository(template);
    RedisIndexedSessionRepository other = new RedisIndexedSessionRepository(template());
    RedisMessageListenerContainer container = new RedisMessageListenerContainer();
    container.setConnectionFactory(factory);
    container.afterPropertiesSet();
    watch(one, container);
    container.start();
    one.afterPropertiesSet();
    playIndexed(one, other);
    play("indexed", one, other);
    container.stop();
    container.destroy();
    one.destroy();
    try (RedisConnection connection = factory.getConnection()) {
      connection.serverCommands().flushDb();
      connection.serverCommands().setConfig("notify-keyspace-events", "");
    }
    factory.destroy();
    System.exit(0);
  }
}
