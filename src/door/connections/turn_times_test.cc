#include "door/connections/turn_times.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace postern::door {
namespace {

/// Turns of one statement.
class TurnTimesTest : public testing::Test {
 protected:
  TurnTimesTest() {
    times_.switch_on();
    op_.verb = Verb::statement;
    op_.statement = &statement_;
    statement_.times = &form_;
  }

  void turn(Progress ends) {
    times_.begin();
    times_.expect({&op_, 1});
    op_.progress = ends;
    times_.note({&op_, 1});
    times_.end();
  }

  std::shared_ptr<FormTimes> form_ = std::make_shared<FormTimes>();
  Statement statement_{};
  Op op_{};
  TurnTimes times_;
};

TEST_F(TurnTimesTest, TheFirstRunsAreMeasuredEach) {
  for (uint64_t i = 0; i < FormTimes::all_measured; ++i) turn(Progress::done);
  EXPECT_GE(form_->workers().runs(), FormTimes::all_measured - 1) << "the first turn only makes it known";
}

TEST_F(TurnTimesTest, LaterOnesAreASampleThatCountsForAll) {
  constexpr uint64_t turns = 100 * FormTimes::one_in;
  for (uint64_t i = 0; i < turns; ++i) turn(Progress::done);
  EXPECT_GE(form_->workers().runs(), turns * 3 / 4);
  EXPECT_LE(form_->workers().runs(), turns * 5 / 4);
}

TEST_F(TurnTimesTest, StatementsThatAreLeftToTheServerAreNoRuns) {
  for (uint64_t i = 0; i < 10 * FormTimes::one_in; ++i) turn(Progress::needs_own_run);
  EXPECT_EQ(form_->workers().runs(), 0u);
}

TEST_F(TurnTimesTest, AFormWhoseStatementsAreAlwaysLeftIsNotMeasuredForEver) {
  uint64_t measured = 0;
  constexpr uint64_t turns = 100 * FormTimes::one_in;
  for (uint64_t i = 0; i < turns; ++i) {
    turn(Progress::needs_own_run);
    measured += times_.measures() ? 1 : 0;
  }
  EXPECT_LE(measured, turns / 10);
  while (form_->workers().runs() < FormTimes::all_measured) turn(Progress::done);
  EXPECT_FALSE(form_->wants_turns());
}

TEST_F(TurnTimesTest, AFormIsNotMeasuredForEverWhoseStatementsAreAwayInTheMeasuredTurn) {
  uint64_t measured = 0;
  constexpr uint64_t statements = 10 * FormTimes::wanted_in_vain;
  for (uint64_t i = 0; i < statements; ++i) {
    turn(Progress::needs_own_run);
    times_.begin();  // its connection comes home
    measured += times_.measures() ? 1 : 0;
    times_.end();
  }
  EXPECT_LE(measured, 2 * FormTimes::wanted_in_vain);
}

TEST_F(TurnTimesTest, AFormMayDieBeforeTheTurnEnds) {
  for (int i = 0; i < 2; ++i) {
    times_.begin();
    times_.expect({&op_, 1});
    times_.note({&op_, 1});
  }
  form_.reset();
  times_.end();
}

TEST(FormTimes, TheGainIsByTheLeastThatTheServerTook) {
  FormTimes form;
  const uint64_t before_us = FormTimes::spared_us();
  form.add_by_worker(1, 5'000);  // the time on a worker is unknown
  form.add_by_server(1, 90'000);
  form.add_by_server(1, 30'000);
  form.add_by_worker(100, 10'000);
  EXPECT_EQ(FormTimes::spared_us() - before_us, 2'000u);
  form.reset();
  EXPECT_EQ(form.workers().runs() + form.server().us(), 0u);
}

}  // namespace
}  // namespace postern::door
