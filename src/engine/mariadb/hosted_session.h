// hosted_session.h: HostedSession, a client's session of the server: its THD, which the server itself logs in, serves
// and ends on whatever thread has the connection.
//
// The rest is by file: hosted_session.cc has its life, hosted_turn.cc what is answered in a turn, hosted_prepare.cc
// what is done about prepared statements, hosted_learn.cc what is learnt of what the server has served.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/counters.h"
#include "contract/server_session.h"
#include "engine/mariadb/not_now.h"
#include "engine/mariadb/promised.h"
#include "engine/mariadb/why_not.h"

class CONNECT;
class THD;

namespace postern::mariadb {

class SelectPlan;

class HostedSession final : public ServerSession {
 public:
  /// `connect`: what the server's own port has accepted; it is the session's. nullptr: log_in() takes a socket.
  explicit HostedSession(CONNECT *connect) : connect_(connect) {}
  ~HostedSession() override { end(false); }

  bool log_in(int fd, bool local) override;
  bool serve(const Statement &statement) override;
  void end(bool peer_ended) override;

  bool alive() const override { return thd_ != nullptr; }
  bool compressed() const override;
  int fd() const override;
  void *tls() const override;

  uint64_t number() const override;
  std::string account() const override;

  int64_t idle_limit_ms() const override;
  void time_out() override;
  void interrupt() override;

  uint64_t dialect() const override { return dialect_; }
  std::optional<TextRules> text_rules() const override;
  const Learnt &learnt() const override { return learnt_; }

  /// Answers the statement by its plan on this session's own THD, on the thread of a worker that is attached to
  /// another. False: nothing has happened, and the server is to serve it.
  bool run_in_turn(const Statement &statement, Counters &counters);

 private:
  bool join(CONNECT *connect);
  bool prepare();
  void close();
  /// The dialect of the session as it is now; with this thread attached.
  void note_context();
  /// After the server has served `statement`, with this thread attached: `answer` is what it said, as it was on the
  /// wire but for TLS; empty if it was too long to be kept. `version`: what the plan knew of its table before that.
  void learn(const Statement &statement, Bytes answer, uint64_t version);
  void learn_text(Bytes text);
  void learn_answer(const SelectPlan &plan, uint8_t command, const Statement &statement, Bytes answer,
                    uint64_t version);
  /// For people: why there is no plan, and in which database.
  void note_reason(WhyNot why);
  bool keep_house(const Statement &statement);
  /// Answers a statement by its plan, or leaves it as it was.
  NotNow answer(const Statement &statement);
  /// Answers a COM_STMT_PREPARE in place of the server, by a plan.
  NotNow promise(const Statement &statement);
  /// Whether the server need know of no promise to serve the command.
  bool can_be_served_without(Bytes packet) const;
  /// Before the server serves the command: it gets the statements that it has to know then. False: it cannot prepare
  /// one, and the client has been told why.
  bool keep_promises(Bytes packet);
  /// After that: which promises are void.
  void note_served(Bytes packet);
  /// Whether the server has prepared, or run, the statement that is executed with the table as its plan knows it: else
  /// it would prepare it again.
  NotNow is_up_to_date(const Statement &statement);
  /// What the client of the statement that is executed knows of columns; nullopt: it is told them each time.
  std::optional<ColumnsTold> columns_told(Bytes packet) const;

  std::mutex mutex_;  // guards what thd_ points to against interrupt(); a leaf but for the THD's own
  CONNECT *connect_;  // until it is logged in
  THD *thd_ = nullptr;
  std::atomic<bool> interrupted_{false};
  bool logged_in_ = false;
  std::string context_;  // that dialect_ is the number of
  uint64_t dialect_ = 0;
  Learnt learnt_;
  bool to_be_verified_ = false;  // what is served next
  PromisedStatements promises_;
  std::unordered_map<uint32_t, uint64_t> versions_;  // of tables, as the server has met them last: prepared statements'
};

}  // namespace postern::mariadb
