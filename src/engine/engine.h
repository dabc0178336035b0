// engine.h: the server as the plugin sees it: makes an Engine over its tables, and reads the server's settings that
// doors need. The linked folder decides which server that is; its headers stay there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "contract/executor.h"

namespace postern::engine {

/// How to treat the user name of a login.
enum class LoginNames : uint8_t {
  meant,   ///< a user name, reported to the server's logs and audit plugins, even if no such account exists
  unsure,  ///< possibly other data, from a client unaware of logins: reported only if an account has this name
};

/// Must outlive every executor it attaches and every slot it fills.
std::unique_ptr<Engine> make_engine(LoginNames names = LoginNames::meant);

/// Called while the library is being loaded, before the server has compared versions: if the server will refuse the
/// library because it was built for another version (`built_for` is MYSQL_SERVER_VERSION), logs the remedy. It first
/// finds the server's symbols that it uses, the version and the log; nothing else may be called then.
void tell_if_refused(const char *built_for);

/// How the configuration of a server of the right version differs from the one that the library was built for, judged
/// by the server's own name for it: members of its structures may be at other offsets. `built_for` is that name at
/// build time (with MYSQL_SERVER_SUFFIX_DEF). Empty: no difference.
std::string configured_otherwise(const char *built_for);
/// A member of a session that is certainly at another offset: the server's own functions return other values than our
/// code reads. Empty: none found. Called while plugins are loaded.
std::string unlike_the_server();

/// How deep on a thread's stack the server's code may go, on whichever thread it runs. While plugins are loaded.
size_t stack_bytes();

/// Whether the server runs to install or upgrade itself (--bootstrap), when no door should open.
bool server_is_bootstrapping();

/// Whether the server is read-only, as replicas usually are. Any thread.
bool server_is_read_only();

/// Whether the server replicates from another one, which sends it all changes, or is going down. Any thread.
bool server_is_replica();

/// Use of BINLOG statements by sessions, as in a point-in-time recovery (mariadb-binlog writes them).
struct Replay {
  bool under_way = false;   ///< some session has executed one
  uint64_t statements = 0;  ///< over all sessions, including ended ones; any change means that there were more
};
/// Any server thread. Visits every connection.
Replay server_replay();

/// The settings of the server's own TLS: ssl_cert, ssl_key and so on, empty where not set.
struct ServerTls {
  bool later = false;    ///< the server reads its settings after loading plugins; all else is still unknown
  bool enabled = false;  ///< a certificate exists, and SQL clients may use it
  std::string certificate;
  std::string key;
  std::string ca;
  std::string ca_path;
  std::string crl;
  std::string crl_path;
  std::string ciphers;
  bool version_1_2 = false;
  bool version_1_3 = false;
};
ServerTls server_tls();

/// Changes whenever the server has read its certificates again (FLUSH SSL); 0 before the first time. Any thread; never
/// waits. Two changes between two calls may go unnoticed.
uint64_t server_tls_generation();

/// How many file descriptors this process may have, and how many of them the server itself may need, for its clients,
/// tables and logs, by its current settings. Any thread.
struct Descriptors {
  uint32_t all = 0;
  uint32_t for_server = 0;
};
Descriptors server_descriptors();

/// Has the server also answer one in so many statements with a plan, and compares both answers; 0: none. Any thread.
void verify_statements(uint64_t one_in);
/// Whether SELECTs other than searches by key are planned once and executed many times. Any thread.
void plan_statements_once(bool on);
/// Reports counts of statements with a plan since the library was loaded: how many were compared and equal, and how
/// often each reason left one to the server. Names live as long as the library. Any thread.
void visit_statement_figures(void (*visit)(void *to, const char *name, uint64_t figure), void *to);

/// Receives a connection of the server's own port or socket, on the server's thread: its session is the next one that
/// Engine::host() makes on this thread. If none is made the server keeps the connection.
using TakeConnection = void (*)(void *to, int fd, bool local);
/// Passes new connections of the server's own port and socket, except its extra_port, to `take`; nullptr: stops, and no
/// call is under way when this returns.
void take_main_port(TakeConnection take, void *to);

/// Whether logins can be checked against the accounts of this server.
bool knows_accounts();

/// Writes to the server's error log; a log::Sink.
void write_error_log(log::Level level, const char *line);

}  // namespace postern::engine
