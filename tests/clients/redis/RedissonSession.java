import java.util.*;
import java.util.concurrent.*;
import org.redisson.Redisson;
import org.redisson.api.*;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** Redisson: its locks, maps that expire, queues, topics, limiters and transactions, most of them scripts and messages. */
class RedissonSession {
  static void tell(String name, Object... values) {
    System.out.println(name + ": " + Arrays.deepToString(values));
  }

  public static void main(String[] arguments) throws Exception {
    Config config = new Config();
    config.setCodec(StringCodec.INSTANCE).setThreads(2).setNettyThreads(2);
    config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]).setConnectionMinimumIdleSize(2).setConnectionPoolSize(8).setSubscriptionConnectionMinimumIdleSize(1);
    RedissonClient one = Redisson.create(config);
    RedissonClient other = Redisson.create(config);
    try {
      one.getKeys().flushdb();
      locks(one, other);
      values(one);
      queues(one, other);
      messages(one, other);
      limits(one);
      places(one);
    } finally {
      one.getKeys().flushdb();
      one.shutdown(0, 2, TimeUnit.SECONDS);
      other.shutdown(0, 2, TimeUnit.SECONDS);
    }
    System.exit(0);
  }

  static void locks(RedissonClient one, RedissonClient other) throws Exception {
    RLock lock = one.getLock("lock");
    lock.lock(30, TimeUnit.SECONDS);
    tell("lock", lock.isLocked(), lock.getHoldCount(), other.getLock("lock").tryLock());
    lock.lock();
    tell("again", lock.getHoldCount());
    Future<Boolean> waits = Executors.newSingleThreadExecutor().submit(() -> other.getLock("lock").tryLock(20, 30, TimeUnit.SECONDS));
    lock.unlock();
    lock.unlock();
    tell("handed over", waits.get(), one.getLock("lock").isLocked(), one.getLock("lock").forceUnlock());
    RReadWriteLock both = one.getReadWriteLock("rw");
    both.readLock().lock();
    tell("read lock", other.getReadWriteLock("rw").readLock().tryLock(), other.getReadWriteLock("rw").writeLock().tryLock());
    RSemaphore semaphore = one.getSemaphore("semaphore");
    tell("semaphore", semaphore.trySetPermits(2), semaphore.tryAcquire(2), semaphore.tryAcquire(), semaphore.availablePermits());
    Future<Boolean> permit = Executors.newSingleThreadExecutor().submit(() -> other.getSemaphore("semaphore").tryAcquire(1, 20, TimeUnit.SECONDS));
    semaphore.release(2);
    tell("acquired", permit.get(), semaphore.availablePermits());
    RCountDownLatch latch = one.getCountDownLatch("latch");
    tell("latch", latch.trySetCount(1));
    Future<Boolean> awaited = Executors.newSingleThreadExecutor().submit(() -> other.getCountDownLatch("latch").await(20, TimeUnit.SECONDS));
    latch.countDown();
    tell("counted down", awaited.get(), latch.getCount());
    RLock fair = one.getFairLock("fair");
    tell("fair", fair.tryLock(), other.getFairLock("fair").tryLock());
  }

  static void values(RedissonClient redis) throws Exception {
    RBucket<String> bucket = redis.getBucket("bucket");
    bucket.set("hello");
    tell("bucket", bucket.get(), bucket.compareAndSet("hello", "there"), bucket.getAndSet("x"), bucket.setIfAbsent("y"));
    tell("counter", redis.getAtomicLong("n").incrementAndGet(), redis.getAtomicLong("n").compareAndSet(1, 5), redis.getAtomicLong("n").addAndGet(3));
    RMap<String, String> map = redis.getMap("map");
    tell("map", map.put("a", "1"), map.put("a", "2"), map.putIfAbsent("b", "3"), map.replace("a", "2", "4"), map.remove("a", "1"), new TreeMap<>(map.readAllMap()));
    RMapCache<String, String> cache = redis.getMapCache("cache");
    cache.put("short", "1", 50, TimeUnit.MILLISECONDS);
    cache.put("long", "2", 100, TimeUnit.SECONDS);
    while (cache.get("short") != null) Thread.sleep(10);
    tell("cache", cache.get("long"), cache.containsKey("short"), cache.fastPut("other", "3"), cache.getOrDefault("short", "gone"));
    RSet<String> set = redis.getSet("set");
    tell("set", set.addAll(List.of("a", "b")), set.contains("a"), new TreeSet<>(set.readAll()), set.remove("c"));
    RScoredSortedSet<String> scored = redis.getScoredSortedSet("scored");
    tell("scored", scored.add(1.5, "a"), scored.addScore("a", 1), scored.rank("a"), scored.valueRange(0, -1), scored.pollFirst());
    RBitSet bits = redis.getBitSet("bits");
    tell("bits", bits.set(3), bits.get(3), bits.cardinality(), bits.incrementAndGetInteger(8, 0));
    RHyperLogLog<String> log = redis.getHyperLogLog("log");
    tell("log", log.addAll(List.of("a", "b", "c")), log.count());
    RTransaction transaction = redis.createTransaction(TransactionOptions.defaults());
    transaction.getMap("map").put("t", "1");
    transaction.getBucket("bucket").set("committed");
    transaction.commit();
    tell("transaction", map.get("t"), bucket.get());
    RBatch batch = redis.createBatch(BatchOptions.defaults().executionMode(BatchOptions.ExecutionMode.REDIS_WRITE_ATOMIC));
    batch.getBucket("bucket").setAsync("batch");
    batch.getAtomicLong("n").incrementAndGetAsync();
    tell("batch", batch.execute().getResponses());
    tell("script", redis.getScript(StringCodec.INSTANCE).<Object>eval(RScript.Mode.READ_WRITE, "return redis.call('incrby', KEYS[1], ARGV[1])", RScript.ReturnType.INTEGER, List.of("n"), "10"));
    byte[] dump = bucket.dump();
    bucket.delete();
    bucket.restore(dump);
    tell("dump", bucket.get(), bucket.remainTimeToLive());
  }

  static void queues(RedissonClient one, RedissonClient other) throws Exception {
    RBlockingQueue<String> queue = one.getBlockingQueue("queue");
    Future<String> taken = Executors.newSingleThreadExecutor().submit(() -> other.<String>getBlockingQueue("queue").poll(20, TimeUnit.SECONDS));
    tell("queue", queue.offer("a"), taken.get(), queue.size());
    RDelayedQueue<String> delayed = one.getDelayedQueue(queue);
    delayed.offer("later", 100, TimeUnit.MILLISECONDS);
    tell("delayed", delayed.size(), other.<String>getBlockingQueue("queue").poll(20, TimeUnit.SECONDS));
    delayed.destroy();
    RBoundedBlockingQueue<String> bounded = one.getBoundedBlockingQueue("bounded");
    tell("bounded", bounded.trySetCapacity(1), bounded.offer("a"), bounded.offer("b"), bounded.poll(), bounded.offer("c"));
    RDeque<String> deque = one.getDeque("deque");
    deque.addFirst("a");
    deque.addLast("b");
    tell("deque", deque.pollLast(), deque.pollFirst(), deque.pollFirst());
    RStream<String, String> stream = one.getStream("stream");
    StreamMessageId id = stream.add(org.redisson.api.stream.StreamAddArgs.entry("f", "v"));
    stream.createGroup(org.redisson.api.stream.StreamCreateGroupArgs.name("g").id(StreamMessageId.ALL));
    var read = stream.readGroup("g", "ann", org.redisson.api.stream.StreamReadGroupArgs.neverDelivered());
    tell("stream", read.get(id), stream.ack("g", id), stream.size());
    RPriorityQueue<String> sorted = one.getPriorityQueue("priorities");
    sorted.addAll(List.of("b", "a", "c"));
    tell("priorities", sorted.poll(), sorted.poll());
  }

  static void messages(RedissonClient one, RedissonClient other) throws Exception {
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    RTopic topic = one.getTopic("topic");
    int listener = topic.addListener(String.class, (channel, message) -> heard.add(channel + " " + message));
    int pattern = one.getPatternTopic("top*").addListener(String.class, (by, channel, message) -> heard.add(by + " " + channel + " " + message));
    tell("publish", other.getTopic("topic").publish("hello"));
    tell("heard", new TreeSet<>(List.of(heard.poll(20, TimeUnit.SECONDS), heard.poll(20, TimeUnit.SECONDS))));
    topic.removeListener(listener);
    one.getPatternTopic("top*").removeListener(pattern);
    RReliableTopic reliable = one.getReliableTopic("reliable");
    CompletableFuture<String> got = new CompletableFuture<>();
    String id = reliable.addListener(String.class, (channel, message) -> got.complete(message));
    tell("reliable", other.getReliableTopic("reliable").publish("kept"), got.get(20, TimeUnit.SECONDS));
    reliable.removeListener(id);
  }

  static void limits(RedissonClient redis) {
    RRateLimiter limiter = redis.getRateLimiter("limiter");
    tell("limiter", limiter.trySetRate(RateType.OVERALL, 2, 1, RateIntervalUnit.HOURS), limiter.tryAcquire(), limiter.tryAcquire(), limiter.tryAcquire());
    RBloomFilter<String> filter = redis.getBloomFilter("filter");
    tell("bloom filter", filter.tryInit(1000, 0.01), filter.add("a"), filter.add("a"), filter.contains("a"), filter.contains("b"));
    RIdGenerator ids = redis.getIdGenerator("ids");
    tell("ids", ids.tryInit(10, 5), ids.nextId(), ids.nextId());
  }

  static void places(RedissonClient redis) {
    RGeo<String> geo = redis.getGeo("geo");
    tell("geo", geo.add(new GeoEntry(13.361389, 38.115556, "Palermo"), new GeoEntry(15.087269, 37.502669, "Catania")), geo.dist("Palermo", "Catania", GeoUnit.KILOMETERS), geo.hash("Palermo"));
    var near = org.redisson.api.geo.GeoSearchArgs.from(15, 37).radius(200, GeoUnit.KILOMETERS).order(GeoOrder.ASC);
    tell("search", geo.search(near), geo.searchWithDistance(near), geo.storeSearchTo("near", near));
  }
}
