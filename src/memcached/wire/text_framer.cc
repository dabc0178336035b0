#include "memcached/wire/text_framer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "memcached/wire/meta_commands.h"
#include "memcached/wire/text_commands.h"

namespace postern::memcached {
namespace {

constexpr size_t expiry_bytes_max = 20;

void refuse_line(Request &request, Refusal refusal) {
  request.action = Action::refused;
  request.refusal = refusal;
}

size_t skip_blanks(Bytes bytes, size_t at) {
  while (at < bytes.size() && bytes[at] == ' ') ++at;
  return at;
}

size_t end_of_word(Bytes bytes, size_t at) {
  // Keys hardly ever contain bytes up to the blank, so eight bytes at a time are searched for one.
  while (bytes.size() - at >= sizeof(uint64_t)) {
    const auto word = load<uint64_t>(bytes.data() + at);
    const uint64_t low = (word - every_byte(' ' + 1)) & ~word & every_byte(0x80);
    if (low != 0) {
      at += static_cast<size_t>(std::countr_zero(low)) / 8;
      break;
    }
    at += sizeof word;
  }
  while (at < bytes.size() && bytes[at] != ' ' && bytes[at] != '\n') ++at;
  return at;
}

/// A word that may be the last of its line, without the CR of the line's end.
Bytes word_of(Bytes bytes, size_t begin, size_t end) {
  if (bytes[end] == '\n' && end > begin && bytes[end - 1] == '\r') --end;
  return {bytes.data() + begin, end - begin};
}

/// Whether a word of a line is longer than a key may be.
bool has_long_key(Bytes keys) {
  while (keys.size() > key_bytes_max) {
    const size_t blank = keys.rfind(' ', key_bytes_max);
    if (blank == Bytes::npos) return true;
    keys.remove_prefix(blank + 1);
  }
  return false;
}

}  // namespace

Parsed TextFramer::take(std::span<char> bytes, const Bounds &bounds, size_t &consumed, Request &request) {
  consumed = 0;
  if (bytes.empty()) return Parsed::need_more;
  const Bytes view(bytes.data(), bytes.size());
  switch (state_) {
    case State::command: return take_command(bytes, bounds, consumed, request);
    case State::expiry: return take_expiry(view, consumed, request);
    case State::first_key:
    case State::keys: return take_key(view, 0, consumed, request);
    case State::rest_of_line: return drop_line(view, consumed);
    case State::refused_value: return drop_value(view, consumed);
  }
  return Parsed::need_more;
}

Parsed TextFramer::take_command(std::span<char> bytes, const Bounds &bounds, size_t &consumed, Request &request) {
  const Bytes view(bytes.data(), bytes.size());
  if (view[0] == 'g' || view[0] == 'b') {
    if (view.starts_with("get ")) return begin_keys(view, 4, false, false, consumed, request);
    if (view.starts_with("gets ")) return begin_keys(view, 5, true, false, consumed, request);
    if (view.starts_with("gat ")) return begin_keys(view, 4, false, true, consumed, request);
    if (view.starts_with("gats ")) return begin_keys(view, 5, true, true, consumed, request);
    if (view.starts_with("bget ")) return begin_keys(view, 5, false, false, consumed, request);
  } else if (view[0] == ' ') {
    consumed = skip_blanks(view, 0);
    return Parsed::nothing;
  }
  const size_t line_bytes = view.find('\n', scanned_);
  if (line_bytes > bounds.line_bytes_max && view.size() > bounds.line_bytes_max) {
    refuse_line(request, Refusal::line_too_long);
    consumed = view.size();
    return Parsed::close;
  }
  if (line_bytes == Bytes::npos) {
    scanned_ = view.size();
    return Parsed::need_more;
  }
  scanned_ = 0;
  return take_line(bytes, line_bytes, bounds, consumed, request);
}

Parsed TextFramer::take_line(std::span<char> bytes, size_t line_bytes, const Bounds &bounds, size_t &consumed,
                             Request &request) {
  Bytes line(bytes.data(), line_bytes);
  if (line.ends_with('\r')) line.remove_suffix(1);
  consumed = line_bytes + 1;
  const Words words(line);
  CommandLine command{words, request};
  const Bytes name = words[0];
  if (name.empty()) {
    command.refuse(Refusal::unknown_command);
  } else if (name.size() == 2 && name[0] == 'm') {
    request.dialect = Dialect::meta;
    parse_meta(command);
  } else {
    parse_text(command);
  }
  if (command.has_value) {
    const Parsed parsed = take_value(command, bytes.subspan(consumed), bounds, consumed);
    if (parsed != Parsed::request) return parsed;
  }
  if (request.meta.base64 && !command.refused()) decode_key(request);
  return Parsed::request;
}

Parsed TextFramer::take_value(CommandLine &command, std::span<char> rest, const Bounds &bounds, size_t &consumed) {
  const size_t bytes = command.value_bytes;
  if (!command.refused() && bytes > bounds.value_bytes_max) command.refuse(Refusal::value_too_large);
  if (command.refused()) {
    // Answered at once. The bytes of the value are never taken for commands.
    state_ = State::refused_value;
    refused_bytes_ = bytes + 2;
    return Parsed::request;
  }
  if (rest.size() < bytes + 2) {
    consumed = 0;
    return Parsed::need_more;
  }
  consumed += bytes + 2;
  if (rest[bytes] != '\r' || rest[bytes + 1] != '\n') {
    command.refuse(Refusal::bad_data_chunk);
    return Parsed::request;
  }
  command.request.item.value = {rest.data(), bytes};
  return Parsed::request;
}

Parsed TextFramer::begin_keys(Bytes bytes, size_t at, bool wants_cas, bool touches, size_t &consumed,
                              Request &request) {
  wants_cas_ = wants_cas;
  touches_ = touches;
  may_end_ = touches;  // `gat` without a key ends, as in memcached
  expiry_ = 0;
  scanned_ = 0;
  if (touches) {
    state_ = State::expiry;
    consumed = at;
    return Parsed::nothing;
  }
  state_ = State::first_key;
  return take_key(bytes, at, consumed, request);
}

Parsed TextFramer::take_expiry(Bytes bytes, size_t &consumed, Request &request) {
  const size_t begin = skip_blanks(bytes, 0);
  const size_t end = end_of_word(bytes, begin);
  if (end == bytes.size() && end - begin <= expiry_bytes_max + 1) {
    consumed = begin;
    return begin == 0 ? Parsed::need_more : Parsed::nothing;
  }
  const bool whole = end < bytes.size();
  const Bytes word = whole ? word_of(bytes, begin, end) : Bytes{};
  const bool ends = whole && bytes[end] == '\n';
  if (word.size() <= expiry_bytes_max && parse_integer(word, expiry_)) {
    consumed = end;
    state_ = State::first_key;
    return Parsed::nothing;
  }
  refuse_line(request, word.empty() && ends ? Refusal::unknown_command : Refusal::bad_expiry);
  consumed = ends ? end + 1 : end;
  state_ = ends ? State::command : State::rest_of_line;
  return Parsed::request;
}

/// Takes the first of a line's keys after all were checked.
Parsed TextFramer::look_through(Bytes bytes, size_t begin, size_t &consumed, Request &request) {
  const Bytes seen = bytes.substr(begin, keys_bytes_seen);
  const size_t line_end = seen.find('\n', scanned_ > begin ? scanned_ - begin : 0);
  Bytes keys = seen.substr(0, line_end);
  // It may belong to the end of the line.
  if (keys.ends_with('\r')) keys.remove_suffix(1);
  if (has_long_key(keys)) return refuse_key(begin + 1, consumed, request);
  if (line_end == Bytes::npos && seen.size() != keys_bytes_seen) {
    scanned_ = seen.size();
    consumed = begin;
    return begin == 0 ? Parsed::need_more : Parsed::nothing;
  }
  scanned_ = 0;
  state_ = State::keys;
  return take_key(bytes, begin, consumed, request);
}

Parsed TextFramer::refuse_key(size_t end, size_t &consumed, Request &request) {
  refuse_line(request, Refusal::key_too_long);
  request.ends = true;
  consumed = end;
  scanned_ = 0;
  state_ = State::rest_of_line;
  return Parsed::request;
}

Parsed TextFramer::take_key(Bytes bytes, size_t at, size_t &consumed, Request &request) {
  const size_t begin = skip_blanks(bytes, at);
  const size_t end = end_of_word(bytes, begin);
  const bool whole = end < bytes.size();
  const bool ends = whole && bytes[end] == '\n';
  if (!ends && state_ == State::first_key) return look_through(bytes, begin, consumed, request);
  if (!whole) {
    // A key of the largest size may be waiting for the end of line after its CR.
    const size_t there = end - begin;
    const bool fits = there <= key_bytes_max || (there == key_bytes_max + 1 && bytes[end - 1] == '\r');
    if (fits) {
      consumed = begin;
      return begin == 0 ? Parsed::need_more : Parsed::nothing;
    }
  }
  const Bytes key = whole ? word_of(bytes, begin, end) : Bytes(bytes.data() + begin, end - begin);
  if (key.size() > key_bytes_max) return refuse_key(end, consumed, request);
  consumed = end + 1;
  if (ends) {
    scanned_ = 0;
    state_ = State::command;
  }
  if (key.empty()) {
    request.action = Action::end;
    if (!may_end_) refuse_line(request, Refusal::unknown_command);
    return Parsed::request;
  }
  may_end_ = true;
  request.ask(ItemAction::get);
  request.key = key;
  request.ends = ends;
  request.wants_cas = wants_cas_;
  request.item.touches = touches_;
  request.expiry = expiry_;
  return Parsed::request;
}

Parsed TextFramer::drop_line(Bytes bytes, size_t &consumed) {
  const size_t end = bytes.find('\n');
  if (end != Bytes::npos) state_ = State::command;
  consumed = end == Bytes::npos ? bytes.size() : end + 1;
  return Parsed::nothing;
}

Parsed TextFramer::drop_value(Bytes bytes, size_t &consumed) {
  consumed = std::min(bytes.size(), refused_bytes_);
  refused_bytes_ -= consumed;
  if (refused_bytes_ == 0) state_ = State::command;
  return Parsed::nothing;
}

}  // namespace postern::memcached
