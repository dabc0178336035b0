#include "handlersocket/lower.h"

namespace postern::handlersocket {

void lower_answer(Failure failure, TableSlot *slot, const Replies &replies, Batch &batch) {
  Op &op = batch.add();
  op.verb = Verb::answer;
  op.failure = failure;
  op.slot = slot;
  op.reply = batch.arena().make<StatusReply>(replies.output, replies.errors);
}

void lower_open(const OpenRequest &request, TableSlot &slot, const Replies &replies, Batch &batch) {
  Op &op = batch.add();
  op.verb = Verb::open;
  op.slot = &slot;
  op.spec = batch.arena().make<TableSpec>(request.spec);
  op.reply = batch.arena().make<StatusReply>(replies.output, replies.errors);
}

void lower_find(const FindRequest &request, TableSlot &slot, const Replies &replies, Batch &batch) {
  Op &op = batch.add();
  op.verb = Verb::find;
  op.slot = &slot;
  op.find = &request.find;
  op.reply = batch.arena().make<FindReply>(replies.output, replies.errors);
}

}  // namespace postern::handlersocket
