#include "redis/session.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "redis/held_reply.h"
#include "redis/monitoring.h"

namespace postern::redis {
namespace {

/// Bytes of a command's name and of its arguments that an error quotes of each.
constexpr size_t arguments_told_bytes_max = 128;

/// A web page can make a browser send requests to any port: a request that begins like HTTP does not come from a Redis
/// client.
bool is_cross_protocol(Bytes name) {
  return is_word(name, "post") || is_word(name, "host:");
}

/// Whether it is allowed on a RESP2 connection with subscriptions.
bool is_for_subscribers(const Command &command) {
  const bool changes = command.has(CommandFlag::pubsub) && command.has(CommandFlag::noscript);
  return changes || command.name == "ping" || command.name == "quit" || command.name == "reset";
}

/// Whether it is refused to monitors, which Redis treats like replicas.
bool is_refused_to_monitors(const Command &command) {
  return command.has(CommandFlag::write | CommandFlag::readonly | CommandFlag::skip_monitor) ||
         command.name == "publish" || command.name == "spublish";
}

void log_cross_protocol() {
  static log::Limited limited;
  uint64_t missed = 0;
  if (limited.pass(missed))
    log::warning("redis: closed a connection that spoke HTTP, as a page in a browser may make it do (%llu before)",
                 static_cast<unsigned long long>(missed));
}

}  // namespace

/// Takes unwanted replies and drops them, so that commands need not know.
class RedisSession::Sink final : private Valve {
 public:
  Sink() { output.stream_through(*this); }

  void drop() {
    output.release();
    output.sent(output.sendable().size());
  }

  Output output;

 private:
  Flow flow(Output &) override {
    drop();
    return Flow::more;
  }
};

/// Runs a command whose predecessors in the pipeline are done.
class RedisSession::InOrder final : public Stage {
 public:
  explicit InOrder(std::span<const Bytes> words) : words_(words.begin(), words.end()) {}
  Next go_on(Call &call) override {
    const std::vector<Bytes> arguments(words_.begin(), words_.end());
    Call its{call.command, arguments, call.session, call.batch, call.output, call.resp, call.now_ms};
    call.session.note_running(call.command);
    return its.command.handler(its);
  }

