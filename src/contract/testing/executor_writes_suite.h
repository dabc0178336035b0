// executor_writes_suite.h: the promises of executor.h about writes.
#pragma once

#include "contract/testing/executor_test_fixture.h"

namespace postern {

template <class Fixture>
class ExecutorWrites : public ExecutorTest<Fixture> {};

TYPED_TEST_SUITE_P(ExecutorWrites);

TYPED_TEST_P(ExecutorWrites, ARunSeesWhatItWritesAndOthersDoAfterIt) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {"n"}});
  HeardReply &before = this->find(slot, this->key("1000"));
  HeardReply &inserted = this->insert(slot, {Value::of("1000"), Value::of("new"), Value::null()});
  HeardReply &after = this->find(slot, this->key("1000"));
  HeardReply &edited = this->edit(slot, this->key("1000"), [](Row, Draft &next) {
    next.set(1, Value::of("newer"));
    return Decision::write;
  });
  HeardReply &last = this->find(slot, this->key("1000"));
  this->run_all();
  EXPECT_TRUE(before.rows.empty());
  EXPECT_EQ(inserted.changed, 1u);
  ASSERT_EQ(after.rows.size(), 1u);
  EXPECT_EQ(after.rows[0][1], "new");
  EXPECT_EQ(edited.changed, 1u);
  ASSERT_EQ(last.rows.size(), 1u);
  EXPECT_EQ(last.rows[0][1], "newer");
  EXPECT_EQ(this->stored(1000, 1000), std::vector<std::string>{"1000 newer NULL"});
}

// Until the commit no reply may hear done().
TYPED_TEST_P(ExecutorWrites, AWatcherHearsNothingOfARunWithWrites) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {"n"}});
  this->find(slot, this->key("1"));
  this->insert(slot, {Value::of("1000"), Value::of("new"), Value::null()});
  EXPECT_EQ(this->run_watched(), std::vector<size_t>{});
  this->batch_.clear();
}

TYPED_TEST_P(ExecutorWrites, AWriteThatFailsIsUndoneByItself) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {"n"}});
  HeardReply &first = this->insert(slot, {Value::of("1001"), Value::of("a")});
  HeardReply &twice = this->insert(slot, {Value::of("1"), Value::of("b")});
  HeardReply &no_number = this->insert(slot, {Value::of("1002"), Value::of("c"), Value::of("x")});
  HeardReply &no_value = this->edit(slot, this->key("2"), [](Row, Draft &next) {
    next.set(1, Value::of("d"));
    next.set(2, Value::of("x"));
    return Decision::write;
  });
  HeardReply &last = this->insert(slot, {Value::of("1003"), Value::of("e")});
  this->run_all();
  EXPECT_EQ(first.failure, Failure::none);
  EXPECT_EQ(twice.failure, Failure::duplicate_key);
  EXPECT_EQ(twice.sql_error.number, 1062);
  EXPECT_STREQ(twice.sql_error.state, "23000");
  EXPECT_EQ(no_number.failure, Failure::bad_value);
  EXPECT_EQ(no_number.sql_error.number, 1366);
  EXPECT_STREQ(no_number.sql_error.state, TypeParam::no_number_state);
  EXPECT_EQ(no_value.failure, Failure::bad_value);
  EXPECT_EQ(no_value.changed, 0u);
  EXPECT_EQ(last.failure, Failure::none);
  EXPECT_EQ(this->stored(1001, 1003), (std::vector<std::string>{"1001 a NULL", "1003 e NULL"}));
  EXPECT_EQ(this->stored(1, 2), (std::vector<std::string>{"1 v1 0", "2 v2 0"}));
}

TYPED_TEST_P(ExecutorWrites, AnEditKeepsWritesOrErases) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {"n"}});
  HeardReply &kept = this->edit(slot, this->key("1"), [](Row, Draft &next) {
    next.set(1, Value::of("no"));
    return Decision::keep;
  });
  HeardReply &written = this->edit(
      slot, this->key("2"),
      [](Row now, Draft &next) {
        EXPECT_EQ(now.size(), 3u);
        next.set(1, Value::null());
        return Decision::write;
      },
      true);
  HeardReply &erased = this->edit(slot, this->key("3"), [](Row, Draft &) { return Decision::erase; });
  HeardReply &nobody = this->edit(slot, this->key("0"), [](Row, Draft &) { return Decision::erase; });
  this->run_all();
  EXPECT_EQ(kept.changed, 0u);
  EXPECT_EQ(written.changed, 1u);
  ASSERT_EQ(written.rows.size(), 1u);
  EXPECT_EQ(written.rows[0][1], "v2") << "the row as it was";
  EXPECT_EQ(erased.changed, 1u);
  EXPECT_TRUE(erased.rows.empty());
  EXPECT_EQ(nobody.changed, 0u);
  EXPECT_EQ(this->stored(1, 4), (std::vector<std::string>{"1 v1 0", "2 NULL 0", "4 v4 0"}));
}

