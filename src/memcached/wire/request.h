// request.h: Request, one parsed command, whichever of the protocol's three dialects it came in.
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
  statistics,  ///< Request::key: which, or empty; ::detail: what of it, for `detail`
  verbosity,   ///< and whatever else is accepted and changes nothing
  quit,
  login,       ///< Request::user and ::password
  mechanisms,  ///< which ways of logging in there are
  refused,     ///< Request::refusal: it is answered in its place in line
};

/// Why a command cannot be carried out, found before any table is looked at.
enum class Refusal : uint8_t {
  none,
  unknown_command,
  bad_format,      ///< not as the protocol has it, a number that is none among it
  bad_data_chunk,  ///< the value does not end where its length says
  key_too_long,
  line_too_long,
  bad_expiry,
  bad_delta,
  bad_flag,  ///< a meta flag that is unknown, twice there, or cannot be had on a table
  value_too_large,
  not_supported,  ///< known to memcached, meaningless here
  not_logged_in,
};

/// An expiry as a client gives it: 0 for never, seconds from now up to 30 days, an absolute time in seconds since 1970
/// beyond that; anything negative is over at once.
using Expiry = int64_t;

/// How a meta command is answered.
struct MetaFlags {
  Bytes flags;          ///< the flags as they were sent, to be answered in that order
  bool base64 = false;  ///< the key came, and goes, in base64; Request::key is the key itself
  bool value = false;   ///< `v`: the answer holds the value
  bool quiet = false;   ///< `q`
};

struct Request {
  Action action = Action::noop;
  Dialect dialect = Dialect::text;
  Refusal refusal = Refusal::none;
  bool quiet = false;       ///< text: `noreply`. binary: one of the quiet commands. What stays untold is the form's.
  bool wants_cas = false;   ///< text: `gets`, `gats`
  bool wants_value = true;  ///< get: false for a meta get that returns neither the value nor its size
  bool wants_key = false;   ///< binary: get with key
  bool ends = false;        ///< text get: the last key of its line. The form ends the answer, no Action::end follows.
                      ///< Also of a key that is refused: its error is the end, and the rest of the line is dropped.
  uint8_t opcode = 0;   ///< binary: as it came. meta: the command's second letter.
  uint32_t opaque = 0;  ///< binary: goes back as it came
  /// All but the key and the time it expires at: those are the session's to say, which knows the container and the
  /// time.
  items::ItemCommand item{};
  Bytes key;  ///< with the container's name before it, as the answer has it
  Expiry expiry = 0;
  MetaFlags meta{};
  Bytes detail;
  Bytes user;
  Bytes password;
  Bytes refusal_line;  ///< refused: what text and meta answer, if not the usual line of `refusal`; lives for ever

  void ask(ItemAction what) {
    action = Action::item;
    item.action = what;
  }
  bool asks(ItemAction what) const { return action == Action::item && item.action == what; }
};

/// What one request may hold.
struct Bounds {
  size_t value_bytes_max = 0;
  size_t line_bytes_max = 0;  ///< of a command line; the keys of a `get` are taken one by one and have no bound
};
inline constexpr size_t key_bytes_max = 250;

/// What became of an attempt to take a request off the input.
enum class Parsed : uint8_t {
  request,    ///< there is one
  nothing,    ///< bytes were taken that mean nothing to anybody; go on
  need_more,  ///< the request is not complete yet
  close,      ///< the client cannot be understood any more: there is a (refused) request, the connection's last
};

}  // namespace postern::memcached
