// A user of items without a protocol: the minimum that a door needs to store keys and values in tables.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "contract/executor.h"
#include "engine/fake/fake_engine.h"
#include "items/item_reply.h"
#include "items/lower.h"
#include "items/mappings.h"

namespace postern::items {
namespace {

using Type = FakeEngine::Type;
using Cell = FakeEngine::Cell;

/// Milliseconds: the protocol sets the clock.
constexpr int64_t start_ms = 1'800'000'000'000;

constexpr Bytes map_columns[] = {"name", "keys", "values"};
constexpr MappingSource::Table map_tables[] = {{"maps", map_columns}};

/// Each row of toy.maps maps the table of the same name.
constinit const MappingSource toy_tables{
    .protocol = "toy", .database = "toy", .tables = map_tables, .understand = [](std::span<const MappingTable> read) {
      Mapping mapping;
      if (!read[0].there()) mapping.trouble = "No maps: " + read[0].message;
      for (const auto &cells : read[0].rows) {
        const bool is_full = cells[0] == "full";
        mapping.rows.push_back({.name = cells[0],
                                .database = "toy",
                                .table = cells[0],
                                .key_columns = cells[1],
                                .value_columns = cells[2],
                                .flags_column = is_full ? "flags" : "",
                                .cas_column = is_full ? "version" : "",
                                .expiry_column = is_full ? "expires" : "",
                                .index = "PRIMARY",
                                .separator = ":"});
      }
      return mapping;
    }};

class ToyReply final : public ItemReply {
 public:
  ToyReply(const ItemCommand &command, OpenContainer &target, int64_t now, std::string &answer)
      : ItemReply(command, target, now), answer_(answer) {}

 private:
  Flow answer(const Item &item) override {
    answer_ += "[" + std::string(item.value) + "]";
    return Flow::more;
  }
  void answer(const ItemOutcome &outcome) override {
    if (outcome.failure != Failure::none) {
      answer_ = std::string(failure_name(outcome.failure)) + " " + std::string(outcome.message);
      return;
    }
    switch (outcome.result) {
      case Result::done: answer_ += command().counts() ? std::to_string(outcome.number) : "done"; break;
      case Result::not_found: answer_ += "not found"; break;
      case Result::exists: answer_ += "exists"; break;
      case Result::not_stored: answer_ += "not stored"; break;
      case Result::not_a_number: answer_ += "not a number"; break;
    }
    if (outcome.cas != 0) cas = outcome.cas;
  }
  void take_back() override { answer_.clear(); }

  std::string &answer_;

 public:
  uint64_t cas = 0;
};

class ToyErased final : public ErasedReply {
 public:
  ToyErased(OpenContainer &target, int &count) : ErasedReply(target), count_(count) {}

 private:
  void erased() override { ++count_; }
  int &count_;
};

class ItemsTest : public testing::Test {
 protected:
  ItemsTest() {
    engine_.create("toy", "maps", {{"name", Type::text, false}, {"keys", Type::text}, {"values", Type::text}},
                   {{"PRIMARY", {"name"}}});
    engine_.create("toy", "full", {{"k", Type::text, false}, {"v", Type::text}, {"flags"}, {"version"}, {"expires"}},
                   {{"PRIMARY", {"k"}}});
    engine_.create("toy", "plain", {{"a", Type::integer, false}, {"b", Type::text, false}, {"x", Type::text}, {"y"}},
                   {{"PRIMARY", {"a", "b"}}});
    engine_.insert("toy", "maps", {"full", "k", "v"});
    engine_.insert("toy", "maps", {"plain", "a,b", "x,y"});
    executor_ = engine_.attach({.counters = &counters_}, stop_);
    read_mappings();
    use("full");
  }

