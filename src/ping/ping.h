// ping.h: the smallest door, and the one to read first: every line is answered with one fixed line.
//
// It shows the parts of a protocol (Protocol, Session, Reply) and costs only the network and the worker, so it is the
// floor in every benchmark.
#pragma once

#include <memory>
#include <string>

#include "contract/session.h"

namespace postern::ping {

class Ping final : public Protocol {
 public:
  /// `answer` without its line end.
  explicit Ping(std::string answer = "pong") : answer_(std::move(answer) + "\n") {}
  std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override;
  void refuse(Output &output, Failure why) override;

 private:
  const std::string answer_;
};

}  // namespace postern::ping
