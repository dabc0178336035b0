// scan_control.h: how much finds may read before others have their turn, and where a scan that paused goes on.
//
// All of it belongs to one executor and is used on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/limits.h"
#include "contract/op.h"

namespace postern::sql {

/// The bounds of the finds of one run in a turn: for each by itself, and for all together.
class TurnShare {
 public:
  void begin_run() { *this = {}; }

  /// Whether a find that has examined so many rows has had its share, or all have.
  bool has_had_rows(uint64_t examined) const {
    return examined > limits::find_rows_fast_max || rows_ + examined > limits::batch_rows_max;
  }
  /// A find is over that has examined so many.
  void take_rows(uint64_t examined) { rows_ += examined; }

  /// Whether no further large row should be read.
  bool has_had_large_rows() const { return large_bytes_ > limits::batch_large_bytes_max; }
  /// Takes a row that was read. False, and nothing taken, if there have been enough.
  bool take_large_row(size_t bytes) {
    if (has_had_large_rows()) return false;
    large_bytes_ += bytes;
    return true;
  }

 private:
  uint64_t rows_ = 0;
  size_t large_bytes_ = 0;
};

/// When a scan in the slow lane looks whether it should go on: after every so many rows.
class LookTimer {
 public:
  /// `examined`: rows so far. True once each time.
  bool is_due(uint64_t examined) {
    if (examined < next_) return false;
    next_ = examined + limits::rows_between_looks;
    return true;
  }

 private:
  uint64_t next_ = limits::rows_between_looks;
};

/// How far a walk has come.
struct Walked {
  size_t in_at = 0;      ///< position in the IN list
  uint64_t to_skip = 0;  ///< the rest of the offset
  uint64_t taken = 0;    ///< rows, towards the limit
};

/// The last row that a paused scan looked at. The scan goes on after it in index order, even if that row has changed.
struct ScanPlace final : Position {
  Walked walked;
  std::vector<unsigned char> key;  ///< all parts of the index, from that row; empty: none of this key was read yet
  unsigned unique_parts = 0;       ///< how many of them make it unique; 0: that takes `ref`
  std::vector<unsigned char> ref;  ///< the row itself, among others with the same key
  std::string shape;               ///< the table's: the scan cannot go on if it has changed
};

}  // namespace postern::sql
