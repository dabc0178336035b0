// counting.h: marks the instructions that bench/counts.py counts. Without callgrind a program counts
// nothing.
//
//   Counting::prepare();
//   Counting::on();             // this thread alone
//   for (...) parse(line);
//   Counting::off();
//   Counting::tell("parse", requests);
#pragma once

#include <valgrind/callgrind.h>

#include <cstdint>
#include <string>

namespace postern::bench {

class Counting {
 public:
  /// Enables counting. Before it, a program runs several times as fast.
  static void prepare() { CALLGRIND_START_INSTRUMENTATION; }
  static void on() { CALLGRIND_TOGGLE_COLLECT; }
  static void off() { CALLGRIND_TOGGLE_COLLECT; }
  /// Reports all instructions since the last report as those of `requests` requests of this path.
  static void tell(const std::string &path, uint64_t requests) {
    const std::string text = path + " " + std::to_string(requests);
    CALLGRIND_DUMP_STATS_AT(text.c_str());
  }
};

/// Counts `body`, which serves `requests` requests in each call, after a warm-up in which its buffers grow.
template <class Body>
void count(const char *path, uint64_t requests, const Body &body) {
  constexpr int rounds = 200;
  for (int i = 0; i < 3; ++i) body();
  for (int i = 0; i < rounds; ++i) {
    Counting::on();
    body();
    Counting::off();
  }
  Counting::tell(path, rounds * requests);
}

}  // namespace postern::bench
