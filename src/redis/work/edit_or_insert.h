// edit_or_insert.h: edit_or_insert(), a write on a row of a mapped table that creates the row if there is none.
//
// It looks for the row first. An insert that decides about an existing row would need one op, but the server checks the
// values of an insert before it looks for that row: it would refuse to change one field because a new row would lack
// another, or because an increment is out of range as a value.
#pragma once

#include "redis/call.h"
#include "redis/work/key_ops.h"

namespace postern::redis {

/// Adds the op: a script of two steps at most, with `reply` for its reply. `insert` decides by its edit, which sees the
/// existing row. A row of a hash that has expired is deleted before another takes its place.
Next edit_or_insert(Call &call, const Place &place, OpenTable &table, const Insert &insert, KeyReply &reply);

}  // namespace postern::redis
