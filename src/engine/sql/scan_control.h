// scan_control.h: how much finds may read before other requests have their turn, and where a paused scan resumes.
//
// Belongs to one executor and is used on its thread.
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

  /// Whether a find that has examined so many rows has used up its share, or all finds together have.
  bool has_had_rows(uint64_t examined) const {
    return examined > limits::find_rows_fast_max || rows_ + examined > limits::batch_rows_max;
  }
  /// Notes the end of a find that has examined so many rows.
  void take_rows(uint64_t examined) { rows_ += examined; }

  /// Whether no further large row should be read.
  bool has_had_large_rows() const { return large_bytes_ > limits::batch_large_bytes_max; }
  /// Counts a row that was read. False, and not counted, if that is too much.
  bool take_large_row(size_t bytes) {
    if (has_had_large_rows()) return false;
    large_bytes_ += bytes;
    return true;
  }

 private:
  uint64_t rows_ = 0;
  size_t large_bytes_ = 0;
};

/// Counts rows for a scan in the slow lane, which checks after every so many whether to go on.
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

/// The progress of a walk.
struct Walked {
  size_t in_at = 0;      ///< position in the IN list
  uint64_t to_skip = 0;  ///< the remaining offset
  uint64_t taken = 0;    ///< rows, towards the limit
};

/// The last row that a paused scan examined. The scan resumes after it in index order, even if that row has changed.
struct ScanPlace final : Position {
  Walked walked;
  std::vector<unsigned char> key;  ///< all parts of the index, from that row; empty: none of this key was read yet
  unsigned unique_parts = 0;       ///< how many of them are unique; 0: only with `ref`
  std::vector<unsigned char> ref;  ///< the row itself, among others with the same key
  std::string shape;               ///< the table's version: the scan cannot resume if it has changed
};

}  // namespace postern::sql
