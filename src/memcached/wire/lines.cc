#include "memcached/wire/lines.h"

#include <algorithm>

namespace postern::memcached {
namespace {

constexpr size_t message_bytes_max = 400;

enum class Blame : uint8_t { client, server };

Blame blame_of(Failure failure) {
  switch (failure) {
    case Failure::none:
    case Failure::unknown_command:
    case Failure::syntax:
    case Failure::request_too_large:
    case Failure::unknown_operator:
    case Failure::unknown_modification:
    case Failure::not_implemented:
    case Failure::no_key_values:
    case Failure::too_many_key_values:
    case Failure::too_many_filters:
    case Failure::empty_in_list:
    case Failure::unknown_filter_type:
    case Failure::read_only_door:
    case Failure::unauthorized:
    case Failure::unknown_authentication:
    case Failure::tls_required:
    case Failure::too_many_logins:
    case Failure::privilege_denied:
    case Failure::too_many_columns:
    case Failure::too_many_open_indexes:
    case Failure::too_many_key_parts:
    case Failure::bad_key_value:
    case Failure::filter_on_blob:
    case Failure::bad_value:
    case Failure::not_a_number:
    case Failure::constraint:
    case Failure::duplicate_key: return Blame::client;
    case Failure::request_timed_out:
    case Failure::too_many_connections:
    case Failure::not_open:
    case Failure::no_table:
    case Failure::cannot_open:
    case Failure::not_a_base_table:
    case Failure::system_schema:
    case Failure::engine_unsupported:
    case Failure::no_index:
    case Failure::index_unusable:
    case Failure::index_not_the_key:
    case Failure::no_column:
    case Failure::no_filter_column:
    case Failure::row_too_large:
    case Failure::too_many_rows:
    case Failure::reply_too_large:
    case Failure::table_busy:
    case Failure::lock_failed:
    case Failure::row_locked:
    case Failure::read_only:
    case Failure::cluster_not_ready:
    case Failure::cluster:
    case Failure::commit_failed:
    case Failure::engine_error:
    case Failure::interrupted:
    case Failure::out_of_memory:
    case Failure::stopping:
    case Failure::internal: break;
  }
  return Blame::server;
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
  output.put(blame_of(failure) == Blame::client ? Bytes("CLIENT_ERROR ") : Bytes("SERVER_ERROR "));
  if (message.empty()) message = failure_text(failure);
  if (message.size() > message_bytes_max) {
    size_t end = message_bytes_max;
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
    case Action::verbosity:
    case Action::flush: line = "OK"; break;
    case Action::statistics: line = "RESET"; break;
    case Action::login: line = "STORED"; break;
    case Action::version:
      output.put("VERSION ");
      line = value;
      break;
    case Action::refused: line = request.refusal_line.empty() ? line_of(request.refusal) : request.refusal_line; break;
    case Action::mechanisms: line = value; break;
    case Action::quit: return;
    case Action::get:
    case Action::touch:
    case Action::set:
    case Action::add:
    case Action::replace:
    case Action::append:
    case Action::prepend:
    case Action::increment:
    case Action::decrement:
    case Action::erase: line = "ERROR"; break;
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
