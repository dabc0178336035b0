#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "contract/sql_error.h"
#include "sqldoor/normalise.h"
#include "sqldoor/packet.h"
#include "sqldoor/parameters.h"
#include "sqldoor/plan_cache.h"
#include "sqldoor/protocol.h"

namespace postern::sqldoor {
namespace {

/// The first byte of a command that this room looks at.
enum Command : uint8_t {
  none = 0,
  quit = 0x01,
  query = 0x03,
  change_user = 0x11,
  prepare = 0x16,
  execute = 0x17,
  send_long_data = 0x18,
  close_statement = 0x19,
  reset_statement = 0x1a,
  reset_connection = 0x1f,
  bulk_execute = 0xfa,
};

/// In place of a statement's id: the one prepared last.
constexpr uint32_t last_prepared = 0xffffffff;

/// The prefix of a text with a plan for prepared statements.
constexpr Bytes prepared_form = "PREPARE ";

/// Shown in place of each one's reason.
constexpr std::string_view words_of_kinds =
    "no SELECT, UPDATE, DELETE, INSERT or REPLACE of one statement with at most 256 values in 16 KiB: the server's own "
    "code serves all of its kind, on the worker's thread where it cannot wait";

/// Whether the text may have a plan, by its first word alone.
bool may_have_plan(Bytes text) {
  constexpr Bytes words[] = {"select", "update", "insert", "delete", "replace"};
  while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '('))
    text.remove_prefix(1);
  return std::ranges::any_of(words, [text](Bytes word) {
    return text.size() > word.size() && std::ranges::equal(text.substr(0, word.size()), word,
                                                           [](char one, char other) { return (one | 0x20) == other; });
  });
}

/// The output of a statement that the engine writes itself, or the server sends.
class StatementReply final : public Reply {
 public:
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &) override {}
  void restart() override {}
};

/// A prepared statement that has a plan.
struct Prepared {
  std::shared_ptr<const Plan> plan{};
  std::shared_ptr<const KnownForm> known{};  // its form, if it has one
  uint32_t parameters = 0;
  uint64_t dialect = 0;        // the session's when it was prepared
  std::string types{};         // the parameters', as the client bound them last; empty: not yet
  uint64_t types_dialect = 0;  // the session's then: its character sets are the texts' until
                               // types are bound anew, whatever the session has by now
  bool long_data = false;      // a part of a parameter was sent to the server
  bool cursor = false;         // the server may have one open, which the next execution ends

  uint32_t untold = 0;  // executions that its form has not counted yet

  /// One more execution.
  void count() {
    ++untold;
    if (known != nullptr && untold >= known->untold_max()) tell();
  }
  void tell() {
    if (known != nullptr && untold != 0) known->count(untold);
    untold = 0;
  }
  /// The server may have other types: the client has to bind them again.
  void forget_types() { types.clear(); }
};

class MySqlSession final : public Session {
 public:
  MySqlSession(std::unique_ptr<ServerSession> session, std::shared_ptr<PlanCache> cache, Output &output)
      : session_(std::move(session)), cache_(std::move(cache)), front_(*cache_), kinds_(*cache_), output_(output) {}

  ~MySqlSession() override { forget_all(); }

  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override;
  void settled() override;
  ServerSession *server_session() const override { return session_.get(); }

 private:
  /// A command that the server has not served yet, and the plan to learn from it.
  struct Awaited {
    Command command = none;
    PlanKey key{};                             // of its form, if it is not known; borrows from form_
    std::shared_ptr<const KnownForm> known{};  // prepare: its form's
    uint32_t id = 0;                           // a prepared statement's
    bool cursor = false;
  };

  void plan(Statement &statement, Batch &batch);
  void plan_text(Statement &statement, Batch &batch);
  void note_kind(Statement &statement, Bytes text);
  void plan_prepare(Statement &statement);
  std::optional<uint32_t> statement_named(Bytes body) const;
  void renew(Prepared &prepared, Statement &statement);
  static void set_plan(Prepared &prepared, const std::shared_ptr<const KnownForm> &known);
  std::shared_ptr<const KnownForm> learn_form(const Learnt &learnt);
  void note_prepared(const Learnt &learnt);
  void forget(uint32_t id);
  void forget_all();
  void plan_execution(Statement &statement, Batch &batch);
  bool suits(const Prepared &prepared, const Execution &execution) const;
  void learn();
  static void add(Batch &batch, const Statement &statement);

