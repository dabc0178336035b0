#include "engine/sql/packets/greeting.h"

#include <gtest/gtest.h>

#include <string>

namespace postern::sql {
namespace {

constexpr Bytes scramble = "abcdefghijklmnopqrst";

std::string greeting(uint32_t number, Bytes its_scramble, uint16_t status) {
  std::string payload(
      "\x0a"
      "5.5.5-10.11.18-MariaDB",
      23);
  payload += '\0';
  for (int i = 0; i < 4; ++i) payload += static_cast<char>(number >> (8 * i));
  payload.append(its_scramble.substr(0, 8)).append(1, '\0');
  payload.append("\xfe\xf7\x2d", 3);
  payload += static_cast<char>(status);
  payload += static_cast<char>(status >> 8);
  payload.append("\xff\x81\x15", 3).append(6, '\0').append("\x1d\0\0\0", 4);
  payload.append(its_scramble.substr(8)).append(1, '\0').append("mysql_native_password").append(1, '\0');
  return std::string{static_cast<char>(payload.size()), 0, 0, 0} + payload;
}

TEST(Greeting, IsTheServersWithAnotherConnectionsNumbers) {
  const auto learnt = Greeting::of(greeting(7, scramble, 2), 7, scramble, 2);
  ASSERT_TRUE(learnt);
  EXPECT_EQ(learnt->version(), "5.5.5-10.11.18-MariaDB");
  Output output;
  constexpr Bytes other = "ABCDEFGHIJKLMNOPQRST";
  learnt->write(output, 0x01020304, other, 0x0302);
  output.release();
  EXPECT_EQ(output.sendable(), greeting(0x01020304, other, 0x0302));
  EXPECT_EQ(learnt->bytes(), output.sendable().size());
}

TEST(Greeting, IsNothingElse) {
  const std::string whole = greeting(7, scramble, 2);
  for (size_t cut = 0; cut < whole.size(); ++cut) EXPECT_FALSE(Greeting::of(whole.substr(0, cut), 7, scramble, 2));
  EXPECT_FALSE(Greeting::of(whole, 8, scramble, 2));
  EXPECT_FALSE(Greeting::of(whole, 7, scramble, 3));
  EXPECT_FALSE(Greeting::of(whole, 7, "abcdefghijklmnopqrs-", 2));
  EXPECT_FALSE(Greeting::of(whole, 7, "-bcdefghijklmnopqrst", 2));
  EXPECT_FALSE(Greeting::of("\x03\0\0\0\xff\x10\x04", 7, scramble, 2));
}

/// A header, capabilities, the packet size, a character set and reserved bytes; then the name.
std::string answer_with(Bytes rest) {
  return std::string("\x40\0\0\x01", 4).append(32, '\x01').append(rest);
}

TEST(NameInAnswer, IsBetweenTheReservedBytesAndItsEnd) {
  EXPECT_EQ(name_in_answer(answer_with(Bytes("ann\0\x14secret\0", 12))), "ann");
  EXPECT_EQ(name_in_answer(answer_with(Bytes("\0\0", 2))), "");
}

TEST(NameInAnswer, HasToEndInThePacket) {
  EXPECT_EQ(name_in_answer(answer_with("ann")), "");
  const std::string whole = answer_with(Bytes("ann\0", 4));
  for (size_t cut = 0; cut < whole.size(); ++cut) EXPECT_EQ(name_in_answer(whole.substr(0, cut)), "") << cut;
}

}  // namespace
}  // namespace postern::sql
