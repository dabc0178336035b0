// acted_server.h: ActedEngine, whose sessions play the server for a protocol session under test: they serve the
// statements that the test names, and learn a plan where the test says so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/executor.h"

namespace postern::sqldoor::testing {

struct ActedPlan final : Plan {
  explicit ActedPlan(uint32_t its_values) : count(its_values) {}
  uint32_t values() const override { return count; }
  const uint32_t count;
};

class ActedSession final : public ServerSession {
 public:
  bool log_in(int, bool) override { return is_alive = true; }
  bool serve(const Statement &statement) override {
    served.emplace_back(statement.packet);
    return is_alive;
  }
  void end(bool) override { is_alive = false; }
  bool leave(size_t bytes) override {
    left_with = bytes;
    return leaves;
  }
  bool alive() const override { return is_alive; }
  bool compressed() const override { return compresses; }
  int fd() const override { return -1; }
  void *tls() const override { return nullptr; }
  int64_t idle_limit_ms() const override { return 1000; }
  void time_out() override {}
  void interrupt() override {}
  uint64_t dialect() const override { return 1; }
  std::optional<TextRules> text_rules() const override { return TextRules{}; }
  const Learnt &learnt() const override { return last; }

  bool is_alive = false;
  bool compresses = false;
  bool leaves = false;
  size_t left_with = 0;  // bytes of the command
  std::vector<std::string> served;
  Learnt last;
};

class ActedEngine final : public Engine {
 public:
  bool up() const override { return true; }
  std::unique_ptr<Executor> attach(const ThreadIdentity &, const std::atomic<bool> &) override { return nullptr; }
  std::unique_ptr<ServerSession> host() override {
    auto made = std::make_unique<ActedSession>();
    session = made.get();
    return made;
  }

  ActedSession *session = nullptr;  // the one made last
};

}  // namespace postern::sqldoor::testing
