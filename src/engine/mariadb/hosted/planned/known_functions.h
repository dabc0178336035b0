// known_functions.h: the functions that may be in a plan.
#pragma once

#include "engine/mariadb/hosted/planned/server.h"

namespace postern::mariadb {

/// Whether it gives the same for the same arguments in the same context, and leaves no trace elsewhere.
bool is_known(const Item_func &function);

}  // namespace postern::mariadb
