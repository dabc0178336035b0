// lines.h: the answers that the text and the meta dialect share.
#pragma once

#include <cstring>

#include "base/bytes.h"
#include "base/failure.h"
#include "base/output.h"
#include "memcached/wire/request.h"

namespace postern::memcached {

inline constexpr Bytes not_a_number_line = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";

inline char *append(char *to, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

/// `CLIENT_ERROR` if the client can correct it, otherwise `SERVER_ERROR`, and the message.
void put_failure(Output &output, Failure failure, Bytes message);
/// The lines of Form::plain().
void put_plain(Output &output, const Request &request, Bytes value);
void put_statistic(Output &output, Bytes name, Bytes value);

}  // namespace postern::memcached