  void run(Batch &batch) {
    while (!executor_->run({.ops = batch.ops()}).lasted())
      for (const Op &op : batch.ops()) op.reply->restart();
    for (Op &op : batch.ops()) {
      if (op.progress != Progress::needs_own_run) continue;
      ASSERT_TRUE(executor_->run({.ops = {&op, 1}, .lane = Lane::alone}).lasted());
    }
    for (const Op &op : batch.ops()) ASSERT_EQ(op.progress, Progress::done);
  }
  void read_mappings() {
    Batch batch;
    Refresh refresh(mappings_);
    batch.begin(0);
    refresh.add_to(batch);
    ASSERT_EQ(batch.size(), mappings_.refresh_ops());
    run(batch);
    refresh.publish(0);
  }
  void use(Bytes name) {
    open_ = std::make_unique<OpenContainer>(mappings_.snapshot()->find(name));
    Batch batch;
    batch.begin(1);
    add_open(*open_, "toy", batch);
    run(batch);
  }
  /// Carries out the command on the table; returns the outcome.
  std::string act(const ItemCommand &command) {
    Batch batch;
    batch.begin(1);
    std::string answer;
    auto *const reply = batch.arena().make<ToyReply>(command, *open_, now_, answer);
    switch (reply->add_to(batch)) {
      case Misfit::none: break;
      case Misfit::key_parts: return "key parts";
      case Misfit::no_cas: return "no cas";
    }
    run(batch);
    if (reply->cas != 0) cas_ = reply->cas;
    return answer;
  }
  std::string act_in_memory(const ItemCommand &command) {
    open_->space = &cache_->space(open_->container->name());
    Batch batch;
    batch.begin(1);
    std::string answer;
    batch.arena().make<ToyReply>(command, *open_, now_, answer)->add_to(batch, *cache_);
    run(batch);
    return answer;
  }
  std::string get(Bytes key) { return act({.action = ItemAction::get, .key = key}); }
  std::string set(Bytes key, Bytes value, int64_t expires_at = 0) {
    return act({.action = ItemAction::set, .key = key, .value = value, .expires_at = expires_at});
  }

