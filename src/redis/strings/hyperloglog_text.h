// hyperloglog_text.h: HyperLogLogText, the string of a HyperLogLog: equal to Redis's after the same changes, byte for
// byte, except for the estimate that its PFCOUNT caches in the string.
//
// A value. Few registers are run-length encoded (sparse); above `sparse_bytes_max` each has a place of its own (dense).
#pragma once

#include <cstdint>
#include <string>

#include "redis/strings/hyperloglog.h"

namespace postern::redis {

class HyperLogLogText {
 public:
  /// Redis's hll-sparse-max-bytes.
  static constexpr size_t sparse_bytes_max = 3'000;

  /// An empty one.
  HyperLogLogText();
  /// A string that HyperLogLog::merge() takes.
  explicit HyperLogLogText(Bytes text) : text_(text) {}

  /// Returns whether a register has changed.
  bool add(Bytes element);
  /// Raises registers to those of `other`.
  void raise(const HyperLogLog &log);
  bool is_sparse() const;
  /// Converts it to the dense form. False: it was dense.
  bool make_dense();
  /// Marks the estimate in it as out of date.
  void note_changed();
  /// The runs of a sparse one, as PFDEBUG DECODE writes them.
  std::string runs() const;
  const std::string &text() const { return text_; }

 private:
  bool raise(size_t place, uint8_t value);
  bool raise_run(size_t place, uint8_t value);
  bool raise_dense(size_t place, uint8_t value);
  void join_runs(size_t from);

  std::string text_;
};

}  // namespace postern::redis
