// server_session.h: ServerSession, a complete server session that one connection owns, and Plan, which answers
// statements of one form without the server's parser.
//
// A connection of the server's own protocol has one. The server greets its client, verifies it, counts it and kills it;
// The server answers every command without a plan, on the thread of the worker that has read it (door/lanes/crew.h) or
// on a thread of the statement pool (door/lanes/statement_pool.h); either may wait for hours. A statement with a plan
// is answered by the worker in its turn, on the same session: Statement::plan.
//
// Owned by the protocol's session and used by one thread at a time: the connection's worker, or the thread of the pool
// that has the connection. Any thread may call interrupt().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/input.h"
#include "base/output.h"
#include "contract/form_times.h"
#include "contract/value.h"

namespace postern {

/// A plan as INFORMATION_SCHEMA shows it.
struct PlanFacts {
  std::string_view kind{};  ///< SELECT, say; a literal
  std::string database{};   ///< the table's, as written in the statement
  std::string table{};
  std::string index{};          ///< the index that finds the rows; empty: not known yet
  bool answers = false;         ///< whether it answers statements at present
  std::string_view off{};       ///< why it answers nothing any more; a literal; empty: it still answers
  uint64_t left = 0;            ///< how often a statement was left to the server in spite of the plan
  std::string_view left_for{};  ///< the last reason for that; a literal; empty: none, or learnt again since
  bool rests = false;           ///< statements were left too often: the plan pauses for a while
};

/// How statements of one form are answered in a turn. Made by an engine, which alone looks into it; immutable except
/// for members that the engine synchronises; shared by any threads and sessions, and kept by any of them.
class Plan {
 public:
  virtual ~Plan() = default;
  /// How many of Statement::values it takes.
  virtual uint32_t values() const = 0;
  /// False once the plan can never answer again (DDL): its keepers drop it.
  virtual bool holds() const { return true; }
  /// For INFORMATION_SCHEMA. Any thread.
  virtual PlanFacts facts() const { return {}; }
  /// Notes that a statement was left to the server because its parameters do not suit the plan.
  virtual void note_unsuited() const {}
  /// Whether it changes rows. A session parses nothing after such a statement until it is answered.
  virtual bool writes() const { return false; }
};

/// A client's bytes.
struct Traffic {
  uint64_t received = 0;
  uint64_t sent = 0;
};

/// The settings of a session that decide where the literals of a text begin and end.
struct TextRules {
  bool ansi_quotes = false;       ///< "x" is a name, not a string
  bool backslash_escapes = true;  ///< a backslash begins an escape in a string; false: it stands for itself
  /// Multi-byte characters contain no ASCII byte (false for sjis, gbk, big5 ...).
  bool safe_characters = true;
};

/// The result of the command that the server served last.
struct Learnt {
  /// The plan for further statements of its form; nullptr: the server answers them, or it is not known yet.
  std::shared_ptr<const Plan> plan{};
  /// Id of the statement that was prepared or executed; 0: the command was a text.
  uint32_t statement_id = 0;
  /// Whether that is final for the form: without a plan such statements need not be shown to the engine again.
  bool final = false;
  /// Why there is no plan, in words; a literal.
  std::string_view why_not{};
  /// Whether the reason lies in the table, which may change, and not in the statement.
  bool of_table = false;
  /// Whether the reason lies in the session: another session may learn a plan for the form.
  bool of_session = false;
  /// The parameters of a statement that was prepared.
  uint32_t parameters = 0;
  /// It was answered with an error.
  bool failed = false;
  /// The session's database at that time, if there is anything to remember.
  std::string database{};
};

class ServerSession;

/// Is called when a thread begins to wait in the server: for a lock, a disk, its client.
class WaitListener {
 public:
  virtual ~WaitListener() = default;
  /// On that thread, which may hold locks of the server: it must not wait here.
  virtual void thread_waits() noexcept = 0;
};

/// A guess from a statement's first bytes, before the server serves it.
struct Prospect {
  /// Similar statements, which may be expected to take equally long, have the same kind.
  uint64_t kind = 0;
  /// It may end with a commit of something that was written.
  bool may_commit = false;
  /// It runs until its client or KILL ends it.
  bool endless = false;
  /// It needs exclusive access to tables.
  bool wants_tables = false;
  /// Its client may send more before it is answered.
  bool client_sends = false;
};

/// What a session knows of a text of which it has made a form, so that others need not read it again.
struct TextFacts {
  uint64_t kind = 0;     ///< the same for texts of one form; 0: it has no form, and nothing is known
  bool changes = false;  ///< an UPDATE, DELETE, INSERT or REPLACE; else it is a SELECT
  bool of_rows = false;  ///< it changes rows, or reads FROM tables
};

/// One command of a client to the server. Its views live as long as its op.
struct Statement {
  ServerSession *session = nullptr;
  /// The command as received, with packet headers; only its beginning where the server receives the rest itself.
  Bytes packet{};
  /// The connection's input after the packet: the server takes from it when it reads on.
  Input *rest = nullptr;
  /// Where a run in a turn writes the answer, whole packets. Nothing is written unless the op is done.
  Output *output = nullptr;
  /// How it may be answered in a turn; nullptr: not at all.
  const Plan *plan = nullptr;
  /// The literals of its text, or its parameters, in the order of the plan's places.
  std::span<const Value> values{};
  /// Its text with a ? for each of `values`, if it is not known yet whether the form has a plan: the session learns one
  /// after serving the statement. Empty: there is nothing to learn.
  Bytes form{};
  TextFacts text{};
  /// Its form is known to have no plan, and there is nothing to learn.
  bool has_no_plan = false;
  /// Times of its form; nullptr: nothing is noted. The session keeps it until the statement is answered.
  const std::shared_ptr<FormTimes> *times = nullptr;
  /// Called when the serving thread waits; nullptr: none.
  WaitListener *listener = nullptr;
};

/// The outcome of a session's greeting to a new client, on the worker's thread.
enum class Greeted : uint8_t {
  greeted,  ///< the server owns the socket and lends it to the worker; the client's answer comes next
  refused,  ///< the server sent the client an error and closed the socket
  not_now,  ///< nothing has happened: log_in() does all of it
};

/// The peer of a client's socket.
enum class PeerKind : uint8_t {
  local,     ///< a unix socket's
  loopback,  ///< this machine's, by TCP
  remote,    ///< any other, or unknown
};

class ServerSession {
 public:
  /// Ends the session if end() has not been called.
  virtual ~ServerSession() = default;
  ServerSession(const ServerSession &) = delete;
  ServerSession &operator=(const ServerSession &) = delete;

