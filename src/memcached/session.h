// session.h: MemcachedSession, the protocol state of one connection: its container and its account.
//
// Owned by its connection and touched by one thread at a time. Small: a door has tens of thousands of them.
#pragma once

#include <cstdint>
#include <memory>

#include "contract/session.h"
#include "memcached/wire/binary_parser.h"
#include "items/open_container.h"
#include "memcached/lower.h"
#include "memcached/protocol.h"
#include "memcached/wire/text_framer.h"

namespace postern::memcached {

class MemcachedSession final : public Session {
 public:
  /// `protocol` and `output` outlive the session.
  MemcachedSession(Memcached &protocol, Output &output, const Peer &peer);

  /// The door's own ops (reading the mapping, opening a table, deleting expired items) are added with their requests,
  /// and may exceed `ops_max` by a few.
  Collected collect(Input &input, Batch &batch, uint32_t ops_max) override;
  void settled() override;

 private:
  bool refresh_mappings(Batch &batch, uint32_t ops_max);
  void use_newest_mappings();
  void erase_expired(const ReplyContext &with);
  Collected take_all(Input &input, uint32_t ops_max, const ReplyContext &with);
  Parsed take(Input &input, Request &request);
  /// False: nothing more may be taken until all earlier requests are settled.
  bool act(Request &request, const ReplyContext &with);
  void act_on_item(Request &request, const ReplyContext &with);
  void refuse(const Request &request, const ReplyContext &with);
  void drop_old_item(const Request &request, const ReplyContext &with);
  bool act_as_stranger(Request &request, const ReplyContext &with);
  OpenContainer *use(const Request &request, MultiGet *multi_get, const ReplyContext &with);
  OpenContainer *begin_use(const Request &request, MultiGet *multi_get, const ReplyContext &with);
  void open_container(OpenContainer &target, const ReplyContext &with);
  void act_in_memory(const Request &request, OpenContainer &target, MultiGet *multi_get, const ReplyContext &with);
  bool switch_container(Bytes name);
  MultiGet *multi_get_of(const Request &request, Arena &arena);
  bool knows_who() const { return identity_ == nullptr || identity_->account != nullptr; }

  Memcached &protocol_;
  Output &output_;
  std::unique_ptr<Identity> identity_;  // with Settings::accounts alone
  std::shared_ptr<const items::Snapshot> snapshot_;
  uint64_t generation_ = 0;              // of snapshot_
  std::unique_ptr<OpenContainer> open_;  // made when needed
  std::unique_ptr<Refresh> refresh_;     // under way
  MultiGet *multi_get_ = nullptr;        // a `get` that is not complete, in this batch
  TextFramer text_;
  BinaryParser binary_;
  enum class Framing : uint8_t { unknown, text, binary } framing_ = Framing::unknown;  // by the first byte
  bool multi_get_failed_ = false;                                                      // in an earlier batch
  bool chosen_ = false;                                                                // open_ was chosen by name
  bool lost_ = false;                                                                  // and no longer exists
  bool opening_ = false;                                                               // since the last settled()
};
static_assert(sizeof(MemcachedSession) <= 128);

}  // namespace postern::memcached
