// session.h: HandlerSocketSession, the protocol state of one connection: whether it may ask, and what its index
// ids stand for.
//
// Owned by its connection and touched by one thread at a time. Small: a door has tens of thousands of them.
#pragma once

#include <cstdint>

#include "contract/session.h"
#include "handlersocket/lower.h"
#include "handlersocket/open_indexes.h"
#include "handlersocket/parser.h"
#include "handlersocket/protocol.h"

namespace postern::handlersocket {

class HandlerSocketSession final : public Session {
 public:
  /// `protocol`, `output` and `peer` outlive the session.
  HandlerSocketSession(HandlerSocket &protocol, Output &output, const Peer &peer);

  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override;
  void settled() override;

 private:
  /// False: this is no client, and there is nothing to be said to it.
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
  std::unique_ptr<Identity> identity_;  // with Settings::accounts alone
  [[no_unique_address]] OpenIndexes indexes_;
  bool authorized_;
  bool opened_ = false;  // since the last settled()
};
static_assert(sizeof(HandlerSocketSession) <= 56);

}  // namespace postern::handlersocket
