// names.h: names in an open request: lists of columns, and an index by its position.
//
// A list is separated by commas. A name in backquotes may hold commas; a backquote in it is doubled. An empty list has
// no names; a trailing comma is followed by an empty name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "base/bytes.h"

namespace postern::handlersocket {

/// The number of names in a list.
size_t count_names(Bytes list);

/// The names of a list, without the backquotes around them. They are views into the list, or into the arena where
/// backquotes within were doubled.
std::span<const Bytes> parse_names(Bytes list, Arena &arena);

/// The position that an index's name denotes if no index has that name: -1 unless it is a decimal number.
int32_t index_position(Bytes name);

}  // namespace postern::handlersocket
