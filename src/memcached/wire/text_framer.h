// text_framer.h: TextFramer, bytes of the text or the meta dialect → requests: finds the ends of lines and values, and
// the keys of a `get` one by one. text_commands.h and meta_commands.h know the commands.
//
// Total: any bytes, cut into any pieces, make the same requests. Owned by its session and touched by one thread at a
// time; it keeps a few words between two pieces. The views in a request point into its bytes (except
// Request::refusal_line). grammar.md has the language.
//
//   size_t consumed;
//   switch (framer.take(input.unparsed(), bounds, consumed, request)) ...
//   input.consume(consumed);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memcached/wire/request.h"

namespace postern::memcached {

struct CommandLine;

class TextFramer {
 public:
  /// So many bytes of a line of keys are checked before the first key is taken, so that a key that is too long is
  /// answered in place of all items.
  static constexpr size_t keys_bytes_seen = size_t{32} << 10;

  /// Takes one request off the front of `bytes`, which are all that were received and not yet consumed. A line of
  /// several keys is one request for each; those beyond keys_bytes_seen are taken as soon as their key is complete.
  /// `request` is fresh, and unchanged after `nothing`.
  Parsed take(std::span<char> bytes, const Bounds &bounds, size_t &consumed, Request &request);

 private:
  enum class State : uint8_t {
    command,       // a line begins
    expiry,        // after `gat`
    first_key,     // after `get`, or the expiry of `gat`
    keys,          // looked through
    rest_of_line,  // dropped, because the line is refused
    refused_value  // dropped, too
  };

  Parsed take_command(std::span<char> bytes, const Bounds &bounds, size_t &consumed, Request &request);
  Parsed take_line(std::span<char> bytes, size_t line_bytes, const Bounds &bounds, size_t &consumed, Request &request);
  Parsed take_value(CommandLine &command, std::span<char> rest, const Bounds &bounds, size_t &consumed);
  Parsed take_expiry(Bytes bytes, size_t &consumed, Request &request);
  Parsed take_key(Bytes bytes, size_t at, size_t &consumed, Request &request);
  Parsed look_through(Bytes bytes, size_t begin, size_t &consumed, Request &request);
  Parsed refuse_key(size_t end, size_t &consumed, Request &request);
  Parsed drop_line(Bytes bytes, size_t &consumed);
  Parsed drop_value(Bytes bytes, size_t &consumed);
  /// Handles a line of keys; `at`: the beginning of the keys, or of their expiry.
  Parsed begin_keys(Bytes bytes, size_t at, bool wants_cas, bool touches, size_t &consumed, Request &request);

  State state_ = State::command;
  bool wants_cas_ = false;
  bool touches_ = false;
  bool may_end_ = false;  // whether the line of keys would be complete if it ended here
  size_t scanned_ = 0;    // bytes at the front that are known to contain no line end
  size_t refused_bytes_ = 0;
  Expiry expiry_ = 0;
};

}  // namespace postern::memcached
