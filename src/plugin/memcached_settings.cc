#include <mysql/plugin.h>

#include <iterator>

#include "settings.h"

namespace postern::plugin::memcached {

MemcachedSettings settings;

namespace {

// The server wants a list of words for each CHOICE.
const char *auth_words[] = {"none", "account", nullptr};
TYPELIB auth_typelib = {std::size(auth_words) - 1, "", auth_words, nullptr};

}  // namespace

#define OWN_SETTINGS "memcached_settings.def"
#include "settings_of.inc"

}  // namespace postern::plugin::memcached
