// built_for.cc: says in the error log why the server is about to refuse this library, and what helps.
#include "server.h"

#include <cstring>

#include "engine/engine.h"

namespace postern::engine {

void tell_if_refused(const char *built_for) {
  // --version makes up what the variable says.
  if (!IS_SYSVAR_AUTOSIZE(&server_version_ptr)) return;
  const int digits = static_cast<int>(std::strspn(built_for, "0123456789."));
  if (std::strncmp(server_version, built_for, static_cast<size_t>(digits) + 1) == 0) return;
  sql_print_error(
      "Postern: this library was built for MariaDB %.*s, and the server is %s. The server loads only what was built "
      "for its own version, so it refuses this library and the doors stay closed; SQL is not affected. Install Postern "
      "for the server's version: \"postern-build\" of the package postern-source, another package, or \"make install\"",
      digits, built_for, server_version);
}

}  // namespace postern::engine
