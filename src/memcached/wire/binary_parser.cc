#include "memcached/wire/binary_parser.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "memcached/wire/binary_packet.h"

namespace postern::memcached {
namespace {

using binary::Opcode;

/// The contents of a command's packet besides the header.
enum class Body : uint8_t {
  unknown,  ///< there is no such command
  nothing,
  key,
  key_or_nothing,         ///< statistics: their name, optionally with a blank and a word
  key_and_value,          ///< append, prepend
  key_and_stored,         ///< flags and expiry, key, value
  key_and_delta,          ///< delta, initial, expiry, key
  key_and_expiry,         ///< expiry, key
  delay_or_nothing,       ///< for a flush
  level,                  ///< of verbosity
  mechanism_and_message,  ///< a login's
};

struct OpcodeRule {
  Body body = Body::unknown;
  Action action = Action::refused;
  ItemAction item = ItemAction::get;  ///< of Action::item
  bool quiet = false;
  bool wants_key = false;
};

constexpr size_t commands_count = 0x25;

constexpr std::array<OpcodeRule, commands_count> make_commands() {
  std::array<OpcodeRule, commands_count> commands{};
  const auto have = [&commands](Opcode opcode, Opcode quiet_opcode, ItemAction item, Body body,
                                bool wants_key = false) {
    commands[quiet_opcode] = {body, Action::item, item, true, wants_key};
    commands[opcode] = {body, Action::item, item, false, wants_key};
  };
  const auto have_one = [&commands](Opcode opcode, Action action, Body body) {
    commands[opcode] = {.body = body, .action = action};
  };
  have(binary::get, binary::get_quietly, ItemAction::get, Body::key);
  have(binary::get_with_key, binary::get_with_key_quietly, ItemAction::get, Body::key, true);
  have(binary::get_and_touch, binary::get_and_touch_quietly, ItemAction::get, Body::key_and_expiry);
  have(binary::get_and_touch_with_key, binary::get_and_touch_with_key_quietly, ItemAction::get, Body::key_and_expiry,
       true);
  // It is answered with the item's flags, so it is a get that wants no value.
  have(binary::touch, binary::touch, ItemAction::get, Body::key_and_expiry);
  have(binary::set, binary::set_quietly, ItemAction::set, Body::key_and_stored);
  have(binary::add, binary::add_quietly, ItemAction::add, Body::key_and_stored);
  have(binary::replace, binary::replace_quietly, ItemAction::replace, Body::key_and_stored);
  have(binary::append, binary::append_quietly, ItemAction::append, Body::key_and_value);
  have(binary::prepend, binary::prepend_quietly, ItemAction::prepend, Body::key_and_value);
  have(binary::increment, binary::increment_quietly, ItemAction::increment, Body::key_and_delta);
  have(binary::decrement, binary::decrement_quietly, ItemAction::decrement, Body::key_and_delta);
  have(binary::erase, binary::erase_quietly, ItemAction::erase, Body::key);
  have(binary::flush, binary::flush_quietly, ItemAction::flush, Body::delay_or_nothing);
  have_one(binary::quit, Action::quit, Body::nothing);
  commands[binary::quit_quietly] = {.body = Body::nothing, .action = Action::quit, .quiet = true};
  have_one(binary::noop, Action::noop, Body::nothing);
  have_one(binary::version, Action::version, Body::nothing);
  have_one(binary::statistics, Action::statistics, Body::key_or_nothing);
  have_one(binary::verbosity, Action::verbosity, Body::level);
  have_one(binary::login_mechanisms, Action::mechanisms, Body::nothing);
  have_one(binary::login, Action::login, Body::mechanism_and_message);
  have_one(binary::login_step, Action::login, Body::mechanism_and_message);
  return commands;
}

constexpr std::array<OpcodeRule, commands_count> commands = make_commands();
constexpr OpcodeRule unknown_command{};

/// The three lengths of a header: those of the extras before the key, the key, and everything after the header.
struct Lengths {
  uint8_t extras = 0;
  uint16_t key = 0;
  uint32_t body = 0;

