#include "redis/wire/rdb_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "redis/wire/rdb.h"
#include "redis/wire/rdb_packed.h"

namespace postern::redis::rdb {
namespace {

using Kind = DumpedValue::Kind;
using Texts = std::vector<std::string>;

constexpr size_t enough = size_t{1} << 20;

/// The value with a footer.
std::string payload_of(Bytes value) {
  std::string payload(value);
  put_footer(payload);
  return payload;
}

Texts read(Bytes value) {
  DumpedValue read;
  EXPECT_TRUE(restore(payload_of(value), enough, read));
  return read.texts;
}

std::string listpack_of(const Texts &texts) {
  Listpack pack;
  for (const std::string &text : texts) pack.add(Bytes(text));
  return pack.end();
}

const Texts all_sizes = {"",
                         "0",
                         "127",
                         "128",
                         "-1",
                         "-4096",
                         "4095",
                         "-4097",
                         "32767",
                         "-32769",
                         "8388607",
                         "-8388609",
                         "text",
                         "0123",
                         "-0",
                         "2147483648",
                         "-2147483649",
                         "9223372036854775807",
                         "-9223372036854775808",
                         std::string(63, 'a'),
                         std::string(64, 'b'),
                         std::string(4'095, 'c'),
                         std::string(4'096, 'd'),
                         std::string(300'000, 'e')};

TEST(RdbValue, ListpacksAreReadAsTheyAreWritten) {
  const std::string pack = listpack_of(all_sizes);
  Texts read;
  EXPECT_TRUE(unpack_listpack(pack, [&](std::string text) {
    read.push_back(std::move(text));
    return true;
  }));
  EXPECT_EQ(read, all_sizes);
  const auto take = [](std::string) { return true; };
  for (size_t cut = 0; cut < 200; ++cut) EXPECT_FALSE(unpack_listpack(Bytes(pack).substr(0, cut), take)) << cut;
  EXPECT_FALSE(unpack_listpack(pack, [](std::string) { return false; })) << "an element was not taken";
}

TEST(RdbValue, OlderFormsAreRead) {
  // As versions before 7 wrote them: an intset, ziplists of a hash and of a list, a zipmap, a score as text.
  EXPECT_EQ(read(Bytes("\x0b\x0e\x02\0\0\0\x03\0\0\0\xff\xff\x01\0\x02\0", 16)), (Texts{"-1", "1", "2"}));
  std::string ziplist("\x12\0\0\0\x0e\0\0\0\x02\0", 10);
  ziplist += std::string("\0\x02", 2) + "f1" + std::string("\x04\xf3\xff", 3);
  ziplist[0] = static_cast<char>(ziplist.size());
  std::string hash = "\x0d";
  put_string(hash, ziplist);
  EXPECT_EQ(read(hash), (Texts{"f1", "2"}));
  std::string zipmap(
      "\x01\x01"
      "a\x02\x01"
      "bc_\xff",
      9);
  std::string old_hash = "\x09";
  put_string(old_hash, zipmap);
  EXPECT_EQ(read(old_hash), (Texts{"a", "bc"}));
  DumpedValue scored;
  EXPECT_TRUE(restore(payload_of(Bytes("\x03\x02\x01"
                                       "a\x03"
                                       "1.5\x01"
                                       "b\xff",
                                       11)),
                      enough, scored));
  EXPECT_EQ(scored.texts, (Texts{"a", "b"}));
  EXPECT_EQ(scored.scores, (std::vector<double>{1.5, -HUGE_VAL}));
}

TEST(RdbValue, WhatRedisRefusesIsRefused) {
  DumpedValue value;
  for (const Bytes bad : {Bytes("\x02\x02\x01"
                                "a\x01"
                                "a",
                                6),                  // a member twice
                          Bytes("\x01\0", 2),        // empty
                          Bytes("\x07\x01\x01", 3),  // of a module
                          Bytes("\x01\x05\x01"
                                "a",
                                4),  // five elements
                          Bytes("\x05\x01\x01"
                                "a\0\0\0\0\0\0\xf8\x7f",
                                12)}) {  // not a number
    EXPECT_FALSE(restore(payload_of(bad), enough, value)) << bad.size();
  }
}

TEST(RdbValue, AValueTakesNoMoreMemoryThanItMay) {
  DumpedValue list{.kind = Kind::list};
  list.texts.assign(1'000, std::string(100, 'x'));
  const std::string payload = dump(list);
  EXPECT_TRUE(restore(payload, enough, list));
  EXPECT_FALSE(restore(payload, 100'000, list));
  // A few bytes that would expand to a thousand million.
  EXPECT_FALSE(restore(payload_of(Bytes("\0\xc3\x05\x80\x40\0\0\0\0a\xe0\xff\0", 13)), enough, list));
}

DumpedStream stream_of_many() {
  DumpedStream stream{.last = {9'000, 0}, .deleted = {5, 5}, .added = 1'000};
  for (uint64_t i = 0; i < 350; ++i) {
    const Texts fields = i % 5 == 0 ? Texts{"other", std::to_string(i)} : Texts{"f", std::to_string(i), "g", "v"};
    stream.entries.push_back({{1'000 + i / 3, i % 3}, fields});
  }
  DumpedGroup group{.name = "g", .last = {1'001, 1}, .read = 4};
  group.consumers = {{"ann", 5}, {"bob", 6}, {"", 7}};
  for (uint64_t i = 0; i < 5; ++i) group.pending.push_back({{1'000 + i, 0}, 77, i, i % 2 == 0 ? "ann" : ""});
  stream.groups = {group, {.name = "h", .last = {0, 0}, .read = -1}};
  return stream;
}

TEST(RdbValue, StreamsAreReadAsTheyAreWritten) {
  DumpedValue value{.kind = Kind::stream, .stream = stream_of_many()};
  const std::string payload = dump(value);
  DumpedValue read;
  ASSERT_TRUE(restore(payload, enough, read));
  EXPECT_EQ(dump(read), payload);
  ASSERT_EQ(read.stream.entries.size(), 350U);
  for (size_t i = 0; i < 350; ++i) {
    EXPECT_EQ(read.stream.entries[i].id, value.stream.entries[i].id);
    EXPECT_EQ(read.stream.entries[i].fields, value.stream.entries[i].fields);
  }
  EXPECT_EQ(read.stream.groups[0].pending[1].consumer, "");
  EXPECT_EQ(read.stream.groups[1].read, -1);
  // A cut anywhere is noticed.
  const Bytes whole = Bytes(payload).substr(0, payload.size() - footer_bytes);
  for (size_t cut = 1; cut < whole.size(); ++cut)
    EXPECT_FALSE(restore(payload_of(whole.substr(0, cut)), enough, read)) << cut;
}

}  // namespace
}  // namespace postern::redis::rdb
