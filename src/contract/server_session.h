// server_session.h: ServerSession, a whole session of the server that one connection owns, and Plan, how a statement of
// it may be answered without the server's parser.
//
// A connection of the server's own protocol has one. The server greets its client, verifies it, counts it and kills it;
// every command that nobody else answers is the server's to answer, on the thread of the worker that has read it
// (door/lanes/crew.h) or on one of the statement pool (door/lanes/statement_pool.h), and either may wait for hours. A
// statement with a plan is answered by the worker in its turn, on the same session: Statement::plan.
//
// Owned by the protocol's session and used by one thread at a time: the connection's worker, or the thread of the pool
// that has the connection. interrupt() alone is any thread's.
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
  std::string index{};          ///< by which rows are found; empty: not known yet
  bool answers = false;         ///< whether statements were, or may be, answered by it as things are
  std::string_view off{};       ///< why it answers nothing any more; a literal; empty: it does
  uint64_t left = 0;            ///< how often the server was to answer although it is there
  std::string_view left_for{};  ///< why so the last time; a literal; empty: never, or it has been learnt since
  bool rests = false;           ///< that was so too often: it answers nothing for a while
};

/// How statements of one form are answered in a turn. Made by an engine, which alone looks into it; immutable but for
/// what the engine synchronises itself; shared by any threads and sessions, and kept by any of them.
class Plan {
 public:
  virtual ~Plan() = default;
  /// How many of Statement::values it takes.
  virtual uint32_t values() const = 0;
  /// False once it is known that it answers nothing any more (DDL): whoever keeps it forgets it.
  virtual bool holds() const { return true; }
  /// For whoever looks. Any thread.
  virtual PlanFacts facts() const { return {}; }
  /// A statement of it is left to the server, for the execution binds parameters that it cannot take.
  virtual void note_unsuited() const {}
  /// Whether it changes rows. A session shows a worker nothing after such a statement until it is answered.
  virtual bool writes() const { return false; }
};

/// Bytes of a client's.
struct Traffic {
  uint64_t received = 0;
  uint64_t sent = 0;
};

/// The settings of a session that decide where the literals of a text begin and end.
struct TextRules {
  bool ansi_quotes = false;       ///< "x" is a name, no text
  bool backslash_escapes = true;  ///< in a text a backslash begins an escape; false: it stands for itself
  /// No byte of a character of several bytes is an ASCII one (not so in sjis, gbk, big5 ...).
  bool safe_characters = true;
};

/// The result of the command that the server served last.
struct Learnt {
  /// How statements of its form may be answered from now on; nullptr: by the server alone, or it is not known yet.
  std::shared_ptr<const Plan> plan{};
  /// The prepared statement that was made, or run, by its number on the wire; 0: the command was a text.
  uint32_t statement_id = 0;
  /// Whether that holds for its form: without a plan such statements need not be shown to the engine again.
  bool final = false;
  /// Why there is no plan, in words; a literal.
  std::string_view why_not{};
  /// Whether that is because the table is as it is, which may be another tomorrow, and not because of the statement.
  bool of_table = false;
  /// Or because of the session as it is: another one may learn a plan for it.
  bool of_session = false;
  /// The parameters of a statement that was prepared.
  uint32_t parameters = 0;
  /// It was answered with an error.
  bool failed = false;
  /// The session's database at that time, where there is something to be remembered.
  std::string database{};
};

class ServerSession;

/// Hears that a thread begins to wait in the server: for a lock, a disk, its client.
class WaitListener {
 public:
  virtual ~WaitListener() = default;
  /// On that thread, which may hold locks of the server: it must not wait here.
  virtual void thread_waits() noexcept = 0;
};

/// Properties of a statement, by its first bytes, before the server serves it.
struct Prospect {
  /// Statements that are alike, and so may take as long as each other, have the same kind.
  uint64_t kind = 0;
  /// It may end with a commit of something that was written.
  bool may_commit = false;
  /// It lasts until its client or somebody else ends it.
  bool endless = false;
  /// It needs tables that nobody else has open.
  bool wants_tables = false;
  /// Its client may send more before it is answered.
  bool client_sends = false;
};

/// One command of a client to the server. Its views live as long as its op.
struct Statement {
  ServerSession *session = nullptr;
  /// As it came, with the headers of its packets. Where the server is to receive the rest itself, only the beginning.
  Bytes packet{};
  /// The connection's input after the packet: the server takes from it when it reads on.
  Input *rest = nullptr;
  /// Where a run in a turn writes the answer, whole packets. Nothing is written unless the op is done.
  Output *output = nullptr;
  /// How it may be answered in a turn; nullptr: not at all.
  const Plan *plan = nullptr;
  /// What its text has where the plan has a place for a value, or its parameters, in their order.
  std::span<const Value> values{};
  /// Its text with a ? in the place of each of `values`, where it is not known yet whether that form has a plan: the
  /// session learns it when it has served the statement. Empty: there is nothing to learn.
  Bytes form{};
  /// Of its form; nullptr: nothing is noted. Kept by the session that shows it until it is answered.
  const std::shared_ptr<FormTimes> *times = nullptr;
  /// Hears of the serving thread's waits; nullptr: nobody does.
  WaitListener *listener = nullptr;
};

