// prepared_statements.h: PreparedStatements, a session's prepared statements: those that the server has not prepared
// yet (thd/deferred_statements.h), and the definition of its table that each has met.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/bytes.h"
#include "base/output.h"
#include "contract/server_session.h"
#include "engine/mariadb/hosted/plans/statement_plan.h"
#include "engine/mariadb/hosted/thd/deferred_statements.h"
#include "engine/mariadb/hosted/thd/not_now.h"

class THD;

namespace postern::mariadb {

/// Owned by one session. `dialect`: its present context.
class PreparedStatements {
 public:
  /// Answers a COM_STMT_PREPARE in place of the server, by a plan, on the thread that is attached to the session. Sets
  /// `id` to that of the statement.
  std::optional<NotNow> prepare(THD *thd, const Statement &statement, uint64_t dialect, uint32_t &id);
  /// Called before a statement is answered in place of the server, with the session attached: passes the parameter
  /// types that the client has bound on to the server, in case it has to answer after all.
  void note_types(THD *thd, const Statement &statement);
  /// Whether the server has prepared, or run, the executed statement with the table definition of its plan: otherwise
  /// it would prepare it again.
  std::optional<NotNow> is_up_to_date(THD *thd, const Statement &statement) const;
  /// The metadata that the client has cached for the executed statement, by the server's note; nullopt: it caches none.
  static std::optional<ClientMetadata> client_metadata(THD *thd, Bytes packet);
  /// The note of an executed statement that is still deferred; nullptr: it is not.
  ClientMetadata *deferred_metadata(THD *thd, Bytes packet);

  /// Whether the server can serve the command without any deferred statement.
  bool can_be_served_without(THD *thd, Bytes packet) const;
  /// Called before the server serves the command: makes it prepare the deferred statements that it needs. False: one
  /// could not be prepared, and the client has got the error, noted in `learnt`.
  bool keep(THD *thd, Bytes packet, uint64_t dialect, Learnt &learnt);
  /// Called after that: drops deferred statements that have become invalid.
  void note_served(THD *thd, Bytes packet);
  /// Notes that the server has run the command's statement, or prepared the one with the id, with this definition of
  /// its table; 0: unknown.
  void note_version(THD *thd, Bytes packet, uint64_t version);
  void note_version(uint32_t id, uint64_t version) { versions_[id] = version; }
  void forget_version(THD *thd, Bytes packet) { versions_.erase(number_in(thd, packet)); }
  void clear() { deferred_.clear(); }

 private:
  /// The server's statement that a command names, which may be the last one prepared.
  static uint32_t number_in(THD *thd, Bytes packet);

  DeferredStatements deferred_;
  std::unordered_map<uint32_t, uint64_t> versions_;  // definitions of tables that the server met last
};

}  // namespace postern::mariadb
