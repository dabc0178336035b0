#include "engine/mysql/server.h"

#include "engine/runs/make_executor.h"

#include "engine/runs/row_executor.h"

namespace postern::mysqld {
namespace {

class MysqlExecutor final : public RowExecutor {
 public:
  using RowExecutor::RowExecutor;

  Settlement run(const Run &run) override {
    if (!thread().killed() && thread().has_old_globals()) renew();
    return RowExecutor::run(run);
  }
};

}  // namespace

}  // namespace postern::mysqld

namespace postern::rows {

std::unique_ptr<Executor> make_executor(std::unique_ptr<ServerThread> thread, sql::Specs &specs,
                                        engine::LoginNames names, const ThreadIdentity &who,
                                        const std::atomic<bool> &stop) {
  return std::make_unique<MysqlExecutor>(std::move(thread), specs, names, who, stop);
}

}  // namespace postern::rows
