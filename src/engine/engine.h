// engine.h: a server as the plugin sees it: how to make an Engine over its tables, and the server's settings that doors
// need. Which server that is, is up to the folder that is linked; its headers stay there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "contract/executor.h"

namespace postern::engine {

/// How to treat the name of a login.
enum class LoginNames : uint8_t {
  meant,   ///< is one, and is reported to the server, its logs and its audit plugins, whatever account it names
  unsure,  ///< may as well be something else, sent by a client that knows nothing of logins: those see it only if an
           ///< account has this name
};

/// Must outlive every executor it attaches and every slot it fills.
std::unique_ptr<Engine> make_engine(LoginNames names = LoginNames::meant);

/// To be called while the library is being loaded, before the server has compared versions: where the server will
/// refuse the library as built for another version than `built_for` (MYSQL_SERVER_VERSION), writes the cure to the
/// error log. It first looks for the parts of the server that it uses, its version and the log; nothing else may be
/// called then.
void tell_if_refused(const char *built_for);

/// The difference between the configuration of a server of the right version and that of the one that the library was
/// built for, by the server's own name for it: members of its structures may be elsewhere. `built_for` is that name at
/// build time (with MYSQL_SERVER_SUFFIX_DEF). Empty: none.
std::string configured_otherwise(const char *built_for);
/// Which member of a session is elsewhere for certain: the server's own functions say other things of it than our code
/// sees. Empty: none that can be asked for. While plugins are loaded.
std::string unlike_the_server();

/// How deep on a thread's stack the server's code may go, on whichever thread it runs. While plugins are loaded.
size_t stack_bytes();

/// Whether the server runs to install or upgrade itself (--bootstrap), when no door should open.
bool server_is_bootstrapping();

/// Whether the server takes no writes, as a replica as a rule does. Any thread.
bool server_is_read_only();

/// Whether the server is set up to replicate another, whose changes come to it by themselves, or is going down. Any
/// thread.
bool server_is_replica();

/// What sessions do with rows of a binary log, as those of a point-in-time recovery (BINLOG, which mariadb-binlog
/// writes).
struct Replay {
  bool under_way = false;   ///< a session is there that has executed some
  uint64_t statements = 0;  ///< of all sessions, gone ones included; any change means that there were more
};
/// Any thread that is the server's. Looks at every connection.
Replay server_replay();

/// The settings of the server's own TLS: ssl_cert, ssl_key and so on, empty where not set.
struct ServerTls {
  bool later = false;    ///< the server reads its settings when the plugins are there; all else is unknown as yet
  bool enabled = false;  ///< there is a certificate, and SQL clients may use it
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

/// Changes whenever the server has read its certificates again (FLUSH SSL); 0 before it did so for the first time. Any
/// thread; never waits. Two changes between two looks may go unseen.
uint64_t server_tls_generation();

/// How many file descriptors this process may have, and of these how many the server may come to need itself: for its
/// clients, its tables and its logs. By its settings as they are now. Any thread.
struct Descriptors {
  uint32_t all = 0;
  uint32_t for_server = 0;
};
Descriptors server_descriptors();

/// One in so many statements with a plan is answered by the server, too, and both answers are compared; 0: none. Any
/// thread.
void verify_statements(uint64_t one_in);
/// Whether SELECTs other than searches by key are planned once and executed many times. Any thread.
void plan_statements_once(bool on);
/// Passes on the fate of statements with a plan since the library was loaded: how many were compared and equal, and how
/// often each reason kept one from being answered by a worker. Names live as long as the library. Any thread.
void visit_statement_figures(void (*visit)(void *to, const char *name, uint64_t figure), void *to);

/// Is handed a connection of the server's own port or socket, on the server's thread: its session is the next one that
/// Engine::host() makes on this thread. If none is made the server keeps the connection.
using TakeConnection = void (*)(void *to, int fd, bool local);
/// From now on new connections of the server's own port and socket, not those of its extra_port, go to `take`; nullptr:
/// no more, and no call is under way when this returns.
void take_main_port(TakeConnection take, void *to);

/// Whether logins can be checked against the accounts of this server.
bool knows_accounts();

/// Writes to the server's error log; a log::Sink.
void write_error_log(log::Level level, const char *line);

}  // namespace postern::engine
