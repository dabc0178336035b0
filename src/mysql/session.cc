#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "contract/sql_error.h"
#include "mysql/normalise.h"
#include "mysql/packet.h"
#include "mysql/parameters.h"
#include "mysql/plan_cache.h"
#include "mysql/protocol.h"

namespace postern::mysql {
namespace {

/// The first byte of a command that this room looks at.
enum Command : uint8_t {
  none = 0,
  query = 0x03,
  change_user = 0x11,
  prepare = 0x16,
  execute = 0x17,
  send_long_data = 0x18,
  close_statement = 0x19,
  reset_statement = 0x1a,
  reset_connection = 0x1f,
};

/// In place of a statement's number: the one that was prepared last.
constexpr uint32_t last_prepared = 0xffffffff;

/// What a statement answers the engine writes itself, or the server sends.
class StatementReply final : public Reply {
 public:
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &) override {}
  void restart() override {}
};

/// A prepared statement that has a plan.
struct Prepared {
  std::shared_ptr<const Plan> plan;
  std::string types;       // of the parameters, as the server has seen them last; empty: not yet
  bool long_data = false;  // a part of a parameter has gone to the server
  bool cursor = false;     // the server may have one open, which the next execution ends
};

class MySqlSession final : public Session {
 public:
  MySqlSession(std::unique_ptr<ServerSession> session, std::shared_ptr<PlanCache> cache, Output &output)
      : session_(std::move(session)), cache_(std::move(cache)), front_(*cache_), output_(output) {}

  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override;
  void settled() override;
  ServerSession *server_session() const override { return session_.get(); }

 private:
  /// A command that the server has yet to serve, and what is to be learnt of that.
  struct Awaited {
    Command command = none;
    PlanKey key{};    // query: of its form, if it is not known; borrows from form_
    uint32_t id = 0;  // of a prepared statement
    Bytes types{};    // execute: what it binds, in the packet; empty: nothing new
    bool cursor = false;
  };

  void plan(Statement &statement, Batch &batch);
  void plan_text(Statement &statement, Batch &batch);
  void plan_execution(Statement &statement, Batch &batch);
  void learn();
  static void add(Batch &batch, const Statement &statement);

