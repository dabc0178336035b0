// memcached 1.6's answers, byte by byte; only the messages of failures that it does not have are ours.
#include "memcached/wire/forms.h"

#include <gtest/gtest.h>

#include <string>

#include "memcached/wire/testing/packet_writer.h"
#include "support/unit/escaped.h"

namespace postern::memcached {
namespace {

using postern::test::escaped;
using test::big_endian;

Request request_of(uint8_t opcode, Action action, bool quiet = false) {
  Request request;
  request.dialect = Dialect::binary;
  request.opcode = opcode;
  request.action = action;
  request.quiet = quiet;
  request.opaque = 0x01020304;
  request.key = "key";
  return request;
}

Request request_of(uint8_t opcode, ItemAction action, bool quiet = false) {
  Request request = request_of(opcode, Action::item, quiet);
  request.ask(action);
  return request;
}

class Answered {
 public:
  Output &output() { return output_; }
  std::string bytes() {
    output_.release();
    return std::string(output_.sendable());
  }

 private:
  Output output_;
};

constexpr BinaryForm form;

std::string bytes_of_item(const Request &request, const Item &item) {
  Answered answered;
  form.item(answered.output(), request, item);
  return answered.bytes();
}

std::string bytes_of_result(const Request &request, Result result, uint64_t cas = 0) {
  Answered answered;
  form.result(answered.output(), request, result, cas);
  return answered.bytes();
}

std::string bytes_of_plain(const Request &request, Bytes value) {
  Answered answered;
  form.plain(answered.output(), request, value);
  return answered.bytes();
}

std::string header(uint8_t opcode, uint16_t key_bytes, uint8_t extras_bytes, uint16_t status, uint32_t body_bytes,
                   uint64_t cas = 0) {
  return std::string{'\x81', static_cast<char>(opcode)} + big_endian(key_bytes) +
         std::string{static_cast<char>(extras_bytes), '\0'} + big_endian(status) + big_endian(body_bytes) +
         std::string("\1\2\3\4") + big_endian(cas);
}

#define EXPECT_BYTES(actual, expected) EXPECT_EQ(escaped(actual), escaped(expected))

TEST(BinaryForm, AnItemIsFlagsAndValueWithItsCas) {
  const Item item{.value = "value", .flags = 7, .cas = 42};
  EXPECT_BYTES(bytes_of_item(request_of(0x00, ItemAction::get), item),
               header(0x00, 0, 4, 0, 9, 42) + std::string("\0\0\0\7value", 9));
  EXPECT_BYTES(bytes_of_item(request_of(0x09, ItemAction::get, true), item),
               header(0x09, 0, 4, 0, 9, 42) + std::string("\0\0\0\7value", 9));
}

TEST(BinaryForm, AGetWithKeyAnswersTheKey) {
  Request request = request_of(0x0c, ItemAction::get);
  request.wants_key = true;
  EXPECT_BYTES(bytes_of_item(request, {.value = "v", .flags = 0x01020304}), header(0x0c, 3, 4, 0, 8) + "\1\2\3\4keyv");
}

TEST(BinaryForm, ATouchAnswersFlagsOnly) {
  Request request = request_of(0x1c, ItemAction::get);
  request.item.touches = true;
  request.wants_value = false;
  EXPECT_BYTES(bytes_of_item(request, {.value = "v", .flags = 7, .cas = 42}),
               header(0x1c, 0, 4, 0, 4, 42) + std::string("\0\0\0\7", 4));
}

TEST(BinaryForm, ANumberIsEightBytes) {
  Answered answered;
  form.number(answered.output(), request_of(0x05, ItemAction::increment), 258, {.value = "258", .cas = 42});
  EXPECT_BYTES(answered.bytes(), header(0x05, 0, 0, 0, 8, 42) + std::string("\0\0\0\0\0\0\1\2", 8));
  Answered quiet;
  form.number(quiet.output(), request_of(0x15, ItemAction::increment, true), 258, {});
  EXPECT_BYTES(quiet.bytes(), "");
}

TEST(BinaryForm, AMissIsAnsweredUnlessTheGetIsQuiet) {
  EXPECT_BYTES(bytes_of_result(request_of(0x00, ItemAction::get), Result::not_found),
               header(0x00, 0, 0, 1, 9) + "Not found");
  EXPECT_BYTES(bytes_of_result(request_of(0x1c, ItemAction::get), Result::not_found),
               header(0x1c, 0, 0, 1, 9) + "Not found");
  EXPECT_BYTES(bytes_of_result(request_of(0x09, ItemAction::get, true), Result::not_found), "");
  Request with_key = request_of(0x0c, ItemAction::get);
  with_key.wants_key = true;
  EXPECT_BYTES(bytes_of_result(with_key, Result::not_found), header(0x0c, 3, 0, 1, 3) + "key");
  with_key.quiet = true;
  EXPECT_BYTES(bytes_of_result(with_key, Result::not_found), "");
}

TEST(BinaryForm, AStoredItemHasItsCas) {
  EXPECT_BYTES(bytes_of_result(request_of(0x01, ItemAction::set), Result::done, 42), header(0x01, 0, 0, 0, 0, 42));
  EXPECT_BYTES(bytes_of_result(request_of(0x11, ItemAction::set, true), Result::done, 42), "");
  EXPECT_BYTES(bytes_of_result(request_of(0x04, ItemAction::erase), Result::done, 42), header(0x04, 0, 0, 0, 0));
  EXPECT_BYTES(bytes_of_result(request_of(0x08, ItemAction::flush), Result::done), header(0x08, 0, 0, 0, 0));
}

TEST(BinaryForm, ARefusedStoreIsAnsweredByCommandQuietOrNot) {
  for (const bool quiet : {false, true}) {
    EXPECT_BYTES(bytes_of_result(request_of(quiet ? 0x12 : 0x02, ItemAction::add, quiet), Result::not_stored),
                 header(quiet ? 0x12 : 0x02, 0, 0, 2, 20) + "Data exists for key.");
    EXPECT_BYTES(bytes_of_result(request_of(quiet ? 0x13 : 0x03, ItemAction::replace, quiet), Result::not_stored),
                 header(quiet ? 0x13 : 0x03, 0, 0, 1, 9) + "Not found");
    EXPECT_BYTES(bytes_of_result(request_of(quiet ? 0x19 : 0x0e, ItemAction::append, quiet), Result::not_stored),
                 header(quiet ? 0x19 : 0x0e, 0, 0, 5, 11) + "Not stored.");
    EXPECT_BYTES(bytes_of_result(request_of(quiet ? 0x14 : 0x04, ItemAction::erase, quiet), Result::not_found),
                 header(quiet ? 0x14 : 0x04, 0, 0, 1, 9) + "Not found");
    EXPECT_BYTES(bytes_of_result(request_of(quiet ? 0x11 : 0x01, ItemAction::set, quiet), Result::exists, 42),
                 header(quiet ? 0x11 : 0x01, 0, 0, 2, 20) + "Data exists for key.");
    EXPECT_BYTES(bytes_of_result(request_of(quiet ? 0x15 : 0x05, ItemAction::increment, quiet), Result::not_a_number),
                 header(quiet ? 0x15 : 0x05, 0, 0, 6, 46) + "Non-numeric server-side value for incr or decr");
  }
}

TEST(BinaryForm, RefusalsHaveTheSentencesOfMemcached) {
  Request request = request_of(0x01, Action::refused, true);
  const auto refused = [&request](Refusal refusal) {
    request.refusal = refusal;
    return bytes_of_plain(request, "");
  };
  EXPECT_BYTES(refused(Refusal::unknown_command), header(0x01, 0, 0, 0x81, 15) + "Unknown command");
  EXPECT_BYTES(refused(Refusal::bad_format), header(0x01, 0, 0, 4, 17) + "Invalid arguments");
  EXPECT_BYTES(refused(Refusal::key_too_long), header(0x01, 0, 0, 4, 17) + "Invalid arguments");
  EXPECT_BYTES(refused(Refusal::value_too_large), header(0x01, 0, 0, 3, 10) + "Too large.");
  EXPECT_BYTES(refused(Refusal::not_logged_in), header(0x01, 0, 0, 0x20, 13) + "Auth failure.");
}

TEST(BinaryForm, CommandsWithoutAnItem) {
  EXPECT_BYTES(bytes_of_plain(request_of(0x0a, Action::noop), ""), header(0x0a, 0, 0, 0, 0));
  EXPECT_BYTES(bytes_of_plain(request_of(0x0b, Action::version), "1.6.18"), header(0x0b, 0, 0, 0, 6) + "1.6.18");
  EXPECT_BYTES(bytes_of_plain(request_of(0x1b, Action::verbosity), ""), header(0x1b, 0, 0, 0, 0));
  EXPECT_BYTES(bytes_of_plain(request_of(0x07, Action::quit), ""), header(0x07, 0, 0, 0, 0));
  EXPECT_BYTES(bytes_of_plain(request_of(0x17, Action::quit, true), ""), "");
  EXPECT_BYTES(bytes_of_plain(request_of(0x20, Action::mechanisms), "PLAIN"), header(0x20, 0, 0, 0, 5) + "PLAIN");
  EXPECT_BYTES(bytes_of_plain(request_of(0x21, Action::login), ""), header(0x21, 0, 0, 0, 13) + "Authenticated");
}

TEST(BinaryForm, AnEmptyStatisticEndsThem) {
  Answered answered;
  form.statistic(answered.output(), request_of(0x10, Action::statistics), "pid", "123");
  form.statistic(answered.output(), request_of(0x10, Action::statistics), "", "");
  EXPECT_BYTES(answered.bytes(), header(0x10, 3, 0, 0, 6) + "pid123" + header(0x10, 0, 0, 0, 0));
}

TEST(BinaryForm, AFailureIsAnsweredInTheWordsGivenOrOurs) {
  const Request request = request_of(0x11, ItemAction::set, true);
  Answered answered;
  form.failed(answered.output(), request, Failure::bad_value, "Data too long for column 'v'");
  form.failed(answered.output(), request, Failure::unauthorized, "");
  form.failed(answered.output(), request, Failure::row_locked, "");
  EXPECT_BYTES(answered.bytes(), header(0x11, 0, 0, 4, 28) + "Data too long for column 'v'" +
                                     header(0x11, 0, 0, 0x20, 13) + "Auth failure." + header(0x11, 0, 0, 0x86, 54) +
                                     "Lock wait timeout exceeded; try restarting transaction");
  Answered statistics;
  form.failed(statistics.output(), request_of(0x10, Action::statistics), Failure::unknown_command, "");
  EXPECT_BYTES(statistics.bytes(), header(0x10, 0, 0, 1, 9) + "Not found");
  Answered too_large;
  form.failed(too_large.output(), request, Failure::request_too_large, "");
  EXPECT_BYTES(too_large.bytes(), header(0x11, 0, 0, 3, 10) + "Too large.");
  Answered long_winded;
  form.failed(long_winded.output(), request, Failure::internal, std::string(100'000, 'x'));
  EXPECT_EQ(long_winded.bytes().size(), 24u + 1'024u);
}

TEST(BinaryForm, ALargeValueGoesOutWhole) {
  const std::string value(1'000'000, 'v');
  std::string answered = bytes_of_item(request_of(0x00, ItemAction::get), {.value = value});
  std::string_view rest = answered;
  test::Answer answer;
  ASSERT_TRUE(test::read_answer(rest, answer));
  EXPECT_EQ(answer.value, value);
  EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace postern::memcached
