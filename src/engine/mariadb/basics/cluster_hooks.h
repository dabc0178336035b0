// cluster_hooks.h: the server's hooks around transactions on Galera nodes, as inline functions. Apart from server.h,
// which it follows, for one file needs it.
#pragma once

#include <wsrep_trans_observer.h>
