// cluster_hooks.h: what the server does around its transactions on Galera nodes, as inline functions. Apart from
// server.h, which it follows, for one file needs it.
#pragma once

#include <wsrep_trans_observer.h>