TYPED_TEST_P(ExecutorWrites, FiltersDecideWhichRowIsEdited) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {"n"}});
  const auto set = [&](std::string_view if_n_is, std::string_view v) -> HeardReply & {
    const std::span<Filter> filter = this->batch_.arena().template array<Filter>(1);
    filter[0] = {.comparison = Comparison::equal, .column = 0, .value = Value::of(if_n_is)};
    Find find = this->key("50");
    find.filters = filter;
    return this->edit(slot, find, [v](Row, Draft &next) {
      next.set(1, Value::of(v));
      return Decision::write;
    });
  };
  HeardReply &other = set("4", "no");
  HeardReply &same = set("5", "yes");
  this->run_all();
  EXPECT_EQ(other.changed, 0u);
  EXPECT_EQ(same.changed, 1u);
  EXPECT_EQ(this->stored(50, 50), std::vector<std::string>{"50 yes 5"});
}

TYPED_TEST_P(ExecutorWrites, DuplicatesFailAreIgnoredOrUpdate) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v"}});
  const auto change = [&](std::string_view id, OnDuplicate on_duplicate) {
    const HeardReply &reply = this->insert(slot, {Value::of(id), Value::of("new")}, on_duplicate);
    this->run_all();
    EXPECT_EQ(reply.failure, Failure::none);
    return reply.changed;
  };
  EXPECT_EQ(change("8", OnDuplicate::ignore), 0u);
  EXPECT_EQ(change("9", OnDuplicate::update), 2u);
  EXPECT_EQ(change("1008", OnDuplicate::ignore), 1u);
  EXPECT_EQ(change("1009", OnDuplicate::update), 1u);
  EXPECT_EQ(this->stored(8, 9), (std::vector<std::string>{"8 v8 0", "9 new 0"}));
  EXPECT_EQ(this->stored(1008, 1009), (std::vector<std::string>{"1008 new NULL", "1009 new NULL"}));
}

TYPED_TEST_P(ExecutorWrites, AnInsertDecidesAboutTheRowThatIsThere) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {}, 1});
  const auto never = [](Row, Draft &) {
    ADD_FAILURE() << "there is no row";
    return Decision::keep;
  };
  HeardReply &fresh = this->decide(slot, {Value::of("1010"), Value::of("new"), Value::of("1")}, never);
  HeardReply &kept = this->decide(slot, {Value::of("8"), Value::of("new"), Value::null()}, [](Row now, Draft &next) {
    EXPECT_EQ(now.size(), 3u);
    EXPECT_EQ(now[1].bytes(), "v8");
    next.set(1, Value::of("no"));
    return Decision::keep;
  });
  const auto write_n = [](Value value) {
    return [value](Row, Draft &next) {
      next.set(2, value);
      return Decision::write;
    };
  };
  HeardReply &written = this->decide(slot, {Value::of("9"), Value::of("new"), Value::of("5")}, write_n(Value::of("6")));
  HeardReply &again = this->decide(slot, {Value::of("9"), Value::of("new")}, write_n(Value::of("6")));
  HeardReply &no_number = this->decide(slot, {Value::of("10"), Value::of("new")}, write_n(Value::of("x")));
  HeardReply &erased = this->edit(slot, this->key("11"), [](Row, Draft &) { return Decision::erase; });
  HeardReply &after_it = this->decide(slot, {Value::of("11"), Value::of("born")}, never);
  HeardReply &own = this->decide(slot, {Value::of("1010"), Value::of("newer")}, [](Row now, Draft &next) {
    EXPECT_EQ(now[1].bytes(), "new");
    next.add(2, Value::of_integer(4), false);
    return Decision::write;
  });
  this->run_all();
  EXPECT_EQ(fresh.changed, 1u);
  EXPECT_EQ(kept.changed, 0u);
  EXPECT_EQ(kept.failure, Failure::none);
  EXPECT_EQ(written.changed, 2u);
  EXPECT_EQ(again.changed, 2u) << "what was written was there before";
  EXPECT_EQ(no_number.failure, Failure::bad_value);
  EXPECT_EQ(no_number.changed, 0u);
  EXPECT_EQ(erased.changed, 1u);
  EXPECT_EQ(after_it.changed, 1u);
  EXPECT_EQ(own.changed, 2u);
  EXPECT_EQ(this->stored(8, 11), (std::vector<std::string>{"8 v8 0", "9 v9 6", "10 v10 1", "11 born NULL"}));
  EXPECT_EQ(this->stored(1010, 1010), std::vector<std::string>{"1010 new 5"});
}

