// mailbox.h: Mailbox, the subscriptions of one client and its published messages that are not sent yet, and Posting,
// one such message.
//
// Owned by its session and touched by one thread at a time. A message becomes a posting when its op is done, and is
// sent when the op's run has lasted: uncommitted changes are not announced.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "redis/messages/subscriptions.h"

namespace postern::redis {

struct Posting {
  ChannelKind kind = ChannelKind::channel;
  SharedMessage message{};
};

class Mailbox {
 public:
  /// `all` outlives it.
  explicit Mailbox(Subscriptions &all) : all_(all) {}

  /// Throws std::bad_alloc. `waker` outlives it.
  Subscriber &subscriber(Waker &waker) {
    if (subscriber_ == nullptr) subscriber_ = std::make_unique<Subscriber>(all_, waker);
    return *subscriber_;
  }
  /// nullptr: it has never subscribed.
  Subscriber *subscriber() { return subscriber_.get(); }
  bool is_subscribed() const { return subscriber_ != nullptr && subscriber_->has_any(); }
  /// Whether it is a MONITOR.
  bool is_monitor() const { return subscriber_ != nullptr && subscriber_->monitors(); }

  /// Lives until it is sent or taken back. Throws std::bad_alloc.
  void post(const Posting &posting) { outbox_.push_back(&posting); }
  void take_back(const Posting &posting) noexcept { std::erase(outbox_, &posting); }
  /// Sends the postings; their runs have lasted.
  void send_all() {
    for (const Posting *const posting : outbox_) all_.publish(posting->kind, posting->message);
    outbox_.clear();
  }

 private:
  Subscriptions &all_;
  std::unique_ptr<Subscriber> subscriber_;
  std::vector<const Posting *> outbox_;
};

}  // namespace postern::redis
