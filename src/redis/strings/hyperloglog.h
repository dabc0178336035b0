// hyperloglog.h: HyperLogLog, the registers of a string that PFADD makes. Its encodings and estimates equal Redis's,
// bit by bit. hyperloglog_text.h changes such a string.
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
    corrupt,  ///< begins like one, but is malformed
  };

  /// The minimum that an element gives to a register.
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

  /// Raises registers to those of a string. An empty string has none.
  [[nodiscard]] Read merge(Bytes text);
  uint8_t at(size_t place) const { return registers_[place]; }
  /// The estimated number of distinct elements.
  uint64_t count() const;

 private:
  bool merge_sparse(Bytes runs);

  std::array<uint8_t, registers> registers_{};
};

}  // namespace postern::redis
