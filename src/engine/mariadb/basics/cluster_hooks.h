// cluster_hooks.h: the server's hooks around transactions on Galera nodes, as inline functions. Separate from server.h,
// which must come first, because only one file needs it.
#pragma once

#include <wsrep_trans_observer.h>
