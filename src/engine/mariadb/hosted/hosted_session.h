// hosted_session.h: HostedSession, a client's session of the server: its THD, which the server itself logs in, serves
// and ends on whatever thread has the connection.
//
// The rest is by file: hosted_login.cc has its beginning, hosted_session.cc the rest of its life, hosted_turn.cc
// answers in a turn, hosted_write.cc writes in one, hosted_prepare.cc deals with prepared statements, hosted_learn.cc
// learns from the statements that the server has served, hosted_prospect.cc looks at them before.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include <my_rnd.h>

#include "base/counters.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/thd/answer_shape.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/thd/deferred_statements.h"
#include "engine/mariadb/hosted/recognise/recognise.h"
#include "engine/mariadb/hosted/recognise/why_not.h"
#include "engine/mariadb/hosted/thd/vio_hooks.h"

class CONNECT;
class THD;
struct rpl_gtid;
struct st_my_thread_var;

namespace postern::mariadb {

class KeptPlans;
class WritePlan;
struct Changed;
struct StatementMeaning;

class HostedSession final : public ServerSession {
 public:
  /// `connect`: a connection that the server's own port has accepted; it is the session's. nullptr: log_in() takes a
  /// socket.
  explicit HostedSession(CONNECT *connect) : connect_(connect) {}
  ~HostedSession() override { end(false); }

  Greeted greet(int fd, bool local, Output &output) override;
  bool log_in(int fd, bool local) override;
  bool serve(const Statement &statement) override;
  void end(bool peer_ended) override;
  bool end_at_once(bool peer_ended) override;

  bool alive() const override { return thd_ != nullptr; }
  bool logged_in() const override { return logged_in_ && thd_ != nullptr; }
  bool is_over() const override { return is_over_; }
  bool compressed() const override;
  int fd() const override;
  void *tls() const override;

  uint64_t number() const override;
  std::string account() const override;

  int64_t idle_limit_ms() const override;
  void time_out() override;
  void interrupt() override;

  uint64_t dialect() const override { return dialect_; }
  Prospect prospect(const Statement &statement) const override;
  bool in_transaction() const override;
  std::optional<TextRules> text_rules() const override;
  const Learnt &learnt() const override { return learnt_; }

  /// Has the server verify the client by its answer to the greeting, on the thread of a worker that is attached to
  /// another. False: it has to wait for that, and nothing has happened.
  bool log_in_in_turn(const Statement &statement, Counters &counters);
  /// Answers the statement by its plan on this session's own THD, on the thread of a worker that is attached to
  /// another. False: nothing has happened, and the server is to serve it.
  bool run_in_turn(const Statement &statement, KeptPlans &plans, Counters &counters);

  /// Whether the statement has a plan that writes.
  static bool asks_to_write(const Statement &statement);
  /// Why the statement, with a plan that writes, may not be done together with those of other sessions.
  std::optional<NotNow> may_share(const Statement &statement, const WritePlan &plan);
  /// The shape of the statement's answer; nullopt: the server has to send the columns' metadata first.
  std::optional<AnswerShape> answer_shape(const Statement &statement) const;
  /// The statement was done so, and is committed: brings the session into the state that the server would have left it
  /// in, and writes the client's answer. `gtid`: the transaction's, if the binary log has it; `began_us`: by
  /// microsecond_interval_timer().
  void tell_written(const Statement &statement, const WritePlan &plan, const Changed &changed, const rpl_gtid &gtid,
                    uint64_t began_us, Counters &counters);
  THD *thd() const { return thd_; }

 private:
  bool enter(int fd, bool local);
  bool join(CONNECT *connect, THD *kept);
  bool begin();
  bool admit();
  bool admit_greeted(Bytes packet, Input *rest, Output *output);
  bool go_on_logging_in(const Statement &statement);
  void begin_anew();
  void give_login_up();
  void close();
  /// Between two commands.
  static void let_rest(THD *thd);
  /// The dialect of the session as it is now; with this thread attached.
  void note_context();
  /// After the server has served `statement`, with this thread attached: `answer` has its bytes as on the wire but for
  /// TLS; empty if they were too many to keep. `version`: the plan's version of the table before that.
  void learn(const Statement &statement, Bytes answer, uint64_t version);
  /// Learns a text with a ? for each value.
  void learn_text(Bytes text, ParsedText parsed, Bytes answer);
  void learn_prepared(const Statement &statement, Bytes answer);
  void learn_form(Bytes text, ParsedText parsed, StatementMeaning &meaning);
  void learn_answer(const Statement &statement, Bytes answer, uint64_t version);
  /// For people: why there is no plan, and in which database.
  void note_reason(std::optional<WhyNot> why);
  /// COM_SLEEP, which no client sends, for a packet that is not the first one of a command.
  static uint8_t command_in(Bytes packet);
  bool keep_house(const Statement &statement);
  std::optional<NotNow> may_write(const Statement &statement, const WritePlan &plan);
  /// Does the statement, with a plan that writes, in the session's own transaction. False: nothing has happened.
  bool write_by_itself(const Statement &statement, Counters &counters);
  /// Answers a statement by its plan, or leaves it as it was.
  std::optional<NotNow> answer(const Statement &statement, KeptPlans &plans);
  void answer_first(const Statement &statement, KeptPlans &plans);
  /// Answers a COM_STMT_PREPARE in place of the server, by a plan.
  std::optional<NotNow> promise(const Statement &statement);
  /// Before a statement is answered in place of the server, with this thread attached: the server knows, or will, what
  /// its client has bound, also where it has to answer after all.
  void note_types(const Statement &statement);
  /// Whether the server need know of no promise to serve the command.
  bool can_be_served_without(Bytes packet) const;
  /// Before the server serves the command: has it prepare the deferred statements that it then needs. False: it cannot
  /// prepare one, and the client has got the error.
  bool keep_promises(Bytes packet);
  /// After that: which promises are void.
  void note_served(Bytes packet);
  /// Which statement of the server's a command names, that may mean the last one that was prepared.
  uint32_t number_in(Bytes packet) const;
  /// Whether the server has prepared, or run, the statement that is executed with the table as its plan knows it: else
  /// it would prepare it again.
  std::optional<NotNow> is_up_to_date(const Statement &statement);
  /// The definition of its table that the plan has met last, TABLE_SHARE::get_table_ref_version().
  static uint64_t version_of(const Plan &plan);
  /// The metadata that the client has for the executed statement; nullopt: it caches none.
  std::optional<ClientMetadata> client_metadata(Bytes packet) const;

  std::mutex mutex_;  // guards what thd_ points to against interrupt(); a leaf but for the THD's own
  CONNECT *connect_;  // until it is logged in
  THD *thd_ = nullptr;
  st_my_thread_var *mysys_ = nullptr;  // the THD's, as long as there is one
  std::atomic<bool> interrupted_{false};
  bool logged_in_ = false;
  bool is_over_ = false;
  bool may_be_kept_ = false;  // its THD, when it ends
  bool local_ = false;
  // For a client that has its greeting and is not let in yet.
  std::string login_greeting_;
  GreetedLogin login_;
  my_rnd_struct rand_{};  // the THD's before the greeting
  std::string context_;   // that dialect_ is the number of
  uint64_t dialect_ = 0;
  Learnt learnt_;
  bool to_be_verified_ = false;           // the next one that is served
  std::unique_ptr<Output> first_answer_;  // a worker's to the same; it may have none
  DeferredStatements deferred_;
  std::unordered_map<uint32_t, uint64_t> versions_;  // of tables, as the server has met them last: prepared statements'
};

}  // namespace postern::mariadb
