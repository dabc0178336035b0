// make_executor.h: make_executor(), one thread's way to the tables.
#pragma once

#include <atomic>
#include <memory>

#include "contract/executor.h"
#include "engine/engine.h"
#include "engine/server/thread.h"
#include "engine/sql/specs.h"

namespace postern::rows {

/// Each server's engine defines it. For the thread that has entered. `specs` and `stop` outlive it, as everything does
/// that `who` points to.
std::unique_ptr<Executor> make_executor(std::unique_ptr<ServerThread> thread, sql::Specs &specs,
                                        engine::LoginNames names, const ThreadIdentity &who,
                                        const std::atomic<bool> &stop);

}  // namespace postern::rows
