// servers_walk.h: servers_walk(), which finds the index by which the server certainly finds the rows of an UPDATE or a
// DELETE: it locks what it finds by that index, so a worker has to take the same one.
//
// For the thread that the session is attached to.
#pragma once

#include <span>

#include "contract/value.h"
#include "engine/mariadb/hosted/reads/key_walk.h"
#include "engine/mariadb/hosted/reads/read_form.h"

class THD;
struct TABLE;

namespace postern::mariadb {

/// Of `walks`, the one that the server certainly makes for these values, or none. `walk` is prepared for each of them.
const ResolvedRead *servers_walk(THD *session, TABLE &table, const ReadForm &form, std::span<const ResolvedRead> walks,
                                 std::span<const Value> values, KeyWalk &walk);

}  // namespace postern::mariadb
