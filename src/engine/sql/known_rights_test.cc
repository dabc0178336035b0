#include "engine/sql/known_rights.h"

#include <gtest/gtest.h>

#include <vector>

namespace postern::sql {
namespace {

/// Grants `granted`, and records the rights that were checked.
struct Grants {
  Rights granted = 0;
  std::vector<Rights> asked{};
  auto look() {
    return [this](Rights wanted) {
      asked.push_back(wanted);
      return static_cast<Rights>(wanted & granted);
    };
  }
};

TEST(KnownRights, AsksOnceForTheSameRights) {
  KnownRights rights;
  Grants grants{.granted = right::see | right::filter};
  EXPECT_TRUE(rights.has(right::see, 1, 1, 1000, grants.look()));
  EXPECT_TRUE(rights.has(right::see | right::filter, 1, 1, 1000, grants.look()));
  EXPECT_FALSE(rights.has(right::see | right::update, 1, 1, 1000, grants.look()));
  EXPECT_FALSE(rights.has(right::update, 1, 1, 1000, grants.look()));
  EXPECT_EQ(grants.asked, (std::vector<Rights>{right::see, right::filter, right::update}));
}

TEST(KnownRights, AsksNothingForAnOpThatNeedsNothing) {
  KnownRights rights;
  Grants grants;
  EXPECT_TRUE(rights.has(0, 1, 1, 1000, grants.look()));
  EXPECT_TRUE(grants.asked.empty());
}

TEST(KnownRights, KeepsAccountsAndSpecsApart) {
  KnownRights rights;
  Grants all{.granted = right::see}, none;
  EXPECT_TRUE(rights.has(right::see, 1, 1, 1000, all.look()));
  EXPECT_FALSE(rights.has(right::see, 2, 1, 1000, none.look()));
  EXPECT_FALSE(rights.has(right::see, 1, 2, 1000, none.look()));
  EXPECT_TRUE(rights.has(right::see, 1, 1, 1000, none.look()));
}

TEST(KnownRights, LooksAgainWhenItsTimeIsOver) {
  KnownRights rights;
  Grants grants{.granted = right::see};
  EXPECT_TRUE(rights.has(right::see, 1, 1, 1000, grants.look()));
  grants.granted = 0;
  EXPECT_TRUE(rights.has(right::see, 1, 1, 1000 + limits::privileges_hold_ms - 1, grants.look()));
  EXPECT_FALSE(rights.has(right::see, 1, 1, 1000 + limits::privileges_hold_ms, grants.look()));
}

TEST(KnownRights, RemembersNoMoreThanItsBound) {
  KnownRights rights;
  Grants grants{.granted = right::see};
  for (uint64_t spec = 0; spec <= limits::privileges_remembered_max; ++spec)
    EXPECT_TRUE(rights.has(right::see, 1, spec + 1, 1000, grants.look()));
  const size_t looks = grants.asked.size();
  EXPECT_TRUE(rights.has(right::see, 1, 1, 1000, grants.look()));
  EXPECT_EQ(grants.asked.size(), looks + 1);
}

TEST(RightsNeeded, GrowWithWhatAnOpShows) {
  EditRows edit;
  Op op;
  op.verb = Verb::edit;
  op.edit = &edit;
  EXPECT_EQ(rights_needed(op, Access::write), right::update | right::filter | right::see_key);
  edit.rows_wanted = true;
  EXPECT_EQ(rights_needed(op, Access::write), right::update | right::filter | right::see_key | right::see);
  edit = {.erases = true};
  EXPECT_EQ(rights_needed(op, Access::write), right::erase | right::filter | right::see_key);
  edit.writes_too = true;
  EXPECT_EQ(rights_needed(op, Access::write), right::erase | right::update | right::filter | right::see_key);

  Insert insert{.on_duplicate = OnDuplicate::ignore};
  op.verb = Verb::insert;
  op.insert = &insert;
  EXPECT_EQ(rights_needed(op, Access::write), right::insert);
  insert = {.on_duplicate = OnDuplicate::decide, .reads_old_values = true};
  EXPECT_EQ(rights_needed(op, Access::write), right::insert | right::update | right::see);
}

TEST(RightsNeeded, AreThoseOfAFindWhereAnIndexIsOpenedForReading) {
  Op op;
  op.verb = Verb::open;
  EXPECT_EQ(rights_needed(op, Access::read), right::see | right::filter | right::see_key);
  EXPECT_EQ(rights_needed(op, Access::write), 0);
}

}  // namespace
}  // namespace postern::sql
