// session.h: HandlerSocketSession, the protocol state of one connection: its authorization and its open indexes.
//
// Owned by its connection and touched by one thread at a time. Small: a door has tens of thousands of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/slab.h"
#include "contract/access.h"
#include "contract/session.h"
#include "handlersocket/lower.h"
#include "handlersocket/open_indexes.h"
#include "handlersocket/parser.h"
#include "handlersocket/protocol.h"

namespace postern::handlersocket {

class HandlerSocketSession : public Session {
 public:
  /// `protocol`, `output` and `peer` outlive the session.
  HandlerSocketSession(HandlerSocket &protocol, Output &output, const Peer &peer);

  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override;
  void settled() override;

  /// There are tens of thousands of them, close together.
  static void *operator new(size_t bytes) { return slab_of<HandlerSocketSession>.take(bytes); }
  static void operator delete(void *session, size_t bytes) noexcept {
    slab_of<HandlerSocketSession>.give_back(session, bytes);
  }

 protected:
  /// Only for a door with Settings::accounts.
  virtual Identity *identity() { return nullptr; }

 private:
  /// False: the peer is no HandlerSocket client, and gets no answer.
  bool take_line(char *line, char *end, Batch &batch);
  void open_index(Tokens &tokens, Batch &batch);
  void authenticate(Tokens &tokens, Batch &batch);
  void log_in(Tokens &tokens, Batch &batch);
  void act_on_index(Bytes id, Tokens &tokens, Batch &batch);
  void answer_anybody(Failure failure, Batch &batch);
  void answer(Reason reason, Batch &batch, TableSlot *slot = nullptr);
  const Settings &settings() const { return protocol_.settings(); }
  Replies replies() const { return {output_, settings().errors, protocol_.refusals()}; }

  HandlerSocket &protocol_;
  Output &output_;
  const Peer &peer_;
  [[no_unique_address]] OpenIndexes indexes_;
  bool authorized_;
  bool opened_ = false;  // since the last settled()
};
static_assert(sizeof(HandlerSocketSession) <= 48);

/// A session with a login as an account.
class AccountSession final : public HandlerSocketSession {
 public:
  AccountSession(HandlerSocket &protocol, Output &output, const Peer &peer)
      : HandlerSocketSession(protocol, output, peer), identity_{peer} {}

 private:
  Identity *identity() override { return &identity_; }

  Identity identity_;
};

}  // namespace postern::handlersocket
