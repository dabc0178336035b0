// promised.h: PromisedStatements, the prepared statements that a client has and the server does not have yet.
//
// A statement that the like of it has been prepared before is promised: the client is told its number, the one that
// the server would have given it, and what the server has told of the others. As long as a worker answers its
// executions nobody needs more. When somebody does, the server prepares it, under its number, and never knows that it
// is late. What is promised counts as prepared (Prepared_stmt_count).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/bytes.h"
#include "base/output.h"

class THD;
struct charset_info_st;

namespace postern::mariadb {

/// What a statement's client has been told of the columns of its answers, where it may be told once and not again
/// (MARIADB_CLIENT_CACHE_METADATA): the server's own note of it, send_column_info_state.
struct ColumnsTold {
  const charset_info_st *client = nullptr;
  uint32_t checksum = 0;
  bool immutable = false;
  bool initialized = false;

  /// As the server has noted it of a statement of its own; of none if there is no such statement.
  static ColumnsTold of(THD *thd, uint32_t id);
  /// Whether the server would tell them no more.
  bool holds(const THD *thd) const;
};

/// What holds of a statement that is promised.
struct Promised {
  uint64_t version = 0;     ///< of its table, TABLE_SHARE::get_table_ref_version()
  uint64_t definition = 0;  ///< definition_of() its table
  uint32_t parameters = 0;
  ColumnsTold columns{};
};

/// Of one session; for the thread that is attached to it.
class PromisedStatements {
 public:
  PromisedStatements() = default;
  ~PromisedStatements() { clear(); }
  PromisedStatements(const PromisedStatements &) = delete;
  PromisedStatements &operator=(const PromisedStatements &) = delete;

  bool empty() const { return statements_.empty(); }
  /// Promises the statement with this text. Its number; 0: there are as many statements as there may be.
  uint32_t add(THD *thd, Bytes text, uint64_t dialect, const Promised &promised);
  /// Which statement is meant by a number in a command, that may mean the last one that was prepared. 0: none here.
  uint32_t meant(const THD *thd, uint32_t id) const;
  /// nullptr: it is not promised.
  Promised *find(uint32_t id);
  /// Its client has bound these types to its parameters, two bytes each as they are on the wire; none: those that they
  /// have.
  void bind(uint32_t id, Bytes types);
  /// False if it is not promised.
  bool drop(uint32_t id);
  /// The server has prepared one itself, or failed to: that is the last one.
  void forget_last() { last_ = 0; }
  void clear();
  /// Has the server prepare the statement, in the session as it was when it was promised, for `dialect` is the same;
  /// else, and where nothing was promised, nothing happens. False: the server cannot, and says why in `error`, a
  /// packet; the promise still holds.
  bool keep(THD *thd, uint32_t id, uint64_t dialect, Output &error);
  /// All of them, as far as the server can.
  void keep_all(THD *thd, uint64_t dialect);

 private:
  struct Promise {
    std::string text;
    uint64_t dialect;
    Promised promised;
    uint64_t time;        // as the server notes when it has prepared one
    std::string types{};  // of its parameters; empty: not bound yet
  };

  static bool count_one(bool whatever);
  static void count_less(size_t statements);

  std::unordered_map<uint32_t, Promise> statements_;
  uint32_t last_ = 0;  // the last one that was promised
};

/// A number for a table's definition, by what the server calls its version.
uint64_t definition_of(Bytes tabledef_version);

/// A statement that the server has gets types for its parameters, as if it were executed with them; none: as above.
void bind_types(THD *thd, uint32_t id, Bytes types);

/// What a command that begins with the number of a statement says; 0: none.
uint32_t statement_id(Bytes packet);

/// Whether the command may change what the text of a statement means that is prepared behind it.
bool may_change_context(THD *thd, Bytes packet);

}  // namespace postern::mariadb
