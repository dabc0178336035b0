// command_keys.h: finds the keys among a command's arguments, and how it uses them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace postern::redis {

struct Command;

/// A command's use of a key. Bits.
namespace KeyFlag {
enum : uint32_t {
  reads = 1 << 0,
  changes = 1 << 1,     ///< depends on the old value
  writes = 1 << 2,      ///< whatever the old value
  removes = 1 << 3,     ///< and does nothing else
  access = 1 << 4,      ///< returns the value, or copies it
  update = 1 << 5,      ///< existing data
  insert = 1 << 6,      ///< adds data without changing any
  erase = 1 << 7,       ///< deletes data in it, or all
  no_key = 1 << 9,      ///< stands in a key's place, but is none
  by_options = 1 << 8,  ///< the arguments decide
};
}

/// Some keys of a command.
struct KeySpec {
  enum class Find : uint8_t {
    range,        ///< from `first` to `last`, each `step`th
    counted,      ///< after their number, which is at `first`
    behind_word,  ///< the first half of the arguments after the word STREAMS, which stands at `first` or later
    option,       ///< the argument after `word`, which stands at `first` or later, if it is there
    unknown,      ///< depends on other arguments
  };
  Bytes notes{};
  uint32_t flags = 0;
  Find find = Find::range;
  int16_t first = 0;
  int16_t last = 0;  ///< so many after the first; negative: counted from the end of the arguments
  int16_t step = 1;
  Bytes word{};
};

struct FoundKey {
  Bytes key{};
  uint32_t flags = 0;
};

/// The word that keys follow.
inline constexpr Bytes key_word = "STREAMS";

/// The keys column of commands.def: for each spec `(notes) FLAGS PLACE`, with `; ` between them. A place is @1, @1..-1,
/// @1..-1/2 (each second), @1# (after their number), @6:STORE (after the word, which is at 6 or later) or @? (unknown).
/// `text` outlives them.
std::vector<KeySpec> read_key_specs(Bytes text);
/// Redis's name of each flag that is set.
std::vector<Bytes> key_flag_names(uint32_t flags);

/// The keys of a valid number of arguments, including the name. Empty: no keys, or malformed arguments.
std::vector<FoundKey> keys_of(const Command &command, std::span<const Bytes> arguments);

}  // namespace postern::redis
