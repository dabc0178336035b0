#include "items/lower.h"

#include <limits>
#include <string>

#include "base/log.h"
#include "items/cas.h"

namespace postern::items {
namespace {

/// Answers no client: commands on an item of the table report why it is not open.
class OpenReply final : public Reply {
 public:
  OpenReply(OpenContainer &target, Bytes protocol) : target_(target), protocol_(protocol) {}
  Flow row(Row) override { return Flow::more; }
  void done(const Outcome &outcome) override {
    target_.failure = outcome.failure;
    const Container &container = *target_.container;
    if (outcome.failure == Failure::none) return container.trouble().forget();
    target_.message = "container '" + container.name() + "' (" + container.place() + "): ";
    target_.message += outcome.message.empty() ? failure_text(outcome.failure) : outcome.message;
    // The mapping is wrong, which the administrator must know.
    const bool mapping_wrong = kind_of(outcome.failure) == FailureKind::schema;
    if (mapping_wrong && container.trouble().note(target_.message))
      log::error("%.*s: %s", static_cast<int>(protocol_.size()), protocol_.data(), target_.message.c_str());
  }
  void restart() override {
    target_.failure = Failure::none;
    target_.message.clear();
  }

 private:
  OpenContainer &target_;
  const Bytes protocol_;
};

bool split_key_in_many(const Container &container, Bytes key, std::span<Value> values) {
  Pieces pieces(key, container.separator(), container.key_columns());
  uint32_t count = 0;
  for (Bytes piece; pieces.next(piece); ++count) values[count] = Value::of(piece);
  return count == container.key_columns();
}

/// Writes the pieces of a key in its columns. False: there are not as many as columns.
inline bool split_key(const Container &container, Bytes key, std::span<Value> values) {
  if (container.key_columns() != 1) return split_key_in_many(container, key, values);
  values[0] = Value::of(key);
  return true;
}

Op &add_op(Verb verb, Reply &reply, TableSlot *slot, Batch &batch) {
  Op &op = batch.add();
  op.verb = verb;
  op.reply = &reply;
  op.slot = slot;
  return op;
}

Find find_of(std::span<const Value> row, const Container &container) {
  return {.key = row.first(container.key_columns()), .limit = 1};
}

/// The whole row of an item that the command makes, or the part of it that it sets.
void fill(std::span<Value> row, const ItemCommand &command, const Container &container, uint64_t cas) {
  const uint32_t first = container.first_value_column();
  if (command.counts()) {
    row[first] = Value::of_natural(command.initial);
  } else {
    Pieces pieces(command.value, container.separator(), container.value_columns());
    uint32_t column = first;
    for (Bytes piece; pieces.next(piece); ++column) row[column] = Value::of(piece);
  }
  if (container.flags_column() != Container::no_column)
    row[container.flags_column()] = Value::of_integer(command.flags);
  if (container.keeps_cas()) row[container.cas_column()] = Value::of_natural(cas);
  if (container.keeps_expiry()) row[container.expiry_column()] = Value::of_integer(command.expires_at);
}

/// Whether the new row depends on the old one.
bool reads_old_values(const ItemCommand &command) {
  if (command.compares) return true;
  switch (command.action) {
    case ItemAction::set:
    case ItemAction::add:
    case ItemAction::replace:
    case ItemAction::erase: return false;
    default: return true;
  }
}

}  // namespace

Misfit ItemReply::add_to(Batch &batch) {
  const Container &container = *target_.container;
  if (command_.action == ItemAction::flush) {
    add_flush(batch);
    return Misfit::none;
  }
  const bool gets = command_.action == ItemAction::get;
  // Without an expiry column no row has to be written.
  const bool reads =
      (gets && !command_.touches) || ((gets || command_.action == ItemAction::touch) && !container.keeps_expiry());
  const std::span<Value> row = batch.arena().array<Value>(reads ? container.key_columns() : container.columns());
  if (!split_key(container, command_.key, row)) return Misfit::key_parts;
  if ((command_.compares || command_.sets_cas) && !container.keeps_cas()) return Misfit::no_cas;
  if (!reads) {
    add_write(row, batch);
    return Misfit::none;
  }
  work_ = gets ? Work::find : Work::presence;
  add_op(Verb::find, *this, &target_.slot, batch).find = batch.arena().make<Find>(find_of(row, container));
  return Misfit::none;
}

void ItemReply::add_to(Batch &batch, Cache &cache) {
  work_ = Work::memory;
  memory_ = batch.arena().make<InMemory>(cache);
  add_op(Verb::answer, *this, nullptr, batch);
}

void ItemReply::add_flush(Batch &batch) {
  work_ = Work::flush;
  EditRows &rows = *batch.arena().make<EditRows>();
  rows.find = {.comparison = Comparison::at_least, .limit = std::numeric_limits<uint64_t>::max()};
  rows.edit = batch.arena().make<FlushEdit>();
  rows.erases = true;
  add_op(Verb::edit, *this, &target_.slot, batch).edit = &rows;
}

/// `row` has the container's columns, the key in the first of them.
void ItemReply::add_write(std::span<Value> row, Batch &batch) {
  Arena &arena = batch.arena();
  const Container &container = *target_.container;
  const uint64_t cas = command_.sets_cas ? command_.new_cas : next_cas();
  fill(row, command_, container, cas);
  new_cas_ = container.keeps_cas() ? cas : 0;
  edit_ = arena.make<ItemEdit>(command_, container, row, now_);
  if (command_.makes_item()) {
    const bool plain = command_.action == ItemAction::set;
    work_ = Work::insert;
    add_op(Verb::insert, *this, &target_.slot, batch).insert =
        arena.make<Insert>(Insert{.values = row,
                                  .on_duplicate = plain ? OnDuplicate::update : OnDuplicate::decide,
                                  .edit = plain ? nullptr : edit_,
                                  .reads_old_values = !plain && reads_old_values(command_)});
    return;
  }
  work_ = Work::edit;
  EditRows &rows = *arena.make<EditRows>(find_of(row, container), edit_);
  rows.erases = command_.action == ItemAction::erase;
  rows.reads_old_values = reads_old_values(command_);
  rows.rows_wanted = command_.action == ItemAction::get;
  add_op(Verb::edit, *this, &target_.slot, batch).edit = &rows;
}

void add_open(OpenContainer &target, Bytes protocol, Batch &batch) {
  Arena &arena = batch.arena();
  add_op(Verb::open, *arena.make<OpenReply>(target, protocol), &target.slot, batch).spec =
      arena.make<TableSpec>(target.container->spec());
}

void add_erase_expired(Bytes key, OpenContainer &target, ErasedReply &reply, int64_t now, Batch &batch) {
  Arena &arena = batch.arena();
  const Container &container = *target.container;
  const std::span<Value> values = arena.array<Value>(container.key_columns());
  if (!split_key(container, arena.copy(key), values)) return;
  EditRows &rows = *arena.make<EditRows>(find_of(values, container), arena.make<ExpiredEdit>(container, now));
  rows.erases = true;
  Op &op = add_op(Verb::edit, reply, &target.slot, batch);
  op.edit = &rows;
  op.internal = true;
}

}  // namespace postern::items
