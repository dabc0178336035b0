// command.h: Command, the facts about one command before its arguments are read. The rows are in commands.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "redis/registry/command_keys.h"

namespace postern::redis {

struct Call;

/// The session's next step after a command's ops have been added.
enum class Next : uint8_t {
  go_on,
  sleep,  ///< the command waits for other clients: RedisSession::sleep_until()
  pause,  ///< the same, with an answer expected soon: RedisSession::pause_until()
  wait,   ///< later parsing depends on these ops: nothing more is parsed before they are settled
  close,  ///< close the connection when everything is answered
};

/// Adds the ops of one command.
using Handler = Next (*)(Call &call);

/// Bits, to be joined by |.
namespace CommandFlag {
enum : uint32_t {
  plain = 0,
  write = 1 << 0,
  readonly = 1 << 1,
  denyoom = 1 << 2,
  admin = 1 << 3,
  noscript = 1 << 4,
  blocking = 1 << 5,
  loading = 1 << 6,
  stale = 1 << 7,
  skip_slowlog = 1 << 8,
  skip_monitor = 1 << 9,
  fast = 1 << 10,
  no_auth = 1 << 11,
  no_mandatory_keys = 1 << 12,
  no_async_loading = 1 << 13,
  no_multi = 1 << 14,
  movablekeys = 1 << 15,  ///< follows from the keys: first, last and step do not describe all
  allow_busy = 1 << 16,
  subcommand = 1 << 17,  ///< follows from the name, and is shown to no client
  pubsub = 1 << 19,
  feeds = 1 << 18,  ///< may push to a key that other clients wait for; shown to no client
  /// It sees or changes more than keys: it begins when the commands before it are done. Shown to no client.
  in_order = 1 << 21,
  may_replicate = 1 << 20,  ///< not in scripts that only read, though it writes no row; shown to no client
};
}

namespace Category {
enum : uint32_t {
  in_none = 0,
  in_keyspace = 1 << 0,
  in_set = 1 << 1,
  in_sortedset = 1 << 2,
  in_list = 1 << 3,
  in_hash = 1 << 4,
  in_string = 1 << 5,
  in_bitmap = 1 << 6,
  in_admin = 1 << 7,
  in_dangerous = 1 << 8,
  in_connection = 1 << 9,
  in_transaction = 1 << 10,
  in_scripting = 1 << 11,
  in_stream = 1 << 12,
  in_hyperloglog = 1 << 13,
  in_geo = 1 << 14,
};
}

enum class CommandGroup : uint8_t {
  connection,
  server,
  transactions,
  string,
  bitmap,
  hash,
  generic,
  list,
  set,
  sorted_set,
  cluster,
  pubsub,
  scripting,
  stream,
  hyperloglog,
  geo,
};

struct Command {
  Bytes name;  ///< in lower case; a subcommand's begins with its container's and |
  int32_t arity;
  uint32_t flags;
  Bytes keys;  ///< as read_key_specs() reads them
  Bytes tips;
  CommandGroup group;
  uint32_t categories;
  Bytes since;
  Bytes summary;
  Handler handler;

  size_t place = 0;  ///< in commands()

  // Derived from `keys`.
  std::span<const KeySpec> key_specs{};
  int16_t first_key = 0;
  int16_t last_key = 0;  ///< negative: counted from the end
  int16_t key_step = 0;

  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  /// Whether it takes so many arguments, including the name.
  bool takes(size_t count) const {
    return arity >= 0 ? count == static_cast<size_t>(arity) : count >= static_cast<size_t>(-arity);
  }
  bool is_container() const;
  bool is_subcommand() const { return has(CommandFlag::subcommand); }
};

/// All commands and subcommands; a subcommand comes after its container.
std::span<const Command> commands();
/// Finds a command by its name, ignoring case; nullptr: none. A subcommand's name is container|name.
const Command *find_command(Bytes name);
/// Finds the subcommand `name` of `container`; nullptr: none.
const Command *find_subcommand(const Command &container, Bytes name);

/// Whether an argument is this word, ignoring case. `word` is in lower case.
[[nodiscard]] bool is_word(Bytes argument, Bytes word);

}  // namespace postern::redis
