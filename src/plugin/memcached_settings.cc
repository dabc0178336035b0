#include <mysql/plugin.h>

#include "settings.h"

namespace postern::plugin::memcached {

MemcachedSettings settings;

#define PREFIX "memcached_"
#define OWN_SETTINGS "memcached_settings.def"
#include "settings_of.inc"

}  // namespace postern::plugin::memcached
