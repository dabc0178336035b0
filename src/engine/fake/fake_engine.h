// fake_engine.h: FakeEngine, an engine over ordered tables in memory, for tests and tools.
//
// It keeps every promise of executor.h, and simulates faults on request: tables that DDL holds, storage engines that
// fail, a server that stops. Any thread may change tables at any time; executors belong to their threads.
//
//   FakeEngine engine;
//   engine.create("shop", "user", {{"id"}, {"name", FakeEngine::Type::text}}, {{"PRIMARY", {"id"}}});
//   engine.insert("shop", "user", {"1", "Ann"});
//   std::unique_ptr<Executor> executor = engine.attach({}, stop);
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "contract/executor.h"

namespace postern {

class FakeExecutor;

class FakeEngine final : public Engine {
 public:
  bool commits_may_wait() const override { return false; }

  enum class Type : uint8_t {
    integer,  ///< 64 bits, signed
    natural,  ///< 64 bits, unsigned
    real,     ///< a double; read as its shortest text
    text,     ///< compared without ASCII case and trailing blanks
    blob,     ///< compared as bytes; filters only with NULL
  };
  struct Column {
    std::string name;
    Type type = Type::integer;
    bool nullable = true;  ///< for keys: NULL has a position in the column's order
  };
  struct Index {
    std::string name;
    std::vector<std::string> columns;
    bool usable = true;  ///< false: it does not support lookups by key, like a FULLTEXT index
  };                     // the one named PRIMARY is unique
  enum class Kind : uint8_t { base, view };
  using Cell = std::optional<std::string>;  ///< without a value: NULL

  /// Random faults, in thousandths of the ops.
  struct Faults {
    uint64_t seed = 0;
    uint32_t busy = 0;    ///< the op's table is held by DDL
    uint32_t pause = 0;   ///< a find is more work than estimated
    uint32_t error = 0;   ///< the storage engine fails
    uint32_t locked = 0;  ///< another transaction has locked a row that the op changes
    uint32_t lost = 0;    ///< the transaction of a run with writes is lost
  };

  FakeEngine();
  ~FakeEngine() override;

  bool up() const override { return true; }
  std::unique_ptr<Executor> attach(const ThreadIdentity &who, const std::atomic<bool> &stop) override;

  /// Replaces the table if there is one.
  void create(Bytes database, Bytes table, std::vector<Column> columns, std::vector<Index> indexes,
              Kind kind = Kind::base);
  /// All rows in the order of the first index, for tests.
  std::vector<std::vector<Cell>> rows(Bytes database, Bytes table) const;
  /// One cell for each column. A cell of an integer column holds a number.
  void insert(Bytes database, Bytes table, const std::vector<Cell> &row);
  void drop(Bytes database, Bytes table);
  void rename_column(Bytes database, Bytes table, Bytes from, Bytes to);

  /// Accounts for logins; each may do everything with the tables granted to it.
  void create_account(Bytes user, Bytes password);
  void drop_account(Bytes user);
  void allow(Bytes user, Bytes database, Bytes table);
  void forbid(Bytes user, Bytes database, Bytes table);

  /// Whether DDL holds the table, so that its ops are busy.
  void set_busy(Bytes database, Bytes table, bool busy);
  /// Makes finds in the table fail with this error of the storage engine; 0: succeed again.
  void set_engine_error(Bytes database, Bytes table, int32_t code);
  /// Applies to executors attached from now on.
  void set_faults(const Faults &faults);
  /// The server goes down: wakes every executor's thread.
  void stop();

  /// Number of open indexes of all sessions.
  uint32_t bindings() const { return bindings_.load(); }
  /// Number of executors that have run something since they were last idle.
  uint32_t busy_executors() const { return busy_executors_.load(); }

 private:
  friend class FakeExecutor;
  struct StoredCell;
  struct Table;
  struct Account {
    std::string password;
    std::set<std::string, std::less<>> tables;  // by the key of tables_
  };

  template <class Change>
  void change(Bytes database, Bytes table, Change change);

  // Executors read under a shared lock during a run; changes wait for them.
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;  // by database, NUL, table
  std::map<std::string, Account, std::less<>> accounts_;               // by user
  std::vector<FakeExecutor *> executors_;
  uint64_t version_ = 0;  // of all definitions
  Faults faults_;
  bool stopping_ = false;
  std::atomic<uint32_t> bindings_{0};
  std::atomic<uint32_t> busy_executors_{0};
};

}  // namespace postern