TYPED_TEST_P(ExecutorWrites, ADecisionIsMadeAloneToo) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {}, 1});
  const auto decide = [&](std::string_view id, Decision decision) {
    HeardReply &reply = this->decide(slot, {Value::of(id), Value::of("new")}, [decision](Row, Draft &next) {
      next.set(1, Value::of("drawn"));
      return decision;
    });
    this->run_alone();
    EXPECT_EQ(reply.failure, Failure::none);
    return reply.changed;
  };
  EXPECT_EQ(decide("1011", Decision::write), 1u);
  EXPECT_EQ(decide("12", Decision::keep), 0u);
  EXPECT_EQ(decide("13", Decision::write), 2u);
  EXPECT_EQ(this->stored(12, 13), (std::vector<std::string>{"12 v12 1", "13 drawn 1"}));
  EXPECT_EQ(this->stored(1011, 1011), std::vector<std::string>{"1011 new NULL"});
}

TYPED_TEST_P(ExecutorWrites, AValueIsExtendedAtEitherEnd) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {}, 1});
  const auto extend = [&](std::string_view id, uint32_t column, std::string_view bytes, bool at_front) {
    const HeardReply &reply = this->edit(slot, this->key(id), [=](Row, Draft &next) {
      next.extend(column, bytes, at_front);
      return Decision::write;
    });
    this->run_all();
    return reply.failure;
  };
  EXPECT_EQ(extend("60", 1, "-tail", false), Failure::none);
  EXPECT_EQ(extend("60", 1, "head-", true), Failure::none);
  EXPECT_EQ(extend("61", 1, "", false), Failure::none);
  EXPECT_EQ(extend("62", 2, "7", false), Failure::none);
  EXPECT_EQ(extend("62", 2, "-1", true), Failure::none);
  EXPECT_EQ(extend("63", 2, "05", false), Failure::none) << "NULL is empty";
  EXPECT_EQ(extend("64", 2, "x", false), Failure::bad_value);
  EXPECT_EQ(extend("64", 2, "99999999999999999999", false), Failure::bad_value);
  HeardReply &twice = this->edit(slot, this->key("65"), [](Row, Draft &next) {
    next.extend(1, "<", true);
    next.extend(1, ">", false);
    next.set(2, Value::of("1"));
    next.extend(2, "23", false);
    return Decision::write;
  });
  HeardReply &kept = this->edit(slot, this->key("66"), [](Row, Draft &next) {
    next.extend(1, "no", false);
    return Decision::keep;
  });
  this->run_all();
  EXPECT_EQ(twice.failure, Failure::none);
  EXPECT_EQ(kept.changed, 0u);
  EXPECT_EQ(this->stored(60, 66), (std::vector<std::string>{"60 head-v60-tail 6", "61 v61 6", "62 v62 -167", "63 v63 5",
                                                            "64 v64 6", "65 <v65> 123", "66 v66 6"}));
}

