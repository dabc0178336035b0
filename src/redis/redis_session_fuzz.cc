// Any bytes, sent in any pieces to a whole session over an engine that misbehaves, are answered with well-formed
// replies and nothing else, and the session gives back all its resources.
//
// The first byte of an input chooses accounts and the engine's mood, the second how the rest is cut.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/fake/fake_engine.h"
#include "redis/protocol.h"
#include "redis/testing/fake_keyspace.h"
#include "redis/testing/reply_reader.h"
#include "support/fuzzing.h"
#include "support/lone_connection.h"

namespace postern::redis {
namespace {

using test::require;

FakeEngine &engine() {
  static FakeEngine *const made = [] {
    auto *const fresh = new FakeEngine;
    fresh->create_account("app", "secret");
    for (const Bytes table : {"entries", "hashes", "sets", "zsets", "lists", "streams", "stream_groups",
                              "stream_consumers", "stream_pending"})
      fresh->allow("app", "postern_redis", table);
    return fresh;
  }();
  return *made;
}

void examine(std::string_view input) {
  if (input.size() < 3) return;
  const auto mood = static_cast<unsigned char>(input[0]);
  const auto cut = static_cast<unsigned char>(input[1]);
  const std::string_view bytes = input.substr(2);
  const std::atomic<bool> stop{false};
  create_keyspace(engine());
  const std::unique_ptr<Executor> executor = engine().attach({}, stop);
  Settings settings;
  settings.accounts = (mood & 4) != 0;
  settings.value_bytes_max = 2'000;
  settings.request_bytes_max = 10'000;
  Redis protocol(std::move(settings));
  engine().set_faults({.seed = mood,
                       .busy = mood & 8 ? 200u : 0u,
                       .pause = mood & 16 ? 100u : 0u,
                       .error = mood & 32 ? 100u : 0u,
                       .locked = mood & 8 ? 100u : 0u,
                       .lost = mood & 16 ? 200u : 0u});
  {
    test::LoneConnection connection(protocol, *executor);
    if (mood & 64) connection.ops_max = 1 + cut % 4;
    connection.pause_every = 1 + mood % 3;
    std::string answers;
    const size_t piece = cut == 0 ? bytes.size() : cut;
    for (size_t at = 0; at < bytes.size(); at += piece) answers += connection.send(bytes.substr(at, piece));
    const size_t whole = whole_replies(answers);
    require(whole == answers.size() || connection.closed(), "replies are whole",
            std::string_view(answers).substr(whole));
  }
  engine().set_faults({});
  require(engine().bindings() == 0, "a session gives back what it opened", "");
}

}  // namespace
}  // namespace postern::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  postern::redis::examine({reinterpret_cast<const char *>(data), size});
  return 0;
}
