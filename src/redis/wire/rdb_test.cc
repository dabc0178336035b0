#include "redis/wire/rdb.h"

#include <gtest/gtest.h>

#include <string>

namespace postern::redis::rdb {
namespace {

TEST(Rdb, TheChecksumIsThatOfRedis) {
  EXPECT_EQ(crc64(0, "123456789"), 0xe9c6d914c4b8d9caU);
  EXPECT_EQ(crc64(crc64(0, "1234"), "56789"), crc64(0, "123456789"));
}

TEST(Rdb, LengthsAndStringsAreReadAsTheyAreWritten) {
  for (const uint64_t length : {uint64_t{0}, uint64_t{63}, uint64_t{64}, uint64_t{16383}, uint64_t{16384},
                                uint64_t{UINT32_MAX}, uint64_t{UINT32_MAX} + 1, UINT64_MAX}) {
    std::string bytes;
    put_length(bytes, length);
    Reader reader(bytes);
    uint64_t read = 1;
    EXPECT_TRUE(reader.length(read) && reader.empty()) << length;
    EXPECT_EQ(read, length);
  }
  std::string bytes;
  const std::string text(70'000, 'x');
  put_string(bytes, text);
  std::string read;
  EXPECT_TRUE(Reader(bytes).string(read, text.size()));
  EXPECT_EQ(read, text);
  for (size_t cut = 0; cut < 6; ++cut) EXPECT_FALSE(Reader(Bytes(bytes).substr(0, cut)).string(read, text.size()));
}

TEST(Rdb, NumbersAndCompressedStringsAreRead) {
  std::string read;
  EXPECT_TRUE(Reader(Bytes("\xc0\xff", 2)).string(read, 100));
  EXPECT_EQ(read, "-1");
  EXPECT_TRUE(Reader(Bytes("\xc1\x00\x80", 3)).string(read, 100));
  EXPECT_EQ(read, "-32768");
  // One literal byte, then a copy of 9 bytes that begins one byte back.
  const Bytes compressed(
      "\xc3\x05\x0a\x00"
      "a\xe0\x00\x00",
      8);
  EXPECT_TRUE(Reader(compressed).string(read, 100));
  EXPECT_EQ(read, "aaaaaaaaaa");
  EXPECT_FALSE(Reader(compressed).string(read, 9)) << "more than it may have";
  EXPECT_FALSE(Reader(Bytes("\xc3\x03\x0a\x20\x00\x05", 6)).string(read, 100)) << "a copy of what is not there";
}

TEST(Rdb, APayloadEndsWithItsChecksum) {
  std::string payload = "anything";
  put_footer(payload);
  EXPECT_TRUE(has_valid_footer(payload));
  for (size_t i = 0; i < payload.size(); ++i) {
    std::string wrong = payload;
    wrong[i] = static_cast<char>(wrong[i] + 1);
    EXPECT_FALSE(has_valid_footer(wrong)) << i;
  }
  EXPECT_FALSE(has_valid_footer(""));
}

}  // namespace
}  // namespace postern::redis::rdb