TYPED_TEST_P(ExecutorWrites, AllRowsCanBeErasedAtOnce) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}, {"n"}, 1});
  const auto erase = [](Row, Draft &) { return Decision::erase; };
  const auto all = std::numeric_limits<uint64_t>::max();
  HeardReply &even = this->edit(
      slot, {.comparison = Comparison::at_most, .limit = all},
      [](Row now, Draft &) { return now[0].integer() % 2 == 0 ? Decision::erase : Decision::keep; }, false, true);
  this->run();
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::needs_own_run);
  EXPECT_EQ(this->stored(1, 4).size(), 4u);
  this->run_alone();
  EXPECT_EQ(even.changed, 50u);
  EXPECT_EQ(this->stored(1, 4), (std::vector<std::string>{"1 v1 0", "3 v3 0"}));
  HeardReply &rest = this->edit(slot, {.comparison = Comparison::at_least, .limit = all}, erase, false, true);
  this->run_alone();
  EXPECT_EQ(rest.changed, 50u);
  HeardReply &nothing = this->edit(slot, {.comparison = Comparison::at_least, .limit = all}, erase, false, true);
  this->run_alone();
  EXPECT_EQ(nothing.changed, 0u);
  EXPECT_TRUE(this->stored(0, 10'000).empty());
  HeardReply &refused = this->edit(slot, {.comparison = Comparison::equal, .limit = all}, erase, false, true);
  this->run_alone();
  EXPECT_EQ(refused.failure, Failure::no_key_values);
}

TYPED_TEST_P(ExecutorWrites, SumsAreTheColumnsOwn) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}});
  using Sum = Draft::Sum;
  std::vector<Sum> sums;
  const auto add = [&](std::string_view id, uint32_t column, Value amount, bool subtract) {
    const HeardReply &reply = this->edit(slot, this->key(id), [&, column, amount, subtract](Row, Draft &next) {
      sums.push_back(next.add(column, amount, subtract));
      return Decision::write;
    });
    this->run_all();
    return reply.failure;
  };
  EXPECT_EQ(add("50", 2, Value::of("7"), false), Failure::none);
  EXPECT_EQ(add("51", 2, Value::of("7"), true), Failure::none);
  EXPECT_EQ(add("52", 2, Value::of_integer(5), true), Failure::none);
  EXPECT_EQ(add("49", 2, Value::of("7"), false), Failure::none);
  EXPECT_EQ(add("53", 2, Value::null(), false), Failure::none);
  EXPECT_EQ(sums,
            (std::vector<Sum>{Sum::kept_sign, Sum::changed_sign, Sum::kept_sign, Sum::kept_sign, Sum::kept_sign}));
  EXPECT_EQ(add("54", 2, Value::of("many"), false), Failure::not_a_number);
  EXPECT_EQ(add("54", 1, Value::of("1"), false), Failure::bad_value);
  EXPECT_EQ(add("54", 2, Value::of("9223372036854775807"), false), Failure::bad_value);
  EXPECT_EQ(this->stored(49, 54),
            (std::vector<std::string>{"49 v49 NULL", "50 v50 12", "51 v51 -2", "52 v52 0", "53 v53 5", "54 v54 5"}));
}

TYPED_TEST_P(ExecutorWrites, SeveralRowsAreEditedAloneAndAllOrNone) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}});
  const auto set_n = [](Value value) {
    return [value](Row, Draft &next) {
      next.set(2, value);
      return Decision::write;
    };
  };
  this->batch_.begin(1);
  this->edit(slot, this->key("10", Comparison::at_least, 3), set_n(Value::of("1")));
  this->batch_.begin(2);
  HeardReply &neighbour = this->edit(slot, this->key("20"), set_n(Value::of("2")));
  this->run();
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::needs_own_run);
  EXPECT_EQ(this->batch_.ops()[1].progress, Progress::done);
  EXPECT_EQ(neighbour.changed, 1u);
  EXPECT_EQ(this->stored(10, 12), (std::vector<std::string>{"10 v10 1", "11 v11 1", "12 v12 1"}));
  this->batch_.clear();

  HeardReply &all = this->edit(slot, this->key("30", Comparison::at_least, 3), set_n(Value::of("77")), true);
  this->run_alone();
  EXPECT_EQ(all.changed, 3u);
  EXPECT_EQ(all.firsts(), (std::vector<std::string>{"30", "31", "32"}));
  int count = 0;
  HeardReply &none = this->edit(slot, this->key("40", Comparison::at_least, 5), [&count](Row, Draft &next) {
    next.set(2, ++count == 3 ? Value::of("x") : Value::of("88"));
    return Decision::write;
  });
  this->run_alone();
  EXPECT_EQ(none.failure, Failure::bad_value);
  EXPECT_EQ(this->stored(30, 33), (std::vector<std::string>{"30 v30 77", "31 v31 77", "32 v32 77", "33 v33 3"}));
  EXPECT_EQ(this->stored(40, 41), (std::vector<std::string>{"40 v40 4", "41 v41 4"}));
}

TYPED_TEST_P(ExecutorWrites, AnEditMeetsNoRowTwice) {
  // Rows that move along the very index they are found by.
  TableSlot &slot = this->opened({"contract", "t", "n", {"id", "n"}});
  HeardReply &moved = this->edit(slot, this->key("9", Comparison::at_least, 1'000), [](Row, Draft &next) {
    next.add(1, Value::of("5"), false);
    return Decision::write;
  });
  this->run_alone();
  EXPECT_EQ(moved.changed, 9u + 1u - 1u);  // 90 to 100, but for the multiples of 7
  EXPECT_EQ(this->stored(99, 100), (std::vector<std::string>{"99 v99 14", "100 v100 15"}));
}

