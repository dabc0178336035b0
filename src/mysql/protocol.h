// protocol.h: the MySQL protocol: the whole server through a door. What a client sees is made by the server, or copied
// from what the server made; this room cuts the client's bytes into commands and finds the plan of each.
#pragma once

#include <memory>

#include "contract/executor.h"
#include "contract/session.h"

namespace postern::mysql {

class MySql final : public Protocol {
 public:
  /// `engine` outlives it; a session may outlive both.
  explicit MySql(Engine &engine) : engine_(engine) {}

  std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override;
  void refuse(Output &output, Failure why) override;

 private:
  Engine &engine_;
};

}  // namespace postern::mysql
