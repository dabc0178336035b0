// A busy connection allocates no memory for a request: it reuses the buffers of earlier ones.
#include <gtest/gtest.h>

#include <string>

#include "handlersocket/protocol.h"
#include "handlersocket/session.h"
#include "support/unit/allocations.h"

namespace postern::handlersocket {
namespace {

class NoBinding final : public Binding {
 public:
  void unuse() noexcept override {}
  const TableSpec &spec() const noexcept override { return spec_; }

 private:
  static constexpr Bytes columns[] = {"k", "v"};
  TableSpec spec_{"hst", "kv", "PRIMARY", columns, std::span(columns).last(1)};
};

TEST(HsAllocation, AFreshSessionTakesAtMost64Bytes) {
  HandlerSocket protocol(Settings{});
  Output output;
  const Peer peer{};
  const uint64_t before = allocated_bytes;
  const std::unique_ptr<Session> session = protocol.open_session(output, peer);
  EXPECT_LE(allocated_bytes - before, 64u);
}

TEST(HsAllocation, RequestsOfABusyConnectionTakeNone) {
  HandlerSocket protocol(Settings{});
  Input input;
  Output output;
  Batch batch;
  const Peer peer{};
  const std::unique_ptr<Session> session = protocol.open_session(output, peer);
  NoBinding binding;
  const auto turn = [&](std::string_view bytes, int requests) {
    const std::span<char> room = input.room(bytes.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    input.received(bytes.size());
    session->collect(input, batch, 1'000);
    ASSERT_EQ(batch.size(), static_cast<size_t>(requests));
    // The least that an engine does: every find has one row.
    for (Op &op : batch.ops()) {
      if (op.verb == Verb::open) op.slot->fill(&binding);
      const Value row[] = {Value::of("key"), Value::of("a value of some length \x01")};
      if (op.verb == Verb::find) op.reply->row(row);
      op.reply->done({.failure = op.failure, .columns = 2});
    }
    output.release();
    output.sent(output.sendable().size());
    session->settled();
    batch.clear();
    input.settle();
  };
  turn("P\t0\thst\tkv\tPRIMARY\tk,v\tv\n", 1);
  std::string requests;
  for (int i = 0; i < 25; ++i) {
    requests += "0\t=\t1\tkey\t1\t0\n0\t>=\t1\tk\x01@y\t1\t0\t@\t0\t3\ta\tb\tc\tF\t>\t0\tx\n";
    requests += "0\t=\t0\nnonsense\n";
  }
  turn(requests, 100);  // grows the kept buffers
  const uint64_t before = allocations;
  for (int i = 0; i < 100; ++i) turn(requests, 100);
  EXPECT_EQ(allocations - before, 0u);
}

}  // namespace
}  // namespace postern::handlersocket
