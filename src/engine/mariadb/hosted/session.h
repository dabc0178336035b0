// session.h: HostedSession, a client's server session: its THD, which the server logs in, serves and ends on the thread
// that has the connection.
//
// login.cc has its beginning, session.cc the rest of its life, turn.cc how a worker answers its statements.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <my_rnd.h>

#include "base/counters.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/dialect.h"
#include "engine/mariadb/hosted/prepared_statements.h"
#include "engine/mariadb/hosted/prospect.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"
#include "engine/mariadb/hosted/transaction_changes.h"
#include "engine/mariadb/hosted/user_change.h"

class CONNECT;
class THD;
struct st_my_thread_var;

namespace postern::mariadb {

struct Asked;
struct AnswerTools;

class HostedSession final : public ServerSession {
 public:
  /// `connect`: a connection that the server's own port has accepted, owned by the session. nullptr: log_in() takes a
  /// socket.
  explicit HostedSession(CONNECT *connect) : connect_(connect) {}
  ~HostedSession() override { end(false); }

  Greeted greet(int fd, PeerKind peer, Output &output) override;
  bool log_in(int fd, bool local) override;
  bool serve(const Statement &statement) override;
  void end(bool peer_ended) override;
  bool leave(size_t bytes) override;
  bool end_at_once(bool peer_ended) override;
  Traffic take_traffic() override { return mariadb::take_traffic(); }

  bool alive() const override { return thd_ != nullptr; }
  bool logged_in() const override { return logged_in_ && thd_ != nullptr; }
  bool is_over() const override { return is_over_; }
  bool compressed() const override;
  int fd() const override;
  void *tls() const override;

  uint64_t number() const override;
  std::string account() const override;
  bool has_account(Bytes name) const override;

  int64_t idle_limit_ms() const override;
  void time_out() override;
  void interrupt() override;

  uint64_t dialect() const override { return dialect_.number(); }
  Prospect prospect(const Statement &statement) const override;
  bool in_transaction() const override;
  std::optional<TextRules> text_rules() const override { return dialect_.text_rules(thd_); }
  const Learnt &learnt() const override { return learnt_; }

  /// Lets the server verify the client by its answer to the greeting, on a worker's thread, which has a THD of its own.
  /// False: that would have to wait, and nothing has happened.
  bool log_in_in_turn(const Statement &statement, Counters &counters);
  /// Answers the statement by its plan in this session's own THD, or lets its op wait for a commit, on a worker's
  /// thread, which has a THD of its own. False: nothing has happened, and the server has to serve it.
  bool run_in_turn(const Statement &statement, const AnswerTools &tools);
  /// Memory ran out in one of these two, so that nobody knows what has happened: nothing more is served.
  void break_off() noexcept;

 private:
  bool enter(int fd, bool local);
  bool join(CONNECT *connect, THD *kept);
  static void bind(THD *thd);
  bool begin();
  bool admit();
  bool admit_greeted(Bytes packet, Input *rest, Output *output);
  bool go_on_logging_in(const Statement &statement);
  void begin_anew();
  void give_login_up();
  bool serve_change(const Statement &statement);
  void give_change_up();
  void close();
  /// Between two commands.
  static void let_rest(THD *thd);
  /// The last command taught nothing.
  void forget_learnt() {
    const Learnt &last = learnt_;  // mostly that one neither
    if (last.plan != nullptr || last.statement_id != 0 || last.final || last.failed || !last.database.empty())
      learnt_ = {};
  }
  /// Lets the server run a command without a plan on the worker's thread, if that needs no waiting.
  bool keep_house(const Statement &statement, const AnswerTools &tools);
  /// Why the statement, which has a plan, may not be answered in the session's present state.
  std::optional<NotNow> may_answer(const Statement &statement, const AnswerTools &tools);
  std::optional<NotNow> answer(const Statement &statement, const AnswerTools &tools);
  void answer_first(const Statement &statement, const AnswerTools &tools);

  std::mutex mutex_;  // guards the THD against interrupt(); a leaf except for the THD's own mutexes
  CONNECT *connect_;  // until it is logged in
  THD *thd_ = nullptr;
  st_my_thread_var *mysys_ = nullptr;  // the THD's, as long as there is one
  std::atomic<bool> interrupted_{false};
  bool logged_in_ = false;
  bool is_over_ = false;
  bool may_be_kept_ = false;  // its THD, when it ends
  bool local_ = false;
  // For a client that was greeted and is not logged in yet.
  std::string login_greeting_;
  GreetedLogin login_;
  my_rnd_struct rand_{};  // the THD's before the greeting
  UserChange change_;
  Dialect dialect_;
  Learnt learnt_;
  bool to_be_verified_ = false;           // the next one served
  std::unique_ptr<Output> first_answer_;  // a worker's to the same; it may have none
  PreparedStatements prepared_;
  TransactionChanges changes_;
};

}  // namespace postern::mariadb
