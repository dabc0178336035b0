#include "handlersocket/names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace postern::handlersocket {
namespace {

using List = std::vector<std::string>;

List names(Bytes list) {
  Arena arena;
  const std::span<const Bytes> parsed = parse_names(list, arena);
  EXPECT_EQ(parsed.size(), count_names(list));
  return {parsed.begin(), parsed.end()};
}

TEST(Names, CommasSeparate) {
  EXPECT_EQ(names(""), List{});
  EXPECT_EQ(names("id"), List{"id"});
  EXPECT_EQ(names("id,v"), (List{"id", "v"}));
  EXPECT_EQ(names(" id, v"), (List{" id", " v"}));
  EXPECT_EQ(names("id,id"), (List{"id", "id"}));
}

TEST(Names, ANameFollowsEveryComma) {
  EXPECT_EQ(names("id,"), (List{"id", ""}));
  EXPECT_EQ(names(","), (List{"", ""}));
  EXPECT_EQ(names(",,id"), (List{"", "", "id"}));
}

TEST(Names, BackquotesHoldCommasAndBackquotes) {
  EXPECT_EQ(names("`id`,`v`"), (List{"id", "v"}));
  EXPECT_EQ(names("`a,b`,c"), (List{"a,b", "c"}));
  EXPECT_EQ(names("`a``b`"), List{"a`b"});
  EXPECT_EQ(names("`a``,``b`,c"), (List{"a`,`b", "c"}));
  EXPECT_EQ(names("````"), List{"`"});
  EXPECT_EQ(names("``"), List{""});
}

TEST(Names, OddBackquotesStay) {
  EXPECT_EQ(names("`"), List{"`"});
  EXPECT_EQ(names("```"), List{"`"});
  EXPECT_EQ(names("a`b"), List{"a`b"});
  EXPECT_EQ(names("`a,b"), List{"`a,b"});
  EXPECT_EQ(names("`a`b,c"), (List{"`a`b", "c"}));
  EXPECT_EQ(names("a``,b"), (List{"a``", "b"}));
  EXPECT_EQ(names("`a`b`,c"), (List{"`a`b`,c"}));
  EXPECT_EQ(names("`a`b`"), List{"a`b"});
}

TEST(Names, APositionIsADecimalNumber) {
  EXPECT_EQ(index_position("0"), 0);
  EXPECT_EQ(index_position("17"), 17);
  EXPECT_EQ(index_position("2147483647"), 2'147'483'647);
  for (const Bytes name : {"", "PRIMARY", "1x", "x1", "-1", " 1", "2147483648", "99999999999999999999"})
    EXPECT_EQ(index_position(name), -1) << name;
}

}  // namespace
}  // namespace postern::handlersocket
