// deferred_statements.h: DeferredStatements, the prepared statements of a session that the server has not prepared yet.
//
// PREPARE of a text that was prepared before is answered from memory: the id that the server would assign, and the
// metadata that it sent last time. As long as workers answer the executions, nothing more is needed. Before the server
// has to serve a command on the statement it prepares it, under the same id, as if at the time of PREPARE. Deferred
// statements count as prepared (Prepared_stmt_count).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/bytes.h"
#include "base/output.h"

class THD;
struct charset_info_st;

namespace postern::mariadb {

/// Column metadata that the client already has and need not be sent again (MARIADB_CLIENT_CACHE_METADATA): the server's
/// own note of it, send_column_info_state.
struct ClientMetadata {
  const charset_info_st *client = nullptr;
  uint32_t checksum = 0;
  bool immutable = false;
  bool initialized = false;

  /// The server's note for one of its statements; empty if there is no such statement.
  static ClientMetadata of(THD *thd, uint32_t id);
  /// Whether the server would leave the metadata out.
  bool holds(const THD *thd) const;
};

/// A statement that the server has not prepared yet.
struct DeferredStatement {
  uint64_t version = 0;     ///< of its table, TABLE_SHARE::get_table_ref_version()
  uint64_t definition = 0;  ///< definition_of() its table
  uint32_t parameters = 0;
  uint32_t columns_listed = 0;  ///< columns_listed_by() of a statement with this text that the server has prepared
  ClientMetadata columns{};
};

/// Owned by one session; for the thread that is attached to it.
class DeferredStatements {
 public:
  DeferredStatements() = default;
  ~DeferredStatements() { clear(); }
  DeferredStatements(const DeferredStatements &) = delete;
  DeferredStatements &operator=(const DeferredStatements &) = delete;

  bool empty() const { return statements_.empty(); }
  /// Adds the statement with this text. Returns its id; 0: the limit of statements is reached.
  uint32_t add(THD *thd, Bytes text, uint64_t dialect, const DeferredStatement &deferred);
  /// Maps the id in a command, which may mean the statement prepared last, to an id here. 0: none.
  uint32_t meant(const THD *thd, uint32_t id) const;
  /// nullptr: it is not deferred.
  DeferredStatement *find(uint32_t id);
  const DeferredStatement *find(uint32_t id) const;
  /// Notes the parameter types that its client has bound, two bytes each as on the wire; empty: the earlier ones.
  void bind(uint32_t id, Bytes types);
  /// False if it is not deferred.
  bool drop(uint32_t id);
  /// The server has prepared a statement itself, or failed to: that is the last one.
  void forget_last() { last_ = 0; }
  void clear();
  /// Makes the server prepare the statement, if it is deferred and `dialect` is still that of its PREPARE; otherwise
  /// does nothing. False: the server failed, with `error` as its error packet; the statement stays deferred.
  bool keep(THD *thd, uint32_t id, uint64_t dialect, Output &error);
  /// Makes the server prepare all of them, as far as it can.
  void keep_all(THD *thd, uint64_t dialect);

 private:
  struct Entry {
    std::string text;
    uint64_t dialect;
    DeferredStatement deferred;
    uint64_t time;        // the server's metadata note after preparing one
    std::string types{};  // types of its parameters; empty: not bound yet
  };

  static bool count_one(bool whatever);
  static void count_less(size_t statements);

  std::unordered_map<uint32_t, Entry> statements_;
  uint32_t last_ = 0;  // the last one added
};

/// The number of columns in the metadata of a statement that the server has prepared; 0: no such statement.
uint32_t columns_listed_by(THD *thd, uint32_t id);

/// A hash of a table's definition, from the server's version of it.
uint64_t definition_of(Bytes tabledef_version);

/// Gives a statement of the server types for its parameters, as if it were executed with them; none: as above.
void bind_types(THD *thd, uint32_t id, Bytes types);

/// The id of the statement at the beginning of a command; 0: none.
uint32_t statement_id(Bytes packet);

/// Whether the command may change the meaning of statements prepared after it.
bool may_change_context(THD *thd, Bytes packet);

}  // namespace postern::mariadb
