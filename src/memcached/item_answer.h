// item_answer.h: ItemAnswer, the answer to a command on an item, and the reply to deletions by the door itself. See
// answer.h.
#pragma once

#include <cstdint>

#include "items/item_reply.h"
#include "memcached/answer.h"

namespace postern::memcached {

class ItemAnswer final : public items::ItemReply, KeyAnswer {
 public:
  ItemAnswer(const Request &request, OpenContainer &target, MultiGet *multi_get, const ReplyContext &with)
      : ItemReply(request.item, target, with.now), KeyAnswer(request, multi_get, with) {}

 private:
  Flow answer(const Item &item) override;
  void answer(const items::ItemOutcome &outcome) override;
  void take_back() override;
  Flow has_reader() override { return output_.still_wanted(); }
  bool has_room() override;

  void tell_get(const items::ItemOutcome &outcome);
  void count_command();
  void count_outcome(const items::ItemOutcome &outcome);
  void count_number(const items::ItemOutcome &outcome);
};

class ErasedAnswer final : public items::ErasedReply {
 public:
  ErasedAnswer(OpenContainer &target, Statistics &statistics) : ErasedReply(target), statistics_(statistics) {}

 private:
  void erased() override { statistics_.add(Statistic::expired_erased); }

  Statistics &statistics_;
};

}  // namespace postern::memcached
