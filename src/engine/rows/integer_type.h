// integer_type.h: which columns hold integers.
#pragma once

#include "engine/server/server.h"

#include "engine/server/differences.h"
#include "engine/sql/integers.h"

namespace postern::rows {

/// No type if the column does not hold integers. Inline, to keep lookups by id fast.
inline sql::IntegerType integer_type(const Field *field) {
  uint32_t bytes = 0;
  switch (field->real_type()) {
    case MYSQL_TYPE_TINY: bytes = 1; break;
    case MYSQL_TYPE_SHORT: bytes = 2; break;
    case MYSQL_TYPE_INT24: bytes = 3; break;
    case MYSQL_TYPE_LONG: bytes = 4; break;
    case MYSQL_TYPE_LONGLONG: bytes = 8; break;
    default: break;
  }
  return {.bytes = bytes, .is_unsigned = has_flag(*field, UNSIGNED_FLAG)};
}

}  // namespace postern::rows
