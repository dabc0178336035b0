#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "memcached/wire/base64.h"
#include "memcached/testing/fake_store.h"
#include "memcached/wire/tokens.h"
#include "support/unit/escaped.h"

namespace postern::memcached {
namespace {

using test::escaped;
using test::unescaped;

/// `<x*250>` in the transcripts.
std::string repeated(const std::string &text) {
  static const std::regex repetition("<(.)\\*([0-9]+)>");
  std::string out;
  std::sregex_iterator at(text.begin(), text.end(), repetition);
  size_t copied = 0;
  for (; at != std::sregex_iterator(); ++at) {
    out.append(text, copied, static_cast<size_t>(at->position()) - copied);
    out.append(std::stoul((*at)[2].str()), (*at)[1].str()[0]);
    copied = static_cast<size_t>(at->position() + at->length());
  }
  return out.append(text, copied);
}

struct Exchange {
  std::string line;
  std::string sent;
  std::string answered;
};

std::vector<Exchange> transcript() {
  std::ifstream file(POSTERN_TESTS_DIR "/wire/memcached/text.tsv");
  std::vector<Exchange> found;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const size_t sent = line.find('\t') + 1;
    const size_t answered = line.find('\t', sent) + 1;
    found.push_back({line, unescaped(repeated(line.substr(sent, answered - 1 - sent))),
                     unescaped(repeated(line.substr(answered)))});
  }
  return found;
}

TEST(McText, AnswersAsTheTranscriptSays) {
  const std::vector<Exchange> exchanges = transcript();
  ASSERT_GT(exchanges.size(), 100u);
  for (const Exchange &exchange : exchanges)
    EXPECT_EQ(escaped(FakeStore().receive(exchange.sent)), escaped(exchange.answered)) << exchange.line;
}

TEST(McText, AnswersTheSameHoweverItIsCut) {
  for (const Exchange &exchange : transcript()) {
    const size_t piece_bytes = exchange.sent.size() > 10'000 ? 100'003 : 1;
    FakeStore store;
    std::string answered;
    for (size_t at = 0; at < exchange.sent.size(); at += piece_bytes)
      answered += store.receive(std::string_view(exchange.sent).substr(at, piece_bytes));
    EXPECT_EQ(escaped(answered), escaped(exchange.answered)) << exchange.line;
  }
}

TEST(McText, ReportsATooLongKeyBeforeAnyItem) {
  const std::string too_long(key_bytes_max + 1, 'k');
  FakeStore store;
  EXPECT_EQ(store.receive("set a 0 0 1\r\nx\r\nget a"), "STORED\r\n");
  EXPECT_EQ(store.receive(" "), "");
  EXPECT_EQ(store.receive("a " + too_long), "CLIENT_ERROR bad command line format\r\n");
  EXPECT_EQ(store.receive(" a\r"), "");
  EXPECT_EQ(store.receive("\nget a\r\n"), "VALUE a 0 1\r\nx\r\nEND\r\n");
}

TEST(McText, AnswersAKeyOfAVeryLongLineBeforeItEnds) {
  const std::string item = "VALUE a 0 1\r\nx\r\n", too_long(key_bytes_max + 1, 'k');
  FakeStore store;
  std::string keys = "get ", items;
  while (keys.size() < 4 + TextFramer::keys_bytes_seen - 1) keys += "a ", items += item;
  EXPECT_EQ(store.receive("set a 0 0 1\r\nx\r\n" + keys.substr(0, 4 + TextFramer::keys_bytes_seen - 1)), "STORED\r\n");
  EXPECT_EQ(store.receive(" a "), items + item) << "looked through";
  EXPECT_EQ(store.receive("a " + too_long), item + "CLIENT_ERROR bad command line format\r\n");
  EXPECT_EQ(store.receive(" a\r\nget a\r\n"), item + "END\r\n");
}

TEST(McText, TakesALineOfAnyNumberOfKeys) {
  FakeStore store;
  store.receive("set a 0 0 1\r\nx\r\n");
  std::string answered = store.receive("gets");
  for (int i = 0; i < 10'000; ++i) answered += store.receive(" a");
  answered += store.receive("\r\n");
  EXPECT_EQ(answered.size(), 10'000 * std::string_view("VALUE a 0 1 1\r\nx\r\n").size() + 5);
}

TEST(McText, AnEndOfLineBelongsToTheLongestKeyOnlyWhenItIsOne) {
  const std::string key(key_bytes_max, 'k');
  FakeStore store;
  EXPECT_EQ(store.receive("get " + key + "\r"), "");
  EXPECT_EQ(store.receive("\nget " + key + "\r"), "END\r\n");
  EXPECT_EQ(store.receive("x\r\nversion\r\n"), "CLIENT_ERROR bad command line format\r\nVERSION 1.6.18\r\n");
}

TEST(McText, AValueThatIsRefusedIsDroppedAsItComes) {
  FakeStore store(Bounds{.value_bytes_max = 10, .line_bytes_max = 100});
  EXPECT_EQ(store.receive("set a 0 0 30\r\n"), "SERVER_ERROR object too large for cache\r\n");
  EXPECT_EQ(store.receive("0123456789"), "");
  EXPECT_EQ(store.receive("flush_all\r\n"), "");
  EXPECT_EQ(store.receive("012345678\r"), "");
  EXPECT_EQ(store.receive("\nversion\r\n"), "VERSION 1.6.18\r\n");
}

TEST(McText, AValueOfTheLargestSizeIsStored) {
  FakeStore store(Bounds{.value_bytes_max = 3, .line_bytes_max = 100});
  EXPECT_EQ(store.receive("set a 0 0 3\r\nabc\r\nset a 0 0 4\r\nabcd\r\nms a 3\r\nabc\r\nms a 4\r\nabcd\r\n"),
            "STORED\r\nSERVER_ERROR object too large for cache\r\nHD\r\nSERVER_ERROR object too large for cache\r\n");
}

TEST(McText, ClosesOnALineWithoutEnd) {
  FakeStore store(Bounds{.value_bytes_max = 10, .line_bytes_max = 100});
  EXPECT_EQ(store.receive(std::string(100, 'x')), "");
  EXPECT_FALSE(store.closed());
  EXPECT_EQ(store.receive("x"), "CLIENT_ERROR line too long\r\n");
  EXPECT_TRUE(store.closed());
}

TEST(McText, KnowsWhatCannotBeAskedThroughAFakeStore) {
  TextFramer parser;
  Request request;
  size_t consumed = 0;
  const Bounds bounds{.value_bytes_max = 10, .line_bytes_max = 300};
  const auto take = [&](std::string bytes) {
    request = {};
    EXPECT_EQ(parser.take(bytes, bounds, consumed, request), Parsed::request);
    EXPECT_EQ(consumed, bytes.size());
  };
  take("stats items\r\n");
  EXPECT_EQ(request.action, Action::statistics);
  take("stats " + std::string(key_bytes_max, 's') + "\r\n");
  EXPECT_EQ(request.action, Action::statistics);
  take("stats " + std::string(key_bytes_max + 1, 's') + "\r\n");
  EXPECT_EQ(request.action, Action::refused) << "no key is longer";
  take("get a\r\n");
  EXPECT_TRUE(request.ends);
  EXPECT_TRUE(request.wants_value);
  {
    TextFramer keys;
    std::string bytes = "get " + std::string(key_bytes_max + 1, 'k') + " a\r\n";
    request = {};
    EXPECT_EQ(keys.take(bytes, bounds, consumed, request), Parsed::request);
    EXPECT_EQ(request.refusal, Refusal::key_too_long);
    EXPECT_TRUE(request.ends) << "no other end of the answer comes";
  }
  take("mg a k t\r\n");
  EXPECT_FALSE(request.wants_value);
  EXPECT_FALSE(request.item.touches);
  take("mg a s\r\n");
  EXPECT_TRUE(request.wants_value);
  take("cas a 0 0 0 0\r\n\r\n");
  EXPECT_TRUE(request.asks(ItemAction::set));
  EXPECT_TRUE(request.item.compares);
  take("ms a 0\r\n\r\n");
  EXPECT_FALSE(request.item.compares);
  take("ma a N30 J7 MD D3 E9 C5\r\n");
  EXPECT_TRUE(request.asks(ItemAction::decrement));
  EXPECT_TRUE(request.item.creates && request.item.sets_cas && request.item.compares && !request.item.touches);
  EXPECT_EQ(request.expiry, 30);
  EXPECT_EQ(request.item.initial, 7u);
  EXPECT_EQ(request.item.delta, 3u);
  EXPECT_EQ(request.item.new_cas, 9u);
  EXPECT_EQ(request.item.cas, 5u);
}

TEST(McText, TakesNothingOfAnIncompleteRequest) {
  TextFramer parser;
  const Bounds bounds{.value_bytes_max = 10, .line_bytes_max = 100};
  for (const std::string_view bytes : {"s", "se", "set a 0 0 3\r", "set a 0 0 3\r\nabc\r"}) {
    std::string received(bytes);
    Request request;
    size_t consumed = 1;
    EXPECT_EQ(parser.take(received, bounds, consumed, request), Parsed::need_more) << bytes;
    EXPECT_EQ(consumed, 0u) << bytes;
    EXPECT_EQ(received, bytes);
  }
}

TEST(McText, ABase64KeyIsDecodedOnceThoughItsValueIsLate) {
  FakeStore store;
  for (const char byte : std::string_view("ms YWJj 2 b k\r\nhi\r\n")) {
    const std::string answered = store.receive({&byte, 1});
    EXPECT_TRUE(answered.empty() || answered == "HD kYWJj b\r\n") << answered;
  }
  EXPECT_EQ(store.receive("get abc\r\n"), "VALUE abc 0 2\r\nhi\r\nEND\r\n");
}

TEST(McBase64, DecodesItsOwnOutput) {
  std::string bytes;
  for (int i = 0; i < 260; ++i) {
    std::string text(base64_encoded_bytes(bytes.size()), '\0');
    EXPECT_EQ(encode_base64(bytes, text.data()), text.data() + text.size());
    EXPECT_EQ(base64_bytes(text), bytes.size());
    std::string back = text;
    back.resize(static_cast<size_t>(decode_base64(text, back.data()) - back.data()));
    EXPECT_EQ(back, bytes);
    bytes += static_cast<char>(i * 7);
  }
}

TEST(McBase64, RefusesOtherTexts) {
  for (const std::string_view text :
       {"", "a", "ab", "abc", "a===", "====", "ab=c", "ab c", "a\nbc", "=abc", "abcd=", "ab-_"})
    EXPECT_EQ(base64_bytes(text), 0u) << text;
  EXPECT_EQ(base64_bytes("YQ=="), 1u);
}

TEST(McNumbers, FillTheirWordAndFitTheirType) {
  int64_t integer = 0;
  uint32_t natural = 0;
  EXPECT_TRUE(parse_integer("-9223372036854775808", integer));
  EXPECT_TRUE(parse_integer("-0", integer));
  EXPECT_EQ(integer, 0);
  for (const std::string_view word : {"", "-", "+1", "1 ", "1x", "0x1", "9223372036854775808"})
    EXPECT_FALSE(parse_integer(word, integer)) << word;
  EXPECT_TRUE(parse_natural_32("4294967295", natural));
  for (const std::string_view word : {"", "-1", "4294967296", "1.0"})
    EXPECT_FALSE(parse_natural_32(word, natural)) << word;
}

}  // namespace
}  // namespace postern::memcached
