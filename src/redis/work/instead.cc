#include "redis/work/instead.h"

#include "redis/call_tables.h"
#include "redis/work/work.h"

namespace postern::redis {
namespace {

class ClearAndRun final : public Work {
 public:
  ClearAndRun(const Setting &setting, const Place &place, const Op &op, KeyReply &reply)
      : Work(setting), place_(place), op_(op), reply_(reply) {
    // In a step an op has no script.
    if (op.verb == Verb::insert) {
      insert_ = *op.insert;
      insert_.script = nullptr;
      op_.insert = &insert_;
    } else {
      edit_ = *op.edit;
      edit_.script = nullptr;
      op_.edit = &edit_;
    }
  }

 private:
  Task<> run() override {
    reply_.restart();
    reply_.ended = {};
    co_await clear_key();
    const StepReply &done = add_op(op_, open().table);
    co_await go();
    reply_.ended.ended = true;
    reply_.ended.changed = done.changed;
  }

  Task<> clear_key() {
    const Entry entry = co_await lock(RowKey(place_));
    if (!entry.live || entry.type == Type::string || !reply_.clears()) co_return;
    if (op_.verb == Verb::edit && edit_.erases) {
      co_await clear(entry);
      reply_.ended.cleared = true;
      co_return;
    }
    // The key stays, with its expiry, but becomes a string, which the op then meets.
    EditBy become_string([](Row, Draft &next) {
      next.set(entry::type, Value::of_integer(static_cast<int64_t>(Type::string)));
      next.set(entry::value, Value::of(""));
      next.set(entry::len, Value::of_integer(0));
      next.set(entry::head, Value::of_integer(0));
      return Decision::write;
    });
    for (OpenTable *const table : tables_of(entry.type)) add_erase(*table, {.key = place_.key, .limit = all});
    add_edit(open().table, {.key = place_.key, .limit = 1}, become_string);
    co_await go();
  }

  void failed(const StepReply &step) override {
    message_ = step.message;
    reply_.ended = {.ended = true, .failure = step.failure, .message = message_};
  }

  const Place place_;
  Op op_;
  Insert insert_{};
  EditRows edit_{};
  KeyReply &reply_;
  std::string message_;
};

/// Makes the script at its first run, which is rare, to save memory. No other thread has the session then.
class Instead final : public Script {
 public:
  Instead(Call &call, const Place &place, const Op &op, KeyReply &reply)
      : tables_(tables_of(call)),
        setting_{call.output, call.resp, call.now_ms, *place.open},
        place_(place),
        op_(op),
        reply_(reply) {}

  Step begin() override {
    if (work_ == nullptr) work_ = &tables_.keep<ClearAndRun>(setting_, place_, op_, reply_);
    return work_->begin();
  }
  Step next() override { return work_->next(); }

 private:
  Tables &tables_;
  const Work::Setting setting_;
  const Place place_;
  const Op op_;
  KeyReply &reply_;
  ClearAndRun *work_ = nullptr;
};

}  // namespace

Script *script_instead(Call &call, const Place &place, const Op &op, KeyReply &reply) {
  return call.arena().make<Instead>(call, place, op, reply);
}

}  // namespace postern::redis
