#include "redis/messages/notices.h"

#include <algorithm>
#include <utility>

namespace postern::redis {
namespace {

struct Lettered {
  char letter;
  uint32_t bit;
};

// In the order in which Redis shows them. `A` is all up to the module's.
constexpr Lettered letters_of_classes[] = {
    {'g', NoticeClass::generic}, {'$', NoticeClass::string},  {'l', NoticeClass::list},
    {'s', NoticeClass::set},     {'h', NoticeClass::hash},    {'z', NoticeClass::sorted_set},
    {'x', NoticeClass::expired}, {'e', NoticeClass::evicted}, {'t', NoticeClass::stream},
    {'d', NoticeClass::module},  {'K', NoticeClass::by_key},  {'E', NoticeClass::by_event},
};
constexpr uint32_t ways = NoticeClass::by_key | NoticeClass::by_event;
constexpr uint32_t every_class = NoticeClass::by_key - 1;

void publish_to(Subscriptions &subscriptions, Bytes kind, uint8_t database, Bytes what, Bytes payload) {
  const std::string channel =
      std::string("__key").append(kind).append("@").append(std::to_string(database)).append("__:").append(what);
  if (subscriptions.receivers(ChannelKind::channel, channel) == 0) return;
  if (const SharedMessage message = make_message(channel, payload); message != nullptr)
    subscriptions.publish(ChannelKind::channel, message);
}

}  // namespace

bool NoticeClasses::choose(Bytes letters) {
  uint32_t bits = 0;
  for (const char letter : letters) {
    const auto *const found = std::find_if(std::begin(letters_of_classes), std::end(letters_of_classes),
                                           [letter](const Lettered &one) { return one.letter == letter; });
    if (letter == 'A') bits |= every_class;
    else if (found == std::end(letters_of_classes)) return false;
    else bits |= found->bit;
  }
  letters_.store(bits, std::memory_order_relaxed);
  chosen_.store((bits & ways) != 0 && (bits & every_class) != 0 ? bits : 0, std::memory_order_relaxed);
  return true;
}

std::string NoticeClasses::letters() const {
  const uint32_t bits = letters_.load(std::memory_order_relaxed);
  const bool all = (bits & every_class) == every_class;
  std::string text = all ? "A" : "";
  for (const Lettered &one : letters_of_classes)
    if ((bits & one.bit) != 0 && !(all && (one.bit & every_class) != 0)) text += one.letter;
  return text;
}

void publish_notice(Subscriptions &subscriptions, uint32_t chosen, const Notice &notice) {
  if ((chosen & notice.of_class) == 0) return;
  if ((chosen & NoticeClass::by_key) != 0)
    publish_to(subscriptions, "space", notice.database, notice.key, notice.event);
  if ((chosen & NoticeClass::by_event) != 0)
    publish_to(subscriptions, "event", notice.database, notice.event, notice.key);
}

void Notices::add(Notice notice) {
  noted_.push_back({next_id_, std::move(notice)});
  ++next_id_;
}

void Notices::take_back(uint64_t from, uint64_t to) noexcept {
  std::erase_if(noted_, [&](const Noted &one) { return one.id >= from && one.id < to; });
}

void Notices::send(Subscriptions &subscriptions, uint32_t chosen) {
  for (const Noted &one : noted_) publish_notice(subscriptions, chosen, one.notice);
  noted_.clear();
}

}  // namespace postern::redis
