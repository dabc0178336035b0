#include "engine/sql/plans/plan_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace postern::sql {
namespace {

struct FakePlan {
  size_t size = 1;
  bool is_outdated = false;
  bool is_wanted = false;
  bool is_good = true;
  int looks = 0;

  size_t bytes() const { return size; }
  bool outdated() const { return is_outdated; }
  bool wanted_by_others() const { return is_wanted; }
  bool is_worth_keeping() {
    ++looks;
    return is_good;
  }
};

class PlanStoreTest : public testing::Test {
 protected:
  using Plans = PlanStore<std::unique_ptr<FakePlan>, int>;

  FakePlan *add(uint64_t form, size_t bytes = 1) {
    plans.make_room();
    return plans.add({.form = form, .context = context}, version, now_us, std::make_unique<FakePlan>(bytes));
  }
  /// As for a statement. True: its plan was kept.
  bool use(uint64_t form) {
    if (find(form) != nullptr) return true;
    if (plans.admits()) add(form);
    return false;
  }
  FakePlan *find(uint64_t form) { return plans.find({.form = form, .context = context}, version, now_us); }

  Plans plans{{.plans_max = 3, .bytes_max = 100, .look_after_us = 100, .unused_max_us = 500, .age_max_us = 1'000}};
  int context = 0;
  uint64_t version = 1;
  uint64_t now_us = 5'000;
};

TEST_F(PlanStoreTest, APlanIsFoundByItsForm) {
  FakePlan *const plan = add(7);
  EXPECT_EQ(find(7), plan);
  EXPECT_EQ(find(8), nullptr);
}

TEST_F(PlanStoreTest, APlanIsFoundByItsShapeAndContext) {
  const int other_context = 1;
  const auto add_for = [&](Bytes shape, const int &its) {
    return plans.add({.form = 7, .shape = shape, .context = its}, version, now_us, std::make_unique<FakePlan>());
  };
  FakePlan *const one = add_for("LIMIT 1", context);
  FakePlan *const ten = add_for("LIMIT 10", context);
  FakePlan *const elsewhere = add_for("LIMIT 1", other_context);
  EXPECT_EQ(plans.find({.form = 7, .shape = "LIMIT 1", .context = context}, version, now_us), one);
  EXPECT_EQ(plans.find({.form = 7, .shape = "LIMIT 10", .context = context}, version, now_us), ten);
  EXPECT_EQ(plans.find({.form = 7, .shape = "LIMIT 1", .context = other_context}, version, now_us), elsewhere);
  EXPECT_EQ(plans.find({.form = 7, .shape = "LIMIT 2", .context = context}, version, now_us), nullptr);
}

TEST_F(PlanStoreTest, TheLeastRecentlyUsedLeavesForAFourth) {
  for (uint64_t form = 1; form <= 3; ++form) add(form);
  find(1);
  add(4);
  EXPECT_EQ(plans.size(), 3);
  EXPECT_NE(find(1), nullptr);
  EXPECT_EQ(find(2), nullptr);
  EXPECT_NE(find(3), nullptr);
  EXPECT_NE(find(4), nullptr);
}

TEST_F(PlanStoreTest, StatementsOfMoreFormsInTurnThanThereIsRoomForFindTheirPlans) {
  constexpr uint64_t rounds = 200;
  uint64_t found = 0;
  for (uint64_t i = 0; i < rounds; ++i)
    for (uint64_t form = 1; form <= 5; ++form) found += use(form) ? 1 : 0;
  EXPECT_GE(found, rounds * 2);
  EXPECT_EQ(plans.size(), 3);
}

TEST_F(PlanStoreTest, PlansThatAreUsedNoMoreGiveWay) {
  for (int i = 0; i < 100; ++i)
    for (uint64_t form = 1; form <= 3; ++form) use(form);
  for (int i = 0; i < 100; ++i)
    for (uint64_t form = 4; form <= 6; ++form) use(form);
  for (uint64_t form = 4; form <= 6; ++form) EXPECT_TRUE(use(form)) << form;
}

TEST_F(PlanStoreTest, AsManyLeaveAsTheirBytesAreTooMany) {
  add(1, 10);
  add(2, 90);
  add(3, 20);  // beside 100 bytes there is room for one more
  EXPECT_EQ(plans.size(), 3);
  find(1);
  plans.make_room();  // 120 bytes: without the second 30 are left
  EXPECT_EQ(plans.size(), 2);
  EXPECT_EQ(find(2), nullptr);
  EXPECT_NE(find(1), nullptr);
  EXPECT_NE(find(3), nullptr);
}

TEST_F(PlanStoreTest, APlanLargerThanAllMayBeLeavesForTheNext) {
  add(1, 1'000);
  EXPECT_NE(find(1), nullptr);
  add(2);
  EXPECT_EQ(find(1), nullptr);
  EXPECT_NE(find(2), nullptr);
}

/// As after DDL: the definition has another version in every session.
TEST_F(PlanStoreTest, APlanLeavesWhereItsTablesHaveAnotherVersion) {
  add(1);
  version = 2;
  EXPECT_EQ(find(1), nullptr);
  EXPECT_TRUE(plans.empty());
}

TEST_F(PlanStoreTest, AnOutdatedPlanLeavesWhenItIsAskedFor) {
  add(1)->is_outdated = true;
  EXPECT_EQ(find(1), nullptr);
  EXPECT_TRUE(plans.empty());
}

TEST_F(PlanStoreTest, APlanLeavesAtAnAge) {
  add(1);
  for (int i = 0; i < 2; ++i) {
    now_us += 500;
    EXPECT_NE(find(1), nullptr);
  }
  plans.drop_old(now_us);
  EXPECT_EQ(plans.size(), 1);
  now_us += 1;
  EXPECT_EQ(find(1), nullptr);
  EXPECT_TRUE(plans.empty());
}

TEST_F(PlanStoreTest, APlanLeavesIfItIsNotUsedForLong) {
  add(1);
  now_us += 500;
  plans.drop_old(now_us);
  EXPECT_NE(find(1), nullptr);
  now_us += 501;
  plans.drop_unwanted();
  EXPECT_EQ(plans.size(), 1);
  EXPECT_EQ(find(1), nullptr);
  add(1);
  now_us += 501;
  plans.drop_old(now_us);
  EXPECT_TRUE(plans.empty());
}

TEST_F(PlanStoreTest, APlanStaysForAStatementThatBeganBeforeTheLast) {
  FakePlan *const plan = add(1);
  now_us -= 1;
  EXPECT_EQ(find(1), plan);
  plans.drop_old(now_us);
  EXPECT_EQ(plans.size(), 1);
  EXPECT_EQ(plan->looks, 0);
}

TEST_F(PlanStoreTest, StatisticsAreLookedAtNowAndThen) {
  FakePlan *const plan = add(1);
  now_us += 100;
  plan->is_good = false;
  EXPECT_EQ(find(1), plan);
  EXPECT_EQ(plan->looks, 0);
  plan->is_good = true;
  now_us += 1;
  EXPECT_EQ(find(1), plan);
  EXPECT_EQ(find(1), plan);
  EXPECT_EQ(plan->looks, 1);
  plan->is_good = false;
  now_us += 101;
  EXPECT_EQ(find(1), nullptr);
  EXPECT_TRUE(plans.empty());
}

TEST_F(PlanStoreTest, PlansLeaveThatOthersWantTheTablesOf) {
  add(1);
  add(2)->is_wanted = true;
  add(3)->is_outdated = true;
  plans.drop_unwanted();
  EXPECT_EQ(plans.size(), 1);
  EXPECT_NE(find(1), nullptr);
}

/// Cached notes about all plans are stale then.
TEST_F(PlanStoreTest, EachPlanThatComesOrGoesIsSeen) {
  uint64_t before = plans.changes();
  const auto has_changed = [&] { return std::exchange(before, plans.changes()) != before; };
  FakePlan *const plan = add(1);
  EXPECT_TRUE(has_changed());
  find(1);
  plans.drop_unwanted();
  plans.drop_old(now_us);
  EXPECT_FALSE(has_changed());
  plan->is_wanted = true;
  plans.drop_unwanted();
  EXPECT_TRUE(has_changed());
  plans.drop(add(2));
  EXPECT_TRUE(has_changed());
  add(3);
  now_us += 501;
  has_changed();
  find(3);
  EXPECT_TRUE(has_changed());
  add(4);
  has_changed();
  plans.clear();
  EXPECT_TRUE(has_changed());
  size_t left = 0;
  plans.for_each([&](const FakePlan &) { ++left; });
  EXPECT_EQ(left, 0);
}

TEST_F(PlanStoreTest, ADroppedPlanIsGone) {
  FakePlan *const plan = add(1);
  add(2);
  plans.drop(plan);
  EXPECT_EQ(find(1), nullptr);
  EXPECT_NE(find(2), nullptr);
}

}  // namespace
}  // namespace postern::sql
