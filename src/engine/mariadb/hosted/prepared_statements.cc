#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/prepared_statements.h"

#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/thd/session_statement.h"

namespace postern::mariadb {
namespace {

/// Whether the command begins with a statement id.
bool names_statement(Bytes packet) {
  switch (command_of(packet)) {
    case COM_STMT_EXECUTE:
    case COM_STMT_BULK_EXECUTE:
    case COM_STMT_SEND_LONG_DATA:
    case COM_STMT_CLOSE:
    case COM_STMT_RESET:
    case COM_STMT_FETCH: return true;
    default: return false;
  }
}

/// While one lives the session notes no errors.
class Silence {
 public:
  explicit Silence(THD *thd) : thd_(thd) { thd->push_internal_handler(&handler_); }
  ~Silence() { thd_->pop_internal_handler(); }
  Silence(const Silence &) = delete;
  Silence &operator=(const Silence &) = delete;

 private:
  THD *const thd_;
  Dummy_error_handler handler_;
};

/// Whether the account has the plan's rights, and the table still has the plan's definition.
std::optional<NotNow> can_be_prepared(THD *thd, const StatementPlan &plan, uint64_t version) {
  bool may = false;
  {
    const Silence silence(thd);
    may = plan.is_granted(thd);
  }
  if (!may) return NotNow::privilege;
  std::optional<NotNow> why = NotNow::table_busy;
  const StatementPlan::Table names = plan.table();
  look_at_table(thd, {names.database, names.name}, [&](const TABLE &table) {
    why = table.s->get_table_ref_version() == version ? std::nullopt : std::optional(NotNow::table_changed);
  });
  return why;
}

/// The types that an execution of a statement with so many parameters binds to them; empty: none.
Bytes types_in(Bytes execution, uint32_t parameters) {
  constexpr size_t nulls_at = header_bytes + 10;
  const size_t bound_at = nulls_at + (parameters + 7) / 8;
  const size_t types_bytes = size_t{2} * parameters;
  if (parameters == 0 || execution.size() < bound_at + 1 + types_bytes || execution[bound_at] != 1) return {};
  return execution.substr(bound_at + 1, types_bytes);
}

}  // namespace

uint32_t statement_id(Bytes packet) {
  if (packet.size() < header_bytes + 5) return 0;
  return uint4korr(reinterpret_cast<const uchar *>(packet.data() + header_bytes + 1));
}

std::optional<NotNow> PreparedStatements::prepare(THD *thd, const Statement &statement, uint64_t dialect,
                                                  uint32_t &id) {
  const StatementPlan &plan = *plan_of(statement);
  if (!plan.holds()) return NotNow::plan_off;
  const PreparedAnswer *const prepared = plan.prepared(thd);
  if (prepared == nullptr) return NotNow::not_learnt;
  const SessionCommand running(thd, COM_STMT_PREPARE);
  std::optional<NotNow> why = can_be_prepared(thd, plan, prepared->deferred.version);
  if (!why) {
    id = deferred_.add(thd, statement.packet.substr(header_bytes + 1), dialect, prepared->deferred);
    if (id == 0) why = NotNow::statement_limit;
  }
  if (!why) {
    const Output::Mark start = statement.output->mark();
    prepared->answer.put(*statement.output, id, static_cast<uint16_t>(thd->server_status));
    STATUS_VAR &counts = thd->status_var;
    ++counts.com_stmt_prepare;
    ++counts.table_open_cache_hits;
    counts.bytes_received += statement.packet.size();
    counts.bytes_sent += statement.output->mark() - start;
  }
  thd->update_server_status();
  return why;
}

bool PreparedStatements::can_be_served_without(THD *thd, Bytes packet) const {
  if (deferred_.empty() || command_of(packet) == COM_STMT_CLOSE) return true;
  if (names_statement(packet) && deferred_.meant(thd, statement_id(packet)) != 0) return false;
  return !may_change_context(thd, packet);
}

bool PreparedStatements::keep(THD *thd, Bytes packet, uint64_t dialect, Learnt &learnt) {
  if (can_be_served_without(thd, packet)) return true;
  const uint32_t id = names_statement(packet) ? deferred_.meant(thd, statement_id(packet)) : 0;
  if (id == 0) {
    deferred_.keep_all(thd, dialect);
    return true;
  }
  Output error;
  if (deferred_.keep(thd, id, dialect, error)) return true;
  // The error that the server would have met while preparing the statement again for execution. An error in long data
  // is reported only then.
  learnt = {};
  if (command_of(packet) == COM_STMT_EXECUTE) deferred_.bind(id, types_in(packet, deferred_.find(id)->parameters));
  const Bytes said = error.written_since(0);
  if (command_of(packet) == COM_STMT_SEND_LONG_DATA || said.empty()) return true;
  learnt.failed = true;
  Vio *const vio = thd->net.vio;
  vio->write(vio, reinterpret_cast<const uchar *>(said.data()), said.size());
  return false;
}

void PreparedStatements::note_served(THD *thd, Bytes packet) {
  switch (command_of(packet)) {
    case COM_STMT_PREPARE: return deferred_.forget_last();
    case COM_STMT_CLOSE:
      forget_version(thd, packet);
      if (deferred_.drop(deferred_.meant(thd, statement_id(packet)))) ++thd->status_var.com_stmt_close;
      return;
    case COM_CHANGE_USER:
    case COM_RESET_CONNECTION: versions_.clear(); return deferred_.clear();
    default: return;
  }
}

void PreparedStatements::note_version(THD *thd, Bytes packet, uint64_t version) {
  versions_[number_in(thd, packet)] = version;
}

void PreparedStatements::note_types(THD *thd, const Statement &statement) {
  if (command_of(statement.packet) != COM_STMT_EXECUTE) return;
  const uint32_t id = statement_id(statement.packet);
  const Bytes types = types_in(statement.packet, statement.plan->values());
  if (const uint32_t deferred = deferred_.meant(thd, id); deferred != 0) deferred_.bind(deferred, types);
  else bind_types(thd, id, types);
}

uint32_t PreparedStatements::number_in(THD *thd, Bytes packet) {
  const uint32_t id = statement_id(packet);
  return id != last_prepared || thd->last_stmt == nullptr ? id : static_cast<uint32_t>(thd->last_stmt->id);
}

std::optional<NotNow> PreparedStatements::is_up_to_date(THD *thd, const Statement &statement) const {
  const uint64_t version = plan_of(statement)->version();
  const uint32_t id = statement_id(statement.packet);
  if (const DeferredStatement *const deferred = deferred_.find(deferred_.meant(thd, id)); deferred != nullptr)
    return deferred->version == version ? std::nullopt : std::optional(NotNow::table_changed);
  const auto found = versions_.find(number_in(thd, statement.packet));
  if (found == versions_.end()) return NotNow::not_learnt;
  return found->second == version ? std::nullopt : std::optional(NotNow::table_changed);
}

std::optional<ClientMetadata> PreparedStatements::client_metadata(THD *thd, Bytes packet) {
  if (!(thd->client_capabilities & MARIADB_CLIENT_CACHE_METADATA) || command_of(packet) != COM_STMT_EXECUTE)
    return std::nullopt;
  return ClientMetadata::of(thd, statement_id(packet));
}

ClientMetadata *PreparedStatements::deferred_metadata(THD *thd, Bytes packet) {
  DeferredStatement *const deferred = deferred_.find(deferred_.meant(thd, statement_id(packet)));
  return deferred != nullptr ? &deferred->columns : nullptr;
}

}  // namespace postern::mariadb