  FakeEngine engine_;
  Counters counters_;
  const std::atomic<bool> stop_{false};
  std::unique_ptr<Executor> executor_;
  Mappings mappings_{toy_tables};
  std::unique_ptr<OpenContainer> open_;
  const std::unique_ptr<Cache> cache_ = Cache::make(Cache::bytes_least);
  int64_t now_ = start_ms;
  uint64_t cas_ = 0;
};

// As where memory ends before the ops are run, or where a lost transaction takes their answers back.
TEST_F(ItemsTest, ATableThatWasNotReadIsNotAnEmptyOne) {
  const uint64_t generation = mappings_.generation();
  Batch batch;
  Refresh refresh(mappings_);
  batch.begin(0);
  refresh.add_to(batch);
  refresh.publish(0);
  EXPECT_EQ(mappings_.generation(), generation);
  run(batch);
  for (const Op &op : batch.ops()) op.reply->restart();
  refresh.publish(0);
  EXPECT_EQ(mappings_.generation(), generation);
  EXPECT_NE(mappings_.snapshot()->find("full"), nullptr);
}

TEST_F(ItemsTest, AnItemIsARow) {
  EXPECT_EQ(get("a"), "not found");
  EXPECT_EQ(act({.action = ItemAction::set, .flags = 7, .key = "a", .value = "one"}), "done");
  EXPECT_EQ(get("a"), "[one]done");
  const std::vector<Cell> row = engine_.rows("toy", "full")[0];
  EXPECT_EQ(row[0], "a");
  EXPECT_EQ(row[1], "one");
  EXPECT_EQ(row[2], "7");
  EXPECT_EQ(row[3], std::to_string(cas_));
  EXPECT_EQ(row[4], "0");
  EXPECT_EQ(act({.action = ItemAction::erase, .key = "a"}), "done");
  EXPECT_EQ(act({.action = ItemAction::erase, .key = "a"}), "not found");
  EXPECT_TRUE(engine_.rows("toy", "full").empty());
}

TEST_F(ItemsTest, AKeyAndAValueMayBeSeveralColumns) {
  use("plain");
  EXPECT_EQ(set("1:b:c", "x:2"), "done");
  EXPECT_EQ(get("1:b:c"), "[x:2]done");
  EXPECT_EQ(engine_.rows("toy", "plain")[0], (std::vector<Cell>{"1", "b:c", "x", "2"}));
  EXPECT_EQ(get("1"), "key parts");
  EXPECT_EQ(act({.action = ItemAction::set, .compares = true, .key = "1:b", .value = "x", .cas = 4}), "no cas");
}

TEST_F(ItemsTest, TheStoredItemDecides) {
  EXPECT_EQ(act({.action = ItemAction::replace, .key = "a", .value = "1"}), "not stored");
  EXPECT_EQ(act({.action = ItemAction::add, .key = "a", .value = "2"}), "done");
  EXPECT_EQ(act({.action = ItemAction::add, .key = "a", .value = "3"}), "not stored");
  EXPECT_EQ(act({.action = ItemAction::append, .key = "a", .value = "."}), "done");
  EXPECT_EQ(act({.action = ItemAction::prepend, .key = "a", .value = "<"}), "done");
  EXPECT_EQ(get("a"), "[<2.]done");
  EXPECT_EQ(act({.action = ItemAction::append, .creates = true, .key = "b", .value = "new"}), "done");
  EXPECT_EQ(get("b"), "[new]done");
}

TEST_F(ItemsTest, NumbersAreCounted) {
  EXPECT_EQ(act({.action = ItemAction::increment, .key = "n"}), "not found");
  EXPECT_EQ(act({.action = ItemAction::increment, .creates = true, .key = "n", .initial = 40}), "40");
  EXPECT_EQ(act({.action = ItemAction::increment, .key = "n", .delta = 2}), "42");
  EXPECT_EQ(act({.action = ItemAction::decrement, .key = "n", .delta = 50}), "0");
  set("n", "x");
  EXPECT_EQ(act({.action = ItemAction::increment, .key = "n"}), "not a number");
}

TEST_F(ItemsTest, ACasLetsOnlyThatItemBeChanged) {
  set("a", "1");
  const uint64_t cas = cas_;
  EXPECT_EQ(act({.action = ItemAction::set, .compares = true, .key = "a", .value = "2", .cas = cas + 1}), "exists");
  EXPECT_EQ(act({.action = ItemAction::set, .compares = true, .key = "a", .value = "2", .cas = cas}), "done");
  EXPECT_GT(cas_, cas);
  EXPECT_EQ(act({.action = ItemAction::set, .compares = true, .key = "b", .value = "2", .cas = cas}), "not found");
}

TEST_F(ItemsTest, AnItemIsOverWhenTheProtocolsClockSaysSo) {
  set("a", "1", start_ms + 5);
  EXPECT_EQ(act({.action = ItemAction::get, .touches = true, .key = "a", .expires_at = start_ms + 10}), "[1]done");
  EXPECT_EQ(act({.action = ItemAction::touch, .key = "a", .expires_at = start_ms + 8}), "done");
  now_ = start_ms + 8;
  EXPECT_EQ(get("a"), "not found");
  EXPECT_EQ(act({.action = ItemAction::touch, .key = "a", .expires_at = start_ms + 90}), "not found");
  ASSERT_EQ(open_->expired, std::vector<std::string>{"a"});
  Batch batch;
  batch.begin(1);
  int erased = 0;
  add_erase_expired(open_->expired[0], *open_, *batch.arena().make<ToyErased>(*open_, erased), now_, batch);
  run(batch);
  EXPECT_EQ(erased, 1);
  EXPECT_TRUE(engine_.rows("toy", "full").empty());
}

TEST_F(ItemsTest, AFlushEmptiesTheTable) {
  set("a", "1");
  set("b", "2");
  EXPECT_EQ(act({.action = ItemAction::flush}), "done");
  EXPECT_TRUE(engine_.rows("toy", "full").empty());
}

TEST_F(ItemsTest, ItemsMayBeInMemory) {
  EXPECT_EQ(act_in_memory({.action = ItemAction::set, .key = "a", .value = "5"}), "done");
  EXPECT_EQ(act_in_memory({.action = ItemAction::increment, .key = "a", .delta = 3}), "8");
  EXPECT_EQ(act_in_memory({.action = ItemAction::get, .key = "a"}), "[8]done");
  EXPECT_EQ(get("a"), "not found") << "the table has none";
  EXPECT_EQ(act_in_memory({.action = ItemAction::flush}), "done");
  EXPECT_EQ(act_in_memory({.action = ItemAction::get, .key = "a"}), "not found");
}

TEST_F(ItemsTest, ReportsWhyATableIsNotOpen) {
  engine_.drop("toy", "full");
  log::set_sink([](log::Level, const char *) {});
  use("full");
  log::set_sink(nullptr);
  EXPECT_TRUE(get("a").starts_with("no_table container 'full' (toy/full): ")) << get("a");
}

TEST_F(ItemsTest, MappingsFollowTheirTables) {
  EXPECT_EQ(mappings_.snapshot()->containers.size(), 2u);
  const uint64_t generation = mappings_.generation();
  read_mappings();
  EXPECT_EQ(mappings_.generation(), generation) << "nothing has changed";
  const std::shared_ptr<const Container> full = mappings_.snapshot()->find("full");
  engine_.insert("toy", "maps", {"other", "k", "v"});
  read_mappings();
  EXPECT_GT(mappings_.generation(), generation);
  EXPECT_EQ(mappings_.snapshot()->find("full"), full) << "what stays the same is the same";
  log::set_sink([](log::Level, const char *) {});
  engine_.drop("toy", "maps");
  read_mappings();
  log::set_sink(nullptr);
  EXPECT_TRUE(mappings_.snapshot()->containers.empty());
  EXPECT_TRUE(mappings_.snapshot()->trouble.starts_with("No maps: "));
}

}  // namespace
}  // namespace postern::items
