#include "redis/strings/hyperloglog.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace postern::redis {
namespace {

using Read = HyperLogLog::Read;

TEST(HyperLogLog, CountsAboutAsManyAsWereAdded) {
  const auto log = std::make_unique<HyperLogLog>();
  EXPECT_EQ(log->count(), 0u);
  for (int i = 1; i <= 100'000; ++i) {
    log->add("element " + std::to_string(i));
    if (i != 100 && i != 10'000 && i != 100'000) continue;
    EXPECT_NEAR(static_cast<double>(log->count()), i, i * 0.02);
  }
  EXPECT_FALSE(log->add("element 1"));
}

TEST(HyperLogLog, IsItsText) {
  const auto log = std::make_unique<HyperLogLog>();
  for (int i = 0; i < 50'000; ++i) log->add(std::to_string(i));
  const std::string text = log->text();
  EXPECT_EQ(text.size(), 12'304u);
  const auto same = std::make_unique<HyperLogLog>();
  EXPECT_EQ(same->merge(text), Read::valid);
  EXPECT_EQ(same->text(), text);
  EXPECT_EQ(same->count(), log->count());
}

TEST(HyperLogLog, TheSparseFormIsRead) {
  std::string text("HYLL\1\0\0\0\0\0\0\0\0\0\0\0", 16);
  const auto log = std::make_unique<HyperLogLog>();
  EXPECT_EQ(log->merge(text + "\x7f\xff"), Read::valid) << "all zeros";
  EXPECT_EQ(log->count(), 0u);
  // One register of 3, and zeros.
  EXPECT_EQ(log->merge(text + "\x88\x7f\xfe"), Read::valid);
  EXPECT_EQ(log->count(), 1u);
  EXPECT_EQ(log->merge(text + "\x7f"), Read::corrupt);
  EXPECT_EQ(log->merge(text + "\x7f\xfe"), Read::corrupt) << "too few registers";
  EXPECT_EQ(log->merge(text + "\x88\x7f\xff"), Read::corrupt) << "too many";
}

TEST(HyperLogLog, OtherStringsAreNone) {
  const auto log = std::make_unique<HyperLogLog>();
  for (const char *const text : {"x", "HYLL", "HYLLxxxxxxxxxxxxxxxxxxxx"}) EXPECT_EQ(log->merge(text), Read::other);
  EXPECT_EQ(log->merge(std::string("HYLL", 4) + std::string(20, '\0')), Read::other) << "too short for the dense form";
  EXPECT_EQ(log->count(), 0u);
}

}  // namespace
}  // namespace postern::redis
