// slow_request.h: SlowRequest, a request for the server's slow query log.
#pragma once

#include <cstdint>
#include <string>

namespace postern {

struct SlowRequest {
  std::string client;   ///< address and port, or localhost
  std::string account;  ///< user@host; empty: none
  std::string what;     ///< the request and its table, without its values
  uint64_t took_us = 0;
  uint64_t rows_sent = 0;
  uint64_t rows_examined = 0;
};

/// Logs the request, on the thread that has answered it, which may wait for the log. Throws std::bad_alloc.
using TellSlow = void (*)(const SlowRequest &);

}  // namespace postern
