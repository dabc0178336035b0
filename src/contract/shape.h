// shape.h: ColumnShape, the type of a column as a client sees it.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace postern {

/// A column as the column definitions of the MySQL protocol have it. The character set and the length are the column's
/// own, as in SQL with character_set_results NULL.
struct ColumnShape {
  Bytes name;            ///< as the table spells it; the engine's, until Reply::shape() returns
  uint8_t type = 0;      ///< enum_field_types as it is on the wire
  uint8_t decimals = 0;  ///< digits after the point; 31 where that differs from value to value
  uint16_t flags = 0;    ///< NOT_NULL_FLAG and so on
  uint16_t charset = 0;  ///< the collation's number; 63, binary, for other types than texts
  uint32_t length = 0;   ///< bytes or digits at most
};

}  // namespace postern
