#include "items/cache/cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "items/cache/testing/copy.h"

namespace postern::items {
namespace {

constexpr int64_t start = 1'800'000'000;

class CacheTest : public testing::Test {
 protected:
  ItemOutcome run(const ItemCommand &command) {
    return outcome_ = cache_->carry_out(*space_, command, ++cas_, now_, copy_);
  }

  static ItemCommand command_of(ItemAction action, Bytes key, Bytes value = "") {
    ItemCommand command;
    command.action = action;
    command.key = key;
    command.value = value;
    return command;
  }
  Result set(Bytes key, Bytes value, int64_t expires_at = 0) {
    ItemCommand command = command_of(ItemAction::set, key, value);
    command.expires_at = expires_at;
    return run(command).result;
  }
  Result result_of(ItemAction action, Bytes key, Bytes value = "") {
    return run(command_of(action, key, value)).result;
  }
  /// The value, or the reason of the miss.
  std::string get(Bytes key) {
    const ItemOutcome outcome = run(command_of(ItemAction::get, key));
    return outcome.result == Result::done ? copy_.value() : "(none)";
  }

  void use(Bytes container) { space_ = &cache_->space(container); }

  std::unique_ptr<Cache> cache_ = Cache::make(size_t{8} << 20);
  Cache::Space *space_ = &cache_->space("default");
  Copy copy_;
  ItemOutcome outcome_;
  uint64_t cas_ = 0;
  int64_t now_ = start;
};

TEST_F(CacheTest, GetsTheStoredValue) {
  EXPECT_EQ(get("k"), "(none)");
  ItemCommand command = command_of(ItemAction::set, "k", std::string_view("v\0\r\n", 4));
  command.flags = 7;
  command.expires_at = start + 60;
  const ItemOutcome stored = run(command);
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

TEST_F(CacheTest, AddStoresNewKeysReplaceOldOnes) {
  EXPECT_EQ(result_of(ItemAction::replace, "k", "a"), Result::not_stored);
  EXPECT_EQ(result_of(ItemAction::add, "k", "b"), Result::done);
  EXPECT_EQ(result_of(ItemAction::add, "k", "c"), Result::not_stored);
  EXPECT_EQ(get("k"), "b");
  EXPECT_EQ(result_of(ItemAction::replace, "k", "d"), Result::done);
  EXPECT_EQ(get("k"), "d");
}

TEST_F(CacheTest, AppendAndPrependKeepFlagsAndExpiry) {
  EXPECT_EQ(result_of(ItemAction::append, "k", "x"), Result::not_stored);
  EXPECT_EQ(result_of(ItemAction::prepend, "k", "x"), Result::not_stored);
  ItemCommand command = command_of(ItemAction::set, "k", "b");
  command.flags = 9;
  command.expires_at = start + 100;
  run(command);
  EXPECT_EQ(result_of(ItemAction::append, "k", "c"), Result::done);
  EXPECT_EQ(result_of(ItemAction::prepend, "k", "a"), Result::done);
  EXPECT_EQ(get("k"), "abc");
  EXPECT_EQ(copy_.item().flags, 9u);
  EXPECT_EQ(copy_.item().expires_at, start + 100);
  command = command_of(ItemAction::append, "new", "made");
  command.creates = true;
  EXPECT_EQ(run(command).result, Result::done);
  EXPECT_EQ(get("new"), "made");
}

TEST_F(CacheTest, ACasLetsOnlyThatItemBeChanged) {
  const auto with_cas = [this](ItemAction action, Bytes key, uint64_t cas) {
    ItemCommand command = command_of(action, key, "7");
    command.compares = true;
    command.cas = cas;
    return run(command).result;
  };
  EXPECT_EQ(with_cas(ItemAction::set, "k", 5), Result::not_found);
  set("k", "1");
  for (const ItemAction action : {ItemAction::set, ItemAction::replace, ItemAction::append, ItemAction::prepend,
                                  ItemAction::increment, ItemAction::decrement, ItemAction::erase}) {
    get("k");
    const uint64_t cas = copy_.item().cas;
    EXPECT_EQ(with_cas(action, "k", cas + 1), Result::exists);
    EXPECT_EQ(with_cas(action, "k", cas), Result::done);
  }
  EXPECT_EQ(get("k"), "(none)");
  set("k", "1");
  ItemCommand zero = command_of(ItemAction::set, "k", "2");
  zero.compares = true;
  EXPECT_EQ(run(zero).result, Result::exists);
}

TEST_F(CacheTest, ACommandMayBringItsOwnCas) {
  ItemCommand command = command_of(ItemAction::set, "k", "v");
  command.sets_cas = true;
  command.new_cas = 12'345;
  EXPECT_EQ(run(command).cas, 12'345u);
  get("k");
  EXPECT_EQ(copy_.item().cas, 12'345u);
}

TEST_F(CacheTest, NumbersCountUpRoundTheEndAndDownToZero) {
  EXPECT_EQ(result_of(ItemAction::increment, "n"), Result::not_found);
  set("n", "18446744073709551615");
  EXPECT_EQ(result_of(ItemAction::increment, "n"), Result::done);
  EXPECT_EQ(outcome_.number, 0u);
  EXPECT_EQ(get("n"), "0");
  EXPECT_EQ(result_of(ItemAction::decrement, "n"), Result::done);
  EXPECT_EQ(get("n"), "0");
  set("n", "9");
  ItemCommand command = command_of(ItemAction::increment, "n");
  command.delta = 91;
  EXPECT_EQ(run(command).result, Result::done);
  EXPECT_EQ(outcome_.number, 100u);
  EXPECT_EQ(outcome_.cas, cas_);
  EXPECT_EQ(get("n"), "100");
  command.action = ItemAction::decrement;
  command.delta = 1;
  run(command);
  EXPECT_EQ(get("n"), "99");
  set("n", " 5 ");
  EXPECT_EQ(result_of(ItemAction::increment, "n"), Result::done);
  EXPECT_EQ(get("n"), "6");
  for (const Bytes text : {"", "x", "1x", "-1", "18446744073709551616"}) {
    set("n", text);
    EXPECT_EQ(result_of(ItemAction::increment, "n"), Result::not_a_number);
    EXPECT_EQ(get("n"), text);
  }
}

TEST_F(CacheTest, AnIncrementMayMakeItsItem) {
  ItemCommand command = command_of(ItemAction::decrement, "n");
  command.creates = true;
  command.initial = 5;
  command.expires_at = start + 10;
  EXPECT_EQ(run(command).result, Result::done);
  EXPECT_EQ(outcome_.number, 5u);
  EXPECT_EQ(outcome_.expires_at, start + 10);
  EXPECT_EQ(run(command).result, Result::done);
  EXPECT_EQ(get("n"), "4");
}

TEST_F(CacheTest, AnItemIsOverWhenItsTimeHasCome) {
  set("soon", "v", start + 10);
  set("later", "v", start + 20);
  set("past", "v", 1);
  set("never", "v", 0);
  EXPECT_EQ(get("past"), "(none)");
  now_ = start + 9;
  EXPECT_EQ(get("soon"), "v");
  now_ = start + 10;
  EXPECT_EQ(get("soon"), "(none)");
  EXPECT_EQ(result_of(ItemAction::increment, "soon"), Result::not_found);
  EXPECT_EQ(result_of(ItemAction::append, "soon", "x"), Result::not_stored);
  EXPECT_EQ(result_of(ItemAction::erase, "soon"), Result::not_found);
  EXPECT_EQ(result_of(ItemAction::add, "soon", "w"), Result::done);
  EXPECT_EQ(get("later"), "v");
  now_ = start + 20;
  EXPECT_EQ(get("later"), "(none)");
  now_ = start * 100;
  EXPECT_EQ(get("never"), "v");
}

TEST_F(CacheTest, ATouchGivesAnotherExpiryAndKeepsTheCas) {
  set("k", "v", start + 10);
  const uint64_t cas = cas_;
  ItemCommand command = command_of(ItemAction::touch, "k");
  command.expires_at = start + 100;
  EXPECT_EQ(run(command).result, Result::done);
  command = command_of(ItemAction::get, "k");
  command.touches = true;
  now_ += 50;
  command.expires_at = now_ + 200;
  EXPECT_EQ(run(command).result, Result::done);
  EXPECT_EQ(copy_.value(), "v");
  EXPECT_EQ(copy_.item().expires_at, now_ + 200);
  EXPECT_EQ(copy_.item().cas, cas);
  EXPECT_EQ(result_of(ItemAction::touch, "nobody"), Result::not_found);
}

TEST_F(CacheTest, ContainersShareNoKeys) {
  set("k", "here");
  use("other");
  EXPECT_EQ(get("k"), "(none)");
  set("k", "there");
  EXPECT_EQ(result_of(ItemAction::erase, "k"), Result::done);
  use("default");
  EXPECT_EQ(get("k"), "here");
}

TEST_F(CacheTest, AFlushEmptiesOneContainer) {
  set("k", "here");
  use("other");
  set("k", "there");
  EXPECT_EQ(result_of(ItemAction::flush, ""), Result::done);
  EXPECT_EQ(get("k"), "(none)");
  EXPECT_EQ(result_of(ItemAction::replace, "k", "v"), Result::not_stored);
  set("k", "again");
  EXPECT_EQ(get("k"), "again");
  use("default");
  EXPECT_EQ(get("k"), "here");
}

TEST_F(CacheTest, ExpiredItemsMakeRoomFirst) {
  const std::string value(1'000, 'v');
  for (int i = 0; i < 4'000; ++i) set("short" + std::to_string(i), value, start + 10);
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
  const ItemAction actions[] = {ItemAction::set,       ItemAction::set,    ItemAction::add,
                                ItemAction::replace,   ItemAction::append, ItemAction::prepend,
                                ItemAction::increment, ItemAction::erase,  ItemAction::get};
  for (int i = 0; i < 100'000; ++i) {
    const double size =
        std::exp(std::uniform_real_distribution<>(0, std::log(i % 1'000 == 0 ? 300'000. : 5'000.))(random));
    ItemCommand command = command_of(actions[random() % std::size(actions)], "", Bytes(bytes).substr(0, size_t(size)));
    const std::string key = std::to_string(random() % 20'000);
    command.key = key;
    command.creates = i % 2 == 0;
    command.expires_at = i % 3 == 0 ? now_ + 5 : 0;
    run(command);
    if (i % 100 == 0) {
      ++now_;
      ASSERT_LE(cache_->counts().bytes, cache_->bytes_max());
    }
  }
  EXPECT_GT(cache_->counts().bytes, cache_->bytes_max() * 9 / 10);
}

/// The hits of a plain LRU list.
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
  /// As an application does: get, and set after a miss.
  bool use_key(uint64_t key) {
    const std::string text = std::to_string(key);
    if (get(text) != "(none)") return true;
    set(text, value_);
    return false;
  }
  /// The number of such items that fit.
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

TEST_F(CacheEviction, AScanEvictsNoItemInUse) {
  const size_t items = items_max();
  const size_t hot = items / 2;
  for (int round = 0; round < 4; ++round)
    for (uint64_t key = 0; key < hot; ++key) use_key(key);
  LeastRecentlyUsed list(items);
  // Ten keys that are never read again for each that is in use.
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
  // A loop slightly larger than the cache: a plain LRU list would never hit.
  const size_t loop = items * 5 / 4;
  size_t hits = 0;
  for (int round = 0; round < 10; ++round)
    for (uint64_t key = 0; key < loop; ++key) hits += use_key(key);
  EXPECT_GT(hits, loop);
}

TEST_F(CacheTest, HoldsMoreWhenItIsMadeLarger) {
  const std::string value(1'000, 'v');
  for (int i = 0; i < 20'000; ++i) set("k" + std::to_string(i), value);
  const uint64_t items = cache_->counts().items;
  const uint64_t evictions = cache_->counts().evictions;
  ASSERT_TRUE(cache_->resize(size_t{64} << 20));
  EXPECT_EQ(cache_->bytes_max(), size_t{64} << 20);
  EXPECT_EQ(cache_->counts().items, items);
  size_t found = 0;
  for (int i = 0; i < 20'000; ++i) found += get("k" + std::to_string(i)) == value;
  EXPECT_EQ(found, items);
  for (int i = 0; i < 20'000; ++i) set("k" + std::to_string(i), value);
  EXPECT_EQ(cache_->counts().evictions, evictions);
  EXPECT_EQ(cache_->counts().items, 20'000u);
}

TEST_F(CacheTest, GivesUpALittleAtATimeWhenItIsMadeSmaller) {
  const std::string value(1'000, 'v');
  for (int i = 0; i < 6'000; ++i) set("k" + std::to_string(i), value);
  const uint64_t items = cache_->counts().items;
  ASSERT_TRUE(cache_->resize(1));
  EXPECT_EQ(cache_->bytes_max(), Cache::bytes_least);
  EXPECT_EQ(cache_->counts().items, items);
  set("new0", value);
  EXPECT_GT(cache_->counts().items, items - 30);  // nobody waits until all is freed
  EXPECT_EQ(get("new0"), value);
  for (int i = 1; i < 1'000; ++i) set("new" + std::to_string(i), value);
  EXPECT_LE(cache_->counts().bytes, cache_->bytes_max());
  EXPECT_GT(cache_->counts().bytes, cache_->bytes_max() * 9 / 10);
  EXPECT_EQ(get("new999"), value);
}

TEST_F(CacheTest, MadeSmallerItRefusesWhatNoLongerFits) {
  const std::string half(size_t{4} << 20, 'x');
  EXPECT_EQ(run(command_of(ItemAction::set, "k", half)).failure, Failure::none);
  ASSERT_TRUE(cache_->resize(Cache::bytes_least));
  EXPECT_EQ(run(command_of(ItemAction::set, "k", half)).failure, Failure::request_too_large);
  set("small", "v");
  set("small", "v");
  EXPECT_EQ(get("small"), "v");
  EXPECT_LE(cache_->counts().bytes, cache_->bytes_max());
}

TEST_F(CacheTest, AValueLargerThanAShardIsRefusedAndChangesNothing) {
  set("k", "v");
  const std::string large(size_t{8} << 20, 'x');
  for (const ItemAction action : {ItemAction::set, ItemAction::append}) {
    const ItemOutcome outcome = run(command_of(action, "k", large));
    EXPECT_EQ(outcome.failure, Failure::request_too_large);
    EXPECT_EQ(get("k"), "v");
  }
  const std::string half(size_t{4} << 20, 'x');
  EXPECT_EQ(run(command_of(ItemAction::set, "k", half)).failure, Failure::none);
  EXPECT_EQ(run(command_of(ItemAction::append, "k", half)).failure, Failure::request_too_large);
  EXPECT_EQ(get("k"), half);
}

}  // namespace
}  // namespace postern::items
