// protocol.h: HandlerSocket, the protocol of one HandlerSocket port.
//
// Owned by the code that opens the port; outlives every session it opens. Any thread may call open_session(), and
// change those settings that may change.
//
//   handlersocket::HandlerSocket protocol({.access = Access::read, .secret = "open sesame"});
//   std::unique_ptr<Session> session = protocol.open_session(output, peer);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/changing.h"
#include "base/limits.h"
#include "contract/executor.h"
#include "contract/session.h"
#include "handlersocket/encoder.h"
#include "handlersocket/refusal.h"
#include "handlersocket/secret.h"

namespace postern::handlersocket {

struct Settings {
  /// read: modifications are refused before they reach the engine.
  Access access = Access::read;
  /// The secret that a client has to send before anything else; empty for none. Ignored if `accounts` is set.
  Secret secret{};
  /// Clients log in as accounts of the server, with their grants.
  bool accounts = false;
  Changing<size_t> request_bytes_max = limits::request_bytes_max;
  Changing<uint32_t> open_indexes_max = limits::open_indexes_max;
  Changing<uint32_t> key_values_max = limits::key_values_max;
  Changing<ErrorStyle> errors = ErrorStyle::compatible;
};

class HandlerSocket final : public Protocol {
 public:
  explicit HandlerSocket(Settings settings) : settings_(std::move(settings)) {}

  std::unique_ptr<Session> open_session(Output &output, const Peer &peer) override;
  void refuse(Output &output, Failure why) override;

  const Settings &settings() const { return settings_; }
  /// Takes over the secret and the Changing settings. Any thread.
  void change(const Settings &settings);
  /// The refusals of its sessions. Any thread may count and sum.
  Refusals &refusals() { return refusals_; }
  const Refusals &refusals() const { return refusals_; }

 private:
  Settings settings_;  // change() changes some of them
  Refusals refusals_;
};

}  // namespace postern::handlersocket
