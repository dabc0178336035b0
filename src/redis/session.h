// session.h: RedisSession, the protocol state of one connection: its parser, its client's identity, and the command
// under way.
//
// Owned by its connection and touched by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "contract/session.h"
#include "redis/announcing.h"
#include "redis/call.h"
#include "redis/clients.h"
#include "redis/messages/mailbox.h"
#include "redis/messages/notices.h"
#include "redis/messages/shown_commands.h"
#include "redis/protocol.h"
#include "redis/registry/command_stats.h"
#include "redis/slow_log.h"
#include "redis/tables.h"
#include "redis/transaction.h"
#include "redis/waiting/waiters.h"
#include "redis/wire/request_parser.h"

namespace postern::redis {

/// The rest of a command with a step that depends on the results of its ops. Owned by the session.
class Stage {
 public:
  virtual ~Stage() = default;
  /// Continues when the previous ops are settled, or it has slept long enough. `call` has no arguments. It is called
  /// again if it returns Next::wait, after the ops it has added, sleep_until() or pause_until().
  virtual Next go_on(Call &call) = 0;
  /// Pushers that are answered when the clients woken by this stage's writes have been served; nullptr: none.
  virtual const Servings *servings() const { return nullptr; }
};

/// The mode chosen by CLIENT REPLY.
enum class Replies : uint8_t {
  on,
  off,
  skip,  ///< the next command has no reply
};

class RedisSession final : public Session {
 public:
  /// `protocol`, `output` and `peer` outlive the session.
  RedisSession(Redis &protocol, Output &output, const Peer &peer);
  ~RedisSession() override;

  void open() override;
  bool may_sleep() const override { return true; }
  void take_waker(Waker &waker) override { waker_ = &waker; }
  int64_t wake_ms() const override { return wake_ms_; }
  /// The last command may exceed `ops_max` by a few ops, because a command is added as a whole.
  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override;
  void settled() override;
  Delivered deliver() override;
  bool listens() const override { return mailbox_.is_subscribed() || mailbox_.is_monitor(); }

  // For handlers.

  Redis &protocol() { return protocol_; }
  Client &client() { return client_; }
  Tables &tables() { return tables_; }
  Transaction &transaction() { return transaction_; }
  /// For DISCARD and UNWATCH.
  void forget_transaction();
  const Peer &peer() const { return peer_; }
  /// nullptr: there are no accounts.
  Identity *identity() { return identity_.get(); }
  bool knows_who() const { return identity_ == nullptr || identity_->account != nullptr; }
  /// The identity being verified, which replaces the client's if the login succeeds: a failed login changes nothing.
  Identity &candidate() { return *candidate_; }
  void begin_login();
  void end_login() { candidate_.reset(); }
  /// Leaves the rest of the command to `stage`. A handler returns the result of this.
  Next wait_for(std::unique_ptr<Stage> stage);
  /// The same, if the stage waits for other clients.
  Next sleep_until(int64_t wake_ms) {
    wake_ms_ = wake_ms;
    return Next::sleep;
  }
  /// The same, but the client gets its answer soon, even if it ends its sending meanwhile.
  Next pause_until(int64_t wake_ms) {
    wake_ms_ = wake_ms;
    return Next::pause;
  }
  /// nullptr: it cannot be woken.
  Waker *waker() { return waker_; }
  /// Keys that this session pushed to; their waiters are woken when the batch settles.
  FedKeys &fed() { return fed_; }
  Mailbox &mailbox() { return mailbox_; }
  /// Whether keyspace notifications may have receivers.
  bool announces() const { return protocol_.notice_classes().chosen() != 0 && protocol_.subscriptions().any(); }
  Notices &notices() { return notices_; }
  /// Whether any client sees commands.
  bool is_monitored() const { return protocol_.subscriptions().is_monitored(); }
  ShownCommands &shown_commands() { return shown_commands_; }
  /// Shows the noted commands at once.
  void show_commands();
  /// MONITOR: this client sees the commands of its account. Throws std::bad_alloc.
  void monitor();
  /// Keys deleted by the command that was just done.
  ErasedKeys &erased() { return erased_; }
  void set_replies(Replies replies) { replies_ = replies; }
  Replies replies() const { return replies_; }
  /// Notes a command that did not come by itself: one of EXEC's.
  void note_running(const Command &command) { running_.add(command); }
  /// The client's output, whatever CLIENT REPLY has chosen.
  Output &output() { return output_; }
  /// Closes the connection when the command, or its EXEC, is answered.
  void end() { ends_ = true; }
  /// RESET, except for the account.
  void reset();

 private:
  class InOrder;
  class Sink;

  /// Whether ops of earlier commands are under way.
  bool has_ops_in(const Batch &batch) const { return batch.size() != first_op_; }
  Collected doze(Next how, bool nothing_else);
  Collected take_all(Input &input, Batch &batch, uint32_t ops_max);
  Collected take_requests(Input &input, Batch &batch, uint32_t ops_max, bool &any);
  void note_last();
  Next act(std::span<const Bytes> arguments, Batch &batch);
  Next act(Call &call);
  Next queue(Call &call);
  Next carry_out(Call &call);
  Next carry_out_unseen(Call &call);
  bool hears_only_messages() const { return mailbox_.is_subscribed() && client_.resp() == Resp::two; }
  Next refuse_when_subscribed(Call &call);
  Next refuse_to_monitor(Call &call);
  void reject(Call &call);
  Next run_stage(Batch &batch);
  void refuse_unknown(std::span<const Bytes> arguments, Call &call);
  void fail_parsing(Batch &batch);
  Output &output_for_next();
  Output &output_of_nobody();
  void tell_fed();
  void send_notices();
  void note_if_slow(int64_t took_us);

  Redis &protocol_;
  Output &output_;
  const Peer &peer_;
  std::unique_ptr<Identity> identity_;   // with Settings::accounts alone
  std::unique_ptr<Identity> candidate_;  // during a login
  std::unique_ptr<Stage> stage_;         // continues when everything is settled
  const Command *stage_command_ = nullptr;
  Output *stage_output_ = nullptr;
  Waker *waker_ = nullptr;
  int64_t wake_ms_ = INT64_MAX;
  FedKeys fed_;
  CommandStats *stats_ = nullptr;  // its worker's
  RunningCommands running_;
  size_t first_op_ = 0;  // its first one in the batch of this collect()
  size_t unparsed_bytes_ = 0;
  std::unique_ptr<Sink> sink_;  // takes unwanted replies, once CLIENT REPLY was used
  RequestParser parser_;
  int64_t now_ms_ = 0;  // since 1970, of this collect()
  Replies replies_ = Replies::on;
  bool ends_ = false;
  bool dozes_ = false;  // its stage waits for other clients, and has written nothing
  Mailbox mailbox_;
  Notices notices_;
  ShownCommands shown_commands_;
  ErasedKeys erased_;
  CommandNote last_command_;
  Transaction transaction_;
  Tables tables_;
  Client client_;
};

}  // namespace postern::redis
