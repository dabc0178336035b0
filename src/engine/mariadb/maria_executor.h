// maria_executor.h: MariaExecutor, one thread's executor, with sessions for the SQL door.
#pragma once

#include "engine/mariadb/hosted/planned/kept_plans.h"
#include "engine/mariadb/hosted/reads/kept_table.h"
#include "engine/mariadb/hosted/thd/home_thd.h"
#include "engine/mariadb/hosted/writes/shared_writes.h"
#include "engine/runs/row_executor.h"
#include "engine/sql/texts/recent_housekeeping.h"

namespace postern::mariadb {

class HostedSession;

class MariaExecutor final : public rows::RowExecutor {
 public:
  MariaExecutor(std::unique_ptr<ServerThread> thread, sql::Specs &specs, engine::LoginNames names,
                const ThreadIdentity &who, const std::atomic<bool> &stop)
      : RowExecutor(std::move(thread), specs, names, who, stop), shared_(write_tables(), this->thread().row_wait()) {}
  ~MariaExecutor() override;

  Settlement run(const Run &run) override;
  void run_command(Op &op, bool answer_may_wait) override;
  void idle() noexcept override;
  int rest() noexcept override;
  void leave_thread() noexcept override { thread().leave(); }
  void enter_thread() noexcept override { thread().enter_again(); }
  void hide() noexcept override { thread().hide(); }

 private:
  void yield();
  void prepare_thread() override;
  void execute_statement(Op &op) override;
  void execute_statement(Op &op, HostedSession &session);
  void end_reading(const Settlement &settlement) override;
  bool has_statements_left() const override { return shared_.any(); }

  HomeThd home_;
  KeptPlans plans_{home_};
  ReadTables reads_{home_};
  SharedWrites shared_;
  sql::RecentHousekeeping recent_texts_;
};

}  // namespace postern::mariadb