  /// For the worker, before anything else: writes the server's greeting to `output` if that needs no waiting. The
  /// client's answer to it is served like a statement.
  virtual Greeted greet([[maybe_unused]] int fd, [[maybe_unused]] PeerKind peer, [[maybe_unused]] Output &output) {
    return Greeted::not_now;
  }
  /// For the worker, between two commands, in place of serve(): handles the client's COM_QUIT, of so many bytes. True:
  /// the session is over, and end_at_once() is next. False: nothing has happened.
  virtual bool leave([[maybe_unused]] size_t bytes) { return false; }
  /// For the worker, in place of end(): ends the session if that needs no waiting. False: nothing has happened.
  virtual bool end_at_once([[maybe_unused]] bool peer_ended) { return false; }

  // For a thread without other clients to serve: these wait as long as the server does.

  /// Takes the socket `fd`, greets the client and verifies it. False: the client was refused with an error, and the
  /// caller has to end the session. The server owns the socket from now on, whatever happens.
  virtual bool log_in(int fd, bool local) = 0;
  /// Lets the server read and answer one command, or the client's answer to the greeting. False: the caller has to end
  /// the session.
  virtual bool serve(const Statement &statement) = 0;
  /// Ends the session, and closes the socket. `peer_ended`: the client sends no more, and the server will read the end
  /// of the stream itself. Idempotent.
  virtual void end(bool peer_ended) = 0;

  /// The bytes that the server itself has read from and written to sockets on the calling thread since the last call;
  /// bytes that passed through the connection's input and output are not included.
  virtual Traffic take_traffic() { return {}; }

  /// Whether the server has a socket for it: greet() has said so or log_in() was called, and not end().
  virtual bool alive() const = 0;
  /// Whether its client is logged in.
  virtual bool logged_in() const { return alive(); }
  /// Whether nothing more will be served, because its client has left or was refused. The caller ends the session.
  virtual bool is_over() const { return false; }
  /// Whether the client's bytes are compressed, so that only the server can read them.
  virtual bool compressed() const = 0;
  /// The socket, and the OpenSSL session (an SSL) that carries the stream or nullptr: the server's own, lent as long as
  /// the session is alive.
  virtual int fd() const = 0;
  virtual void *tls() const = 0;

  /// Its connection id and its account, user@host, in the server. Valid after the login.
  virtual uint64_t number() const { return 0; }
  virtual std::string account() const { return {}; }
  /// Whether that is the account. Asked after each statement.
  virtual bool has_account(Bytes name) const { return account() == name; }

  /// For the worker: milliseconds that the session may stay silent in its present state.
  virtual int64_t idle_limit_ms() const = 0;
  /// For the worker: the idle limit has passed. The caller has to end the session.
  virtual void time_out() = 0;
  /// Ends the session's current command soon. Any thread; the session must not die meanwhile.
  virtual void interrupt() = 0;

  /// A number for all session state that changes the meaning of a text: database, modes, character sets and so on.
  /// Equal numbers mean equal contexts, in all sessions of the server. Changes only when the server has served.
  virtual uint64_t dialect() const = 0;
  /// For the worker, before the server serves the statement.
  virtual Prospect prospect(const Statement &statement) const {
    static_cast<void>(statement);
    return {};
  }
  /// For the worker: whether a later statement commits the writes of this one.
  virtual bool in_transaction() const { return false; }
  /// Part of the dialect. nullopt: unknown, so only the server may parse its texts.
  virtual std::optional<TextRules> text_rules() const { return std::nullopt; }
  /// For the command served last. Valid until the next one is served.
  virtual const Learnt &learnt() const = 0;

 protected:
  ServerSession() = default;
};

}  // namespace postern
