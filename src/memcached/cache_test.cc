#include "memcached/cache.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace postern::memcached {
namespace {

constexpr int64_t start = 1'800'000'000;

class Copy final : public Cache::Reader {
 public:
  void item(const Item &item) override { keep(item); }
  void number(uint64_t number_done, const Item &item) override {
    number_ = number_done;
    keep(item);
  }
  const std::string &value() const { return value_; }
  const Item &item() const { return item_; }
  uint64_t number() const { return number_; }

 private:
  void keep(const Item &item) {
    value_ = item.value;
    item_ = item;
  }
  std::string value_;
  Item item_;
  uint64_t number_ = 0;
};

class CacheTest : public testing::Test {
 protected:
  Cache::Outcome run(const Request &request) { return cache_->carry_out(*space_, request, ++cas_, now_, copy_); }

  static Request request_of(Action action, Bytes key, Bytes value = "") {
    Request request;
    request.action = action;
    request.key = key;
    request.value = value;
    return request;
  }
  Result set(Bytes key, Bytes value, Expiry expiry = 0) {
    Request request = request_of(Action::set, key, value);
    request.expiry = expiry;
    return run(request).result;
  }
  Result result_of(Action action, Bytes key, Bytes value = "") { return run(request_of(action, key, value)).result; }
  /// The value, or how it was missed.
  std::string get(Bytes key) {
    const Cache::Outcome outcome = run(request_of(Action::get, key));
    return outcome.result == Result::done ? copy_.value() : "(none)";
  }

  void use(Bytes container) { space_ = &cache_->space(container); }

