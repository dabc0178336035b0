#include "memcached/wire/binary_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "memcached/wire/testing/packet_writer.h"

namespace postern::memcached {
namespace {

using test::big_endian;
using test::Packet;

constexpr Bounds bounds{.value_bytes_max = 1'000, .line_bytes_max = 2'048};

const std::string stored = big_endian<uint32_t>(7) + big_endian<uint32_t>(60);
const std::string delta = big_endian<uint64_t>(3) + big_endian<uint64_t>(10) + big_endian<uint32_t>(60);
const std::string expiry = big_endian<uint32_t>(60);

/// One packet, all there. The bytes live as long as this.
struct Taken {
  explicit Taken(std::string all) : bytes(std::move(all)) {
    parsed = parser.take({bytes.data(), bytes.size()}, bounds, consumed, request);
  }
  Parsed again() {
    bytes.erase(0, consumed);
    request = {};
    return parsed = parser.take({bytes.data(), bytes.size()}, bounds, consumed, request);
  }

  std::string bytes;
  BinaryParser parser;
  Request request;
  size_t consumed = 0;
  Parsed parsed = Parsed::need_more;
};

void expect_closing(const std::string &bytes, Refusal refusal) {
  const Taken taken(bytes);
  EXPECT_EQ(taken.parsed, Parsed::close);
  EXPECT_EQ(taken.request.action, Action::refused);
  EXPECT_EQ(taken.request.refusal, refusal);
}

TEST(BinaryParser, EveryOpcodeIsItsActionAndQuietOrNot) {
  struct Asked {
    Asked(Action other) : action(other) {}
    Asked(ItemAction of_item) : action(Action::item), item(of_item) {}
    Action action;
    ItemAction item = ItemAction::get;
  };
  struct Case {
    uint8_t opcode;
    Asked asked;
    bool quiet;
    std::string extras, key, value;
  };
  const Case cases[] = {
      {0x00, ItemAction::get, false, "", "k", ""},
      {0x01, ItemAction::set, false, stored, "k", "v"},
      {0x02, ItemAction::add, false, stored, "k", "v"},
      {0x03, ItemAction::replace, false, stored, "k", "v"},
      {0x04, ItemAction::erase, false, "", "k", ""},
      {0x05, ItemAction::increment, false, delta, "k", ""},
      {0x06, ItemAction::decrement, false, delta, "k", ""},
      {0x07, Action::quit, false, "", "", ""},
      {0x08, ItemAction::flush, false, "", "", ""},
      {0x09, ItemAction::get, true, "", "k", ""},
      {0x0a, Action::noop, false, "", "", ""},
      {0x0b, Action::version, false, "", "", ""},
      {0x0c, ItemAction::get, false, "", "k", ""},
      {0x0d, ItemAction::get, true, "", "k", ""},
      {0x0e, ItemAction::append, false, "", "k", "v"},
      {0x0f, ItemAction::prepend, false, "", "k", "v"},
      {0x10, Action::statistics, false, "", "items", ""},
      {0x11, ItemAction::set, true, stored, "k", "v"},
      {0x12, ItemAction::add, true, stored, "k", "v"},
      {0x13, ItemAction::replace, true, stored, "k", "v"},
      {0x14, ItemAction::erase, true, "", "k", ""},
      {0x15, ItemAction::increment, true, delta, "k", ""},
      {0x16, ItemAction::decrement, true, delta, "k", ""},
      {0x17, Action::quit, true, "", "", ""},
      {0x18, ItemAction::flush, true, big_endian<uint32_t>(0), "", ""},
      {0x19, ItemAction::append, true, "", "k", "v"},
      {0x1a, ItemAction::prepend, true, "", "k", "v"},
      {0x1b, Action::verbosity, false, expiry, "", ""},
      {0x1c, ItemAction::get, false, expiry, "k", ""},
      {0x1d, ItemAction::get, false, expiry, "k", ""},
      {0x1e, ItemAction::get, true, expiry, "k", ""},
      {0x20, Action::mechanisms, false, "", "", ""},
      {0x21, Action::login, false, "", "PLAIN", std::string("\0u\0p", 4)},
      {0x22, Action::login, false, "", "PLAIN", std::string("\0u\0p", 4)},
      {0x23, ItemAction::get, false, expiry, "k", ""},
      {0x24, ItemAction::get, true, expiry, "k", ""},
  };
  for (const Case &c : cases) {
    const Taken taken(Packet{.opcode = c.opcode, .extras = c.extras, .key = c.key, .value = c.value, .cas = 0}.bytes() +
                      "next");
    SCOPED_TRACE(int{c.opcode});
    ASSERT_EQ(taken.parsed, Parsed::request);
    EXPECT_EQ(taken.bytes.substr(taken.consumed), "next");
    EXPECT_EQ(taken.request.action, c.asked.action);
    EXPECT_EQ(taken.request.item.action, c.asked.item);
    EXPECT_EQ(taken.request.quiet, c.quiet);
    EXPECT_EQ(taken.request.dialect, Dialect::binary);
    EXPECT_EQ(taken.request.opcode, c.opcode);
    EXPECT_EQ(taken.request.opaque, 0x01020304u);
    EXPECT_EQ(taken.request.key, c.key);
    EXPECT_EQ(taken.request.item.value, c.value);
    EXPECT_EQ(taken.request.wants_key, c.opcode == 0x0c || c.opcode == 0x0d || c.opcode == 0x23 || c.opcode == 0x24);
    EXPECT_EQ(taken.request.item.touches, c.opcode >= 0x1c && c.extras == expiry);
    EXPECT_EQ(taken.request.wants_value, c.opcode != 0x1c);
  }
}

TEST(BinaryParser, AStoredItemHasFlagsExpiryAndCas) {
  const Taken taken(Packet{.opcode = 0x01, .extras = stored, .key = "key", .value = "value", .cas = 99}.bytes());
  ASSERT_EQ(taken.parsed, Parsed::request);
  EXPECT_EQ(taken.request.item.flags, 7u);
  EXPECT_EQ(taken.request.expiry, 60);
  EXPECT_EQ(taken.request.item.cas, 99u);
  EXPECT_EQ(taken.request.key, "key");
  EXPECT_EQ(taken.request.item.value, "value");
}

TEST(BinaryParser, WithACasAddAndReplaceAreASet) {
  for (const uint8_t opcode : {0x02, 0x03, 0x12, 0x13}) {
    const Taken taken(Packet{.opcode = opcode, .extras = stored, .key = "k", .value = "v", .cas = 1}.bytes());
    EXPECT_TRUE(taken.request.asks(ItemAction::set));
    EXPECT_EQ(taken.request.opcode, opcode);
  }
}

TEST(BinaryParser, AValueMayBeEmptyAndHoldAnyByte) {
  const Taken empty(Packet{.opcode = 0x01, .extras = stored, .key = "k"}.bytes());
  EXPECT_EQ(empty.parsed, Parsed::request);
  EXPECT_EQ(empty.request.item.value, "");
  const std::string any("\0\r\n\xff\x80 ", 6);
  const Taken taken(Packet{.opcode = 0x01, .extras = stored, .key = any, .value = any}.bytes());
  EXPECT_EQ(taken.request.key, any);
  EXPECT_EQ(taken.request.item.value, any);
}

TEST(BinaryParser, AnIncrementCreatesUnlessItsExpiryIsAllOnes) {
  const Taken creating(Packet{.opcode = 0x05, .extras = delta, .key = "n"}.bytes());
  EXPECT_TRUE(creating.request.item.creates);
  EXPECT_EQ(creating.request.item.delta, 3u);
  EXPECT_EQ(creating.request.item.initial, 10u);
  EXPECT_EQ(creating.request.expiry, 60);
  const std::string only_if_there = delta.substr(0, 16) + big_endian<uint32_t>(UINT32_MAX);
  const Taken taken(Packet{.opcode = 0x06, .extras = only_if_there, .key = "n"}.bytes());
  EXPECT_FALSE(taken.request.item.creates);
}

TEST(BinaryParser, AnExpiryHasNoSign) {
  const Taken taken(Packet{.opcode = 0x1c, .extras = big_endian<uint32_t>(UINT32_MAX), .key = "k"}.bytes());
  EXPECT_EQ(taken.request.expiry, int64_t{UINT32_MAX});
}

TEST(BinaryParser, AFlushDoesNotWait) {
  for (const uint8_t opcode : {0x08, 0x18}) {
    const Taken taken(Packet{.opcode = opcode, .extras = expiry}.bytes());
    EXPECT_EQ(taken.parsed, Parsed::request);
    EXPECT_EQ(taken.request.action, Action::refused);
    EXPECT_EQ(taken.request.refusal, Refusal::not_supported);
  }
}

TEST(BinaryParser, ALoginHasUserAndPassword) {
  const Taken taken(Packet{.opcode = 0x21, .key = "PLAIN", .value = std::string("who\0anna\0se\0cret", 16)}.bytes());
  EXPECT_EQ(taken.request.action, Action::login);
  EXPECT_EQ(taken.request.user, "anna");
  EXPECT_EQ(taken.request.password, std::string("se\0cret", 7));
}

TEST(BinaryParser, AnotherMechanismOrHalfALoginIsRefused) {
  const std::string whole("\0anna\0secret", 12);
  for (const Packet &packet :
       {Packet{.opcode = 0x21, .key = "CRAM-MD5", .value = whole}, Packet{.opcode = 0x21, .key = "PLAIN", .value = ""},
        Packet{.opcode = 0x21, .key = "PLAIN", .value = std::string("\0anna", 5)},
        Packet{.opcode = 0x22, .key = "PLAIN", .value = std::string(300, 'a') + whole.substr(1)},
        Packet{.opcode = 0x21, .key = "PLAIN", .value = '\0' + std::string(300, 'u') + '\0'}}) {
    const Taken taken(packet.bytes());
    EXPECT_EQ(taken.parsed, Parsed::request);
    EXPECT_EQ(taken.request.action, Action::refused);
    EXPECT_EQ(taken.request.refusal, Refusal::not_logged_in);
    EXPECT_TRUE(taken.request.password.empty());
  }
}

TEST(BinaryParser, ALoginThatIsTooLongIsSwallowed) {
  Taken taken(Packet{.opcode = 0x21, .key = "PLAIN", .value = std::string(10'000, 'x')}.bytes());
  EXPECT_EQ(taken.parsed, Parsed::request);
  EXPECT_EQ(taken.request.refusal, Refusal::value_too_large);
  EXPECT_EQ(taken.again(), Parsed::nothing);
  EXPECT_EQ(taken.consumed, taken.bytes.size());
}

TEST(BinaryParser, ABadMagicClosesWithoutAWord) {
  for (const char first : {'\x81', 'g', '\0'}) {
    const Taken taken(first + Packet{.opcode = 0x00, .key = "k"}.bytes().substr(1));
    EXPECT_EQ(taken.parsed, Parsed::close);
    EXPECT_EQ(taken.request.action, Action::quit);
    EXPECT_TRUE(taken.request.quiet);
  }
}

TEST(BinaryParser, LengthsThatContradictEachOtherClose) {
  expect_closing(Packet{.opcode = 0x00, .key = "k"}.bytes(0, 10, 1), Refusal::unknown_command);
  expect_closing(Packet{.opcode = 0x00, .key = "k"}.bytes(200, 1, 1), Refusal::unknown_command);
  expect_closing(Packet{.opcode = 0x00, .key = "k"}.bytes(255, 65535, UINT16_MAX + 254), Refusal::unknown_command);
  expect_closing(Packet{.opcode = 0x60, .key = "k"}.bytes(0, 10, 1), Refusal::unknown_command);
}

TEST(BinaryParser, LengthsThatContradictTheCommandClose) {
  for (int opcode = 0; opcode < 0x25; ++opcode) {
    if (opcode == 0x1f) continue;  // no command
    SCOPED_TRACE(opcode);
    const auto code = static_cast<uint8_t>(opcode);
    expect_closing(Packet{.opcode = code, .extras = "123", .key = "k"}.bytes(), Refusal::bad_format);
  }
  for (const uint8_t keyed : {0x00, 0x04, 0x09, 0x0c, 0x0d, 0x0e, 0x14, 0x1a, 0x21})
    expect_closing(Packet{.opcode = keyed}.bytes(), Refusal::bad_format);
  for (const uint8_t keyless : {0x07, 0x08, 0x0a, 0x0b, 0x17, 0x18, 0x20})
    expect_closing(Packet{.opcode = keyless, .key = "k"}.bytes(), Refusal::bad_format);
  expect_closing(Packet{.opcode = 0x00, .key = "k", .value = "v"}.bytes(), Refusal::bad_format);
  expect_closing(Packet{.opcode = 0x01, .extras = stored, .value = "v"}.bytes(), Refusal::bad_format);
  expect_closing(Packet{.opcode = 0x05, .extras = delta, .key = "k", .value = "v"}.bytes(), Refusal::bad_format);
  expect_closing(Packet{.opcode = 0x08, .extras = stored}.bytes(), Refusal::bad_format);
}

TEST(BinaryParser, AKeyMayBe250BytesLong) {
  const Taken longest(Packet{.opcode = 0x00, .key = std::string(250, 'k')}.bytes());
  EXPECT_EQ(longest.parsed, Parsed::request);
  expect_closing(Packet{.opcode = 0x00, .key = std::string(251, 'k')}.bytes(), Refusal::key_too_long);
}

TEST(BinaryParser, AValueBeyondTheBoundIsAnsweredAtOnceAndSwallowed) {
  const std::string get = Packet{.opcode = 0x00, .key = "k"}.bytes();
  const Packet packet{.opcode = 0x11, .extras = stored, .key = "k", .value = std::string(1'001, 'v')};
  Taken header(packet.bytes().substr(0, 24 + packet.extras.size() + packet.key.size()));
  EXPECT_EQ(header.parsed, Parsed::request);
  EXPECT_EQ(header.request.refusal, Refusal::value_too_large);

  Taken taken(packet.bytes() + get);
  EXPECT_EQ(taken.parsed, Parsed::request);
  EXPECT_EQ(taken.request.action, Action::refused);
  EXPECT_EQ(taken.again(), Parsed::nothing);
  EXPECT_EQ(taken.again(), Parsed::request);
  EXPECT_TRUE(taken.request.asks(ItemAction::get));
  EXPECT_EQ(taken.consumed, get.size());
}

TEST(BinaryParser, LengthsOfGigabytesAreRefusedBeforeTheValue) {
  for (const uint8_t opcode : {0x01, 0x0e, 0x1c, 0x10, 0x21, 0x60}) {
    const std::string extras = opcode == 0x01 ? stored : opcode == 0x1c ? expiry : "";
    const Packet packet{.opcode = opcode, .extras = extras, .key = opcode == 0x60 ? "" : "k"};
    Taken taken(
        packet.bytes(static_cast<uint8_t>(extras.size()), static_cast<uint16_t>(packet.key.size()), UINT32_MAX));
    EXPECT_EQ(taken.parsed, Parsed::request);
    EXPECT_EQ(taken.request.action, Action::refused);
    EXPECT_EQ(taken.consumed, 24u + packet.extras.size() + packet.key.size());
  }
}

TEST(BinaryParser, AnUnknownCommandIsAnsweredAndItsWholeBodySwallowed) {
  for (const uint8_t opcode : {0x1f, 0x25, 0x30, 0xff}) {
    Taken taken(Packet{.opcode = opcode, .extras = "1234", .key = "key", .value = "value"}.bytes() +
                Packet{.opcode = 0x0a}.bytes());
    EXPECT_EQ(taken.parsed, Parsed::request);
    EXPECT_EQ(taken.request.refusal, Refusal::unknown_command);
    EXPECT_EQ(taken.again(), Parsed::nothing);
    EXPECT_EQ(taken.again(), Parsed::request);
    EXPECT_EQ(taken.request.action, Action::noop);
  }
}

TEST(BinaryParser, WaitsForAPacketToBeWhole) {
  const std::string whole = Packet{.opcode = 0x01, .extras = stored, .key = "k", .value = "value"}.bytes();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Taken taken(whole.substr(0, bytes));
    EXPECT_EQ(taken.parsed, Parsed::need_more);
    EXPECT_EQ(taken.consumed, 0u);
  }
}

}  // namespace
}  // namespace postern::memcached
