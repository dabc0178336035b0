#include "redis/work/edit_or_insert.h"

#include "redis/call_tables.h"
#include "redis/work/work.h"

namespace postern::redis {
namespace {

class EditOrInsert final : public Work {
 public:
  EditOrInsert(Call &call, const Place &place, OpenTable &table, const Insert &insert, KeyReply &reply)
      : Work(call, *place.open), place_(place), table_(table), insert_(insert), reply_(reply) {}

 private:
  enum class Met : uint8_t { nothing, row, expired };

  Task<> run() override {
    reply_.restart();
    reply_.ended = {};
    EditBy decide([this](Row row, Draft &next) {
      const bool expired = place_.map().kind() == Map::Kind::row && state_of(place_.map(), row, now_ms()).expired;
      met_ = expired ? Met::expired : Met::row;
      return expired ? Decision::keep : insert_.edit->present(row, next);
    });
    EditRows rows{
        .find = {.key = place_.key, .limit = 1}, .edit = &decide, .reads_old_values = insert_.reads_old_values};
    Insert insert = insert_;
    insert.edit = &decide;
    Op op;
    op.slot = &table_.slot;
    op.verb = Verb::edit;
    op.edit = &rows;
    uint64_t changed = co_await step(op);
    op.verb = Verb::insert;
    op.insert = &insert;
    while (met_ != Met::row) {
      if (met_ == Met::expired) {
        add_erase(table_, {.key = place_.key, .limit = 1});
        co_await go();
      }
      changed = co_await step(op);
      if (met_ == Met::nothing) break;
    }
    reply_.ended.ended = true;
    reply_.ended.changed = changed;
  }

  Task<uint64_t> step(const Op &op) {
    met_ = Met::nothing;
    const StepReply &done = add_op(op, table_);
    co_await go();
    co_return done.changed;
  }

  /// No row has a key that does not fit its column; the insert reports that.
  bool bears(Failure failure) const override { return failure == Failure::bad_key_value; }
  void failed(const StepReply &step) override {
    message_ = step.message;
    reply_.ended = {.ended = true, .failure = step.failure, .message = message_};
  }

  const Place place_;
  OpenTable &table_;
  const Insert insert_;
  KeyReply &reply_;
  Met met_ = Met::nothing;
  std::string message_;
};

}  // namespace

Next edit_or_insert(Call &call, const Place &place, OpenTable &table, const Insert &insert, KeyReply &reply) {
  Op &op = call.batch.add();
  op.verb = Verb::script;
  op.reply = &reply;
  op.script = &tables_of(call).keep<EditOrInsert>(call, place, table, insert, reply);
  return Next::go_on;
}

}  // namespace postern::redis