  std::unique_ptr<Cache> cache_ = Cache::make(size_t{8} << 20);
  Cache::Space *space_ = &cache_->space("default");
  Copy copy_;
  uint64_t cas_ = 0;
  int64_t now_ = start;
};

TEST_F(CacheTest, GetsWhatWasSet) {
  EXPECT_EQ(get("k"), "(none)");
  Request request = request_of(Action::set, "k", std::string_view("v\0\r\n", 4));
  request.flags = 7;
  request.expiry = 60;
  const Cache::Outcome stored = run(request);
  EXPECT_EQ(stored.result, Result::done);
  EXPECT_EQ(stored.cas, cas_);
  EXPECT_EQ(get("k"), std::string("v\0\r\n", 4));
  EXPECT_EQ(copy_.item().flags, 7u);
  EXPECT_EQ(copy_.item().cas, stored.cas);
  EXPECT_EQ(copy_.item().expires_at, start + 60);
  EXPECT_EQ(copy_.item().now, start);
  set("k", "another");
  EXPECT_EQ(get("k"), "another");
  EXPECT_EQ(cache_->counts().items, 1u);
  EXPECT_EQ(cache_->counts().stored, 2u);
}

TEST_F(CacheTest, AddStoresWhatIsNotThereReplaceWhatIs) {
  EXPECT_EQ(result_of(Action::replace, "k", "a"), Result::not_stored);
  EXPECT_EQ(result_of(Action::add, "k", "b"), Result::done);
  EXPECT_EQ(result_of(Action::add, "k", "c"), Result::not_stored);
  EXPECT_EQ(get("k"), "b");
  EXPECT_EQ(result_of(Action::replace, "k", "d"), Result::done);
  EXPECT_EQ(get("k"), "d");
}

TEST_F(CacheTest, AppendAndPrependKeepFlagsAndExpiry) {
  EXPECT_EQ(result_of(Action::append, "k", "x"), Result::not_stored);
  EXPECT_EQ(result_of(Action::prepend, "k", "x"), Result::not_stored);
  Request request = request_of(Action::set, "k", "b");
  request.flags = 9;
  request.expiry = 100;
  run(request);
  EXPECT_EQ(result_of(Action::append, "k", "c"), Result::done);
  EXPECT_EQ(result_of(Action::prepend, "k", "a"), Result::done);
  EXPECT_EQ(get("k"), "abc");
  EXPECT_EQ(copy_.item().flags, 9u);
  EXPECT_EQ(copy_.item().expires_at, start + 100);
  request = request_of(Action::append, "new", "made");
  request.creates = true;
  EXPECT_EQ(run(request).result, Result::done);
  EXPECT_EQ(get("new"), "made");
}

TEST_F(CacheTest, ACasLetsOnlyThatItemBeChanged) {
  const auto with_cas = [this](Action action, Bytes key, uint64_t cas) {
    Request request = request_of(action, key, "7");
    request.cas = cas;
    return run(request).result;
  };
  EXPECT_EQ(with_cas(Action::set, "k", 5), Result::not_found);
  set("k", "1");
  for (const Action action : {Action::set, Action::replace, Action::append, Action::prepend, Action::increment,
                              Action::decrement, Action::erase}) {
    get("k");
    const uint64_t cas = copy_.item().cas;
    EXPECT_EQ(with_cas(action, "k", cas + 1), Result::exists);
    EXPECT_EQ(with_cas(action, "k", cas), Result::done);
  }
  EXPECT_EQ(get("k"), "(none)");
  set("k", "1");
  Request zero = request_of(Action::set, "k", "2");
  zero.compares = true;
  EXPECT_EQ(run(zero).result, Result::exists);
}

TEST_F(CacheTest, ARequestMayBringItsOwnCas) {
  Request request = request_of(Action::set, "k", "v");
  request.sets_cas = true;
  request.new_cas = 12'345;
  EXPECT_EQ(run(request).cas, 12'345u);
  get("k");
  EXPECT_EQ(copy_.item().cas, 12'345u);
}

TEST_F(CacheTest, NumbersCountUpRoundTheEndAndDownToZero) {
  EXPECT_EQ(result_of(Action::increment, "n"), Result::not_found);
  set("n", "18446744073709551615");
  EXPECT_EQ(result_of(Action::increment, "n"), Result::done);
  EXPECT_EQ(copy_.number(), 0u);
  EXPECT_EQ(get("n"), "0");
  EXPECT_EQ(result_of(Action::decrement, "n"), Result::done);
  EXPECT_EQ(get("n"), "0");
  set("n", "9");
  Request request = request_of(Action::increment, "n");
  request.delta = 91;
  EXPECT_EQ(run(request).result, Result::done);
  EXPECT_EQ(copy_.number(), 100u);
  EXPECT_EQ(copy_.value(), "100");
  EXPECT_EQ(copy_.item().cas, cas_);
  EXPECT_EQ(get("n"), "100");
  request.action = Action::decrement;
  request.delta = 1;
  run(request);
  EXPECT_EQ(get("n"), "99");
  set("n", " 5 ");
  EXPECT_EQ(result_of(Action::increment, "n"), Result::done);
  EXPECT_EQ(get("n"), "6");
  for (const Bytes text : {"", "x", "1x", "-1", "18446744073709551616"}) {
    set("n", text);
    EXPECT_EQ(result_of(Action::increment, "n"), Result::not_a_number);
    EXPECT_EQ(get("n"), text);
  }
}

TEST_F(CacheTest, AnIncrementMayMakeItsItem) {
  Request request = request_of(Action::decrement, "n");
  request.creates = true;
  request.initial = 5;
  request.expiry = 10;
  EXPECT_EQ(run(request).result, Result::done);
  EXPECT_EQ(copy_.number(), 5u);
  EXPECT_EQ(copy_.item().expires_at, start + 10);
  EXPECT_EQ(run(request).result, Result::done);
  EXPECT_EQ(get("n"), "4");
}

TEST_F(CacheTest, AnItemIsOverWhenItsTimeHasCome) {
  set("relative", "v", 10);
  set("absolute", "v", start + 20);
  set("past", "v", -1);
  set("never", "v", 0);
  EXPECT_EQ(get("past"), "(none)");
  now_ = start + 9;
  EXPECT_EQ(get("relative"), "v");
  now_ = start + 10;
  EXPECT_EQ(get("relative"), "(none)");
  EXPECT_EQ(result_of(Action::increment, "relative"), Result::not_found);
  EXPECT_EQ(result_of(Action::append, "relative", "x"), Result::not_stored);
  EXPECT_EQ(result_of(Action::erase, "relative"), Result::not_found);
  EXPECT_EQ(result_of(Action::add, "relative", "w"), Result::done);
  EXPECT_EQ(get("absolute"), "v");
  now_ = start + 20;
  EXPECT_EQ(get("absolute"), "(none)");
  now_ = start * 100;
  EXPECT_EQ(get("never"), "v");
}

TEST_F(CacheTest, ATouchGivesAnotherExpiryAndKeepsTheCas) {
  set("k", "v", 10);
  const uint64_t cas = cas_;
  Request request = request_of(Action::touch, "k");
  request.expiry = 100;
  EXPECT_EQ(run(request).result, Result::done);
  request = request_of(Action::get, "k");
  request.touches = true;
  request.expiry = 200;
  now_ += 50;
  EXPECT_EQ(run(request).result, Result::done);
  EXPECT_EQ(copy_.value(), "v");
  EXPECT_EQ(copy_.item().expires_at, now_ + 200);
  EXPECT_EQ(copy_.item().cas, cas);
  EXPECT_EQ(result_of(Action::touch, "nobody"), Result::not_found);
}

TEST_F(CacheTest, ContainersShareNoKeys) {
  set("k", "here");
  use("other");
  EXPECT_EQ(get("k"), "(none)");
  set("k", "there");
  EXPECT_EQ(result_of(Action::erase, "k"), Result::done);
  use("default");
  EXPECT_EQ(get("k"), "here");
}

TEST_F(CacheTest, AFlushEmptiesOneContainer) {
  set("k", "here");
  use("other");
  set("k", "there");
  EXPECT_EQ(result_of(Action::flush, ""), Result::done);
  EXPECT_EQ(get("k"), "(none)");
  EXPECT_EQ(result_of(Action::replace, "k", "v"), Result::not_stored);
  set("k", "again");
  EXPECT_EQ(get("k"), "again");
  use("default");
  EXPECT_EQ(get("k"), "here");
}

TEST_F(CacheTest, WhatIsOverMakesRoomFirst) {
  const std::string value(1'000, 'v');
  for (int i = 0; i < 4'000; ++i) set("short" + std::to_string(i), value, 10);
  now_ += 10;
  for (int i = 0; i < 7'000; ++i) set("new" + std::to_string(i), value);
  EXPECT_EQ(cache_->counts().evictions, 0u);
  EXPECT_GT(cache_->counts().reclaimed, 2'000u);
}

TEST_F(CacheTest, TheBoundIsNeverExceeded) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string bytes(300'000, 'x');
  const Action actions[] = {Action::set,     Action::set,       Action::add,   Action::replace, Action::append,
                            Action::prepend, Action::increment, Action::erase, Action::get};
  for (int i = 0; i < 100'000; ++i) {
    const double size =
        std::exp(std::uniform_real_distribution<>(0, std::log(i % 1'000 == 0 ? 300'000. : 5'000.))(random));
    Request request = request_of(actions[random() % std::size(actions)], "", Bytes(bytes).substr(0, size_t(size)));
    const std::string key = std::to_string(random() % 20'000);
    request.key = key;
    request.creates = i % 2 == 0;
    request.expiry = i % 3 == 0 ? 5 : 0;
    run(request);
    if (i % 100 == 0) {
      ++now_;
      ASSERT_LE(cache_->counts().bytes, cache_->bytes_max());
    }
  }
  EXPECT_GT(cache_->counts().bytes, cache_->bytes_max() * 9 / 10);
}

TEST(CacheMemory, IsWhatItIsSaidToBe) {
  for (const size_t value_bytes : {1, 30, 500, 20'000, 900'000}) {
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    const std::unique_ptr<Cache> cache = Cache::make(size_t{32} << 20);
    Cache::Space &space = cache->space("default");
    Copy copy;
    const std::string value(value_bytes, 'v');
    for (size_t i = 0; i * (value_bytes + 100) < 2 * cache->bytes_max(); ++i) {
      const std::string key = std::to_string(i);
      Request request;
      request.action = Action::set;
      request.key = key;
      request.value = value;
      ASSERT_EQ(cache->carry_out(space, request, i, start, copy).failure, Failure::none);
    }
    const size_t taken = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    EXPECT_GT(cache->counts().evictions, 0u) << value_bytes;
    EXPECT_LE(cache->counts().bytes, cache->bytes_max()) << value_bytes;
    // Large values are mapped by the page.
    EXPECT_LE(taken, cache->bytes_max() + cache->bytes_max() / 50) << value_bytes;
  }
}

/// What a plain list with the last used in front would have.
class LeastRecentlyUsed {
 public:
  explicit LeastRecentlyUsed(size_t items_max) : items_max_(items_max) {}
  bool get(uint64_t key) {
    const auto known = places_.find(key);
    if (known != places_.end()) {
      keys_.splice(keys_.begin(), keys_, known->second);
      return true;
    }
    keys_.push_front(key);
    places_[key] = keys_.begin();
    if (keys_.size() > items_max_) {
      places_.erase(keys_.back());
      keys_.pop_back();
    }
    return false;
  }

 private:
  size_t items_max_;
  std::list<uint64_t> keys_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> places_;
};

class CacheEviction : public CacheTest {
 protected:
  /// As an application does: get, and set what was missed.
  bool use_key(uint64_t key) {
    const std::string text = std::to_string(key);
    if (get(text) != "(none)") return true;
    set(text, value_);
    return false;
  }
  /// How many such items there is room for.
  size_t items_max() {
    for (uint64_t key = 0; cache_->counts().evictions == 0; ++key) use_key(key);
    const size_t items = cache_->counts().items;
    cache_ = Cache::make(cache_->bytes_max());
    use("default");
    return items;
  }

  const std::string value_ = std::string(1'000, 'v');
  std::mt19937_64 random_{7};
};

TEST_F(CacheEviction, AScanLeavesInPlaceWhatIsInUse) {
  const size_t items = items_max();
  const size_t hot = items / 2;
  for (int round = 0; round < 4; ++round)
    for (uint64_t key = 0; key < hot; ++key) use_key(key);
  LeastRecentlyUsed list(items);
  // Ten keys that nobody asks for again for each that is in use.
  size_t hits = 0;
  size_t list_hits = 0;
  uint64_t scanned = 1'000'000;
  const size_t gets = 5 * items;
  for (size_t i = 0; i < gets; ++i) {
    const uint64_t key = random_() % hot;
    hits += use_key(key);
    list_hits += list.get(key);
    for (int scan = 0; scan < 10; ++scan) {
      use_key(++scanned);
      list.get(scanned);
    }
  }
  EXPECT_GT(hits, gets * 95 / 100);
  EXPECT_LT(list_hits, gets / 2);
}

TEST_F(CacheEviction, HitsMoreThanAPlainListOnSkewedKeys) {
  const size_t items = items_max();
  LeastRecentlyUsed list(items);
  const size_t keys = 20 * items;
  std::vector<double> weights(keys);
  for (size_t i = 0; i < keys; ++i) weights[i] = 1 / std::pow(double(i + 1), 0.9);
  std::discrete_distribution<uint64_t> skewed(weights.begin(), weights.end());
  size_t hits = 0;
  size_t list_hits = 0;
  for (size_t i = 0; i < 40 * items; ++i) {
    const uint64_t key = skewed(random_);
    hits += use_key(key);
    list_hits += list.get(key);
  }
  RecordProperty("hits", std::to_string(hits));
  RecordProperty("list_hits", std::to_string(list_hits));
  EXPECT_GT(hits, list_hits * 21 / 20);
}

TEST_F(CacheEviction, WhatReturnsSoonIsRemembered) {
  const size_t items = items_max();
  // A loop a little longer than there is room for: a plain list would hit never.
  const size_t loop = items * 5 / 4;
  size_t hits = 0;
  for (int round = 0; round < 10; ++round)
    for (uint64_t key = 0; key < loop; ++key) hits += use_key(key);
  EXPECT_GT(hits, loop);
}

TEST(CacheThreads, CountWithoutLossAndNeverSeeHalfAnItem) {
  const std::unique_ptr<Cache> cache = Cache::make(Cache::bytes_least);
  std::atomic<uint64_t> cas = 0;
  std::atomic<uint64_t> torn = 0;
  constexpr int rounds = 20'000;
  const auto hammer = [&](unsigned number) {
    std::mt19937_64 random(number);
    Cache::Space &space = cache->space(number % 2 == 0 ? "even" : "odd");
    Cache::Space &shared = cache->space("shared");
    Copy copy;
    for (int i = 0; i < rounds; ++i) {
      Request request;
      request.key = "counter";
      request.action = Action::increment;
      request.creates = true;
      request.initial = 1;
      // Read all the time, so it stays, however the others push.
      cache->carry_out(shared, request, ++cas, start, copy);
      const std::string key = std::to_string(random() % 500);
      // A value of one letter repeated; whoever sees two letters sees a write half done.
      const std::string value(random() % 10'000, static_cast<char>('a' + random() % 26));
      request = Request{};
      request.key = key;
      request.value = value;
      request.action = std::array{Action::set, Action::get, Action::get, Action::erase, Action::add}[random() % 5];
      Cache::Space &where = random() % 2 == 0 ? shared : space;
      const Cache::Outcome outcome = cache->carry_out(where, request, ++cas, start, copy);
      if (request.action == Action::get && outcome.result == Result::done)
        torn += copy.value().find_first_not_of(copy.value().substr(0, 1)) != std::string::npos;
      if (i % 1'000 == 0) {
        request.action = Action::flush;
        cache->carry_out(space, request, ++cas, start, copy);
        torn += cache->counts().bytes > cache->bytes_max();
      }
    }
  };
  std::thread one(hammer, 1);
  std::thread two(hammer, 2);
  one.join();
  two.join();
  EXPECT_EQ(torn, 0u);
  Request request;
  request.action = Action::get;
  request.key = "counter";
  Copy copy;
  ASSERT_EQ(cache->carry_out(cache->space("shared"), request, 0, start, copy).result, Result::done);
  EXPECT_EQ(copy.value(), std::to_string(2 * rounds));
}

TEST_F(CacheTest, AValueLargerThanAShardIsRefusedAndChangesNothing) {
  set("k", "v");
  const std::string large(size_t{8} << 20, 'x');
  for (const Action action : {Action::set, Action::append}) {
    const Cache::Outcome outcome = run(request_of(action, "k", large));
    EXPECT_EQ(outcome.failure, Failure::request_too_large);
    EXPECT_EQ(get("k"), "v");
  }
  const std::string half(size_t{4} << 20, 'x');
  EXPECT_EQ(run(request_of(Action::set, "k", half)).failure, Failure::none);
  EXPECT_EQ(run(request_of(Action::append, "k", half)).failure, Failure::request_too_large);
  EXPECT_EQ(get("k"), half);
}

}  // namespace
}  // namespace postern::memcached
