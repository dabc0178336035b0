#include "engine/mariadb/hosted/plans/either_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace postern::mariadb {
namespace {

/// A plan that ends as a test chooses, and counts its calls.
class ScriptedPlan final : public StatementPlan {
 public:
  explicit ScriptedPlan(std::string_view index) : index_(index) {}

  uint32_t values() const override { return 0; }
  PlanFacts facts() const override {
    PlanFacts facts{.index = index_, .answers = !ends};
    add_facts(facts);
    return facts;
  }
  Table table() const override { return {name_, name_}; }
  bool is_granted(THD *) const override { return true; }
  std::optional<WhyNot> look(THD *) const override { return std::nullopt; }
  std::optional<NotNow> may(THD *) const override { return session; }
  std::optional<NotNow> answer(const Asked &, const AnswerTools &, Output &) const override {
    ++asked;
    return ends;
  }
  void learn(const Asked &, Bytes, uint64_t before) const override { learnt_before = before; }
  void find_version(uint64_t version) const { note_version(version); }

  std::optional<NotNow> ends{};
  std::optional<NotNow> session{};
  mutable int asked = 0;
  mutable uint64_t learnt_before = 99;

 private:
  const std::string index_;
  const std::string name_ = "t";
};

class EitherPlanTest : public testing::Test {
 protected:
  std::optional<NotNow> answer() { return plan.answer(asked, {}, output); }

  std::shared_ptr<ScriptedPlan> first = std::make_shared<ScriptedPlan>("first");
  std::shared_ptr<ScriptedPlan> second = std::make_shared<ScriptedPlan>("second");
  EitherPlan plan{first, second};
  const Statement statement;
  const Asked asked{.thd = nullptr, .mysys = nullptr, .statement = statement, .prepared = false};
  Output output;
};

TEST_F(EitherPlanTest, TheSecondIsNotAskedWhereTheFirstAnswers) {
  EXPECT_EQ(answer(), std::nullopt);
  EXPECT_EQ(first->asked, 1);
  EXPECT_EQ(second->asked, 0);
}

TEST_F(EitherPlanTest, TheSecondAnswersStatementsThatTheFirstLeavesForTheirRows) {
  for (const NotNow why :
       {NotNow::order_unsure, NotNow::too_much, NotNow::not_learnt, NotNow::given_back, NotNow::plan_off}) {
    const auto leaving = std::make_shared<ScriptedPlan>("leaving");
    const EitherPlan either(leaving, second);
    leaving->ends = why;
    second->asked = 0;
    EXPECT_EQ(either.answer(asked, {}, output), std::nullopt) << words(why);
    EXPECT_EQ(second->asked, 1) << words(why);
  }
}

/// They are true of the table, the session or the value, whatever the plan.
TEST_F(EitherPlanTest, OtherReasonsOfTheFirstCountForBoth) {
  for (const NotNow why : {NotNow::table_busy, NotNow::privilege, NotNow::row_locked, NotNow::value, NotNow::warning}) {
    first->ends = why;
    EXPECT_EQ(answer(), why);
  }
  EXPECT_EQ(second->asked, 0);
}

TEST_F(EitherPlanTest, TheFirstRestsAfterReadingTooMuchTwice) {
  first->ends = NotNow::too_much;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(answer(), std::nullopt);
  EXPECT_EQ(first->asked, 2);
  EXPECT_EQ(second->asked, 5);
}

TEST_F(EitherPlanTest, TheFirstRestsAfterThirtyTwoUnsureOrders) {
  first->ends = NotNow::order_unsure;
  for (int i = 0; i < 40; ++i) EXPECT_EQ(answer(), std::nullopt);
  EXPECT_EQ(first->asked, 32);
}

TEST_F(EitherPlanTest, AnswersOfTheFirstMakeUpForUnsureOrders) {
  for (int i = 0; i < 400; ++i) {
    first->ends = i % 16 == 0 ? std::optional(NotNow::order_unsure) : std::nullopt;
    EXPECT_EQ(answer(), std::nullopt);
  }
  EXPECT_EQ(first->asked, 400);
}

TEST_F(EitherPlanTest, AnotherDefinitionOfTheTableEndsTheRest) {
  first->ends = NotNow::too_much;
  for (int i = 0; i < 5; ++i) answer();
  ASSERT_EQ(first->asked, 2);
  first->find_version(7);
  answer();
  EXPECT_EQ(first->asked, 3);
}

TEST_F(EitherPlanTest, TheFirstsReasonIsGivenWhileTheSecondHasNothingToSay) {
  first->ends = NotNow::order_unsure;
  second->ends = NotNow::not_learnt;
  EXPECT_EQ(answer(), NotNow::order_unsure);
  second->ends = NotNow::value;
  EXPECT_EQ(answer(), NotNow::value);
  second->session = NotNow::plans_off;
  EXPECT_EQ(answer(), NotNow::order_unsure);
}

TEST_F(EitherPlanTest, TheSecondsReasonIsGivenWhereTheFirstIsOff) {
  first->switch_off("its answers were others");
  second->ends = NotNow::not_learnt;
  EXPECT_EQ(answer(), NotNow::not_learnt);
  second->session = NotNow::plans_off;
  EXPECT_EQ(answer(), NotNow::plans_off);
  EXPECT_EQ(first->asked, 0);
  EXPECT_EQ(second->asked, 1);
}

TEST_F(EitherPlanTest, ItHoldsUntilBothAreOff) {
  first->switch_off("one");
  EXPECT_TRUE(plan.holds());
  second->switch_off("other");
  EXPECT_FALSE(plan.holds());
}

TEST_F(EitherPlanTest, ItsFactsAreThoseOfThePlanThatAnswers) {
  EXPECT_EQ(plan.facts().index, "first");
  first->ends = NotNow::not_learnt;  // and answers nothing yet
  EXPECT_EQ(plan.facts().index, "second");
  first->ends = std::nullopt;
  first->switch_off("its answers were others");
  EXPECT_EQ(plan.facts().index, "second");
}

/// The second plan only learns from answers between which the table did not change, and knows its own version of it.
TEST_F(EitherPlanTest, BothLearnWithTheVersionsThatTheyKnow) {
  first->find_version(5);
  second->find_version(8);
  plan.learn(asked, {}, 5);
  EXPECT_EQ(first->learnt_before, 5);
  EXPECT_EQ(second->learnt_before, 8);
  EXPECT_EQ(plan.version(), 5);
  first->find_version(6);
  plan.learn(asked, {}, 5);
  EXPECT_EQ(first->learnt_before, 5);
  EXPECT_EQ(second->learnt_before, 0);
}

}  // namespace
}  // namespace postern::mariadb
