#include "handlersocket/encoder.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/limits.h"
#include "handlersocket/testing/plain_tokens.h"
#include "support/unit/escaped.h"

namespace postern::handlersocket {
namespace {

using test::escaped;

std::string written(Output &output) {
  output.release();
  const std::string bytes(output.sendable());
  if (!bytes.empty()) output.sent(bytes.size());
  return bytes;
}

std::string escaped_bytes(std::string_view bytes) {
  std::string to(2 * bytes.size(), '\0');
  const auto from = std::make_unique<char[]>(bytes.size());  // exactly as long, for the sanitizer
  if (!bytes.empty()) std::memcpy(from.get(), bytes.data(), bytes.size());
  to.resize(static_cast<size_t>(escape(to.data(), from.get(), bytes.size()) - to.data()));
  return to;
}

TEST(HsEscape, EveryByteAtEveryPlaceComesBack) {
  for (size_t size = 1; size <= 40; ++size) {
    for (size_t place = 0; place < size; ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string bytes(size, 'x');
        bytes[place] = static_cast<char>(byte);
        const std::string wire = escaped_bytes(bytes);
        ASSERT_EQ(wire.size(), size + (byte < 0x10)) << byte;
        ASSERT_EQ(plain::token(wire).value, bytes) << byte << " at " << place << " of " << size;
      }
    }
  }
}

TEST(HsEscape, LeavesNoByteBelowSixteenButTheMark) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 100, '\0');
    for (char &byte : bytes) byte = static_cast<char>(random() % (i % 2 == 0 ? 256 : 24));
    const std::string wire = escaped_bytes(bytes);
    for (const char byte : wire) ASSERT_TRUE(static_cast<unsigned char>(byte) >= 0x10 || byte == 1) << "seed " << seed;
    ASSERT_TRUE(wire == std::string(1, '\0') || plain::token(wire).value == bytes) << "seed " << seed;
  }
}