  const std::unique_ptr<ServerSession> session_;
  const std::shared_ptr<PlanCache> cache_;
  PlanFront front_;
  Output &output_;
  bool greeted_ = false;
  Awaited awaited_;
  std::string form_;  // of the text that is awaited, if it is not known
  std::unordered_map<uint32_t, Prepared> prepared_;
  uint32_t prepared_last_ = 0;                     // 0: nobody knows
  std::vector<std::shared_ptr<const void>> held_;  // what the collected statements' plans belong to
};

/// Keeps its memory for all sessions of a worker.
NormalText &normal_text() {
  static thread_local NormalText text;
  return text;
}

Collected MySqlSession::collect(Input &input, Batch &batch, uint32_t ops_max) {
  if (!session_->alive()) {
    // The server has ended it; or it has yet to greet the client, which is the first thing that ever happens.
    if (std::exchange(greeted_, true)) return Collected::close;
    add(batch, {.session = session_.get(), .rest = &input, .output = &output_});
    return Collected::wait;
  }
  const bool compressed = session_->compressed();
  for (uint32_t ops = 0; ops < ops_max; ++ops) {
    const std::span<char> bytes = input.unparsed();
    const size_t taken = bytes_of_command(bytes, compressed ? frame_header_bytes : packet_header_bytes);
    if (taken == 0) return Collected::need_more;
    input.consume(taken);
    Statement statement{.session = session_.get(), .packet = {bytes.data(), taken}, .rest = &input, .output = &output_};
    awaited_ = {};
    // Of a frame, and of a packet that is not complete, nobody but the server knows what it is.
    const bool whole = !compressed && taken == packet_header_bytes + little_endian_24(bytes);
    if (whole && taken > packet_header_bytes) plan(statement, batch);
    add(batch, statement);
    // Any other command may change what the next one means.
    if (statement.plan == nullptr || statement.values.size() != statement.plan->values()) return Collected::wait;
  }
  return Collected::more;
}

void MySqlSession::add(Batch &batch, const Statement &statement) {
  Arena &arena = batch.arena();
  const auto *const kept = arena.make<Statement>(statement);
  Reply *const reply = arena.make<StatementReply>();
  Op &op = batch.add();
  op.verb = Verb::statement;
  op.statement = kept;
  op.reply = reply;
}

void MySqlSession::plan(Statement &statement, Batch &batch) {
  awaited_.command = static_cast<Command>(statement.packet[packet_header_bytes]);
  switch (awaited_.command) {
    case query: return plan_text(statement, batch);
    case execute: return plan_execution(statement, batch);
    case send_long_data:
    case close_statement:
    case reset_statement: {
      const Bytes body = statement.packet.substr(packet_header_bytes + 1);
      if (body.size() < 4) return;
      awaited_.id = little_endian_24(body) | static_cast<uint32_t>(static_cast<uint8_t>(body[3])) << 24;
      return;
    }
    default: return;
  }
}

void MySqlSession::plan_text(Statement &statement, Batch &batch) {
  const std::optional<TextRules> rules = session_->text_rules();
  NormalText &text = normal_text();
  if (!rules || !text.read(statement.packet.substr(packet_header_bytes + 1), *rules)) return;
  PlanKey key{session_->dialect(), text.hash(), text.form()};
  const KnownForm *const known = front_.find(key);
  const std::span<const Value> values = text.values();
  if (known == nullptr || known->plan() != nullptr) {
    const std::span<Value> kept = batch.arena().array<Value>(values.size());
    std::ranges::copy(values, kept.begin());
    statement.values = kept;
  }
  if (known == nullptr) {
    form_.assign(key.form);
    statement.form = key.form = form_;
    awaited_.key = key;
  } else if (known->plan() != nullptr) {
    held_.push_back(front_.keep(key));
    statement.plan = known->plan();
  }
}

void MySqlSession::plan_execution(Statement &statement, Batch &batch) {
  const Bytes body = statement.packet.substr(packet_header_bytes + 1);
  if (body.size() < 4) return;
  awaited_.id = little_endian_24(body) | static_cast<uint32_t>(static_cast<uint8_t>(body[3])) << 24;
  const bool by_number = awaited_.id != last_prepared;
  if (!by_number) awaited_.id = prepared_last_;
  const auto found = prepared_.find(awaited_.id);
  if (found == prepared_.end() || found->second.plan == nullptr) return;
  Prepared &prepared = found->second;
  if (!prepared.plan->holds()) {
    prepared.plan.reset();  // the server prepares it again
    return;
  }
  const uint32_t parameters = prepared.plan->values();
  const std::optional<Execution> execution = read_execution(body, parameters);
  if (!execution) return;
  if (execution->types) awaited_.types = *execution->types;
  awaited_.cursor = execution->flags != 0;
  const bool any_null = std::ranges::any_of(execution->nulls, [](char bits) { return bits != 0; });
  // The server has to see types before anything is bound without them; a cursor is its own, and so is long data.
  const bool types_seen =
      parameters == 0 || (!prepared.types.empty() && (!execution->types || *execution->types == Bytes(prepared.types)));
  if (awaited_.cursor || any_null || prepared.long_data) return;
  const bool is_servers = !types_seen || prepared.cursor || !by_number;
  if (is_servers && parameters == 0) return;
  held_.push_back(prepared.plan);
  statement.plan = prepared.plan.get();  // without values it only learns how the server answers
  if (is_servers) return;
  const std::optional<std::span<const Value>> values =
      read_parameters(prepared.types, execution->values, parameters, batch.arena());
  if (values) statement.values = *values;
}

void MySqlSession::settled() {
  held_.clear();
  learn();
  awaited_ = {};
}

/// The command that was awaited has been served.
void MySqlSession::learn() {
  if (!session_->alive()) return;
  const Learnt &learnt = session_->learnt();
  switch (awaited_.command) {
    case query:
      if (awaited_.key.form.empty() || learnt.statement_id != 0) return;
      if (learnt.plan != nullptr || learnt.final) cache_->learn(awaited_.key, learnt.plan);
      return;
    case prepare:
      prepared_last_ = learnt.statement_id;
      if (learnt.statement_id != 0 && learnt.plan != nullptr)
        prepared_[learnt.statement_id] = {.plan = learnt.plan, .types = {}};
      return;
    case execute: {
      if (learnt.statement_id == awaited_.id && learnt.plan != nullptr && !prepared_.contains(awaited_.id))
        prepared_[awaited_.id] = {.plan = learnt.plan, .types = {}};
      const auto found = prepared_.find(awaited_.id);
      if (found == prepared_.end()) return;
      Prepared &prepared = found->second;
      if (prepared.plan == nullptr && learnt.statement_id == awaited_.id) prepared.plan = learnt.plan;
      if (!awaited_.types.empty()) prepared.types.assign(awaited_.types);
      prepared.long_data = false;
      prepared.cursor = awaited_.cursor;
      return;
    }
    case send_long_data:
      if (const auto found = prepared_.find(awaited_.id); found != prepared_.end()) found->second.long_data = true;
      return;
    case close_statement: prepared_.erase(awaited_.id); return;
    case reset_statement:
      if (const auto found = prepared_.find(awaited_.id); found != prepared_.end()) found->second.long_data = false;
      return;
    case change_user:
    case reset_connection: prepared_.clear(); return;
    case none: return;
  }
}

}  // namespace

MySql::MySql(Engine &engine) : engine_(engine), cache_(std::make_shared<PlanCache>(plan_bytes_max)) {}

std::unique_ptr<Session> MySql::open_session(Output &output, const Peer &) {
  return std::make_unique<MySqlSession>(engine_.host(), cache_, output);
}

/// An error packet, which a client may meet in place of the greeting, too.
void MySql::refuse(Output &output, Failure why) {
  const SqlError error = sql_error_of(why);
  const Bytes text = failure_text(why);
  const size_t bytes = 3 + 6 + text.size();
  output.put(static_cast<char>(bytes));
  output.put(static_cast<char>(bytes >> 8));
  output.put('\0');
  output.put('\0');
  output.put('\xff');
  output.put(static_cast<char>(error.number));
  output.put(static_cast<char>(error.number >> 8));
  output.put('#');
  output.put(Bytes(error.state, 5));
  output.put(text);
}

}  // namespace postern::mysql
