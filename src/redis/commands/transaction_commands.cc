// transaction_commands.cc: MULTI, EXEC, DISCARD, WATCH, UNWATCH.
#include "redis/exec.h"
#include "redis/registry/handlers.h"
#include "redis/session.h"
#include "redis/work/key_ops.h"

namespace postern::redis::lower {
Next multi(Call &call) {
  Transaction &transaction = call.session.transaction();
  if (transaction.open()) return refuse(call, "ERR MULTI calls can not be nested");
  transaction.begin();
  call.session.client().note_queued(0);
  return answer_ok(call);
}

Next discard(Call &call) {
  if (!call.session.transaction().open()) return refuse(call, "ERR DISCARD without MULTI");
  call.session.forget_transaction();
  return answer_ok(call);
}

Next exec(Call &call) {
  Transaction &transaction = call.session.transaction();
  if (!transaction.open()) return refuse(call, "ERR EXEC without MULTI");
  const bool spoiled = transaction.spoiled();
  call.session.client().note_queued(-1);
  std::unique_ptr<Program> program = transaction.take();
  if (spoiled) {
    call.session.tables().keep(std::move(program));
    return refuse(call, "EXECABORT Transaction discarded because of previous errors.");
  }
  return call.session.tables().keep<Exec>(call, std::move(program)).begin_in(call);
}

Next watch(Call &call) {
  RedisSession &session = call.session;
  if (session.transaction().open()) return refuse(call, "ERR WATCH inside MULTI is not allowed");
  for (const Bytes key : call.arguments.subspan(1)) {
    const Place place = place_of(call, key);
    if (place.state == Place::State::broken) return refuse_place(call, place);
    bool full = false;
    Watched *const watched = session.transaction().watch(session.client().database(), key, full);
    if (full) return refuse(call, "ERR too many watched keys");
    if (watched == nullptr || place.state != Place::State::there) continue;
    add_find(call, place, place.open->table, *call.arena().make<PrintReply>(watched->print, place.map(), call.now_ms));
  }
  return answer_ok(call);
}

Next unwatch(Call &call) {
  if (!call.in_unit) call.session.forget_transaction();
  return answer_ok(call);
}

}  // namespace postern::redis::lower
