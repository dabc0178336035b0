#include "engine/sql/packets/prepare_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace postern::sql {
namespace {

/// Packets with these payloads, numbered from 1 on.
std::string packets(const std::vector<std::string> &payloads) {
  std::string all;
  char number = 0;
  for (const std::string &payload : payloads) {
    all += {static_cast<char>(payload.size()), '\0', '\0', ++number};
    all += payload;
  }
  return all;
}

std::string first(char id, char columns, char parameters, char warnings = '\0') {
  return {'\0', id, '\0', '\0', '\0', columns, '\0', parameters, '\0', '\0', warnings, '\0'};
}

std::string end(char status) {
  return {'\xfe', '\0', '\0', status, '\0'};
}

std::string put(const PrepareAnswer &answer, uint32_t id, uint16_t status) {
  Output output;
  answer.put(output, id, status);
  return std::string(output.written_since(0));
}

TEST(PrepareAnswer, TakesAnotherNumberAndStatus) {
  const auto said = [](char id, char status) {
    return packets({first(id, 2, 1), "?", end(status), "a", "b", end(status)});
  };
  const auto answer = PrepareAnswer::of(said(7, 2), false);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id(), 7U);
  EXPECT_EQ(put(*answer, 7, 2), said(7, 2));
  EXPECT_EQ(put(*answer, 9, 3), said(9, 3));
  EXPECT_EQ(put(*answer, 0x01020304, 2).substr(5, 4), "\4\3\2\1");
}

TEST(PrepareAnswer, HasNoEndsWhereTheyAreNotWanted) {
  const std::string said = packets({first(3, 1, 1), "?", "a"});
  EXPECT_FALSE(PrepareAnswer::of(said, false));
  const auto answer = PrepareAnswer::of(said, true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(put(*answer, 3, 0), said);
}

TEST(PrepareAnswer, HasNoDefinitionsWithoutParameters) {
  const std::string said = packets({first(3, 1, 0), "a", end(2)});
  ASSERT_TRUE(PrepareAnswer::of(said, false));
  EXPECT_EQ(put(*PrepareAnswer::of(said, false), 3, 2), said);
}

TEST(PrepareAnswer, IsNoErrorNoWarningAndWhole) {
  EXPECT_FALSE(PrepareAnswer::of(packets({"\xff...error"}), false));
  EXPECT_FALSE(PrepareAnswer::of(packets({first(3, 0, 0, 1)}), false));
  const std::string said = packets({first(3, 1, 1), "?", end(2), "a", end(2)});
  for (size_t size = 0; size < said.size(); ++size) EXPECT_FALSE(PrepareAnswer::of(said.substr(0, size), false));
  EXPECT_FALSE(PrepareAnswer::of(said + "more", false));
}

}  // namespace
}  // namespace postern::sql
