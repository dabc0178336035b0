// command_keys.h: where the keys of a command are among its arguments, and how it uses them.
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
  writes = 1 << 2,      ///< whatever was there
  removes = 1 << 3,     ///< nothing but that
  access = 1 << 4,      ///< returns the value, or copies it
  update = 1 << 5,      ///< of data that was there
  insert = 1 << 6,      ///< adds data, and changes none
  erase = 1 << 7,       ///< of data in it, or all
  no_key = 1 << 9,      ///< it stands where keys do, and is none
  by_options = 1 << 8,  ///< the arguments decide
};
}

/// Some keys of a command.
struct KeySpec {
  enum class Find : uint8_t {
    range,        ///< from `first` to `last`, each `step`th
    counted,      ///< after their number, which is at `first`
    behind_word,  ///< half of the arguments after the word STREAMS, which stands at `first` or later
    option,       ///< the argument after `word`, which stands at `first` or later, if it is there
    unknown,      ///< what stands elsewhere decides
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

/// The word before keys that follow one.
inline constexpr Bytes key_word = "STREAMS";

/// The keys column of commands.def: for each spec `(notes) FLAGS PLACE`, with `; ` between them. A place is @1, @1..-1,
/// @1..-1/2 (each second), @1# (after their number), @6:STORE (after the word, which is at 6 or later) or @? (unknown).
/// `text` outlives them.
std::vector<KeySpec> read_key_specs(Bytes text);
/// The name of each flag that is set, as Redis has it.
std::vector<Bytes> key_flag_names(uint32_t flags);

/// Of as many arguments as the command takes, its name among them. Empty: it has none, or they are not as they should
/// be.
std::vector<FoundKey> keys_of(const Command &command, std::span<const Bytes> arguments);

}  // namespace postern::redis
