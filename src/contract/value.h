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
  /// What bytes are in a statement of SQL, where a text means something else than the same bytes without quotes.
  enum class Spelling : uint8_t {
    text,     ///< 'a', in the connection's character set; and all bytes that are of no statement
    binary,   ///< _binary'a', x'61' or 0x61: bytes without a character set
    decimal,  ///< 1.50: as it is written, perhaps behind a minus
    real,     ///< 1.5e3: likewise
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
  static constexpr Value of_literal(Bytes bytes, Spelling spelling) {
    Value value = of(bytes);
    value.spelling_ = spelling;
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
  Spelling spelling() const { return spelling_; }
  int64_t integer() const { return integer_; }   ///< kind integer only
  uint64_t natural() const { return natural_; }  ///< kind natural only

 private:
  union {
    const char *data_;
    int64_t integer_;
    uint64_t natural_;
  };
  uint32_t size_;
  Kind kind_;
  Spelling spelling_ = Spelling::text;
};
static_assert(sizeof(Value) == 16);

/// The columns of one record that the open index asked for, in its order.
using Row = std::span<const Value>;

}  // namespace postern
