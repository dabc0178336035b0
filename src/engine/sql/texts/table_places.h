// table_places.h: where a text of SQL names a table after FROM or JOIN, so that something else can be put there.
//
// It reads words, quotes, comments and parentheses, and does not parse: whoever changes a text by it has to parse it
// then, and to look whether the change is the one that was meant.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"

namespace postern::sql {

struct TablePlace {
  size_t from = 0;  ///< where the name begins, with that of its database
  size_t to = 0;
  bool aliased = false;  ///< an alias follows
};

/// The places of `table`, by or without the name of a database, in their order. Of names that are quoted with `, or not
/// at all; " quotes texts. `same` compares names.
std::vector<TablePlace> places_of_table(Bytes text, Bytes table, bool (*same)(Bytes left, Bytes right));

}  // namespace postern::sql
