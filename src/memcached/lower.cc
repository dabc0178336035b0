#include "memcached/lower.h"

#include "items/lower.h"
#include "memcached/item_answer.h"

namespace postern::memcached {
namespace {

Op &add_op(Verb verb, Reply *reply, const ReplyContext &with) {
  Op &op = with.batch.add();
  op.verb = verb;
  op.reply = reply;
  return op;
}

}  // namespace

void lower_plain(const Request &request, Bytes value, const MultiGet *multi_get, const ReplyContext &with) {
  add_op(Verb::answer, with.batch.arena().make<PlainAnswer>(request, value, multi_get, with), with);
}

void lower_failed(const Request &request, Failure failure, Bytes message, MultiGet *multi_get,
                  const ReplyContext &with) {
  FailedAnswer *const answer = with.batch.arena().make<FailedAnswer>(request, message, multi_get, with);
  add_op(Verb::answer, answer, with).failure = failure;
}

void lower_disabled(const Request &request, MultiGet *multi_get, const ReplyContext &with) {
  add_op(Verb::answer, with.batch.arena().make<DisabledAnswer>(request, multi_get, with), with);
}

void lower_place(const Request &request, OpenContainer &target, bool in_table, MultiGet *multi_get,
                 const ReplyContext &with) {
  PlaceAnswer *const answer = with.batch.arena().make<PlaceAnswer>(request, target, multi_get, with);
  add_op(Verb::answer, answer, with).slot = in_table ? &target.slot : nullptr;
}

void lower_item(const Request &request, OpenContainer &target, MultiGet *multi_get, const ReplyContext &with) {
  switch (with.batch.arena().make<ItemAnswer>(request, target, multi_get, with)->add_to(with.batch)) {
    case items::Misfit::none: return;
    case items::Misfit::key_parts:
      return lower_failed(request, Failure::bad_key_value,
                          "The key has not as many parts as the container has key columns", multi_get, with);
    case items::Misfit::no_cas:
      return lower_failed(request, Failure::not_implemented, "The container has no cas_column", multi_get, with);
  }
}

void lower_item(const Request &request, OpenContainer &target, items::Cache &cache, MultiGet *multi_get,
                const ReplyContext &with) {
  with.batch.arena().make<ItemAnswer>(request, target, multi_get, with)->add_to(with.batch, cache);
}

void lower_erase_expired(Bytes key, OpenContainer &target, const ReplyContext &with) {
  ErasedAnswer &reply = *with.batch.arena().make<ErasedAnswer>(target, with.statistics);
  items::add_erase_expired(key, target, reply, with.now, with.batch);
}

void lower_login(const Request &request, const ReplyContext &with) {
  Arena &arena = with.batch.arena();
  add_op(Verb::login, arena.make<LoginAnswer>(request, with), with).login =
      arena.make<Login>(request.user, request.password);
}

void lower_statistics(const Request &request, const StatsSource &source, const ReplyContext &with) {
  add_op(Verb::answer, with.batch.arena().make<StatisticsAnswer>(request, source, with), with);
}

}  // namespace postern::memcached
