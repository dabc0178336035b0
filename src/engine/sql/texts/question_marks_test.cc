#include "engine/sql/texts/question_marks.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

using Places = std::vector<uint32_t>;

TEST(QuestionMarksTest, EachIsFoundInOrder) {
  EXPECT_EQ(question_marks("a = ? AND b IN (?, ?)"), (Places{4, 16, 19}));
  EXPECT_EQ(question_marks("?"), Places{0});
  EXPECT_EQ(question_marks(""), Places{});
  EXPECT_EQ(question_marks("SELECT 1"), Places{});
}

TEST(QuestionMarksTest, QuotesHideThem) {
  EXPECT_EQ(question_marks("'?' ?"), Places{4});
  EXPECT_EQ(question_marks("\"?\" ?"), Places{4});
  EXPECT_EQ(question_marks("`?` ?"), Places{4});
  EXPECT_EQ(question_marks("'\"?' ?"), Places{5});
}

TEST(QuestionMarksTest, AQuoteInQuotesDoesNotEndThem) {
  EXPECT_EQ(question_marks(R"('\'?' ?)"), Places{6});
  EXPECT_EQ(question_marks(R"('\\' ?)"), Places{5});
  EXPECT_EQ(question_marks("'a''?' ?"), Places{7});
  EXPECT_EQ(question_marks(R"(`\` ?)"), Places{4});  // a name has no escapes
}

TEST(QuestionMarksTest, CommentsHideThem) {
  EXPECT_EQ(question_marks("/* ? */ ?"), Places{8});
  EXPECT_EQ(question_marks("# ?\n?"), Places{4});
  EXPECT_EQ(question_marks("-- ?\n?"), Places{5});
  EXPECT_EQ(question_marks("1 --?"), Places{4});  // two signs
  EXPECT_EQ(question_marks("1 / ? * 2"), Places{4});
}

TEST(QuestionMarksTest, WhatIsNotClosedHidesTheRest) {
  for (const Bytes text : {"'?", "`?", "\"? ?", "/* ?", "# ?", "-- ?", "'\\"})
    EXPECT_TRUE(question_marks(text).empty()) << text;
}

}  // namespace
}  // namespace postern::sql
