#include <mysql/plugin.h>

#include "settings.h"

namespace postern::plugin::handlersocket {

HandlerSocketSettings settings;

#define PREFIX "handlersocket_"
#define OWN_SETTINGS "handlersocket_settings.def"
#include "settings_of.inc"

}  // namespace postern::plugin::handlersocket
