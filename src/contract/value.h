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
    integer,  ///< signed; its text form is the decimal number
    natural,  ///< unsigned; its text form is the decimal number
    bytes,    ///< text or binary, in the column's own character set; but see TableSpec::unicode
  };
  /// How a literal is spelt in an SQL statement: a quoted text differs in meaning from the same bytes without quotes.
  enum class Spelling : uint8_t {
    text,     ///< 'a', in the connection's character set; also all bytes that come from no statement
    binary,   ///< _binary'a', x'61' or 0x61: bytes without a character set
    decimal,  ///< 1.50: as it is written, perhaps after a minus
    real,     ///< 1.5e3: likewise
  };

  constexpr Value() : integer_(0), size_(0), form_(0) {}
  static constexpr Value null() { return {}; }
  static constexpr Value of(Bytes bytes) {
    Value value;
    value.data_ = bytes.data();
    value.size_ = static_cast<uint32_t>(bytes.size());
    value.form_ = form_of(Kind::bytes);
    return value;
  }
  static constexpr Value of_literal(Bytes bytes, Spelling spelling) {
    Value value = of(bytes);
    value.form_ = static_cast<uint8_t>(form_of(Kind::bytes) + static_cast<uint8_t>(spelling));
    return value;
  }
  static constexpr Value of_integer(int64_t number) {
    Value value;
    value.integer_ = number;
    value.form_ = form_of(Kind::integer);
    return value;
  }
  static constexpr Value of_natural(uint64_t number) {
    Value value;
    value.natural_ = number;
    value.form_ = form_of(Kind::natural);
    return value;
  }

  Kind kind() const { return static_cast<Kind>(form_ < form_of(Kind::bytes) ? form_ : form_of(Kind::bytes)); }
  bool is_null() const { return form_ == form_of(Kind::null); }
  Bytes bytes() const { return {data_, size_}; }  ///< kind bytes only
  Spelling spelling() const {
    return kind() == Kind::bytes ? static_cast<Spelling>(form_ - form_of(Kind::bytes)) : Spelling::text;
  }
  int64_t integer() const { return integer_; }   ///< kind integer only
  uint64_t natural() const { return natural_; }  ///< kind natural only

 private:
  static constexpr uint8_t form_of(Kind kind) { return static_cast<uint8_t>(kind); }

  union {
    const char *data_;
    int64_t integer_;
    uint64_t natural_;
  };
  uint32_t size_;
  // The kind; numbers above the last kind are bytes of other spellings. A separate member would cost every value of
  // every protocol one more store, and only SQL literals need it.
  uint8_t form_;
};
static_assert(sizeof(Value) == 16);

/// The columns of one record, in the order of the open index.
using Row = std::span<const Value>;

}  // namespace postern
