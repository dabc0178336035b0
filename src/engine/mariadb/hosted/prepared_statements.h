// prepared_statements.h: PreparedStatements, a session's prepared statements: those that the server has yet to prepare
// (thd/deferred_statements.h), and which definition of its table each has met.
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

/// Of one session. `dialect`: its context as it is now.
class PreparedStatements {
 public:
  /// Answers a COM_STMT_PREPARE in place of the server, by a plan, on the thread that is attached to the session. Sets
  /// `id` to the statement's.
  std::optional<NotNow> prepare(THD *thd, const Statement &statement, uint64_t dialect, uint32_t &id);
  /// Before a statement is answered in place of the server, with the session attached: the server knows, or will know,
  /// the types that its client has bound, also where it has to answer after all.
  void note_types(THD *thd, const Statement &statement);
  /// Whether the server has prepared, or run, the statement that is executed with the table as its plan knows it: else
  /// it would prepare it again.
  std::optional<NotNow> is_up_to_date(THD *thd, const Statement &statement) const;
  /// The metadata that the client has for the executed statement, as the server has noted it; nullopt: it caches none.
  static std::optional<ClientMetadata> client_metadata(THD *thd, Bytes packet);
  /// The note of an executed statement that the server has yet to prepare; nullptr: it has.
  ClientMetadata *deferred_metadata(THD *thd, Bytes packet);

  /// Whether the server need know of no deferred statement to serve the command.
  bool can_be_served_without(THD *thd, Bytes packet) const;
  /// Before the server serves the command: has it prepare the deferred statements that it then needs. False: it cannot
  /// prepare one, and the client has got the error; `learnt` says so.
  bool keep(THD *thd, Bytes packet, uint64_t dialect, Learnt &learnt);
  /// After that: which deferred statements are void.
  void note_served(THD *thd, Bytes packet);
  /// The server has run the statement that the command names, or prepared the one with the id, and has met that
  /// definition of its table; 0: nobody knows which.
  void note_version(THD *thd, Bytes packet, uint64_t version);
  void note_version(uint32_t id, uint64_t version) { versions_[id] = version; }
  void forget_version(THD *thd, Bytes packet) { versions_.erase(number_in(thd, packet)); }
  void clear() { deferred_.clear(); }

 private:
  /// Which statement of the server's a command names, that may mean the last one that was prepared.
  static uint32_t number_in(THD *thd, Bytes packet);

  DeferredStatements deferred_;
  std::unordered_map<uint32_t, uint64_t> versions_;  // of tables, as the server has met them last
};

}  // namespace postern::mariadb
