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
#include "support/unit/fuzzed_session.h"

namespace postern::redis {
namespace {

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
  test::examine_session(engine(), protocol, *executor, mood, cut, bytes, whole_replies);
}

}  // namespace
}  // namespace postern::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  postern::redis::examine({reinterpret_cast<const char *>(data), size});
  return 0;
}
