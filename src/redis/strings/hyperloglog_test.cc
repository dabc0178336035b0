#include "redis/strings/hyperloglog_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace postern::redis {
namespace {

using Read = HyperLogLog::Read;

uint64_t count_of(const HyperLogLogText &text) {
  const auto log = std::make_unique<HyperLogLog>();
  EXPECT_EQ(log->merge(text.text()), Read::valid);
  return log->count();
}

TEST(HyperLogLog, CountsAboutAsManyAsWereAdded) {
  HyperLogLogText text;
  EXPECT_EQ(count_of(text), 0u);
  for (int i = 1; i <= 100'000; ++i) {
    text.add("element " + std::to_string(i));
    if (i != 100 && i != 10'000 && i != 100'000) continue;
    EXPECT_NEAR(static_cast<double>(count_of(text)), i, i * 0.02);
  }
  EXPECT_FALSE(text.add("element 1"));
}

TEST(HyperLogLog, BothFormsHaveTheSameRegisters) {
  HyperLogLogText runs;
  HyperLogLogText dense;
  EXPECT_TRUE(dense.make_dense());
  EXPECT_FALSE(dense.make_dense());
  for (int i = 0; i < 50'000; ++i) {
    const std::string element = std::to_string(i);
    ASSERT_EQ(runs.add(element), dense.add(element)) << i;
    if (i == 300) {
      EXPECT_TRUE(runs.is_sparse());
    }
    if (i % 100 != 0 || !runs.is_sparse()) continue;
    EXPECT_LE(runs.text().size(), HyperLogLogText::sparse_bytes_max);
    HyperLogLogText same(runs.text());
    same.make_dense();
    ASSERT_EQ(same.text(), dense.text()) << i;
  }
  EXPECT_EQ(runs.text(), dense.text());
  EXPECT_EQ(dense.text().size(), 12'304u);
}

TEST(HyperLogLog, RunsOfOneValueAreJoined) {
  HyperLogLogText text;
  const auto raise = [&text](size_t place, char value) {
    std::string one("HYLL\1\0\0\0\0\0\0\0\0\0\0\0", 16);
    const auto put_zeros = [&one](size_t size) {
      if (size == 0) return;
      one += static_cast<char>(0x40 | (size - 1) >> 8);
      one += static_cast<char>(size - 1);
    };
    put_zeros(place);
    one += static_cast<char>(0x80 | (value - 1) << 2);
    put_zeros(HyperLogLog::registers - place - 1);
    const auto log = std::make_unique<HyperLogLog>();
    ASSERT_EQ(log->merge(one), Read::valid);
    text.raise(*log);
  };
  raise(100, 3);
  EXPECT_EQ(text.runs(), "Z:100 v:3,1 Z:16283");
  raise(101, 3);
  EXPECT_EQ(text.runs(), "Z:100 v:3,2 Z:16282");
  raise(103, 3);
  raise(102, 3);
  EXPECT_EQ(text.runs(), "Z:100 v:3,4 Z:16280");
  raise(101, 5);
  EXPECT_EQ(text.runs(), "Z:100 v:3,1 v:5,1 v:3,2 Z:16280");
  raise(0, 32);
  EXPECT_EQ(text.runs(), "v:32,1 Z:99 v:3,1 v:5,1 v:3,2 Z:16280");
  EXPECT_TRUE(text.is_sparse());
}

TEST(HyperLogLog, ItsTextSaysWhetherItsEstimateIsOld) {
  HyperLogLogText text;
  EXPECT_EQ(text.text()[15], 0);
  text.note_changed();
  EXPECT_EQ(text.text()[15], '\x80');
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
