// shared_writes.h: SharedWrites, the recognised writes of the sessions in one turn, run in one transaction of the
// worker with one commit.
//
// No write is acknowledged before the commit. A statement that cannot be done so is left to the server, without a
// trace; if the transaction is lost, all of them are.
#pragma once

#include <optional>
#include <cstdint>
#include <functional>
#include <vector>

#include "contract/op.h"
#include "engine/mariadb/hosted/writes/change_row.h"
#include "engine/mariadb/hosted/thd/not_now.h"
#include "engine/mariadb/basics/row_wait.h"
#include "engine/mariadb/hosted/writes/write_plan.h"
#include "engine/rows/write_tables.h"

class THD;
struct rpl_gtid;
struct st_my_thread_var;

namespace postern::mariadb {

/// Owned by one executor.
class SharedWrites {
 public:
  SharedWrites(WriteTables &tables, RowWait &row_wait) : tables_(tables), row_wait_(row_wait) {}
  SharedWrites(const SharedWrites &) = delete;
  SharedWrites &operator=(const SharedWrites &) = delete;

  /// Takes a statement that its session allows: it waits for run(), and later statements of the same connection wait
  /// for the next run. Throws std::bad_alloc.
  void take(const Asked &asked, Op &op, const WritePlan &plan, const WritePlan::Learnt &known);
  bool any() const { return !writes_.empty(); }
  /// Called if the run is lost before the writes.
  void forget() { writes_.clear(); }

  /// Runs the taken statements in `thd`, which has nothing open. Statements that are done then have answers, and `done`
  /// is called for each; the others are left to the server. Throws nothing.
  void run(THD *thd, const std::function<void()> &give_up_all, const std::function<void(Op &)> &done) noexcept;

 private:
  struct Write {
    Op *op;
    THD *session;
    st_my_thread_var *mysys;  // the session's
    bool prepared;
    const WritePlan *plan;
    const WritePlan::Learnt *known;
    WriteTable *target = nullptr;
    Changed changed{};
    std::optional<NotNow> why = NotNow::table_busy;
  };

  /// The server's steps before and after a statement that has changed rows; the answer is built by the server's code.
  void answer(const Write &write, const rpl_gtid &gtid, uint64_t began_us);
  bool open(THD *thd, const std::function<void()> &give_up_all);
  bool change_all(THD *thd);
  std::optional<NotNow> change(THD *thd, Write &write);
  bool met_autoinc_lock(Write &write);
  bool change_and_commit(THD *thd, const std::function<void()> &give_up_all) noexcept;
  bool commit();
  void leave_all(NotNow why);

  WriteTables &tables_;
  RowWait &row_wait_;
  ChangeRow row_;
  std::vector<Write> writes_;
};

}  // namespace postern::mariadb
