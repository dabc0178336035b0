// fake_server.h: a server for connections that own a session of it: FakeServer, a protocol of lines that no worker
// answers, and what its sessions share with a test.
//
// Commands, one a line:   say TEXT      answers TEXT
//                         become NAME   its account is NAME from now on; answers `ok`
//                         hold          lasts until FakeServer::let_go or until it is interrupted; answers `held`
//                         wait          the same, and says that it waits
//                         endless       the same, and is known to last before it begins
//                         write         answers `written`; may commit, which may wait
//                         act           calls FakeServer::act; answers `acted`
//                         quit          ends the session
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "contract/executor.h"
#include "contract/server_session.h"
#include "contract/session.h"

namespace postern::door {

/// The state of all sessions that a test sets and sees.
struct FakeServerState {
  std::atomic<bool> lets_in = true;
  std::atomic<bool> let_go = false;
  std::atomic<int64_t> idle_limit_ms = 3'600'000;
  std::atomic<bool> in_transaction = false;
  std::atomic<int> holding = 0;
  std::atomic<int> timed_out = 0;
  std::atomic<int> ended = 0;
  std::function<void()> act;
};

class FakeServerSession final : public ServerSession {
 public:
  explicit FakeServerSession(FakeServerState &state) : state_(state) {}
  ~FakeServerSession() override { end(false); }

  bool log_in(int fd, bool) override {
    fd_ = fd;
    alive_ = state_.lets_in;
    tell(alive_ ? "hello" : "go away");
    return alive_;
  }
  bool serve(const Statement &statement) override {
    const std::string_view line = statement.packet.substr(0, statement.packet.size() - 1);
    if (line.starts_with("say ")) return tell(line.substr(4));
    if (line.starts_with("become ")) {
      account_ = line.substr(7);
      return tell("ok");
    }
    if (line == "write") return tell("written");
    if (line == "act") {
      state_.act();
      return tell("acted");
    }
    if (line != "hold" && line != "wait" && line != "endless") return false;
    ++state_.holding;
    if (line == "wait" && statement.listener != nullptr) statement.listener->thread_waits();
    while (!state_.let_go && !interrupted_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --state_.holding;
    return !interrupted_ && tell("held");
  }
  void end(bool) override {
    if (fd_ < 0) return;
    ::close(fd_);
    fd_ = -1;
    alive_ = false;
    ++state_.ended;
  }
  bool alive() const override { return alive_; }
  bool compressed() const override { return false; }
  int fd() const override { return fd_; }
  void *tls() const override { return nullptr; }
  uint64_t number() const override { return 4'711; }
  std::string account() const override { return account_; }
  int64_t idle_limit_ms() const override { return state_.idle_limit_ms; }
  void time_out() override { ++state_.timed_out; }
  void interrupt() override { interrupted_ = true; }
  uint64_t dialect() const override { return 1; }
  Prospect prospect(const Statement &statement) const override {
    return {.kind = static_cast<unsigned char>(statement.packet.front()),
            .may_commit = statement.packet.starts_with("write"),
            .endless = statement.packet.starts_with("endless")};
  }
  bool in_transaction() const override { return state_.in_transaction; }
  const Learnt &learnt() const override { return learnt_; }

 private:
  bool tell(std::string_view words) {
    const std::string line = std::string(words) + "\n";
    return ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
  }

  FakeServerState &state_;
  int fd_ = -1;
  bool alive_ = false;
  std::atomic<bool> interrupted_ = false;
  std::string account_ = "alice";
  Learnt learnt_;
};

class FakeServerConnection final : public Session {
 public:
  FakeServerConnection(FakeServerState &state, Output &output)
      : session_(std::make_unique<FakeServerSession>(state)), output_(output) {}

  Collected collect(Input &input, Batch &batch, uint32_t) override {
    if (!session_->alive()) {
      if (std::exchange(greeted_, true)) return Collected::close;
      add(batch, {}, input);
      return Collected::wait;
    }
    const std::span<char> bytes = input.unparsed();
    const size_t end = Bytes(bytes.data(), bytes.size()).find('\n');
    if (end == Bytes::npos) return Collected::need_more;
    input.consume(end + 1);
    add(batch, {bytes.data(), end + 1}, input);
    return Collected::wait;
  }
  void settled() override {}
  ServerSession *server_session() const override { return session_.get(); }

 private:
  class NoReply final : public Reply {
   public:
    Flow row(Row) override { return Flow::more; }
    void done(const Outcome &) override {}
    void restart() override {}
  };

  void add(Batch &batch, Bytes packet, Input &input) {
    Op &op = batch.add();
    op.verb = Verb::statement;
    op.statement = batch.arena().make<Statement>(
        Statement{.session = session_.get(), .packet = packet, .rest = &input, .output = &output_});
    op.reply = batch.arena().make<NoReply>();
  }

  const std::unique_ptr<FakeServerSession> session_;
  Output &output_;
  bool greeted_ = false;
};

class FakeServer final : public Protocol {
 public:
  std::unique_ptr<Session> open_session(Output &output, const Peer &) override {
    return std::make_unique<FakeServerConnection>(state, output);
  }
  TlsBegins tls_begins() const override { return TlsBegins::when_asked; }
  void refuse(Output &, Failure) override {}

  FakeServerState state;
};

}  // namespace postern::door