  const std::unique_ptr<ServerSession> session_;
  const std::shared_ptr<PlanCache> cache_;
  PlanFront front_;
  PlanFront kinds_;  // of texts without a form
  Output &output_;
  bool greeted_ = false;
  Awaited awaited_;
  std::string form_;  // the awaited text's, if it has no plan yet
  std::unordered_map<uint32_t, Prepared> prepared_;
  uint32_t prepared_last_ = 0;                     // 0: nobody knows
  std::vector<std::shared_ptr<const void>> held_;  // keep the plans of the collected statements alive
};

/// Keeps its memory for all sessions of a worker.
NormalText &normal_text() {
  static thread_local NormalText text;
  return text;
}

Collected MySqlSession::collect(Input &input, Batch &batch, uint32_t ops_max) {
  const bool began = std::exchange(greeted_, true);
  if (session_->is_over()) return Collected::close;
  if (!session_->alive()) {
    // The server has ended the session, or has not greeted the client yet.
    if (began) return Collected::close;
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
    // Only the server understands compressed frames, incomplete packets, or packets in the middle of a conversation.
    const bool whole = !compressed && taken == packet_header_bytes + little_endian_24(bytes) && bytes[3] == 0;
    if (whole && taken > packet_header_bytes && session_->logged_in()) {
      if (ops == 0 && bytes[packet_header_bytes] == quit && session_->leave(taken)) return Collected::close;
      plan(statement, batch);
    }
    add(batch, statement);
    // Any other command may change the meaning of the next one; and a prepared statement has no id yet.
    const Plan *const plan = statement.plan;
    if (awaited_.command == prepare || plan == nullptr || plan->writes() || statement.values.size() != plan->values())
      return plan != nullptr && input.unparsed_bytes() == 0 ? Collected::need_more : Collected::wait;
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
    case prepare: return plan_prepare(statement);
    case execute: return plan_execution(statement, batch);
    case bulk_execute:
    case send_long_data:
    case close_statement:
    case reset_statement:
      awaited_.id = statement_named(statement.packet.substr(packet_header_bytes + 1)).value_or(0);
      return;
    default: return;
  }
}

/// The number of the prepared statement that a command is about.
std::optional<uint32_t> MySqlSession::statement_named(Bytes body) const {
  if (body.size() < 4) return std::nullopt;
  const uint32_t id = little_endian_24(body) | static_cast<uint32_t>(static_cast<uint8_t>(body[3])) << 24;
  return id == last_prepared ? prepared_last_ : id;
}

/// The values, until the batch is settled.
std::span<const Value> kept_values(const NormalText &text, Arena &arena) {
  const std::span<Value> kept = arena.array<Value>(text.values().size());
  std::ranges::copy(text.values(), kept.begin());
  const Bytes rewritten = text.rewritten();
  if (rewritten.empty()) return kept;
  const Bytes copy = arena.copy(rewritten);
  for (Value &value : kept) {
    if (value.kind() != Value::Kind::bytes) continue;
    const Bytes bytes = value.bytes();
    if (std::less<>()(bytes.data(), rewritten.begin()) || !std::less<>()(bytes.data(), rewritten.end())) continue;
    const auto from = static_cast<size_t>(bytes.data() - rewritten.data());
    value = Value::of_literal(copy.substr(from, bytes.size()), value.spelling());
  }
  return kept;
}

void MySqlSession::plan_text(Statement &statement, Batch &batch) {
  const std::optional<TextRules> rules = session_->text_rules();
  NormalText &text = normal_text();
  const Bytes body = statement.packet.substr(packet_header_bytes + 1);
  if (!rules || !text.read(body, *rules)) return note_kind(statement, body);
  statement.text = text.facts();
  PlanKey key{session_->dialect(), text.hash(), text.form()};
  const KnownForm *const known = front_.find(key);
  if (known == nullptr || known->plan() != nullptr) statement.values = kept_values(text, batch.arena());
  if (known == nullptr) {
    form_.assign(key.form);
    statement.form = key.form = form_;
    awaited_.key = key;
  } else {
    held_.push_back(front_.keep(key));
    statement.plan = known->plan();
    statement.times = &known->times();
  }
}

