#include <mysql/plugin.h>

#include <iterator>

#include "settings.h"

namespace postern::plugin::handlersocket {

HandlerSocketSettings settings;

namespace {

// The server wants a list of words for each CHOICE.
const char *auth_words[] = {"none", "secret", "account", nullptr};
TYPELIB auth_typelib = {std::size(auth_words) - 1, "", auth_words, nullptr};
const char *errors_words[] = {"compatible", "text", nullptr};
TYPELIB errors_typelib = {std::size(errors_words) - 1, "", errors_words, nullptr};

}  // namespace

#define OWN_SETTINGS "handlersocket_settings.def"
#include "settings_of.inc"

}  // namespace postern::plugin::handlersocket
