// request.h: Request, one parsed command, in any of the protocol's three dialects.
//
// Plain values made of views into the connection's input; they live until the batch is settled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "items/item_command.h"

namespace postern::memcached {

enum class Dialect : uint8_t {
  text,    ///< `get`, `set` and so on
  meta,    ///< `mg`, `ms` and so on
  binary,  ///< 24 byte headers
};

using items::ItemAction;

/// The command.
enum class Action : uint8_t {
  item,  ///< Request::item
  end,   ///< the answer to a `get` of several keys is complete
  noop,  ///< `mn`, and the binary no-op
  version,
  statistics,  ///< Request::key: their name, or empty; ::detail: the argument of `detail`
  verbosity,   ///< and other commands that are accepted without effect
  quit,
  login,       ///< Request::user and ::password
  mechanisms,  ///< the list of login mechanisms
  refused,     ///< Request::refusal: answered in order
};

/// Why a command is refused before any table is used.
enum class Refusal : uint8_t {
  none,
  unknown_command,
  bad_format,      ///< malformed, including malformed numbers
  bad_data_chunk,  ///< the value does not end at its length
  key_too_long,
  line_too_long,
  bad_expiry,
  bad_delta,
  bad_flag,  ///< a meta flag that is unknown, repeated, or not supported on a table
  value_too_large,
  not_supported,  ///< known to memcached, meaningless here
  not_logged_in,
};

/// An expiry as a client gives it: 0 for never, seconds from now up to 30 days, an absolute time in seconds since 1970
/// beyond that; negative: expired at once.
using Expiry = int64_t;

/// How a meta command is answered.
struct MetaFlags {
  Bytes flags;          ///< the flags as they were sent, to be answered in that order
  bool base64 = false;  ///< the key is in base64, in the answer, too; Request::key is decoded
  bool value = false;   ///< `v`: the answer has the value
  bool quiet = false;   ///< `q`
};

struct Request {
  Action action = Action::noop;
  Dialect dialect = Dialect::text;
  Refusal refusal = Refusal::none;
  bool quiet = false;       ///< text: `noreply`. binary: a quiet command. The form omits some answers.
  bool wants_cas = false;   ///< text: `gets`, `gats`
  bool wants_value = true;  ///< get: false for a meta get that returns neither the value nor its size
  bool wants_key = false;   ///< binary: get with key
  bool ends = false;        ///< text get: the last key of its line. The form ends the answer, no Action::end follows.
                            /// < Also for a refused key: its error is the end, and the rest of the line is dropped.
  uint8_t opcode = 0;       ///< binary: as it came. meta: the command's second letter.
  uint32_t opaque = 0;      ///< binary: returned unchanged
  /// Everything except the key and the expiry: the session sets those, because it knows the container and the time.
  items::ItemCommand item{};
  Bytes key;  ///< with the container's name before it, as in the answer
  Expiry expiry = 0;
  MetaFlags meta{};
  Bytes detail;
  Bytes user;
  Bytes password;
  Bytes refusal_line;  ///< refused: the line for text and meta, if not the usual one of `refusal`; lives for ever

  void ask(ItemAction what) {
    action = Action::item;
    item.action = what;
  }
  bool asks(ItemAction what) const { return action == Action::item && item.action == what; }
};

/// The bounds of one request.
struct Bounds {
  size_t value_bytes_max = 0;
  size_t line_bytes_max = 0;  ///< of a command line; the keys of a `get` are taken one by one and have no bound
};
inline constexpr size_t key_bytes_max = 250;

/// The result of taking a request off the input.
enum class Parsed : uint8_t {
  request,    ///< there is one
  nothing,    ///< meaningless bytes were taken; go on
  need_more,  ///< the request is not complete yet
  close,      ///< the stream is no longer intelligible: there is a (refused) request, the connection's last
};

}  // namespace postern::memcached