/// A text without a form is counted by its kind, which is its first word.
void MySqlSession::note_kind(Statement &statement, Bytes text) {
  constexpr size_t word_bytes_max = 16;
  while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '('))
    text.remove_prefix(1);
  std::array<char, word_bytes_max + 4> kind;
  size_t size = 0;
  for (; size < std::min(text.size(), word_bytes_max) && ((text[size] | 0x20) >= 'a' && (text[size] | 0x20) <= 'z');
       ++size)
    kind[size] = static_cast<char>(text[size] & ~0x20);
  for (const char one : size != 0 ? Bytes(" ...") : Bytes("...")) kind[size++] = one;
  const Bytes form(kind.data(), size);
  const PlanKey key{0, std::hash<Bytes>()(form), form};
  const KnownForm *known = kinds_.find(key);
  if (known == nullptr && cache_->learn(key, {.why_not = words_of_kinds}) != nullptr) known = kinds_.find(key);
  if (known == nullptr) return;
  held_.push_back(kinds_.keep(key));
  statement.times = &known->times();
}

/// A prepared statement is looked up by its whole text: each ? in it is a parameter, and everything else stays as it
/// is.
void MySqlSession::plan_prepare(Statement &statement) {
  const Bytes text = statement.packet.substr(packet_header_bytes + 1);
  if (!session_->text_rules() || !may_have_plan(text) || text.size() > NormalText::text_bytes_max) return;
  form_.assign(prepared_form).append(text);
  const PlanKey key{session_->dialect(), std::hash<Bytes>()(form_), form_};
  awaited_.key = key;
  // Counted by its executions.
  const KnownForm *const known = front_.find(key, 0);
  if (known == nullptr || (known->plan() == nullptr && !known->is_refusal())) {
    statement.form = text;
  } else {
    awaited_.known = front_.keep(key);
    statement.plan = known->plan();
    statement.has_no_plan = known->plan() == nullptr;
  }
}

/// A prepared statement has lost its plan: there may be another, or one may be learnt.
void MySqlSession::renew(Prepared &prepared, Statement &statement) {
  prepared.plan.reset();
  if (prepared.known == nullptr || prepared.known->dialect() != session_->dialect()) return;
  form_.assign(prepared.known->form());
  const PlanKey key{prepared.known->dialect(), prepared.known->key().hash, form_};
  if (const KnownForm *const known = front_.find(key, 0); known == nullptr) {
    statement.form = Bytes(form_).substr(prepared_form.size());
    awaited_.key = key;
  } else {
    set_plan(prepared, front_.keep(key));
  }
}

void MySqlSession::plan_execution(Statement &statement, Batch &batch) {
  const Bytes body = statement.packet.substr(packet_header_bytes + 1);
  const std::optional<uint32_t> named = statement_named(body);
  if (!named) return;
  awaited_.id = *named;
  const auto found = prepared_.find(awaited_.id);
  if (found == prepared_.end()) return;
  Prepared &prepared = found->second;
  const std::optional<Execution> execution = read_execution(body, prepared.parameters);
  if (!execution) return prepared.forget_types();  // the server may accept it
  if (execution->types) {
    prepared.types.assign(*execution->types);
    prepared.types_dialect = session_->dialect();
  }
  awaited_.cursor = execution->flags != 0;
  prepared.count();
  const bool refused = prepared.known != nullptr && prepared.known->is_refusal();
  if (!refused && (prepared.plan == nullptr || !prepared.plan->holds())) renew(prepared, statement);
  if (prepared.known != nullptr) {
    held_.push_back(prepared.known);
    statement.times = &prepared.known->times();
  }
  if (prepared.plan == nullptr) return;
  if (!suits(prepared, *execution)) return prepared.plan->note_unsuited();
  if (prepared.known == nullptr) held_.push_back(prepared.plan);
  statement.plan = prepared.plan.get();  // without values it only learns how the server answers
  if (prepared.cursor || (prepared.parameters != 0 && prepared.types.empty())) return;
  const std::optional<std::span<const Value>> values =
      read_parameters(prepared.types, execution->nulls, execution->values, prepared.parameters, batch.arena());
  if (values) statement.values = *values;
}

