// float_sum.h: FloatSum, the sum that INCRBYFLOAT and HINCRBYFLOAT write, in Redis' spelling.
#pragma once

#include <cmath>

#include "redis/call.h"
#include "redis/keyspace/key_state.h"
#include "redis/wire/numbers.h"

namespace postern::redis {

/// Part of an edit, so it may be asked again with another value.
class FloatSum {
 public:
  explicit FloatSum(long double by) : by_(by) { print(by); }

  /// Adds to a value that is not NULL. Returns the error to answer, `not_a_number` for that; empty: text() is the sum.
  Bytes add_to(const Value &now, Bytes not_a_number) {
    char room[20];
    long double number = 0;
    if (!parse_long_double(text_of(now, room), number)) return not_a_number;
    number += by_;
    if (std::isnan(number) || std::isinf(number)) return not_finite;
    print(number);
    return {};
  }
  /// For a value that does not exist.
  void forget() { print(by_); }
  bool is_finite() const { return !std::isinf(by_); }
  Bytes text() const { return {text_, size_}; }

 private:
  void print(long double number) { size_ = print_long_double(text_, number); }

  const long double by_;
  size_t size_ = 0;
  char text_[number_bytes_max];
};

}  // namespace postern::redis