TEST(HsEscape, IsTheSameAsByteByByteAtEveryLengthAndPlaceInMemory) {
  const auto byte_by_byte = [](std::string_view bytes) {
    std::string wire;
    for (const char byte : bytes) {
      if (static_cast<unsigned char>(byte) < 0x10) wire += {'\x01', static_cast<char>(byte + 0x40)};
      else wire += byte;
    }
    return wire;
  };
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  std::string from(400, '\0');
  std::string to(2 * from.size() + 64, '\0');
  for (const uint64_t one_of : {uint64_t{1'000'000'000}, uint64_t{200}, uint64_t{30}, uint64_t{3}}) {
    for (size_t size = 0; size <= 300; ++size) {
      for (char &byte : from) {
        byte = static_cast<char>(random() % one_of == 0 ? random() % 0x10 : 0x10 + random() % 0xf0);
      }
      const size_t at = random() % 64;
      const size_t to_at = random() % 64;
      const std::string_view bytes = std::string_view(from).substr(at, size);
      std::fill(to.begin(), to.end(), '#');
      const char *const end = escape(to.data() + to_at, bytes.data(), size);
      const std::string_view wire(to.data() + to_at, static_cast<size_t>(end - to.data()) - to_at);
      ASSERT_TRUE(wire == byte_by_byte(bytes)) << size << " bytes, seed " << seed;
      ASSERT_EQ(std::string_view(to).substr(0, to_at).find_first_not_of('#'), std::string::npos);
      ASSERT_EQ(to.find_first_not_of('#', to_at + 2 * size), std::string::npos) << size << " bytes, seed " << seed;
    }
  }
}

TEST(HsFindReply, WritesLargeRowsOfAnyBytesInATurn) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (const size_t size : {size_t{4'000}, size_t{32'767}, size_t{32'768}, size_t{70'000}, size_t{1'000'000}}) {
    for (const unsigned least : {0u, 0x10u}) {
      Output output;
      FindReply reply(output, ErrorStyle::compatible);
      std::string bytes(size, '\0');
      for (char &byte : bytes) byte = static_cast<char>(least + random() % (0x100 - least));
      const Value row[] = {Value::of_natural(7), Value::of(bytes), Value::null()};
      ASSERT_EQ(reply.row(row), Flow::more);
      reply.done({.columns = 3, .rows = 1});
      ASSERT_TRUE(written(output) == "0\t3\t7\t" + escaped_bytes(bytes) + std::string("\t\0\n", 3))
          << size << " bytes, seed " << seed;
    }
  }
}

TEST(HsFindReply, WritesValuesOfEveryKind) {
  Output output;
  FindReply reply(output, ErrorStyle::compatible);
  const Value row[] = {Value::of("text"),
                       Value::null(),
                       Value::of(""),
                       Value::of_integer(INT64_MIN),
                       Value::of_natural(UINT64_MAX),
                       Value::of(Bytes("\0\t\n\x0f\x10", 5))};
  EXPECT_EQ(reply.row(row), Flow::more);
  EXPECT_EQ(reply.row(row), Flow::more);
  reply.done({.columns = 6, .rows = 2});
  const std::string values =
      "\\ttext\\t\\x00\\t\\t-9223372036854775808\\t18446744073709551615\\t\\x01@\\x01I\\x01J\\x01O\\x10";
  EXPECT_EQ(escaped(written(output)), "0\\t6" + values + values + "\\n");
}

TEST(HsFindReply, NamesTheColumnsOfNoRows) {
  Output output;
  FindReply reply(output, ErrorStyle::compatible);
  reply.done({.columns = 3});
  EXPECT_EQ(written(output), "0\t3\n");
}

TEST(HsFindReply, HasNoValuesWithoutColumns) {
  Output output;
  FindReply reply(output, ErrorStyle::compatible);
  reply.row({});
  reply.row({});
  reply.done({.rows = 2});
  EXPECT_EQ(written(output), "0\t0\n");
}

TEST(HsFindReply, TakesItsRowsBackWhenItFails) {
  Output output;
  output.put("before\n");
  FindReply reply(output, ErrorStyle::compatible);
  const Value row[] = {Value::of("text")};
  reply.row(row);
  reply.done({.failure = Failure::engine_error, .engine_code = 149});
  EXPECT_EQ(written(output), "before\n1\t1\t149\n");
}

TEST(HsFindReply, NamesAnErrorOfOneStorageEngineInWords) {
  for (const int32_t code : {12701, -1}) {
    Output output;
    FindReply reply(output, ErrorStyle::compatible);
    reply.done({.failure = Failure::engine_error, .engine_code = code, .message = "Unable to connect"});
    EXPECT_EQ(written(output), "1\t1\tUnable to connect\n");
  }
}

TEST(HsFindReply, BreaksTheOutputWhenWhatFailsHasLeft) {
  Output output;
  FindReply reply(output, ErrorStyle::compatible);
  const Value row[] = {Value::of("text")};
  reply.row(row);
  output.release();
  reply.done({.failure = Failure::interrupted});
  EXPECT_TRUE(output.broken());
}

TEST(HsFindReply, StartsAgainAfterDoneAndInTheMiddle) {
  Output output;
  FindReply reply(output, ErrorStyle::compatible);
  const Value row[] = {Value::of("text")};
  reply.row(row);
  reply.restart();
  reply.row(row);
  reply.done({.columns = 1, .rows = 1});
  reply.restart();
  reply.done({.failure = Failure::lock_failed});
  reply.restart();
  reply.done({.columns = 1});
  EXPECT_EQ(written(output), "0\t1\n");
}

TEST(HsFindReply, TakesWhatAnotherHasWritten) {
  Output output, other;
  output.put("before\n");
  FindReply first(output, ErrorStyle::compatible);
  const Value row[] = {Value::of("text\t"), Value::null()};
  first.row(row);
  first.done({.columns = 2, .rows = 1});
  const std::string line(first.written());
  EXPECT_EQ(escaped(line), "0\\t2\\ttext\\x01I\\t\\x00\\n");
  other.put("neighbour\n");
  FindReply second(other, ErrorStyle::compatible);
  EXPECT_TRUE(second.take(line));
  EXPECT_EQ(second.written(), line);
  EXPECT_EQ(other.pending_bytes(), 10 + line.size());
  second.restart();
  EXPECT_EQ(other.pending_bytes(), 10u);
  EXPECT_TRUE(second.take(line));
  EXPECT_EQ(written(other), "neighbour\n" + line);
  EXPECT_EQ(written(output), "before\n" + line);
}

TEST(HsFindReply, TakesNothingAboveHighWater) {
  Output output;
  output.expect(limits::output_high_water_bytes + 1);
  output.put(std::string(limits::output_high_water_bytes + 1, 'x'));
  FindReply reply(output, ErrorStyle::compatible);
  EXPECT_FALSE(reply.take("0\t1\ttext\n"));
  EXPECT_EQ(output.pending_bytes(), limits::output_high_water_bytes + 1);
  const Value row[] = {Value::of("text")};
  EXPECT_EQ(reply.row(row), Flow::pause);
}

TEST(HsFindReply, PausesBeforeItCopiesTooMuchForATurn) {
  Output output;
  FindReply reply(output, ErrorStyle::compatible);
  const std::string large(limits::first_row_bytes_fast_max, 'x');
  const Value row[] = {Value::of(large)};
  EXPECT_EQ(reply.row(row), Flow::pause) << "with what is around it, it is too large";
  EXPECT_EQ(output.pending_bytes(), 0u);

  const std::string half(limits::find_bytes_fast_max / 2, 'x');
  const Value half_row[] = {Value::of(half)};
  reply.restart();
  EXPECT_EQ(reply.row(half_row), Flow::more);
  const size_t before = output.pending_bytes();
  EXPECT_EQ(reply.row(half_row), Flow::pause);
  EXPECT_EQ(output.pending_bytes(), before);
}

class CountingValve final : public Valve {
 public:
  Flow flow(Output &output) override {
    ++calls;
    received += written(output);
    return answer;
  }
  Flow still_wanted(Output &) override { return answer; }
  bool doubts_reader() const override { return in_doubt; }
  int calls = 0;
  Flow answer = Flow::more;
  bool in_doubt = false;
  std::string received;
};

TEST(HsFindReply, StreamsRowsOfAnySizeThroughAValve) {
  Output output;
  CountingValve valve;
  output.stream_through(valve);
  FindReply reply(output, ErrorStyle::compatible);
  std::string large(3 * limits::output_piece_bytes_max + 7, 'x');
  for (size_t i = 0; i < large.size(); i += 1'000) large[i] = '\0';
  const Value row[] = {Value::of_natural(1), Value::of(large), Value::null()};
  EXPECT_EQ(reply.row(row), Flow::more);
  valve.answer = Flow::pause;
  EXPECT_EQ(reply.row(row), Flow::pause);
  valve.answer = Flow::more;
  reply.done({.columns = 3, .rows = 2});
  EXPECT_EQ(valve.calls, 2);
  valve.received += written(output);
  const std::string values = "\t1\t" + escaped_bytes(large) + std::string("\t\0", 2);
  EXPECT_TRUE(valve.received == "0\t3" + values + values + "\n");
}

TEST(HsFindReply, BeginsAheadOfItsRowsOnlyForAReaderInDoubt) {
  Output output;
  CountingValve valve;
  output.stream_through(valve);
  FindReply reply(output, ErrorStyle::compatible);
  EXPECT_EQ(reply.still_wanted(2), Flow::more);
  EXPECT_EQ(output.pending_bytes(), 0u);
  valve.in_doubt = true;
  valve.answer = Flow::pause;
  EXPECT_EQ(reply.still_wanted(2), Flow::pause);
  EXPECT_EQ(reply.still_wanted(2), Flow::pause);
  EXPECT_EQ(written(output), "0\t2");
  const Value row[] = {Value::of("a"), Value::of("b")};
  reply.row(row);
  reply.done({.columns = 2, .rows = 1});
  EXPECT_EQ(valve.received + written(output), "\ta\tb\n");
}

TEST(HsFindReply, RefusesARowBeyondEveryBound) {
  // Four columns share one buffer: a row of many megabytes without the memory.
  const std::string quarter(limits::row_bytes_max / 4, 'x');
  const Value row[] = {Value::of(quarter), Value::of(quarter), Value::of(quarter), Value::of(quarter)};
  Output output;
  CountingValve valve;
  output.stream_through(valve);
  FindReply reply(output, ErrorStyle::compatible);
  EXPECT_EQ(reply.row(row), Flow::more);
  EXPECT_EQ(reply.row(row), Flow::more);
  reply.done({.columns = 4, .rows = 2});
  EXPECT_EQ(written(output), "1\t1\tThe row is larger than the limit\n");

  const Value small[] = {Value::of("x")};
  reply.restart();
  reply.row(small);  // which the valve sends
  reply.row(row);
  EXPECT_TRUE(output.broken());
}

TEST(HsErrors, EveryFailureHasItsLine) {
  for (size_t i = 1; i < failure_count; ++i) {
    const auto failure = static_cast<Failure>(i);
    for (const ErrorStyle style : {ErrorStyle::compatible, ErrorStyle::text}) {
      Output output;
      StatusReply status(output, style);
      status.done({.failure = failure, .engine_code = 121});
      const std::string of_status = written(output);
      FindReply find(output, style);
      find.done({.failure = failure, .engine_code = 121});
      const std::string of_find = written(output);
      for (const std::string &line : {of_status, of_find}) {
        ASSERT_GT(line.size(), 5u) << failure_name(failure);
        EXPECT_TRUE(line[0] >= '1' && line[0] <= '3') << line;
        EXPECT_EQ(line.substr(1, 3), "\t1\t");
        EXPECT_EQ(line.find('\n'), line.size() - 1);
      }
      const bool told = of_find.find(std::string(failure_text(failure))) != std::string::npos;
      EXPECT_TRUE(told || style == ErrorStyle::compatible) << of_find;
    }
  }
}

TEST(HsErrors, EveryRefusalHasItsLineAndIsCounted) {
  Refusals refusals;
  for (size_t i = 1; i < refusal_count; ++i) {
    const auto refusal = static_cast<Refusal>(i);
    for (const ErrorStyle style : {ErrorStyle::compatible, ErrorStyle::text}) {
      Output output;
      RefusalReply reply(output, style, refusal, refusals);
      reply.done({.failure = Failure::refused});
      const std::string line = written(output);
      ASSERT_GT(line.size(), 5u) << i;
      EXPECT_TRUE(line[0] >= '1' && line[0] <= '3') << line;
      EXPECT_EQ(line.substr(1, 3), "\t1\t");
      EXPECT_EQ(line.find('\n'), line.size() - 1);
    }
    Tally<Refusal> sum;
    refusals.add_to(sum);
    EXPECT_EQ(sum.get(refusal), 2u);
  }
}

TEST(HsErrors, ARefusalGivesWayToWhatFailedBefore) {
  Refusals refusals;
  Output output;
  RefusalReply reply(output, ErrorStyle::compatible, Refusal::unknown_operator, refusals);
  reply.done({.failure = Failure::not_open});
  EXPECT_EQ(output.written_since(0), "2\t1\tstmtnum\n");
  reply.restart();
  reply.done({.failure = Failure::refused});
  EXPECT_EQ(output.written_since(0), "2\t1\top\n");
  Tally<Refusal> sum;
  refusals.add_to(sum);
  EXPECT_EQ(sum.get(Refusal::unknown_operator), 1u);
}

TEST(HsErrors, MessagesAreEscaped) {
  Output output;
  FindReply reply(output, ErrorStyle::compatible);
  reply.done({.failure = Failure::bad_key_value, .message = "line\nand\ttab"});
  EXPECT_EQ(escaped(written(output)), "2\\t1\\tline\\x01Jand\\x01Itab\\n");
}

}  // namespace
}  // namespace postern::handlersocket
