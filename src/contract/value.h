// value.h: what passes between protocols and engine for one column: Value, and Row, the values of one record.
//
// A Value borrows its bytes. A key value points into the connection's input and lives until the batch is
// settled; a row's value points into the engine's record and dies when Reply::row() returns.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace postern {

class Value {
 public:
  enum class Kind : uint8_t {
    null,     ///< SQL NULL, which is not an empty string
    bytes,    ///< text or binary, in the column's own character set
    integer,  ///< signed; its text form is the decimal number
    natural,  ///< unsigned; its text form is the decimal number
  };

  constexpr Value() : integer_(0), size_(0), kind_(Kind::null) {}
  static constexpr Value null() { return {}; }
  static constexpr Value of(Bytes bytes) {
    Value value;
    value.data_ = bytes.data();
    value.size_ = static_cast<uint32_t>(bytes.size());
    value.kind_ = Kind::bytes;
    return value;
  }
  static constexpr Value of_integer(int64_t number) {
    Value value;
    value.integer_ = number;
    value.kind_ = Kind::integer;
    return value;
  }
  static constexpr Value of_natural(uint64_t number) {
    Value value;
    value.natural_ = number;
    value.kind_ = Kind::natural;
    return value;
  }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  Bytes bytes() const { return {data_, size_}; }  ///< kind bytes only
  int64_t integer() const { return integer_; }    ///< kind integer only
  uint64_t natural() const { return natural_; }   ///< kind natural only

 private:
  union {
    const char *data_;
    int64_t integer_;
    uint64_t natural_;
  };
  uint32_t size_;
  Kind kind_;
};
static_assert(sizeof(Value) == 16);

/// The columns of one record that the open index asked for, in its order.
using Row = std::span<const Value>;

}  // namespace postern
