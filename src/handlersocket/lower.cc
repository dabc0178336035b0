#include "handlersocket/lower.h"

#include "handlersocket/modification.h"

namespace postern::handlersocket {
namespace {

Reply *status_reply(Reason reason, const Replies &replies, Arena &arena) {
  if (reason.refusal == Refusal::none) return arena.make<StatusReply>(replies.output, replies.errors);
  return arena.make<RefusalReply>(replies.output, replies.errors, reason.refusal, replies.refusals);
}

}  // namespace

void lower_answer(Reason reason, TableSlot *slot, const Replies &replies, Batch &batch) {
  Op &op = batch.add();
  op.verb = Verb::answer;
  op.failure = reason.failure;
  op.slot = slot;
  op.reply = status_reply(reason, replies, batch.arena());
}

void lower_open(const OpenRequest &request, TableSlot &slot, const Replies &replies, Batch &batch) {
  Op &op = batch.add();
  op.verb = Verb::open;
  op.slot = &slot;
  op.spec = batch.arena().make<TableSpec>(request.spec);
  op.reply = batch.arena().make<StatusReply>(replies.output, replies.errors);
}

void lower_login(const Login &login, Reason reason, const Replies &replies, Batch &batch) {
  Op &op = batch.add();
  op.verb = Verb::login;
  op.failure = reason.failure;
  op.login = batch.arena().make<Login>(login);
  op.reply = status_reply(reason, replies, batch.arena());
}

void lower_index_request(const IndexRequest &request, TableSlot &slot, const Replies &replies, Batch &batch) {
  Arena &arena = batch.arena();
  Op &op = batch.add();
  op.verb = request.verb;
  op.slot = &slot;
  if (request.verb == Verb::insert) {
    op.insert = arena.make<Insert>(request.values, request.on_duplicate);
    const bool plain = request.on_duplicate == OnDuplicate::fail;
    op.reply = arena.make<WriteReply>(replies.output, replies.errors,
                                      plain ? WriteReply::Tells::id : WriteReply::Tells::count);
    return;
  }
  if (request.verb == Verb::edit) {
    Edit *const edit = arena.make<ModificationEdit>(request.modification, request.values);
    EditRows &rows = *arena.make<EditRows>(request.find, edit, request.rows_wanted);
    rows.erases = request.modification == Modification::erase;
    rows.reads_old_values =
        request.modification == Modification::increment || request.modification == Modification::decrement;
    op.edit = &rows;
    if (!request.rows_wanted) {
      op.reply = arena.make<WriteReply>(replies.output, replies.errors, WriteReply::Tells::count);
      return;
    }
  } else {
    op.find = &request.find;
  }
  op.reply = arena.make<FindReply>(replies.output, replies.errors);
}

}  // namespace postern::handlersocket
