// built_for.cc: checks, and explains, whether the server is the one that this library was built for, because it depends
// on the layout of its structures.
#include "engine/mariadb/basics/server.h"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <string_view>

#include "engine/engine.h"

extern "C" {
void thd_increment_bytes_sent(void *thd, size_t length);
void *thd_mdl_context(MYSQL_THD thd);
unsigned long long thd_start_utime(const MYSQL_THD thd);
LEX_STRING *thd_query_string(MYSQL_THD thd);
}
// As InnoDB declares them.
MYSQL_THD create_background_thd();
void destroy_background_thd(MYSQL_THD thd);

namespace postern::engine {
namespace {

using Version = std::array<char, SERVER_VERSION_LENGTH + 1>;

/// The server's version without an administrator's --version.
Version version_of_server() {
  Version version{};
  set_server_version(version.data(), version.size());
  return version;
}

/// A server with our configuration may have these after its version: logs of any kind. A library for debugging or with
/// sanitizers is built beside a server without.
bool is_harmless(std::string_view ending) {
#ifndef DBUG_OFF
  constexpr std::string_view debug = "-debug";
  if (ending.starts_with(debug)) ending.remove_prefix(debug.size());
#endif
  return ending.empty() || ending == "-log";
}

/// Compares members of a session, as returned by the server's own functions, with the same members as our code reads
/// them. Writes nothing through our own offsets.
const char *unlike_in_session(THD *thd) {
  if (thd_mdl_context(thd) != &thd->mdl_context) return "mdl_context";
  if (static_cast<void *>(thd_query_string(thd)) != &thd->query_string) return "query_string";
  const auto sent = thd->status_var.bytes_sent;
  thd_increment_bytes_sent(thd, 1);
  const bool counted = thd->status_var.bytes_sent == sent + 1;
  thd_increment_bytes_sent(thd, static_cast<size_t>(-1));
  if (!counted) return "bytes_sent";
  if (thd_get_thread_id(thd) != thd->thread_id) return "thread_id";
  if (thd_query_id(thd) != static_cast<ulonglong>(thd->query_id)) return "query_id";
  if (thd_start_utime(thd) != thd->start_time * 1'000'000ULL + thd->start_time_sec_part) return "start_time";
  if (thd_sql_command(thd) != static_cast<int>(thd->lex->sql_command)) return "sql_command";
  if (thd_test_options(thd, ~0LL) != static_cast<long long>(thd->variables.option_bits)) return "option_bits";
  return nullptr;
}

}  // namespace

void tell_if_refused(const char *built_for) {
  // These parts of the server may be missing in another version.
  const auto set_version =
      reinterpret_cast<decltype(&set_server_version)>(dlsym(RTLD_DEFAULT, "_Z18set_server_versionPcm"));
  if (set_version == nullptr || dlsym(RTLD_DEFAULT, "_Z15sql_print_errorPKcz") == nullptr) return;
  Version version{};
  set_version(version.data(), version.size());
  const int digits = static_cast<int>(std::strspn(built_for, "0123456789."));
  if (std::strncmp(version.data(), built_for, static_cast<size_t>(digits) + 1) == 0) return;
  sql_print_error(
      "Postern: this library was built for MariaDB %.*s, and the server is %s. The server loads only what was built "
      "for its own version, so it refuses this library and the doors stay closed; SQL is not affected. Install Postern "
      "for the server's version: \"postern-build\" of the package postern-source, another package, or \"make install\"",
      digits, built_for, version.data());
}

std::string configured_otherwise(const char *built_for) {
  const Version version = version_of_server();
  const std::string_view servers = version.data();
  if (servers.starts_with(built_for) && is_harmless(servers.substr(std::strlen(built_for)))) return {};
  return "built for " + std::string(built_for) + ", and the server is " + std::string(servers);
}

std::string unlike_the_server() {
  THD *const own = current_thd;
  // The server's function makes one of the size that the server knows.
  THD *const asked = own != nullptr ? own : create_background_thd();
  const char *const unlike = unlike_in_session(asked);
  if (asked != own) destroy_background_thd(asked);
  if (unlike == nullptr) return {};
  return std::string("the server has THD::") + unlike + " elsewhere";
}

}  // namespace postern::engine