TYPED_TEST_P(ExecutorWrites, ABusyTableLeavesAWriteForLater) {
  TableSlot &slot = this->opened({"contract", "t", "PRIMARY", {"id", "v", "n"}});
  this->executor_->idle();
  this->fixture_.hold_table(true);
  HeardReply &busy = this->insert(slot, {Value::of("1004"), Value::of("a")});
  this->run();
  EXPECT_EQ(this->batch_.ops()[0].progress, Progress::busy);
  EXPECT_EQ(busy.dones, 0);
  this->fixture_.hold_table(false);
  this->run_all();
  EXPECT_EQ(busy.changed, 1u);
}

TYPED_TEST_P(ExecutorWrites, WritesNeedAnOpenTableAndWhatItNames) {
  TableSlot unopened;
  HeardReply &inserted = this->insert(unopened, {Value::of("1")});
  HeardReply &edited = this->edit(unopened, this->key("1"), [](Row, Draft &) { return Decision::erase; });
  this->run_all();
  EXPECT_EQ(inserted.failure, Failure::not_open);
  EXPECT_EQ(edited.failure, Failure::not_open);
  TableSlot &slot = this->opened();
  this->executor_->idle();
  this->fixture_.drop_table();
  HeardReply &gone = this->insert(slot, {Value::of("1")});
  this->run_all();
  EXPECT_EQ(gone.failure, Failure::no_table);
}

TYPED_TEST_P(ExecutorWrites, EditsKeepWithinTheirEnds) {
  TableSlot &slot = this->opened();
  TableSlot &by_v = this->opened({"contract", "t", "v", {"v"}});
  const Value five[] = {Value::of("5")}, eight[] = {Value::of("8")}, v10[] = {Value::of("v10")};
  HeardReply &erased = this->edit(
      slot, {.comparison = Comparison::at_least, .key = five, .limit = 1'000, .until = eight, .until_included = false},
      [](Row, Draft &) { return Decision::erase; }, false, true);
  this->run_alone();
  EXPECT_EQ(erased.changed, 3u);
  HeardReply &changed = this->edit(
      by_v, {.comparison = Comparison::at_least, .key = v10, .limit = 1'000, .prefix = true}, [](Row, Draft &next) {
        next.set(0, Value::of("x"));
        return Decision::write;
      });
  this->run_alone();
  EXPECT_EQ(changed.changed, 2u);
  EXPECT_EQ(this->stored(4, 10), (std::vector<std::string>{"4 v4 0", "8 v8 0", "9 v9 0", "10 x 1"}));
}

/// A run's own writes are in the view of its later ops, and in that of the next run, however many ask.
TYPED_TEST_P(ExecutorWrites, EqualFindsSeeWhatWasWrittenBetweenThem) {
  TableSlot &slot = this->opened();
  const auto ask = [&] {
    std::vector<HeardReply *> replies;
    for (int i = 0; i < 100; ++i) {
      replies.push_back(&this->find(slot, this->key("50")));
      replies.back()->takes = true;
    }
    return replies;
  };
  ask();
  this->run_all();
  const std::vector<HeardReply *> before = ask();
  this->edit(slot, this->key("50"), [](Row, Draft &next) {
    next.set(1, Value::of("new"));
    return Decision::write;
  });
  const std::vector<HeardReply *> after = ask();
  this->run_all();
  const std::vector<HeardReply *> next = ask();
  this->run_all();
  for (const HeardReply *const reply : before) EXPECT_EQ(reply->text(), "50 v50 \n");
  for (const HeardReply *const reply : after) EXPECT_EQ(reply->text(), "50 new \n");
  for (const HeardReply *const reply : next) EXPECT_EQ(reply->text(), "50 new \n");
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorWrites, AWatcherHearsNothingOfARunWithWrites,
                            ARunSeesWhatItWritesAndOthersDoAfterIt, AWriteThatFailsIsUndoneByItself,
                            AnEditKeepsWritesOrErases, FiltersDecideWhichRowIsEdited, DuplicatesFailAreIgnoredOrUpdate,
                            AnInsertDecidesAboutTheRowThatIsThere, ADecisionIsMadeAloneToo, AValueIsExtendedAtEitherEnd,
                            AllRowsCanBeErasedAtOnce, SumsAreTheColumnsOwn, SeveralRowsAreEditedAloneAndAllOrNone,
                            AnEditMeetsNoRowTwice, EditsKeepWithinTheirEnds, EqualFindsSeeWhatWasWrittenBetweenThem,
                            ABusyTableLeavesAWriteForLater, WritesNeedAnOpenTableAndWhatItNames);

}  // namespace postern
