#include "handlersocket/lower.h"

namespace postern::handlersocket {

void lower_answer(Failure failure, TableSlot *slot, const Replies &replies, Batch &batch) {
  Op op;
  op.verb = Verb::answer;
  op.failure = failure;
  op.slot = slot;
  op.reply = batch.arena().make<StatusReply>(replies.output, replies.errors);
  batch.add(op);
}

void lower_open(const OpenRequest &request, TableSlot &slot, const Replies &replies, Batch &batch) {
  Op op;
  op.verb = Verb::open;
  op.slot = &slot;
  op.spec = batch.arena().make<TableSpec>(request.spec);
  op.reply = batch.arena().make<StatusReply>(replies.output, replies.errors);
  batch.add(op);
}

void lower_find(const FindRequest &request, TableSlot &slot, const Replies &replies, Batch &batch) {
  Op op;
  op.verb = Verb::find;
  op.slot = &slot;
  op.find = batch.arena().make<Find>(request.find);
  op.reply = batch.arena().make<FindReply>(replies.output, replies.errors);
  batch.add(op);
}

}  // namespace postern::handlersocket
