// notices.h: keyspace notifications. NoticeClasses, the classes that are enabled; Notice, one event of a key; and
// Notices, a session's notifications that are not sent yet.
//
// A notice is noted when its command is done, and sent when the command's run has lasted.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "redis/messages/subscriptions.h"

namespace postern::redis {

/// Bits, as the letters of notify-keyspace-events.
namespace NoticeClass {
enum : uint32_t {
  generic = 1 << 0,
  string = 1 << 1,
  list = 1 << 2,
  set = 1 << 3,
  hash = 1 << 4,
  sorted_set = 1 << 5,
  expired = 1 << 6,
  evicted = 1 << 7,
  stream = 1 << 8,
  module = 1 << 9,
  by_key = 1 << 10,
  by_event = 1 << 11,
};
}

/// Any thread.
class NoticeClasses {
 public:
  /// Sets the classes by their letters. False: one is not supported.
  [[nodiscard]] bool choose(Bytes letters);
  std::string letters() const;
  uint32_t chosen() const { return chosen_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> chosen_{0};  // none, unless there is a class and a kind of channel
  std::atomic<uint32_t> letters_{0};
};

struct Notice {
  uint32_t of_class = 0;
  uint8_t database = 0;
  Bytes event{};  ///< lives for ever
  std::string key{};
};

/// Sends it to subscribers of `__keyspace@0__:key` and `__keyevent@0__:event`, as far as `chosen` enables them.
void publish_notice(Subscriptions &subscriptions, uint32_t chosen, const Notice &notice);

class Notices {
 public:
  /// The id of the next notice; ids rise.
  uint64_t next_id() const { return next_id_; }
  /// Throws std::bad_alloc.
  void add(Notice notice);
  /// Takes back notices from one id on, before another.
  void take_back(uint64_t from, uint64_t to) noexcept;
  bool empty() const { return noted_.empty(); }
  void send(Subscriptions &subscriptions, uint32_t chosen);

 private:
  struct Noted {
    uint64_t id;
    Notice notice;
  };
  std::vector<Noted> noted_;
  uint64_t next_id_ = 0;
};

}  // namespace postern::redis
