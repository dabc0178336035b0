// Requests: every cut of their bytes gives the same, and limits are enforced.
#include "redis/wire/request_parser.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "redis/wire/glob.h"
#include "redis/wire/numbers.h"
#include "redis/wire/writer.h"

namespace postern::redis {
namespace {

/// Requests as text, one a line, and the error at the end if there is one.
std::string parsed(Bytes bytes, const Bounds &bounds = {}, size_t piece = 0) {
  RequestParser parser;
  Arena arena;
  std::string received;
  std::string told;
  if (piece == 0) piece = bytes.size();
  for (size_t at = 0; at < bytes.size(); at += piece) {
    received += bytes.substr(at, piece);
    for (bool more = true; more;) {
      switch (parser.take({received.data(), received.size()}, bounds, arena)) {
        case Parsed::need_more: more = false; continue;
        case Parsed::broken: return told + std::string(parser.error());
        case Parsed::nothing: break;
        case Parsed::request:
          for (const Bytes argument : parser.arguments()) told.append("<").append(argument).append(">");
          told += "\n";
      }
      received.erase(0, parser.consumed());
    }
  }
  return told;
}

void check(std::initializer_list<std::pair<Bytes, Bytes>> examples) {
  for (const auto &[bytes, answer] : examples) EXPECT_EQ(parsed(bytes), answer) << bytes;
}

TEST(RedisRequest, TakesArraysAndLinesHoweverTheyAreCut) {
  const std::string text =
      "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$7\r\na\r\nbac!\r\nPING\r\n  \r\n\n*0\r\n*-7\r\nset k \"x\\x41\\n y\" "
      "'q\\'r'\n*1\r\n$0\r\n\r\n"
      "*18\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n"
      "$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n";
  std::string bytes(text);
  bytes[bytes.find("bac!") + 1] = '\0';
  const std::string whole = parsed(bytes);
  EXPECT_NE(whole.find("<set><k><xA\n y><q'r>\n"), std::string::npos) << whole;
  EXPECT_NE(whole.find("<1><2><3><4><5><6><7><8><9><1><2><3><4><5><6><7><8><9>\n"), std::string::npos) << whole;
  for (size_t piece = 1; piece < bytes.size(); ++piece) EXPECT_EQ(parsed(bytes, {}, piece), whole) << piece;
}

TEST(RedisRequest, ReportsErrorsInRedissWords) {
  check({{"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n", "Protocol error: expected '$', got 'f'"},
         {"*1\r\n\x01\r\n", "Protocol error: expected '$', got '\x01'"},
         {"*x\r\n", "Protocol error: invalid multibulk length"},
         {"*20000000\r\n", "Protocol error: invalid multibulk length"},
         {"*99999999999999999999\r\n", "Protocol error: invalid multibulk length"},
         {"*1\r\n$-10\r\n", "Protocol error: invalid bulk length"},
         {"*1\r\n$2000000000\r\n", "Protocol error: invalid bulk length"},
         {"*1\r\n$blabla\r\n", "Protocol error: invalid bulk length"}});
  for (const Bytes number : {"01", "00", "1x", "1\n", "+1", "", "0x1", "12345x", "\xb1"}) {
    const std::string line = std::string(number) + "\r\nabcdefgh\r\n";
    EXPECT_EQ(parsed("*" + line), "Protocol error: invalid multibulk length") << number;
    EXPECT_EQ(parsed("*1\r\n$" + line), "Protocol error: invalid bulk length") << number;
  }
  check({{"set \"\"\"test-key\"\"\" test-value\r\n", "Protocol error: unbalanced quotes in request"},
         {"set \"x\r\n", "Protocol error: unbalanced quotes in request"}});
  EXPECT_EQ(parsed(std::string(70'000, 'x')), "Protocol error: too big inline request");
  EXPECT_EQ(parsed("*" + std::string(70'000, '1')), "Protocol error: too big mbulk count string");
  EXPECT_EQ(parsed("*1\r\n$" + std::string(70'000, '1')), "Protocol error: too big bulk count string");
}

TEST(RedisRequest, TakesNumbersOfAnyLength) {
  for (const size_t size : {0, 1, 9, 10, 99, 999, 1'000, 9'999, 10'000, 12'345, 100'000}) {
    const std::string text(size, 'x');
    EXPECT_EQ(parsed("*1\r\n$" + std::to_string(size) + "\r\n" + text + "\r\n"), "<" + text + ">\n") << size;
    std::string counted = "*" + std::to_string(size) + "\r\n";
    for (size_t i = 0; i < size; ++i) counted += "$1\r\na\r\n";
    const std::string told = parsed(counted);
    EXPECT_EQ(told.size(), size == 0 ? 0 : 3 * size + 1) << size;
  }
}

TEST(RedisRequest, StrangersSendLittle) {
  const Bounds bounds{.stranger = true};
  EXPECT_EQ(parsed("*11\r\n", bounds), "Protocol error: unauthenticated multibulk length");
  EXPECT_EQ(parsed("*1\r\n$16385\r\n", bounds), "Protocol error: unauthenticated bulk length");
  EXPECT_EQ(parsed("*1\r\n$4\r\nPING\r\n", bounds), "<PING>\n");
}

TEST(RedisRequest, TheWholeOfARequestIsBounded) {
  EXPECT_EQ(parsed("*2\r\n$60\r\n" + std::string(60, 'x') + "\r\n$60\r\n", {.request_bytes_max = 100}),
            "Protocol error: too big request");
}

TEST(RedisRequest, OneThatIsThereAsAWholeIsBoundedAllTheSame) {
  const std::string get = "*2\r\n$3\r\nGET\r\n$5\r\na key\r\n";
  EXPECT_EQ(parsed(get, {.arguments_max = 2, .argument_bytes_max = 5, .request_bytes_max = get.size()}),
            "<GET><a key>\n");
  EXPECT_EQ(parsed(get, {.arguments_max = 1}), "Protocol error: invalid multibulk length");
  EXPECT_EQ(parsed(get, {.argument_bytes_max = 4}), "Protocol error: invalid bulk length");
  EXPECT_EQ(parsed(get, {.request_bytes_max = get.size() - 1}), "Protocol error: too big request");
  EXPECT_EQ(parsed("*2\r\n$3\r\nGET\r\n+a key\r\n"), "Protocol error: expected '$', got '+'");
}

/// Few or many arguments, short or long: parsing several of them at once changes nothing.
TEST(RedisRequest, AnyNumberOfArgumentsOfAnySizeIsTheSameHoweverCut) {
  for (size_t count = 1; count <= 18; ++count) {
    for (const size_t size : {0, 1, 2, 9, 10}) {
      std::string one = "*" + std::to_string(count) + "\r\n";
      std::string told;
      for (size_t i = 0; i < count; ++i) {
        const std::string argument(size, static_cast<char>('a' + i));
        one += "$" + std::to_string(size) + "\r\n" + argument + "\r\n";
        told += "<" + argument + ">";
      }
      const std::string twice = told + "\n" + told + "\n";
      for (size_t piece = 0; piece <= 2 * one.size(); ++piece) ASSERT_EQ(parsed(one + one, {}, piece), twice) << piece;
    }
  }
}

TEST(RedisRequest, ReservesNothingForAnnouncedBytes) {
  RequestParser parser;
  Arena arena;
  const Bytes begun = "*1048576\r\n$60000000\r\nx";
  EXPECT_EQ(parser.take({begun.data(), begun.size()}, {}, arena), Parsed::need_more);
  EXPECT_EQ(arena.bytes(), 0u);
}

TEST(RedisNumbers, IntegersAreStrict) {
  int64_t number = 7;
  for (const Bytes good : {"0", "-1", "9223372036854775807", "-9223372036854775808"})
    EXPECT_TRUE(parse_integer(good, number)) << good;
  for (const Bytes bad : {"", "-", "+1", "01", "-0", " 1", "1 ", "9223372036854775808", "-9223372036854775809", "1.0"})
    EXPECT_FALSE(parse_integer(bad, number)) << bad;
}

std::string printed(long double number) {
  char text[number_bytes_max];
  return {text, print_long_double(text, number)};
}

TEST(RedisNumbers, FloatsArePrintedAsRedisDoes) {
  EXPECT_EQ(printed(10.6L), "10.6");
  EXPECT_EQ(printed(3.0e3L), "3000");
  EXPECT_EQ(printed(-0.0L), "0");
  long double number = 0;
  EXPECT_TRUE(parse_long_double("5.0e3", number));
  EXPECT_TRUE(parse_long_double("inf", number));
  for (const Bytes bad : {"", " 1", "1 ", "nan", "1e5000", "abc", "1x"})
    EXPECT_FALSE(parse_long_double(bad, number)) << bad;
  char text[number_bytes_max];
  EXPECT_EQ(Bytes(text, print_double(text, 0.1)), "0.10000000000000001");
}

TEST(RedisGlob, MatchesAsRedisDoes) {
  const struct {
    Bytes pattern;
    Bytes text;
    bool matches;
  } cases[] = {
      {"*", "", true},
      {"a*", "abc", true},
      {"h?llo", "hello", true},
      {"h[ae]llo", "hallo", true},
      {"h[^e]llo", "hello", false},
      {"h[a-b]llo", "hbllo", true},
      {"a\\*b", "a*b", true},
      {"a\\*b", "axb", false},
      {"*a*b", "xaxxb", true},
      {"*a*b", "xaxxbc", false},
      {"", "", true},
      {"", "a", false},
      {"[abc", "a", true},
      {"a", "A", false},
      {"\\", "\\", true},
      {"**", "x", true},
  };
  for (const auto &one : cases) EXPECT_EQ(glob_matches(one.pattern, one.text), one.matches) << one.pattern << one.text;
  EXPECT_TRUE(glob_matches("MaX*", "maxmemory", true));
  std::string stars;
  for (int i = 0; i < 100; ++i) stars += "a*";
  EXPECT_FALSE(glob_matches(stars + "b", std::string(5'000, 'a')));
  EXPECT_EQ(glob_prefix("user:1*"), "user:1");
  EXPECT_EQ(glob_prefix("user"), "user");
}

std::string written(Resp resp, void (*write)(Writer &)) {
  Output output;
  Writer writer(output, resp);
  write(writer);
  output.release();
  return std::string(output.sendable());
}

TEST(RedisWriter, SpeaksBothVersions) {
  const auto all = [](Writer &writer) {
    writer.nil();
    writer.nil_array();
    writer.map(1);
    writer.set(1);
    writer.number(1.5);
    writer.verbatim("ab");
    writer.bulk("x");
    writer.integer(-3);
    writer.array(0);
  };
  EXPECT_EQ(written(Resp::two, all), "$-1\r\n*-1\r\n*2\r\n*1\r\n$3\r\n1.5\r\n$2\r\nab\r\n$1\r\nx\r\n:-3\r\n*0\r\n");
  EXPECT_EQ(written(Resp::three, all), "_\r\n_\r\n%1\r\n~1\r\n,1.5\r\n=6\r\ntxt:ab\r\n$1\r\nx\r\n:-3\r\n*0\r\n");
}

TEST(RedisWriter, NoClientForgesAReply) {
  EXPECT_EQ(written(Resp::two, [](Writer &writer) { writer.error("ERR a\r\n+OK\n", "b\rc"); }), "-ERR a  +OK b c\r\n");
}

}  // namespace
}  // namespace postern::redis
