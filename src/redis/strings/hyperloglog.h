// hyperloglog.h: HyperLogLog, the registers of a string that PFADD makes: its forms and its estimates are Redis's, bit
// by bit. hyperloglog_text.h changes such a string.
//
// A value. Total: any bytes.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace postern::redis {

class HyperLogLog {
 public:
  static constexpr size_t registers = 16'384;
  static constexpr size_t register_bits = 6;
  static constexpr size_t header_bytes = 16;
  static constexpr size_t form_at = 4;

  enum class Read : uint8_t {
    valid,
    other,    ///< a string, but no HyperLogLog
    corrupt,  ///< begins as one, and goes on wrong
  };

  /// What an element adds: a register is at least that.
  struct Trait {
    size_t place;
    uint8_t value;
  };
  static Trait trait_of(Bytes element);

  /// Registers of one value, in the sparse form.
  struct Run {
    uint8_t value = 0;
    size_t size = 0;
    size_t bytes = 0;  ///< in the string; 0: it is cut off
  };
  static Run read_run(Bytes text, size_t at);

  /// Takes the registers of a string, where they are larger. An empty string has none.
  [[nodiscard]] Read merge(Bytes text);
  uint8_t at(size_t place) const { return registers_[place]; }
  /// How many different elements were added.
  uint64_t count() const;

 private:
  bool merge_sparse(Bytes runs);

  std::array<uint8_t, registers> registers_{};
};

}  // namespace postern::redis
