// The kinds of remembered texts are those of texts that are read.
#include "engine/sql/texts/recent_housekeeping.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace postern::sql {
namespace {

TEST(RecentHousekeeping, SaysWhatReadingSays) {
  std::vector<std::string> texts = {"BEGIN",
                                    "COMMIT",
                                    "SET NAMES utf8mb4",
                                    "SET autocommit = 0",
                                    "SELECT @@sql_mode",
                                    "SELECT a FROM t",
                                    "",
                                    "SELECT GET_LOCK('one', 5)",
                                    "SELECT GET_LOCK('another', 10)",
                                    "SELECT '" + std::string(50, 'x') + "'",
                                    "SELECT '" + std::string(51, 'x') + "'",
                                    "SELECT '" + std::string(52, 'x') + "'"};
  for (int i = 0; i < 300; ++i) texts.push_back("SAVEPOINT s" + std::to_string(i));  // more than it has places
  RecentHousekeeping recent;
  for (int round = 0; round < 3; ++round) {
    for (const std::string &text : texts) {
      for (int again = 0; again < 2; ++again) {
        Bytes expected_lock;
        Bytes lock;
        const Housekeeping expected = housekeeping_of(text, expected_lock);
        EXPECT_EQ(recent.kind_of(text, lock), expected) << text;
        EXPECT_EQ(lock, expected_lock) << text;
      }
    }
  }
}

TEST(RecentHousekeeping, TheNameOfALockIsInTheTextThatAsksForIt) {
  RecentHousekeeping recent;
  const std::string one = "SELECT GET_LOCK('name', 5)";
  const std::string same = one;
  Bytes lock;
  recent.kind_of(one, lock);
  recent.kind_of(same, lock);
  EXPECT_EQ(lock.data(), same.data() + same.find("name"));
}

}  // namespace
}  // namespace postern::sql