/// The outcome of a session's greeting to a new client, on the worker's thread.
enum class Greeted : uint8_t {
  greeted,  ///< the socket is the server's from now on, lent to the worker; the client's answer is to be collected
  refused,  ///< the socket was the server's, which has told the client why and closed it
  not_now,  ///< nothing has happened: log_in() does it all
};

/// The peer of a client's socket.
enum class PeerKind : uint8_t {
  local,     ///< a unix socket's
  loopback,  ///< this machine's, by TCP
  remote,    ///< any other, or nobody knows
};

class ServerSession {
 public:
  /// Ends the session if end() has not been called.
  virtual ~ServerSession() = default;
  ServerSession(const ServerSession &) = delete;
  ServerSession &operator=(const ServerSession &) = delete;

  /// For the worker, before anything else: writes the server's greeting to `output`, where that needs no waiting. What
  /// the client answers to it is a statement as any other.
  virtual Greeted greet([[maybe_unused]] int fd, [[maybe_unused]] PeerKind peer, [[maybe_unused]] Output &output) {
    return Greeted::not_now;
  }
  /// For the worker, between two commands: its client's command that says it leaves, of so many bytes, in place of
  /// serve(). True: the session is over, and end_at_once() is next. False: nothing has happened.
  virtual bool leave([[maybe_unused]] size_t bytes) { return false; }
  /// For the worker, in place of end(): does that if it needs no waiting. False: nothing has happened.
  virtual bool end_at_once([[maybe_unused]] bool peer_ended) { return false; }

  // For a thread that has no clients to answer, or can do without: these wait as long as the server does.

  /// Takes the socket `fd`, greets the client and verifies it. False: it was refused and has got the reason, and the
  /// caller has to end the session. The socket is the server's from now on, whatever happens.
  virtual bool log_in(int fd, bool local) = 0;
  /// Lets the server read one command, the statement's, and answer it; or the client's answer to the greeting. False:
  /// the caller has to end the session.
  virtual bool serve(const Statement &statement) = 0;
  /// Ends the session, and closes the socket. `peer_ended`: the client sends no more, and the server shall see that by
  /// itself. Idempotent.
  virtual void end(bool peer_ended) = 0;

  /// The bytes that the server itself has read from sockets and written to them on the calling thread, since that was
  /// asked last; those that pass through the connection's input and output are not among them.
  virtual Traffic take_traffic() { return {}; }

  /// Whether the server has a socket for it: greet() has said so or log_in() was called, and not end().
  virtual bool alive() const = 0;
  /// Whether its client is let in.
  virtual bool logged_in() const { return alive(); }
  /// Nothing more is to be served: its client has left, or was told why it is not let in. The session is to be ended.
  virtual bool is_over() const { return false; }
  /// Whether the client's bytes are compressed, so that only the server can read them.
  virtual bool compressed() const = 0;
  /// The socket, and the OpenSSL session (an SSL) that carries the stream or nullptr: the server's own, lent as long as
  /// the session is alive.
  virtual int fd() const = 0;
  virtual void *tls() const = 0;

  /// By which the server knows it: its number and its account, user@host. Once it is logged in.
  virtual uint64_t number() const { return 0; }
  virtual std::string account() const { return {}; }

  /// For the worker: milliseconds that the session may stay silent as it is now.
  virtual int64_t idle_limit_ms() const = 0;
  /// For the worker: that time is over. The caller has to end the session.
  virtual void time_out() = 0;
  /// Whatever the server is doing for the session ends soon. Any thread; the session must not die meanwhile.
  virtual void interrupt() = 0;

  /// A number for everything about the session that changes the meaning of a text: database, modes, character sets and
  /// so on. Equal numbers mean equal contexts, in all sessions of the server. Changes only when the server has served.
  virtual uint64_t dialect() const = 0;
  /// For the worker, before the server serves the statement.
  virtual Prospect prospect(const Statement &statement) const {
    static_cast<void>(statement);
    return {};
  }
  /// For the worker: whether a later statement commits the writes of this one.
  virtual bool in_transaction() const { return false; }
  /// Part of the dialect. nullopt: unknown, and nobody but the server may read its texts.
  virtual std::optional<TextRules> text_rules() const { return std::nullopt; }
  /// For the command served last. Valid until the next one is served.
  virtual const Learnt &learnt() const = 0;

 protected:
  ServerSession() = default;
};

}  // namespace postern
