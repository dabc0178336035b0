// mailbox.h: Mailbox, the subscriptions of one client and the messages that it has published and not yet sent, and
// Posting, one such message.
//
// Owned by its session and touched by one thread at a time. A message is a posting when its op is done, and leaves when
// the run that this was in has lasted: nobody hears of an uncommitted change.
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
  /// nullptr: it has never subscribed to anything.
  Subscriber *subscriber() { return subscriber_.get(); }
  bool is_subscribed() const { return subscriber_ != nullptr && subscriber_->has_any(); }
  /// Whether it sees commands: MONITOR.
  bool is_monitor() const { return subscriber_ != nullptr && subscriber_->monitors(); }

  /// Lives until it is sent or taken back. Throws std::bad_alloc.
  void post(const Posting &posting) { outbox_.push_back(&posting); }
  void take_back(const Posting &posting) noexcept { std::erase(outbox_, &posting); }
  /// Its postings have lasted.
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
