// edit_or_insert.h: edit_or_insert(), a write on a row of somebody's table that makes the row where there is none.
//
// The row is looked for first. An insert that decides about the row that is there would do in one op, but the server
// judges the values of an insert before it looks for that row: it would refuse to change a field of a row because a new
// one would lack another, or because an increment could not be a number of its own.
#pragma once

#include "redis/call.h"
#include "redis/work/key_ops.h"

namespace postern::redis {

/// Adds the op: a script of two steps at most, with `reply` for its reply. `insert` decides by its edit, which is shown
/// the row that is there. A row of a hash that has expired is deleted before another takes its place.
Next edit_or_insert(Call &call, const Place &place, OpenTable &table, const Insert &insert, KeyReply &reply);

}  // namespace postern::redis