 private:
  const std::vector<std::string> words_;
};

RedisSession::RedisSession(Redis &protocol, Output &output, const Peer &peer)
    : protocol_(protocol),
      output_(output),
      peer_(peer),
      identity_(protocol.settings().accounts ? new Identity{peer} : nullptr),
      mailbox_(protocol.subscriptions()),
      tables_(protocol.maps()),
      client_(protocol.clients()) {}

RedisSession::~RedisSession() {
  stage_.reset();  // it knows the client
  tell_fed();      // for writes that were committed and not settled
  mailbox_.send_all();
  send_notices();
}

/// The changes have lasted; without memory they are not announced.
void RedisSession::send_notices() {
  if (notices_.empty()) return;
  try {
    notices_.send(protocol_.subscriptions(), protocol_.notice_classes().chosen());
  } catch (const std::bad_alloc &) {
    notices_.take_back(0, notices_.next_id());
  }
}

/// Commands that came together share their time: the log shows the last one.
void RedisSession::note_if_slow(int64_t took_us) {
  SlowLog &log = protocol_.slow_log();
  LatencyEvents &events = protocol_.latency_events();
  const bool is_logged = log.is_slow(took_us) && !last_command_.empty();
  if (!is_logged && !events.is_slow(took_us)) return;
  const int64_t now_s = wall_clock_ms() / 1'000;
  if (events.is_slow(took_us)) {
    const bool fast = stage_command_ != nullptr && stage_command_->has(CommandFlag::fast);
    events.note(fast ? LatencyEvents::Event::fast_command : LatencyEvents::Event::command, now_s, took_us / 1'000);
  }
  if (!is_logged) return;
  try {
    log.note({.at_s = now_s,
              .took_us = took_us,
              .words = last_command_.words(),
              .address = client_.address(),
              .client_name = client_.name(),
              .user = client_.user()});
  } catch (const std::bad_alloc &) {
    // A log without this one.
  }
}

void RedisSession::tell_fed() {
  if (fed_.empty()) return;
  const Servings *const servings = stage_ != nullptr ? stage_->servings() : nullptr;
  protocol_.waiters().tell(fed_, servings != nullptr ? *servings : Servings{});
  fed_.clear();
}

void RedisSession::open() {
  client_.begin(peer_, clock_ms());
  stats_ = &protocol_.command_stats().of_this_thread();
}

/// Ops under way may still note watched keys.
void RedisSession::forget_transaction() {
  tables_.keep(transaction_.take());
  client_.note_queued(-1);
}

void RedisSession::begin_login() {
  if (!transaction_.open()) forget_transaction();
  candidate_.reset(new Identity{peer_});
}

Next RedisSession::wait_for(std::unique_ptr<Stage> stage) {
  stage_ = std::move(stage);
  return Next::wait;
}

void RedisSession::reset() {
  client_.speak(Resp::two);
  client_.select(0);
  client_.set_name({});
  replies_ = Replies::on;
  forget_transaction();
  if (Subscriber *const subscriber = mailbox_.subscriber(); subscriber != nullptr) {
    subscriber->unsubscribe_from_all();
    subscriber->stop_monitoring();
    client_.note_subscriptions(*subscriber);
  }
}

void RedisSession::monitor() {
  Subscriber &subscriber = mailbox_.subscriber(*waker_);
  subscriber.monitor(client_.user());
  client_.note_subscriptions(subscriber);
}

void RedisSession::show_commands() {
  if (shown_commands_.empty()) return;
  try {
    shown_commands_.show(protocol_.subscriptions(), client_.user());
  } catch (const std::bad_alloc &) {
    // They are shown with the next ones.
  }
}

Delivered RedisSession::deliver() {
  if (stage_ != nullptr && !dozes_) return Delivered::later;  // a reply may be half-written
  Subscriber *const subscriber = mailbox_.subscriber();
  return subscriber == nullptr ? Delivered::all : subscriber->deliver(output_, client_.resp());
}

void RedisSession::settled() {
  if (!fed_.empty()) tell_fed();
  mailbox_.send_all();
  send_notices();
  if (!running_.empty()) note_if_slow(running_.end(clock_us(), *stats_));
  last_command_.clear();
  client_.note_unparsed(unparsed_bytes_);
  tables_.settled();
  if (sink_ == nullptr) return;
  sink_->drop();
  if (stage_ == nullptr) sink_.reset();
}

Collected RedisSession::collect(Input &input, Batch &batch, uint32_t ops_max) {
  now_ms_ = wall_clock_ms();
  dozes_ = false;
  const int64_t now_us = clock_us();
  running_.begin(now_us);
  client_.note_active(now_us / 1'000);
  unparsed_bytes_ = input.unparsed_bytes();
  client_.note_unparsed(unparsed_bytes_);
  const size_t first = batch.size();
  first_op_ = first;
  if (!tables_.begin(batch, ops_max)) return Collected::more;
  batch.act_for(identity_.get());
  if (stage_ != nullptr) {
    switch (const Next next = run_stage(batch)) {
      case Next::go_on:
        if (ends_) return Collected::close;
        break;
      case Next::sleep:
      case Next::pause: return doze(next, batch.size() == first);
      case Next::wait: return Collected::wait;
      case Next::close: return Collected::close;
    }
  }
  return take_all(input, batch, ops_max);
}

/// It sleeps once no earlier op is under way.
Collected RedisSession::doze(Next how, bool nothing_else) {
  if (!nothing_else) return Collected::wait;
  dozes_ = true;
  return how == Next::sleep ? Collected::sleep : Collected::pause;
}

Collected RedisSession::take_all(Input &input, Batch &batch, uint32_t ops_max) {
  bool any = false;
  const Collected collected = take_requests(input, batch, ops_max, any);
  if (any && protocol_.slow_log().is_on()) note_last();
  return collected;
}

/// It may prove slow, when its bytes are gone. Passwords are left out.
void RedisSession::note_last() {
  if (stage_command_ == nullptr || stage_command_->has(CommandFlag::skip_slowlog)) return last_command_.clear();
  const std::span<const Bytes> arguments = parser_.arguments();
  const bool quick = stage_command_->has(CommandFlag::readonly) && stage_command_->has(CommandFlag::fast);
  if (stage_command_->has(CommandFlag::no_auth) || (quick && !protocol_.slow_log().wants_all_words()))
    last_command_.take_name(stage_command_->name, arguments.size());
  else last_command_.take(arguments);
}

Collected RedisSession::take_requests(Input &input, Batch &batch, uint32_t ops_max, bool &any) {
  const size_t first = batch.size();
  Arena &arena = batch.arena();
  for (;;) {
    const size_t ops = batch.size() - first;
    if (ops != 0 && (ops >= ops_max || arena.bytes() > limits::arena_bytes_per_batch_max)) return Collected::more;
    const Bounds bounds{.argument_bytes_max = protocol_.settings().value_bytes_max,
                        .request_bytes_max = protocol_.settings().request_bytes_max,
                        .stranger = !knows_who()};
    switch (parser_.take(input.unparsed(), bounds, arena)) {
      case Parsed::need_more: unparsed_bytes_ = input.unparsed_bytes(); return Collected::need_more;
      case Parsed::nothing: input.consume(parser_.consumed()); continue;
      case Parsed::broken: fail_parsing(batch); return Collected::close;
      case Parsed::request: break;
    }
    input.consume(parser_.consumed());
    any = true;
    switch (act(parser_.arguments(), batch)) {
      case Next::go_on:
        if (ends_) return Collected::close;
        break;
      case Next::sleep:
      case Next::pause:
      case Next::wait: return Collected::wait;
      case Next::close: return Collected::close;
    }
  }
}

void RedisSession::fail_parsing(Batch &batch) {
  static constexpr Command none{};
  Call call{none, {}, *this, batch, output_for_next(), client_.resp(), now_ms_};
  batch.act_for(nullptr);
  refuse(call, "ERR ", parser_.error());
}

/// The output for the next command's reply.
inline Output &RedisSession::output_for_next() {
  return replies_ == Replies::on ? output_ : output_of_nobody();
}

Output &RedisSession::output_of_nobody() {
  if (replies_ == Replies::skip) replies_ = Replies::on;
  if (sink_ == nullptr) {
    auto fresh = std::make_unique<Sink>();
    if (fresh->output.broken()) throw std::bad_alloc();
    sink_ = std::move(fresh);
  }
  return sink_->output;
}

Next RedisSession::run_stage(Batch &batch) {
  std::unique_ptr<Stage> stage = std::move(stage_);
  Call call{*stage_command_, {}, *this, batch, *stage_output_, client_.resp(), now_ms_};
  const size_t first = batch.size();
  const Next next = stage->go_on(call);
  if (stage_command_->has(CommandFlag::blocking) && announces()) announce_ops(call, first);
  const bool is_over = next == Next::go_on || next == Next::close;
  if (!is_over && stage_ == nullptr) stage_ = std::move(stage);  // else it has left the rest to another one
  return next;
}

Next RedisSession::act(std::span<const Bytes> arguments, Batch &batch) {
  static constexpr Command unknown{};
  // Most clients repeat one command.
  const bool again = stage_command_ != nullptr && is_word(arguments.front(), stage_command_->name);
  const Command *command = again ? stage_command_ : find_command(arguments.front());
  if (command != nullptr && command->is_subcommand()) command = nullptr;
  const Command *found = command;
  if (command != nullptr && command->is_container() && arguments.size() > 1)
    found = find_subcommand(*command, arguments[1]);
  Call call{found != nullptr ? *found : unknown, arguments, *this, batch, output_for_next(), client_.resp(), now_ms_};
  if (found == nullptr) {
    if (is_cross_protocol(arguments.front())) {
      log_cross_protocol();
      return Next::close;
    }
    transaction_.spoil();
    batch.act_for(nullptr);
    refuse_unknown(arguments, call);
    batch.act_for(identity_.get());
    return Next::go_on;
  }
  return act(call);
}

inline Next RedisSession::carry_out(Call &call) {
  if (is_shown(*this, call.command)) return show(call, [](Call &its) { return its.session.carry_out_unseen(its); });
  return carry_out_unseen(call);
}

inline Next RedisSession::carry_out_unseen(Call &call) {
  if (call.command.has(CommandFlag::in_order) && has_ops_in(call.batch))
    return wait_for(std::make_unique<InOrder>(call.arguments));
  running_.add(call.command);
  if (call.command.has(CommandFlag::feeds) && protocol_.waiters().any() && feeds_who_waits(call))
    return answer_when_served(call);
  return call.command.has(CommandFlag::write) && announces() ? announce(call) : call.command.handler(call);
}

Next RedisSession::act(Call &call) {
  client_.note(call.command);
  stage_command_ = &call.command;
  stage_output_ = &call.output;
  if (knows_who() && call.command.takes(call.arguments.size())) {
    if (hears_only_messages() && !is_for_subscribers(call.command)) return refuse_when_subscribed(call);
    if (mailbox_.is_monitor() && is_refused_to_monitors(call.command)) return refuse_to_monitor(call);
    return transaction_.queues(call.command) ? queue(call) : carry_out(call);
  }
  transaction_.spoil();
  call.batch.act_for(nullptr);
  Next next = Next::go_on;
  if (call.command.takes(call.arguments.size()) && call.command.has(CommandFlag::no_auth)) {
    running_.add(call.command);
    next = call.command.handler(call);
  } else {
    reject(call);
  }
  call.batch.act_for(identity_.get());
  return next;
}

Next RedisSession::refuse_when_subscribed(Call &call) {
  stats_->note_rejected(call.command);
  transaction_.spoil();
  std::string text = "Can't execute '";
  text.append(call.command.name)
      .append("': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context");
  return refuse(call, call.command.name == "exec" ? "EXECABORT Transaction discarded because of: " : "ERR ", text);
}

Next RedisSession::refuse_to_monitor(Call &call) {
  stats_->note_rejected(call.command);
  transaction_.spoil();
  return refuse(call, "ERR Replica can't interact with the keyspace");
}

void RedisSession::reject(Call &call) {
  stats_->note_rejected(call.command);
  if (!call.command.takes(call.arguments.size())) refuse_arity(call);
  else refuse(call, "NOAUTH Authentication required.");
}

Next RedisSession::queue(Call &call) {
  Bytes why;
  if (call.command.has(CommandFlag::no_multi)) why = "ERR Command not allowed inside a transaction";
  else if (!transaction_.queue(call.command, call.arguments)) why = "OOM the transaction is too large";
  if (why.empty()) {
    client_.note_queued(static_cast<int32_t>(transaction_.size()), transaction_.bytes());
    return answer_status(call, "QUEUED");
  }
  transaction_.spoil();
  return refuse(call, why);
}

void RedisSession::refuse_unknown(std::span<const Bytes> arguments, Call &call) {
  const Command *const container = find_command(arguments.front());
  if (container != nullptr && container->is_container() && arguments.size() > 1) {
    std::string name(container->name);
    std::transform(name.begin(), name.end(), name.begin(), [](char byte) { return byte - ('a' - 'A'); });
    std::string text = "ERR unknown subcommand '";
    text.append(told_of(arguments[1], arguments_told_bytes_max)).append("'. Try ").append(name).append(" HELP.");
    refuse(call, text);
    return;
  }
  std::string told;
  for (const Bytes argument : arguments.subspan(1)) {
    if (told.size() >= arguments_told_bytes_max) break;
    const Bytes beginning = told_of(argument, arguments_told_bytes_max - told.size());
    told.append("'").append(beginning).append("' ");
  }
  std::string text = "ERR unknown command '";
  text.append(told_of(arguments.front(), arguments_told_bytes_max)).append("', with args beginning with: ");
  refuse(call, text, told);
}

}  // namespace postern::redis
