#include "memcached/wire/forms.h"

#include "memcached/wire/binary_packet.h"

namespace postern::memcached {
namespace {

using binary::Status;

/// Bytes of an error message; some clients have a buffer of fixed size for it.
constexpr size_t refusal_bytes_max = 1'024;

struct Header {
  Status status = Status::success;
  uint64_t cas = 0;
  uint8_t extras_bytes = 0;
  size_t key_bytes = 0;
  size_t value_bytes = 0;
};

void put_header(Output &output, const Request &request, const Header &header) {
  char *at = output.reserve(binary::header_bytes);
  *at++ = binary::response_magic;
  *at++ = static_cast<char>(request.opcode);
  at = binary::write_number(at, static_cast<uint16_t>(header.key_bytes));
  *at++ = static_cast<char>(header.extras_bytes);
  *at++ = 0;  // the type of the data: just bytes
  at = binary::write_number(at, static_cast<uint16_t>(header.status));
  at = binary::write_number(at, static_cast<uint32_t>(header.extras_bytes + header.key_bytes + header.value_bytes));
  at = binary::write_number(at, request.opaque);
  binary::write_number(at, header.cas);
  output.commit(binary::header_bytes);
}

template <class Number>
void put_number(Output &output, Number number) {
  binary::write_number(output.reserve(sizeof number), number);
  output.commit(sizeof number);
}

void put_value(Output &output, const Request &request, Status status, Bytes value) {
  put_header(output, request, {.status = status, .value_bytes = value.size()});
  output.put(value);
}

Bytes text_of(Status status) {
  switch (status) {
    case Status::success: return "";
    case Status::not_found: return "Not found";
    case Status::exists: return "Data exists for key.";
    case Status::too_large: return "Too large.";
    case Status::invalid_arguments: return "Invalid arguments";
    case Status::not_stored: return "Not stored.";
    case Status::not_a_number: return "Non-numeric server-side value for incr or decr";
    case Status::login_failed: return "Auth failure.";
    case Status::unknown_command: return "Unknown command";
    case Status::out_of_memory: return "Out of memory";
    case Status::not_supported: return "Not supported";
    case Status::internal_error: return "Internal error";
    case Status::temporary_failure: return "Temporary failure";
  }
  return "";
}

/// The status for "not stored" depends on the reason.
Status not_stored(uint8_t opcode) {
  switch (opcode) {
    case binary::add:
    case binary::add_quietly: return Status::exists;
    case binary::replace:
    case binary::replace_quietly: return Status::not_found;
    default: return Status::not_stored;
  }
}

Status status_of(Result result, uint8_t opcode) {
  switch (result) {
    case Result::done: return Status::success;
    case Result::not_found: return Status::not_found;
    case Result::exists: return Status::exists;
    case Result::not_stored: return not_stored(opcode);
    case Result::not_a_number: return Status::not_a_number;
  }
  return Status::internal_error;
}

Status status_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none: return Status::success;
    case Refusal::unknown_command: return Status::unknown_command;
    case Refusal::value_too_large: return Status::too_large;
    case Refusal::not_supported: return Status::not_supported;
    case Refusal::not_logged_in: return Status::login_failed;
    case Refusal::bad_format:
    case Refusal::bad_data_chunk:
    case Refusal::key_too_long:
    case Refusal::line_too_long:
    case Refusal::bad_expiry:
    case Refusal::bad_delta:
    case Refusal::bad_flag: return Status::invalid_arguments;
  }
  return Status::internal_error;
}

Status status_of(Failure failure) {
  switch (failure) {
    case Failure::none: return Status::success;
    case Failure::unknown_command: return Status::unknown_command;
    case Failure::not_implemented:
    case Failure::read_only_door: return Status::not_supported;
    case Failure::not_a_number: return Status::not_a_number;
    case Failure::constraint: return Status::invalid_arguments;
    case Failure::too_many_rows: return Status::temporary_failure;
    case Failure::out_of_memory: return Status::out_of_memory;
    default: break;
  }
  switch (kind_of(failure)) {
    case FailureKind::request:
    case FailureKind::value: return Status::invalid_arguments;
    case FailureKind::access: return Status::login_failed;
    case FailureKind::conflict: return Status::exists;
    case FailureKind::limit: return Status::too_large;
    case FailureKind::busy: return Status::temporary_failure;
    case FailureKind::schema:
    case FailureKind::server: break;
  }
  return Status::internal_error;
}

}  // namespace

void BinaryForm::item(Output &output, const Request &request, const Item &item) const {
  const Bytes key = request.wants_key ? request.key : Bytes{};
  const Bytes value = request.wants_value ? item.value : Bytes{};
  put_header(
      output, request,
      {.cas = item.cas, .extras_bytes = sizeof item.flags, .key_bytes = key.size(), .value_bytes = value.size()});
  put_number(output, item.flags);
  output.put(key);
  output.put(value);
}

void BinaryForm::number(Output &output, const Request &request, uint64_t number, const Item &item) const {
  if (request.quiet) return;
  put_header(output, request, {.cas = item.cas, .value_bytes = sizeof number});
  put_number(output, number);
}

void BinaryForm::result(Output &output, const Request &request, Result result, uint64_t cas) const {
  const Status status = status_of(result, request.opcode);
  if (status == Status::success) {
    if (!request.quiet) put_header(output, request, {.cas = request.item.action == ItemAction::erase ? 0 : cas});
    return;
  }
  if (request.item.action == ItemAction::get && result == Result::not_found) {
    if (request.quiet) return;
    if (request.wants_key) {
      put_header(output, request, {.status = status, .key_bytes = request.key.size()});
      output.put(request.key);
      return;
    }
  }
  put_value(output, request, status, text_of(status));
}

void BinaryForm::failed(Output &output, const Request &request, Failure failure, Bytes message) const {
  // The name of statistics is not a command.
  const bool is_statistics = request.action == Action::statistics && failure == Failure::unknown_command;
  const Status status = is_statistics ? Status::not_found : status_of(failure);
  if (message.empty()) {
    const bool has_sentence = failure == Failure::unauthorized || failure == Failure::request_too_large;
    message = is_statistics || has_sentence ? text_of(status) : failure_text(failure);
  }
  put_value(output, request, status, message.substr(0, refusal_bytes_max));
}

void BinaryForm::plain(Output &output, const Request &request, Bytes value) const {
  switch (request.action) {
    case Action::end: return;
    case Action::refused: {
      const Status status = status_of(request.refusal);
      return put_value(output, request, status, text_of(status));
    }
    case Action::login: return put_value(output, request, Status::success, "Authenticated");
    default:
      if (!request.quiet) put_value(output, request, Status::success, value);
  }
}

void BinaryForm::statistic(Output &output, const Request &request, Bytes name, Bytes value) const {
  put_header(output, request, {.key_bytes = name.size(), .value_bytes = name.empty() ? 0 : value.size()});
  if (name.empty()) return;
  output.put(name);
  output.put(value);
}

}  // namespace postern::memcached
