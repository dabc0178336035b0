// hyperloglog_text.h: HyperLogLogText, the string of a HyperLogLog: what Redis would have after the same changes, byte
// for byte, but for the estimate that its PFCOUNT keeps in there.
//
// A value. A few registers are runs (the sparse form); above `sparse_bytes_max` each has its place (the dense form).
#pragma once

#include <cstdint>
#include <string>

#include "redis/strings/hyperloglog.h"

namespace postern::redis {

class HyperLogLogText {
 public:
  /// Redis's hll-sparse-max-bytes.
  static constexpr size_t sparse_bytes_max = 3'000;

  /// One to which nothing was added.
  HyperLogLogText();
  /// A string that HyperLogLog::merge() takes.
  explicit HyperLogLogText(Bytes text) : text_(text) {}

  /// Returns whether a register has changed.
  bool add(Bytes element);
  /// No register is less than its one.
  void raise(const HyperLogLog &log);
  bool is_sparse() const;
  /// Gives it the dense form. False: it has it.
  bool make_dense();
  /// The estimate in it is out of date.
  void note_changed();
  /// Runs as PFDEBUG DECODE writes them, where it is sparse.
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
