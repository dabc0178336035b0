#include "engine/sql/packets/answer.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

using namespace std::string_literals;

std::string packet(int number, const std::string &payload) {
  return std::string{static_cast<char>(payload.size()), '\0', '\0', static_cast<char>(number)} + payload;
}

std::string column(char type, char flags = 3) {
  return "\3def\1d\1t\1t\1c\1c\14\x2D\0\x50\0\0\0"s + type + flags + "\0\0\0\0"s;
}

const std::string eof = "\xFE\0\0\2\0"s;
const std::string ok = "\xFE\0\0\2\0\0\0"s;
const std::string plain =
    packet(1, "\2") + packet(2, column(3)) + packet(3, column('\xFD')) + packet(4, eof) + packet(5, "\1a\1b");

std::string written(const Answer &answer, uint16_t head_status, uint16_t end_status) {
  Output output;
  Packets packets(output);
  answer.put_head(packets, head_status);
  packets.put("row");
  answer.put_end(packets, end_status);
  return std::string(output.written_since(0));
}

TEST(Answer, IsGivenAgainWithOtherRowsAndStatus) {
  const auto answer = Answer::of(plain + packet(6, eof), {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->columns(), 2u);
  EXPECT_EQ(answer->type(0), 3);
  EXPECT_EQ(answer->type(1), 0xFD);
  EXPECT_EQ(answer->type(2), 255);
  EXPECT_EQ(written(*answer, 3, 0x2003), packet(1, "\2") + packet(2, column(3)) + packet(3, column('\xFD')) +
                                             packet(4, "\xFE\0\0\3\0"s) + packet(5, "row") +
                                             packet(6, "\xFE\0\0\3\x20"s));
}

TEST(Answer, EndsInTheFormOfAnOkPacketWhereThatIsAgreed) {
  const AnswerForm form{.deprecate_eof = true};
  const std::string packets = packet(1, "\1") + packet(2, column(8));
  const auto answer = Answer::of(packets + packet(3, ok), form);
  ASSERT_TRUE(answer);
  EXPECT_EQ(written(*answer, 7, 3), packets + packet(3, "row") + packet(4, "\xFE\0\0\3\0\0\0"s));
  EXPECT_FALSE(Answer::of(plain + packet(6, eof), form));
}

TEST(Answer, KnowsItsColumnsThatAreNeverNull) {
  const auto answer = Answer::of(
      packet(1, "\2") + packet(2, column(3)) + packet(3, column(3, 2)) + packet(4, eof) + packet(5, eof), {});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->never_null(0));
  EXPECT_FALSE(answer->never_null(1));
  EXPECT_FALSE(answer->never_null(2));
}

TEST(Answer, MayLeaveColumnsOut) {
  const AnswerForm form{.cache_metadata = true};
  const auto left_out = Answer::of(packet(1, "\1\0"s) + packet(2, eof) + packet(3, eof), form);
  ASSERT_TRUE(left_out);
  EXPECT_TRUE(left_out->columns_left_out());
  const auto told = Answer::of(packet(1, "\1\1") + packet(2, column(8)) + packet(3, eof) + packet(4, eof), form);
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->columns_left_out());
  EXPECT_FALSE(Answer::of(packet(1, "\1") + packet(2, eof) + packet(3, eof), form));
}

TEST(Answer, IsNothingElse) {
  for (const std::string &packets : {
           std::string(), packet(1, "\0\0\0\2\0\0\0"s),           // OK
           packet(1, "\xFF\x15\4#28000Access denied"),            // an error
           packet(1, "\xFB/etc/passwd"),                          // requests a file
           plain,                                                 // truncated
           plain + packet(6, "\xFF\x15\4#28000"),                 // an error after rows
           plain + packet(6, "\xFE\1\0\2\0"s),                    // a warning
           plain + packet(6, "\xFE\0\0\x0A\0"s),                  // more results
           plain + packet(6, "\xFE\0\0\x42\0"s),                  // a cursor
           plain + packet(6, eof) + packet(7, "\0\0\0\2\0\0\0"s)  // an OK packet follows
       })
    EXPECT_FALSE(Answer::of(packets, {})) << packets;
  EXPECT_FALSE(Answer::of(plain.substr(0, 3) + "\2" + plain.substr(4) + packet(6, eof), {})) << "a wrong number";
}

TEST(Answer, CutAnywhereIsNone) {
  const std::string packets = plain + packet(6, eof);
  for (size_t size = 0; size < packets.size(); ++size) EXPECT_FALSE(Answer::of(Bytes(packets).substr(0, size), {}));
}

TEST(Answer, NumbersOfPacketsWrap) {
  const auto answer = Answer::of(plain + packet(6, eof), {});
  ASSERT_TRUE(answer);
  Output output;
  Packets packets(output);
  answer->put_head(packets, 2);
  for (int i = 0; i < 300; ++i) packets.put("r");
  answer->put_end(packets, 2);
  EXPECT_TRUE(Answer::of(output.written_since(0), {}));
}

}  // namespace
}  // namespace postern::sql
