// fuzzed_session.h: a session over the fake engine for fuzzers. A byte of the input chooses how the engine fails, and
// another how the rest is cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/fake/fake_engine.h"
#include "support/unit/fuzzing.h"
#include "support/unit/lone_connection.h"

namespace postern::test {

/// Has the engine fail as `mood` chooses while a client sends `bytes`, cut as `cut` chooses. `whole(answers)`: the
/// bytes of the whole answers at the beginning.
template <class Protocol, class Whole>
void examine_session(FakeEngine &engine, Protocol &protocol, Executor &executor, unsigned char mood, unsigned char cut,
                     std::string_view bytes, Whole whole) {
  engine.set_faults({.seed = mood,
                     .busy = mood & 8 ? 200u : 0u,
                     .pause = mood & 16 ? 100u : 0u,
                     .error = mood & 32 ? 100u : 0u,
                     .locked = mood & 8 ? 100u : 0u,
                     .lost = mood & 16 ? 200u : 0u});
  {
    LoneConnection connection(protocol, executor);
    if (mood & 64) connection.ops_max = 1 + cut % 4;
    connection.pause_every = 1 + mood % 3;
    std::string answers;
    const size_t piece = cut == 0 ? bytes.size() : cut;
    for (size_t at = 0; at < bytes.size(); at += piece) answers += connection.send(bytes.substr(at, piece));
    const size_t good = whole(answers);
    require(good == answers.size() || connection.closed(), "answers are whole", std::string_view(answers).substr(good));
  }
  engine.set_faults({});
  require(engine.bindings() == 0, "a session gives back what it opened", "");
}

}  // namespace postern::test
