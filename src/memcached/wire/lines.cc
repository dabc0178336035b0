#include "memcached/wire/lines.h"

#include <algorithm>

namespace postern::memcached {
namespace {

constexpr size_t message_line_bytes_max = 400;

bool is_clients_fault(Failure failure) {
  switch (kind_of(failure)) {
    case FailureKind::request:
    case FailureKind::access:
    case FailureKind::value:
    case FailureKind::conflict: return true;
    case FailureKind::schema:
    case FailureKind::limit:
    case FailureKind::busy:
    case FailureKind::server: break;
  }
  return false;
}

/// A line of memcached's own for it, or nothing.
Bytes line_of(Failure failure) {
  if (failure == Failure::unknown_command) return "ERROR\r\n";
  if (failure == Failure::not_a_number) return not_a_number_line;
  if (failure == Failure::request_too_large) return "SERVER_ERROR object too large for cache\r\n";
  return {};
}

Bytes line_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
    case Refusal::unknown_command: return "ERROR";
    case Refusal::bad_format:
    case Refusal::key_too_long: return "CLIENT_ERROR bad command line format";
    case Refusal::bad_data_chunk: return "CLIENT_ERROR bad data chunk";
    case Refusal::line_too_long: return "CLIENT_ERROR line too long";
    case Refusal::bad_expiry: return "CLIENT_ERROR invalid exptime argument";
    case Refusal::bad_delta: return "CLIENT_ERROR invalid numeric delta argument";
    case Refusal::bad_flag: return "CLIENT_ERROR invalid flag";
    case Refusal::value_too_large: return "SERVER_ERROR object too large for cache";
    case Refusal::not_supported: return "CLIENT_ERROR not supported";
    case Refusal::not_logged_in: return "CLIENT_ERROR unauthenticated";
  }
  return "ERROR";
}

}  // namespace

void put_failure(Output &output, Failure failure, Bytes message) {
  if (const Bytes line = line_of(failure); !line.empty()) return output.put(line);
  output.put(is_clients_fault(failure) ? Bytes("CLIENT_ERROR ") : Bytes("SERVER_ERROR "));
  if (message.empty()) message = failure_text(failure);
  if (message.size() > message_line_bytes_max) {
    size_t end = message_line_bytes_max;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0u) == 0x80) --end;  // not within a character
    message = message.substr(0, end);
  }
  char *const to = output.reserve(message.size() + 2);
  std::transform(message.begin(), message.end(), to,
                 [](char byte) { return static_cast<unsigned char>(byte) < 0x20 ? ' ' : byte; });
  append(to + message.size(), "\r\n");
  output.commit(message.size() + 2);
}

void put_plain(Output &output, const Request &request, Bytes value) {
  if (request.quiet) return;
  Bytes line;
  switch (request.action) {
    case Action::end: line = "END"; break;
    case Action::noop: line = "MN"; break;
    case Action::verbosity: line = "OK"; break;
    case Action::statistics: line = "RESET"; break;
    case Action::login: line = "STORED"; break;
    case Action::version:
      output.put("VERSION ");
      line = value;
      break;
    case Action::refused: line = request.refusal_line.empty() ? line_of(request.refusal) : request.refusal_line; break;
    case Action::mechanisms: line = value; break;
    case Action::quit: return;
    case Action::item: line = "ERROR"; break;
  }
  output.put(line);
  output.put("\r\n");
}

void put_statistic(Output &output, Bytes name, Bytes value) {
  if (name.empty()) return output.put("END\r\n");
  output.put("STAT ");
  output.put(name);
  output.put(' ');
  output.put(value);
  output.put("\r\n");
}

}  // namespace postern::memcached
