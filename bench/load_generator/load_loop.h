// load_loop.h: one run of the load: connections, the loop around them, and the measurements. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "histogram.h"
#include "keys.h"
#include "protocol.h"

namespace postern::bench {

struct Place {
  std::string host = "127.0.0.1";
  uint64_t port = 0;
  std::string unix_path{};
  bool given() const { return port != 0 || !unix_path.empty(); }
};

/// The requests of a silent connection before it falls silent.
enum class Idle : uint8_t { connected, opened, used };

struct Options {
  std::string protocol = "handlersocket";
  Place place{};
  Place write_place{};  // if the door has a separate port for writes
  uint64_t clients = 50;
  uint64_t idle = 0;                  // connections that stay silent beside them
  Idle idle_as = Idle::opened;        // only connected, prepared for finds, or after one find
  uint64_t depth = 1;                 // requests of a client in flight, in a closed loop
  double rate = 0;                    // requests a second of all clients together; 0 is the closed loop
  double seconds = 2;                 // measured, after the warm-up
  double warm_up = 0.2;               // seconds that are not measured
  uint64_t count = 0;                 // if not 0, ends after so many requests instead
  std::array<uint64_t, kinds> mix{};  // hundredths
  bool zipfian = false;
  bool sequential = false;
  uint64_t max = 1'000'000;
  uint64_t insert_from = 1;
  uint64_t seed = 1;
  int server_pid = 0;  // CPU time is counted for this process
  Shape shape{};
};

struct Result {
  double seconds = 0;
  uint64_t answers = 0;  // correct ones, in the measured time
  uint64_t rows = 0;
  uint64_t wrong = 0;  // in all the time, as are the following
  uint64_t refused = 0;
  uint64_t unanswered = 0;
  std::array<uint64_t, kinds> acknowledged{};
  std::string first_wrong{};
  std::string first_refused{};
  double client_cpu_seconds = 0;
  double server_cpu_seconds = 0;
  double idle_server_bytes = 0;  // the server's memory for each silent connection
  Histogram latency{};
  Histogram overtaken{};  // by how many answers to other clients
};

/// Returns false with `error` set if the run failed: no connection, or the door closed one.
bool run(const Options &options, Result &result, std::string &error);

}  // namespace postern::bench
