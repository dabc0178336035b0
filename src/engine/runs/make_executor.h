// make_executor.h: make_executor(), which makes one thread's executor.
#pragma once

#include <atomic>
#include <memory>

#include "contract/executor.h"
#include "engine/engine.h"
#include "engine/server/thread.h"
#include "engine/sql/specs.h"

namespace postern::rows {

/// Defined by each server's engine. Called on the executor's thread. `specs`, `stop` and everything that `who` points
/// to outlive it.
std::unique_ptr<Executor> make_executor(std::unique_ptr<ServerThread> thread, sql::Specs &specs,
                                        engine::LoginNames names, const ThreadIdentity &who,
                                        const std::atomic<bool> &stop);

}  // namespace postern::rows
