#include "engine/mariadb/basics/server.h"

#include "engine/mariadb/hosted/hosted_session.h"

#include "engine/mariadb/hosted/thd/command.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/hosted/thd/session_statement.h"
#include "engine/mariadb/hosted/thd/deferred_statements.h"
#include "engine/mariadb/hosted/plans/table_plan.h"

namespace postern::mariadb {
namespace {

/// Whether the command begins with the number of a statement.
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

/// Whether the account has the plan's rights, and the table is the one that it was made for.
std::optional<NotNow> can_be_prepared(THD *thd, const TablePlan &plan, uint64_t version) {
  Dummy_error_handler silence;
  thd->push_internal_handler(&silence);
  const bool may = plan.is_granted(thd);
  thd->pop_internal_handler();
  if (!may) return NotNow::privilege;
  std::optional<NotNow> why = NotNow::table_busy;
  look_at_table(thd, {plan.rows().database, plan.rows().table}, [&](const TABLE &table) {
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

std::optional<NotNow> HostedSession::promise(const Statement &statement) {
  THD *const thd = thd_;
  const auto &plan = *static_cast<const TablePlan *>(statement.plan);
  if (!plan.holds()) return NotNow::plan_off;
  // The server does not prepare a write in a transaction that is read only.
  const std::optional<NotNow> refused = plan.writes() ? session_writes(thd) : std::nullopt;
  if (refused) return refused;
  const TablePlan::Prepared *const prepared = plan.prepared(thd);
  if (prepared == nullptr) return NotNow::not_learnt;
  thd->reset_for_next_command();
  thd->set_command(COM_STMT_PREPARE);
  thd->set_time();
  thd->set_query_id(next_query_id());
  thd->get_stmt_da()->opt_clear_warning_info(thd->query_id);
  std::optional<NotNow> why = can_be_prepared(thd, plan, prepared->deferred.version);
  uint32_t id = 0;
  if (!why) {
    id = deferred_.add(thd, statement.packet.substr(header_bytes + 1), dialect_, prepared->deferred);
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
    learnt_ = {};
    learnt_.statement_id = id;
  }
  thd->update_server_status();
  end_session_statement(thd);
  return why;
}

bool HostedSession::can_be_served_without(Bytes packet) const {
  if (command_of(packet) == COM_STMT_CLOSE) return true;
  if (names_statement(packet) && deferred_.meant(thd_, statement_id(packet)) != 0) return false;
  return !may_change_context(thd_, packet);
}

bool HostedSession::keep_promises(Bytes packet) {
  THD *const thd = thd_;
  if (deferred_.empty() || can_be_served_without(packet)) return true;
  const uint32_t id = names_statement(packet) ? deferred_.meant(thd, statement_id(packet)) : 0;
  if (id == 0) {
    deferred_.keep_all(thd, dialect_);
    return true;
  }
  Output error;
  if (deferred_.keep(thd, id, dialect_, error)) return true;
  // The error that the server would have met while it prepared the statement again, to execute it. An error in a part
  // of a parameter is reported only then.
  learnt_ = {};
  if (command_of(packet) == COM_STMT_EXECUTE) deferred_.bind(id, types_in(packet, deferred_.find(id)->parameters));
  const Bytes said = error.written_since(0);
  if (command_of(packet) == COM_STMT_SEND_LONG_DATA || said.empty()) return true;
  learnt_.failed = true;
  Vio *const vio = thd->net.vio;
  vio->write(vio, reinterpret_cast<const uchar *>(said.data()), said.size());
  return false;
}

void HostedSession::note_served(Bytes packet) {
  switch (command_of(packet)) {
    case COM_STMT_PREPARE: return deferred_.forget_last();
    case COM_STMT_CLOSE:
      versions_.erase(number_in(packet));
      if (deferred_.drop(deferred_.meant(thd_, statement_id(packet)))) ++thd_->status_var.com_stmt_close;
      return;
    case COM_CHANGE_USER:
    case COM_RESET_CONNECTION: versions_.clear(); return deferred_.clear();
    default: return;
  }
}

void HostedSession::note_types(const Statement &statement) {
  if (command_of(statement.packet) != COM_STMT_EXECUTE) return;
  const uint32_t id = statement_id(statement.packet);
  const Bytes types = types_in(statement.packet, statement.plan->values());
  if (const uint32_t deferred = deferred_.meant(thd_, id); deferred != 0) deferred_.bind(deferred, types);
  else bind_types(thd_, id, types);
}

uint64_t HostedSession::version_of(const Plan &plan) {
  return static_cast<const TablePlan &>(plan).version();
}

uint32_t HostedSession::number_in(Bytes packet) const {
  const uint32_t id = statement_id(packet);
  return id != last_prepared || thd_->last_stmt == nullptr ? id : static_cast<uint32_t>(thd_->last_stmt->id);
}

std::optional<NotNow> HostedSession::is_up_to_date(const Statement &statement) {
  const uint64_t version = version_of(*statement.plan);
  const uint32_t id = statement_id(statement.packet);
  if (const DeferredStatement *const deferred = deferred_.find(deferred_.meant(thd_, id)); deferred != nullptr)
    return deferred->version == version ? std::nullopt : std::optional(NotNow::table_changed);
  const auto found = versions_.find(number_in(statement.packet));
  if (found == versions_.end()) return NotNow::not_learnt;
  return found->second == version ? std::nullopt : std::optional(NotNow::table_changed);
}

std::optional<ClientMetadata> HostedSession::client_metadata(Bytes packet) const {
  if (!(thd_->client_capabilities & MARIADB_CLIENT_CACHE_METADATA) || command_of(packet) != COM_STMT_EXECUTE)
    return std::nullopt;
  return ClientMetadata::of(thd_, statement_id(packet));
}

}  // namespace postern::mariadb
