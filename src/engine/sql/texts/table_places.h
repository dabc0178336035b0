// table_places.h: the places where a text of SQL names a table after FROM or JOIN, so that the name can be replaced.
//
// It reads words, quotes, comments and parentheses without parsing: a caller that changes the text has to parse the
// result, and to check that the change is the intended one.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"

namespace postern::sql {

struct TablePlace {
  size_t from = 0;  ///< where the name begins, including its database's name
  size_t to = 0;
  bool aliased = false;  ///< whether an alias follows
};

/// The places of `table`, with or without a database name, in order. Finds plain names and names quoted with `; "
/// quotes strings. `same` compares names.
std::vector<TablePlace> places_of_table(Bytes text, Bytes table, bool (*same)(Bytes left, Bytes right));

}  // namespace postern::sql
