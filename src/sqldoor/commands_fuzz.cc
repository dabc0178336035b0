// Any bytes of a client are cut into the same commands however they arrive; nothing in them is read beyond its end.
//
// The server answers statements without a plan; here every form, and every prepared statement, has one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "sqldoor/packet.h"
#include "sqldoor/protocol.h"
#include "sqldoor/testing/acted_server.h"
#include "support/unit/fuzzing.h"

namespace postern::sqldoor {
namespace {

/// Everything that the server and the workers got when so many bytes arrive at a time.
std::string served(Bytes bytes, size_t at_a_time) {
  testing::ActedEngine engine;
  MySql protocol(engine);
  Output output;
  const Peer peer;
  Input input;
  Batch batch;
  const std::unique_ptr<Session> session = protocol.open_session(output, peer);
  std::string all;
  session->collect(input, batch, 1);
  engine.session->is_alive = true;
  session->settled();
  while (!bytes.empty()) {
    const size_t count = std::min(at_a_time, bytes.size());
    std::memcpy(input.room(count).data(), bytes.data(), count);
    input.received(count);
    bytes.remove_prefix(count);
    Collected collected = Collected::more;
    while (collected == Collected::more || collected == Collected::wait) {
      batch.clear();
      collected = session->collect(input, batch, 16);
      engine.session->last = {};
      for (const Op &op : batch.ops()) {
        const Statement &statement = *op.statement;
        // The server gets the received part of a packet that is too large to be received as a whole.
        if (statement.packet.size() != packet_header_bytes + little_endian_24(statement.packet)) return all;
        all.append(statement.packet);
        for (const Value &value : statement.values)
          if (value.kind() == Value::Kind::bytes) all.append(value.bytes());
        const uint8_t command = statement.packet.size() > 4 ? static_cast<uint8_t>(statement.packet[4]) : uint8_t{0};
        if (command == 0x16 || !statement.form.empty())
          engine.session->last = {.plan = std::make_shared<testing::ActedPlan>(
                                      command == 0x16 ? statement.packet.size() % 4 : statement.values.size()),
                                  .statement_id = command == 0x16 ? uint32_t{1} : uint32_t{0},
                                  .final = true};
      }
      session->settled();
      input.settle();
    }
  }
  return all;
}

}  // namespace
}  // namespace postern::sqldoor

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const postern::Bytes bytes(reinterpret_cast<const char *>(data), std::min<size_t>(size, 4096));
  const std::string whole = postern::sqldoor::served(bytes, bytes.size() + 1);
  postern::test::require(postern::sqldoor::served(bytes, 1) == whole, "the same commands");
  return 0;
}