  uint32_t value() const { return body - extras - key; }
};

bool fits(Body body, const Lengths &lengths) {
  const bool keyed = lengths.key != 0;
  const bool valued = lengths.value() != 0;
  switch (body) {
    case Body::unknown: return true;
    case Body::nothing: return lengths.body == 0;
    case Body::key: return lengths.extras == 0 && keyed && !valued;
    case Body::key_or_nothing: return lengths.extras == 0;
    case Body::key_and_value: return lengths.extras == 0 && keyed;
    case Body::key_and_stored: return lengths.extras == 8 && keyed;
    case Body::key_and_delta: return lengths.extras == 20 && keyed && !valued;
    case Body::key_and_expiry: return lengths.extras == 4 && keyed;
    case Body::delay_or_nothing: return (lengths.extras == 0 || lengths.extras == 4) && !keyed && !valued;
    case Body::level: return lengths.extras == 4 && !keyed && !valued;
    case Body::mechanism_and_message: return lengths.extras == 0 && keyed;
  }
  return false;
}

uint32_t value_bytes_max(Body body, const Bounds &bounds) {
  // PLAIN: an identity that is not used, a user, a password, and two NULs between them.
  constexpr size_t message_bytes_max = 2 * limits::name_bytes_max + limits::password_bytes_max + 2;
  const size_t most = body == Body::mechanism_and_message ? message_bytes_max : bounds.value_bytes_max;
  return static_cast<uint32_t>(std::min<size_t>(most, INT32_MAX));
}

void refuse(Request &request, Refusal refusal) {
  request.action = Action::refused;
  request.refusal = refusal;
}

/// `identity NUL user NUL password` of the mechanism PLAIN.
void read_login(Bytes message, Request &request) {
  const size_t user = message.find('\0') + 1;
  const size_t password = user == 0 ? 0 : message.find('\0', user) + 1;
  if (request.key != "PLAIN" || password == 0) return refuse(request, Refusal::not_logged_in);
  request.user = message.substr(user, password - 1 - user);
  request.password = message.substr(password);
  if (request.user.size() > limits::name_bytes_max || request.password.size() > limits::password_bytes_max)
    refuse(request, Refusal::not_logged_in);
}

void read_body(Body body, const char *extras, const Lengths &lengths, Request &request) {
  request.key = {extras + lengths.extras, lengths.key};
  request.item.value = {request.key.data() + lengths.key, lengths.value()};
  switch (body) {
    case Body::unknown:
    case Body::nothing:
    case Body::key:
    case Body::key_and_value:
    case Body::level: break;
    case Body::key_or_nothing: {
      const size_t blank = request.key.find(' ');
      request.detail = blank == Bytes::npos ? Bytes{} : request.key.substr(blank + 1);
      request.key = request.key.substr(0, blank);
      break;
    }
    case Body::key_and_stored:
      request.item.flags = binary::read_number<uint32_t>(extras);
      request.expiry = binary::read_number<uint32_t>(extras + 4);
      // With a CAS all three are equal: the item must exist with that CAS.
      if (request.item.cas != 0) request.ask(ItemAction::set);
      break;
    case Body::key_and_delta:
      request.item.delta = binary::read_number<uint64_t>(extras);
      request.item.initial = binary::read_number<uint64_t>(extras + 8);
      request.expiry = binary::read_number<uint32_t>(extras + 16);
      request.item.creates = request.expiry != UINT32_MAX;
      break;
    case Body::key_and_expiry:
      request.item.touches = true;
      request.wants_value = request.opcode != binary::touch;
      request.item.value = {};
      request.expiry = binary::read_number<uint32_t>(extras);
      break;
    case Body::delay_or_nothing:
      // A table cannot be emptied later.
      if (lengths.extras != 0 && binary::read_number<uint32_t>(extras) != 0) refuse(request, Refusal::not_supported);
      break;
    case Body::mechanism_and_message: read_login(request.item.value, request); break;
  }
}

void follow(const OpcodeRule &rule, Request &request) {
  request.action = rule.action;
  request.item.action = rule.item;
  request.quiet = rule.quiet;
  request.wants_key = rule.wants_key;
}

}  // namespace

Parsed BinaryParser::take(std::span<char> bytes, const Bounds &bounds, size_t &consumed, Request &request) {
  consumed = 0;
  if (bytes.empty()) return Parsed::need_more;
  if (swallow_bytes_ != 0) {
    consumed = std::min<size_t>(swallow_bytes_, bytes.size());
    swallow_bytes_ -= static_cast<uint32_t>(consumed);
    return Parsed::nothing;
  }

  request.dialect = Dialect::binary;
  const char *const header = bytes.data();
  if (header[0] != binary::request_magic) {
    // Neither the start of the next packet nor the request to answer is known.
    request.action = Action::quit;
    request.quiet = true;
    consumed = bytes.size();
    return Parsed::close;
  }
  if (bytes.size() < binary::header_bytes) return Parsed::need_more;

  request.opcode = static_cast<uint8_t>(header[1]);
  request.opaque = binary::read_number<uint32_t>(header + 12);
  request.item.cas = binary::read_number<uint64_t>(header + 16);
  request.item.compares = request.item.cas != 0;
  const Lengths lengths{.extras = static_cast<uint8_t>(header[4]),
                        .key = binary::read_number<uint16_t>(header + 2),
                        .body = binary::read_number<uint32_t>(header + 8)};
  const OpcodeRule &command = request.opcode < commands.size() ? commands[request.opcode] : unknown_command;
  follow(command, request);

  const auto refuse_and_close = [&](Refusal refusal) {
    refuse(request, refusal);
    consumed = bytes.size();
    return Parsed::close;
  };
  // `read_bytes` of the body have been read.
  const auto refuse_and_swallow = [&](Refusal refusal, uint32_t read_bytes) {
    refuse(request, refusal);
    consumed = binary::header_bytes + read_bytes;
    swallow_bytes_ = lengths.body - read_bytes;
    return Parsed::request;
  };
  if (uint32_t{lengths.key} + lengths.extras > lengths.body) return refuse_and_close(Refusal::unknown_command);
  if (lengths.key > key_bytes_max) return refuse_and_close(Refusal::key_too_long);
  if (!fits(command.body, lengths)) return refuse_and_close(Refusal::bad_format);
  if (command.body == Body::unknown) return refuse_and_swallow(Refusal::unknown_command, 0);
  if (lengths.value() > value_bytes_max(command.body, bounds)) {
    // The key of a refused value is named, so that an older value of it can be deleted.
    const uint32_t read_bytes = uint32_t{lengths.extras} + lengths.key;
    if (bytes.size() < binary::header_bytes + read_bytes) return Parsed::need_more;
    request.key = {reinterpret_cast<const char *>(header) + binary::header_bytes + lengths.extras, lengths.key};
    return refuse_and_swallow(Refusal::value_too_large, read_bytes);
  }

  const size_t packet_bytes = binary::header_bytes + lengths.body;
  if (bytes.size() < packet_bytes) return Parsed::need_more;
  consumed = packet_bytes;
  read_body(command.body, header + binary::header_bytes, lengths, request);
  return Parsed::request;
}

}  // namespace postern::memcached
