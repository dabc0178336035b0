// How long tables are kept, by a clock that the test sets.
#include "door/kept_tables.h"

#include <gtest/gtest.h>

namespace postern::door {
namespace {

/// Counts the requests to release its tables.
class Keeper final : public Executor {
 public:
  Settlement run(const Run &) override { return {}; }
  void idle() noexcept override { ++idles; }
  bool keeps_tables() const noexcept override { return keeps; }
  int rest() noexcept override {
    ++rests;
    return look_ms;
  }
  bool server_stopping() noexcept override { return false; }
  int64_t row_wait_ms() noexcept override { return 0; }
  void describe(Bytes) noexcept override {}

  bool keeps = true;
  int look_ms = 0;
  int rests = 0;
  int idles = 0;
};

TEST(KeptTables, AreHeldForTheNextRequestUntilRest) {
  Keeper executor;
  KeptTables tables;
  tables.note_run(executor, 1'000);
  EXPECT_TRUE(tables.are_held());
  EXPECT_EQ(executor.rests, 0);
  tables.rest(executor, 1'001);
  EXPECT_FALSE(tables.are_held());
  EXPECT_EQ(executor.rests, 1);
}

TEST(KeptTables, AreNoLongerHeldForBytesThatBecomeNoRequest) {
  Keeper executor;
  KeptTables tables;
  tables.note_run(executor, 1'000);
  tables.note_no_run(executor, 1'000 + limits::linger_ms);
  EXPECT_TRUE(tables.are_held());
  tables.note_no_run(executor, 1'001 + limits::linger_ms);
  EXPECT_FALSE(tables.are_held());
}

TEST(KeptTables, AnExecutorThatHoldsNoneRestsAtOnceAndThenNowAndThen) {
  Keeper executor;
  executor.keeps = false;
  executor.look_ms = 100;
  KeptTables tables;
  tables.note_run(executor, 1'000);
  EXPECT_FALSE(tables.are_held());
  EXPECT_EQ(executor.rests, 1);
  EXPECT_EQ(tables.look_ms(), 100);
  tables.note_run(executor, 1'050);
  EXPECT_EQ(executor.rests, 1) << "what it keeps for longer is looked at in time";
  EXPECT_FALSE(tables.is_look_due(1'099));
  EXPECT_TRUE(tables.is_look_due(1'100));
}

TEST(KeptTables, AllAreGivenUpWhereAStatementMayWaitForThem) {
  Keeper executor;
  executor.look_ms = 100;
  KeptTables tables;
  tables.rest(executor, 1'000);
  tables.note_run(executor, 1'000);
  tables.give_up(executor);
  EXPECT_EQ(executor.idles, 1);
  EXPECT_FALSE(tables.are_held());
  EXPECT_FALSE(tables.is_look_due(9'000));
}

}  // namespace
}  // namespace postern::door
