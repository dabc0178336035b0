#include "engine/sql/packets/ok_packet.h"

#include <gtest/gtest.h>

namespace postern::sql {
namespace {

TEST(OkPacket, HasRowsStatusAndWarnings) {
  const Bytes answer("\x0a\0\0\1\0\xfc\x2c\1\7\x22\0\3\0", 13);
  const auto packet = OkPacket::of(answer);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->affected, 300u);
  EXPECT_EQ(packet->insert_id, 7u);
  EXPECT_EQ(packet->status, 0x22u);
  EXPECT_EQ(packet->warnings, 3u);
  for (size_t cut = 0; cut < answer.size(); ++cut) EXPECT_FALSE(OkPacket::of(answer.substr(0, cut)));
}

TEST(OkPacket, IsNoErrorAndNoResultSet) {
  EXPECT_FALSE(OkPacket::of(Bytes("\x05\0\0\1\xff\0\0\0\0", 9)));
  EXPECT_FALSE(OkPacket::of(Bytes("\x01\0\0\1\3", 5)));
  EXPECT_FALSE(OkPacket::of(Bytes("\x01\0\0\1\0\xff", 6)));
}

}  // namespace
}  // namespace postern::sql