/// Whether the plan may answer the execution, or learn from it.
bool MySqlSession::suits(const Prepared &prepared, const Execution &execution) const {
  const bool any_null = std::ranges::any_of(execution.nulls, [](char bits) { return bits != 0; });
  // Cursors and long data are left to the server; NULL finds no row.
  if (execution.flags != 0 || (any_null && !prepared.plan->writes()) || prepared.long_data) return false;
  // In another database the server switches to the statement's during execution, and reports that to session trackers.
  const uint64_t dialect = session_->dialect();
  if (prepared.dialect != dialect || (!prepared.types.empty() && prepared.types_dialect != dialect)) return false;
  return !prepared.cursor || prepared.parameters != 0;
}

void MySqlSession::settled() {
  held_.clear();
  learn();
  awaited_ = {};
}

void MySqlSession::forget(uint32_t id) {
  const auto found = prepared_.find(id);
  if (found == prepared_.end()) return;
  found->second.tell();
  prepared_.erase(found);
}

void MySqlSession::forget_all() {
  for (auto &one : prepared_) one.second.tell();
  prepared_.clear();
}

void MySqlSession::set_plan(Prepared &prepared, const std::shared_ptr<const KnownForm> &known) {
  prepared.tell();
  prepared.known = known;
  prepared.plan = known->plan() != nullptr ? std::shared_ptr<const Plan>(known, known->plan()) : nullptr;
  if (prepared.plan != nullptr) prepared.parameters = prepared.plan->values();
}

/// The plan learnt for the awaited form; nullptr: none was awaited, or there is none.
std::shared_ptr<const KnownForm> MySqlSession::learn_form(const Learnt &learnt) {
  if (awaited_.key.form.empty() || (learnt.plan == nullptr && !learnt.final)) return nullptr;
  return cache_->learn(awaited_.key, learnt);
}

/// For a statement that is prepared now. Where its text cannot be looked up, its plan is its own.
void MySqlSession::note_prepared(const Learnt &learnt) {
  Prepared prepared{.plan = learnt.plan, .parameters = learnt.parameters, .dialect = session_->dialect()};
  const bool refused = awaited_.known != nullptr && awaited_.known->plan() == nullptr;
  if (awaited_.known == nullptr || (refused && learnt.plan != nullptr)) awaited_.known = learn_form(learnt);
  if (awaited_.known != nullptr) set_plan(prepared, awaited_.known);
  if (prepared.plan != nullptr) prepared.parameters = prepared.plan->values();
  else if (prepared.known == nullptr) return;
  prepared_.insert_or_assign(learnt.statement_id, std::move(prepared));
}

/// The command that was awaited has been served.
void MySqlSession::learn() {
  if (!session_->alive()) return;
  const Learnt &learnt = session_->learnt();
  switch (awaited_.command) {
    case query:
      if (learnt.statement_id == 0) learn_form(learnt);
      return;
    case prepare:
      prepared_last_ = learnt.statement_id;
      if (learnt.statement_id != 0) note_prepared(learnt);
      return;
    case execute: {
      const auto found = prepared_.find(awaited_.id);
      if (found == prepared_.end()) return;
      // If long data failed the server answers the error to each execution, until the statement is reset.
      if (learnt.statement_id != 0) found->second.long_data = false;
      else if (found->second.long_data) found->second.forget_types();
      found->second.cursor = awaited_.cursor;
      if (const auto known = learn_form(learnt); known != nullptr) set_plan(found->second, known);
      return;
    }
    case send_long_data:
      if (const auto found = prepared_.find(awaited_.id); found != prepared_.end()) found->second.long_data = true;
      return;
    case bulk_execute:
      if (learnt.statement_id == 0) return;  // the server offers this client no session
      if (const auto found = prepared_.find(awaited_.id); found != prepared_.end()) found->second.forget_types();
      return;
    case close_statement: forget(awaited_.id); return;
    case reset_statement:
      if (const auto found = prepared_.find(awaited_.id); found != prepared_.end()) found->second.long_data = false;
      return;
    case change_user:
    case reset_connection: forget_all(); return;
    case quit:
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

}  // namespace postern::sqldoor
