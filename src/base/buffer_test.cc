// Pool, Input and Output: how bytes are received, kept and sent.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "base/input.h"
#include "base/output.h"
#include "base/passage.h"
#include "base/pool.h"

namespace postern {
namespace {

void receive(Input &input, Bytes bytes) {
  if (bytes.empty()) return;
  const std::span<char> room = input.room(bytes.size());
  ASSERT_GE(room.size(), bytes.size());
  std::memcpy(room.data(), bytes.data(), bytes.size());
  input.received(bytes.size());
}
Bytes unparsed(Input &input) {
  return {input.unparsed().data(), input.unparsed().size()};
}

TEST(Pool, RoundsUpToPowersOfTwo) {
  for (const size_t bytes : {size_t{0}, size_t{1}, limits::block_bytes_min, limits::block_bytes_min + 1,
                             limits::block_bytes_recycled_max, limits::block_bytes_recycled_max + 1}) {
    const pool::Block block = pool::acquire(bytes);
    ASSERT_NE(block.data, nullptr);
    EXPECT_GE(block.size, std::max(bytes, limits::block_bytes_min));
    EXPECT_EQ(block.size & (block.size - 1), 0u);
    std::memset(block.data, 1, block.size);
    pool::release(block);
  }
  EXPECT_EQ(pool::acquire(limits::block_bytes_max + 1).data, nullptr);
  pool::release({});
  pool::drain();
}

TEST(Pool, BoundsLargeBlocksOfTheWholeProcess) {
  const size_t before = pool::large_bytes();
  pool::set_large_bytes_max(before + (size_t{3} << 20));
  const pool::Block one = pool::acquire(size_t{2} << 20);
  ASSERT_NE(one.data, nullptr);
  EXPECT_EQ(pool::large_bytes(), before + (size_t{2} << 20));
  EXPECT_EQ(pool::acquire(size_t{2} << 20).data, nullptr);
  const pool::Block small = pool::acquire(limits::block_bytes_recycled_max);
  EXPECT_NE(small.data, nullptr) << "small blocks are not of that bound";
  pool::release(small);
  pool::release(one);
  EXPECT_EQ(pool::large_bytes(), before);
  pool::set_large_bytes_max(limits::buffer_bytes_max);
  pool::drain();
}

TEST(Pool, BlockMayBeReleasedByAnotherThread) {
  const pool::Block block = pool::acquire(100);
  std::thread([block] {
    pool::release(block);
    pool::drain();
  }).join();
}

TEST(Output, ShowsWrittenBytesWhileTheyCanBeTakenBack) {
  Output output;
  output.put("one\n");
  const Output::Mark mark = output.mark();
  EXPECT_EQ(output.written_since(mark), "");
  output.put("two\n");
  EXPECT_EQ(output.written_since(mark), "two\n");
  output.release();
  EXPECT_EQ(output.written_since(mark), "");
  output.sent(8);
  EXPECT_EQ(output.written_since(mark), "");
  output.put("three");
  EXPECT_EQ(output.written_since(mark), "");
  EXPECT_EQ(output.written_since(output.mark() - 5), "three");
  output.set_broken();
  EXPECT_EQ(output.written_since(output.mark() - 5), "");
}

TEST(Input, WipesSecretsThatWereParsed) {
  Input input;
  const Bytes bytes = "user secret next";
  std::memcpy(input.room(100).data(), bytes.data(), bytes.size());
  input.received(bytes.size());
  const Bytes all(input.unparsed().data(), bytes.size());
  input.consume(12);
  input.wipe(all.substr(5, 6));
  input.wipe({});
  EXPECT_EQ(all.substr(0, 5), "user ");
  EXPECT_EQ(all.substr(5, 6), Bytes("\0\0\0\0\0\0", 6));
  EXPECT_EQ(all.substr(11), " next");
}

TEST(Input, HoldsNothingWhenEverythingIsSettled) {
  Input input;
  receive(input, "abc\n");
  input.consume(4);
  EXPECT_EQ(input.unparsed_bytes(), 0u);
  input.settle();
  EXPECT_FALSE(input.holds_block());
}

TEST(Input, ViewsOfParsedBytesLiveUntilSettled) {
  Input input;
  receive(input, "one\ntwo\nthr");
  const Bytes one = unparsed(input).substr(0, 3);
  input.consume(4);
  const Bytes two = unparsed(input).substr(0, 3);
  input.consume(4);
  EXPECT_EQ(one, "one");
  EXPECT_EQ(two, "two");
  EXPECT_EQ(unparsed(input), "thr");
  input.settle();
  receive(input, "ee\n");
  EXPECT_EQ(unparsed(input), "three\n");
}

TEST(Input, RequestMayBeCutAnywhere) {
  const std::string text = "first\nsecond\nthird\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Input input;
    std::string seen;
    for (const Bytes piece : {Bytes(text).substr(0, cut), Bytes(text).substr(cut)}) {
      receive(input, piece);
      for (size_t end; (end = unparsed(input).find('\n', input.scanned())) != Bytes::npos;) {
        seen += unparsed(input).substr(0, end + 1);
        input.consume(end + 1);
      }
      input.set_scanned(input.unparsed_bytes());
      input.settle();
    }
    EXPECT_EQ(seen, text) << "cut at " << cut;
    EXPECT_EQ(input.unparsed_bytes(), 0u);
  }
}

TEST(Input, GrowsWithARequestAndKeepsItsBytes) {
  Input input;
  std::string all;
  for (int i = 0; i < 2'000; ++i) {
    const std::string piece = "piece " + std::to_string(i) + " ";
    receive(input, piece);
    all += piece;
  }
  EXPECT_EQ(unparsed(input), all);
}

TEST(Input, HasNoRoomBeyondTheBoundOfAllBlocks) {
  Input input;
  receive(input, "kept");
  EXPECT_TRUE(input.room(limits::block_bytes_max).empty());
  EXPECT_EQ(unparsed(input), "kept");
}

TEST(Output, OnlyReleasedBytesAreSendable) {
  Output output;
  output.put("one ");
  EXPECT_TRUE(output.sendable().empty());
  output.release();
  output.put("two");
  EXPECT_EQ(output.sendable(), "one ");
  EXPECT_EQ(output.pending_bytes(), 7u);
}

TEST(Output, TakesBackToAMark) {
  Output output;
  output.put("kept ");
  const Output::Mark mark = output.mark();
  output.put("dropped");
  EXPECT_TRUE(output.can_rewind(mark));
  output.rewind(mark);
  output.put("new");
  output.release();
  EXPECT_EQ(output.sendable(), "kept new");
  EXPECT_FALSE(output.can_rewind(mark)) << "what may have been sent cannot be taken back";
  EXPECT_TRUE(output.can_rewind(output.mark()));
}

TEST(Passage, IsTakenBackUnlessSomeOfItMayBeSent) {
  Output output;
  output.put("before ");
  Passage passage(output);
  EXPECT_TRUE(passage.take_back()) << "nothing was begun";
  passage.begin();
  output.put("gone");
  EXPECT_TRUE(passage.take_back());
  EXPECT_FALSE(passage.begun());
  EXPECT_EQ(passage.start(), output.mark());
  passage.begin();
  output.put("sent");
  output.release();
  EXPECT_EQ(output.sendable(), "before sent");
  EXPECT_FALSE(passage.take_back());
  EXPECT_TRUE(output.broken());
}

TEST(Output, MarksStayGoodWhileEarlierBytesAreSent) {
  Output output;
  output.put("sent before");
  output.release();
  const Output::Mark mark = output.mark();
  output.put("dropped");
  output.sent(output.sendable().size());
  EXPECT_TRUE(output.can_rewind(mark));
  output.rewind(mark);
  output.put("rest");
  output.release();
  EXPECT_EQ(output.sendable(), "rest");
  output.sent(4);
  EXPECT_EQ(output.mark(), mark + 4);
  EXPECT_EQ(output.pending_bytes(), 0u);
}

TEST(Output, StreamThatIsNeverEmptyDoesNotGrow) {
  Output output;
  const size_t before = pool::large_bytes();
  std::string sent;
  uint64_t put = 0;
  uint64_t next = 0;
  std::string tail;
  for (int i = 0; i < 20'000; ++i) {
    for (int j = 0; j < 10; ++j) {
      output.put_natural(put++);
      output.put(' ');
    }
    output.release();
    const size_t bytes = output.sendable().size() - 1;  // one byte always stays
    tail += output.sendable().substr(0, bytes);
    output.sent(bytes);
    for (size_t end; (end = tail.find(' ')) != std::string::npos; tail.erase(0, end + 1)) {
      uint64_t number = 0;
      ASSERT_TRUE(parse_natural(Bytes(tail).substr(0, end), number));
      ASSERT_EQ(number, next++);
    }
  }
  EXPECT_LE(pool::large_bytes() - before, size_t{256} << 10);
}

TEST(Output, PutsMoreThanOnePiece) {
  Output output;
  const std::string text(3 * limits::output_piece_bytes_max + 17, 'p');
  output.put(text);
  output.put_integer(-5);
  output.release();
  EXPECT_TRUE(output.sendable() == text + "-5");
}

TEST(Output, BreaksWithoutMemoryAndDiscardsTheRest) {
  const size_t before = pool::large_bytes();
  pool::set_large_bytes_max(before);
  {
    Output output;
    output.put("begun");
    const std::string text(size_t{1} << 20, 'x');
    output.put(text);
    EXPECT_TRUE(output.broken());
    output.put(text);
    output.put_natural(1);
    output.put('\n');
    EXPECT_LE(output.pending_bytes(), limits::block_bytes_recycled_max);
  }
  pool::set_large_bytes_max(limits::buffer_bytes_max);
  EXPECT_EQ(pool::large_bytes(), before);
}

TEST(Output, FindsRoomForExpectedBytesAtOnce) {
  const size_t before = pool::large_bytes();
  Output output;
  output.put("begun");
  output.expect(size_t{300} << 10);
  const size_t room = pool::large_bytes() - before;
  EXPECT_EQ(room, size_t{512} << 10);
  const char *const at = output.reserve(1);
  const std::string text(size_t{300} << 10, 'x');
  output.put(text);
  EXPECT_EQ(output.reserve(1), at + text.size()) << "nothing was moved";
  EXPECT_EQ(pool::large_bytes() - before, room);
  output.release();
  EXPECT_TRUE(output.sendable() == "begun" + text);
}

TEST(Output, BreaksWithoutRoomForExpectedBytes) {
  const size_t before = pool::large_bytes();
  pool::set_large_bytes_max(before);
  {
    Output output;
    output.expect(limits::block_bytes_recycled_max - 64);
    EXPECT_FALSE(output.broken());
    output.expect(limits::block_bytes_recycled_max);
    EXPECT_TRUE(output.broken());
    output.put("swallowed");
    EXPECT_EQ(output.pending_bytes(), 0u);
  }
  pool::set_large_bytes_max(limits::buffer_bytes_max);
}

TEST(Output, WithoutAValveAReplyIsBoundedToWhatFitsATurn) {
  Output output;
  const Output::Mark start = output.mark();
  EXPECT_EQ(output.flow(start, 100), Flow::more);
  EXPECT_EQ(output.flow(start, limits::first_row_bytes_fast_max), Flow::more) << "a single row may be larger";
  EXPECT_EQ(output.flow(start, limits::first_row_bytes_fast_max + 1), Flow::pause);
  output.put('x');
  EXPECT_EQ(output.flow(start, limits::find_bytes_fast_max - 1), Flow::more);
  EXPECT_EQ(output.flow(start, limits::find_bytes_fast_max), Flow::pause);
  output.rewind(start);
  output.hold_until_commit();
  EXPECT_EQ(output.flow(start, limits::edit_reply_bytes_max), Flow::more);
  EXPECT_EQ(output.flow(start, limits::edit_reply_bytes_max + 1), Flow::pause);
  output.bound_to_turn();
  EXPECT_FALSE(output.above_high_water());
  output.put(std::string(limits::output_high_water_bytes, 'x'));
  EXPECT_EQ(output.flow(output.mark()), Flow::more);
  output.put('x');
  EXPECT_TRUE(output.above_high_water());
  EXPECT_EQ(output.flow(output.mark()), Flow::pause);
  EXPECT_EQ(output.flow(output.mark() - 1), Flow::more) << "that began before";
  class OpenValve final : public Valve {
   public:
    Flow flow(Output &) override { return Flow::more; }
  };
  OpenValve valve;
  output.stream_through(valve);
  EXPECT_TRUE(output.streaming());
  EXPECT_EQ(output.flow(start, limits::find_bytes_fast_max + 1), Flow::more);
}

}  // namespace
}  // namespace postern
