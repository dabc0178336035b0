// hyperloglog.h: HyperLogLog, the registers of a string that PFADD makes: its form and its estimates are Redis's, bit
// by bit.
//
// A value. Total: any bytes. Reads both of Redis's forms, and writes the dense one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace postern::redis {

class HyperLogLog {
 public:
  enum class Read : uint8_t {
    valid,
    other,    ///< a string, but no HyperLogLog
    corrupt,  ///< begins as one, and goes on wrong
  };

  /// Takes the registers of a string, where they are larger. An empty string has none.
  [[nodiscard]] Read merge(Bytes text);
  /// Returns whether a register has changed.
  bool add(Bytes element);
  /// How many different elements were added.
  uint64_t count() const;
  std::string text() const;

 private:
  static constexpr size_t registers = 16'384;

  bool merge_sparse(Bytes runs);

  std::array<uint8_t, registers> registers_{};
};

}  // namespace postern::redis
