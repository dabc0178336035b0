// letters.h: Message, published by a client, and Letter, a message on its way to one subscriber.
//
// A message is encoded once. All receivers share it, on any thread: it never changes.
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/output.h"
#include "base/pool.h"
#include "redis/wire/writer.h"

namespace postern::redis {

/// Three independent name spaces, except that patterns match channels.
enum class ChannelKind : uint8_t { channel, pattern, shard };

struct Message {
  std::string channel{};
  std::string body{};  ///< the channel and the payload, as they are sent
  pool::Charge charge{};
};
using SharedMessage = std::shared_ptr<const Message>;
/// nullptr: out of memory. Throws std::bad_alloc.
SharedMessage make_message(Bytes channel, Bytes payload);

struct Letter {
  std::shared_ptr<const std::string> head;  ///< the bytes before the body, except the first; nullptr: none
  SharedMessage message;

  /// Its share of the receiver's bound.
  size_t bytes() const { return sizeof(Letter) + (head != nullptr ? head->size() : 0) + message->body.size(); }
  void write(Output &output, Resp resp) const {
    if (head != nullptr) {
      output.put(resp == Resp::three ? '>' : '*');
      output.put(*head);
    }
    output.put(message->body);
  }
};

}  // namespace postern::redis
