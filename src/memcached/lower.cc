#include "memcached/lower.h"

#include <limits>

#include "memcached/answer.h"
#include "items/cas.h"
#include "memcached/edits.h"
#include "memcached/expiry.h"
#include "memcached/memory_answer.h"
#include "memcached/table_answers.h"

namespace postern::memcached {
namespace {

/// Writes the pieces of a key in its columns. False: there are not as many as columns.
bool split_key(const Container &container, Bytes key, std::span<Value> values) {
  if (container.key_columns() == 1) {
    values[0] = Value::of(key);
    return true;
  }
  items::Pieces pieces(key, container.separator(), container.key_columns());
  uint32_t count = 0;
  for (Bytes piece; pieces.next(piece); ++count) values[count] = Value::of(piece);
  return count == container.key_columns();
}

Op &add_op(Verb verb, Reply *reply, TableSlot *slot, const Surroundings &with) {
  Op &op = with.batch.add();
  op.verb = verb;
  op.reply = reply;
  op.slot = slot;
  return op;
}

Find find_of(std::span<const Value> row, const Container &container) {
  return {.key = row.first(container.key_columns()), .limit = 1};
}

bool compares_cas(const Request &request) {
  return request.compares || request.cas != 0;
}

/// A row of so many columns with the key in the first of them. Empty if the command cannot be carried out, which is
/// told.
std::span<Value> row_for(const Request &request, Bytes key, uint32_t columns, OpenContainer &target, Group *group,
                         const Surroundings &with) {
  const Container &container = *target.container;
  const std::span<Value> row = with.batch.arena().array<Value>(columns);
  if (!split_key(container, key, row)) {
    constexpr Bytes message = "The key has not as many parts as the container has key columns";
    lower_failed(request, Failure::bad_key_value, message, group, with);
    return {};
  }
  if ((compares_cas(request) || request.sets_cas) && !container.keeps_cas()) {
    lower_failed(request, Failure::not_implemented, "The container has no cas_column", group, with);
    return {};
  }
  return row;
}

void lower_get(const Request &request, Bytes key, OpenContainer &target, Group *group, const Surroundings &with) {
  const Container &container = *target.container;
  const std::span<Value> row = row_for(request, key, container.key_columns(), target, group, with);
  if (row.empty()) return;
  GetAnswer *const answer =
      with.batch.arena().make<GetAnswer>(request, key, find_of(row, container), target, group, with);
  add_op(Verb::find, answer, &target.slot, with).find = &answer->find();
}

/// The whole row of an item that the command makes, or the part of it that it sets.
void fill(std::span<Value> row, const Request &request, const Container &container, uint64_t cas, int64_t now) {
  const uint32_t first = container.first_value_column();
  if (request.action == Action::increment || request.action == Action::decrement) {
    row[first] = Value::of_natural(request.initial);
  } else {
    items::Pieces pieces(request.value, container.separator(), container.value_columns());
    uint32_t column = first;
    for (Bytes piece; pieces.next(piece); ++column) row[column] = Value::of(piece);
  }
  if (container.flags_column() != Container::no_column)
    row[container.flags_column()] = Value::of_integer(request.flags);
  if (container.keeps_cas()) row[container.cas_column()] = Value::of_natural(cas);
  if (container.keeps_expiry()) row[container.expiry_column()] = Value::of_integer(expires_at(request.expiry, now));
}

/// Whether the command makes an item where there is none.
bool inserts(const Request &request) {
  return request.action == Action::add || request.creates || (request.action == Action::set && !compares_cas(request));
}

}  // namespace

void lower_plain(const Request &request, Bytes value, const Group *group, const Surroundings &with) {
  add_op(Verb::answer, with.batch.arena().make<PlainAnswer>(request, value, group, with), nullptr, with);
}

void lower_failed(const Request &request, Failure failure, Bytes message, Group *group, const Surroundings &with) {
  FailedAnswer *const answer = with.batch.arena().make<FailedAnswer>(request, message, group, with);
  add_op(Verb::answer, answer, nullptr, with).failure = failure;
}

void lower_miss(const Request &request, Group *group, const Surroundings &with) {
  lower_disabled(request, group, with);
}

void lower_disabled(const Request &request, Group *group, const Surroundings &with) {
  add_op(Verb::answer, with.batch.arena().make<DisabledAnswer>(request, group, with), nullptr, with);
}

void lower_open(OpenContainer &target, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  add_op(Verb::open, arena.make<OpenAnswer>(target), &target.slot, with).spec =
      arena.make<TableSpec>(target.container->spec());
}

void lower_place(const Request &request, OpenContainer &target, bool in_table, Group *group, const Surroundings &with) {
  add_op(Verb::answer, with.batch.arena().make<PlaceAnswer>(request, target, group, with),
         in_table ? &target.slot : nullptr, with);
}

void lower_item(const Request &request, Bytes key, OpenContainer &target, Group *group, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  const Container &container = *target.container;
  const bool gets = request.action == Action::get;
  if (gets && !(request.touches && container.keeps_expiry())) return lower_get(request, key, target, group, with);
  const std::span<Value> row = row_for(request, key, container.columns(), target, group, with);
  if (row.empty()) return;
  if (request.action == Action::touch && !container.keeps_expiry()) {
    add_op(Verb::find, arena.make<PresenceAnswer>(request, target, with), &target.slot, with).find =
        arena.make<Find>(find_of(row, container));
    return;
  }

  const uint64_t cas = request.sets_cas ? request.new_cas : items::next_cas();
  fill(row, request, container, cas, with.now);
  const uint64_t told_cas = container.keeps_cas() ? cas : 0;
  ItemEdit &edit = *arena.make<ItemEdit>(request, container, row, with.now);
  const bool reads_old_values =
      compares_cas(request) || (request.action != Action::set && request.action != Action::add &&
                                request.action != Action::replace && request.action != Action::erase);
  const bool makes = inserts(request);
  if (makes) {
    const bool plain = request.action == Action::set;
    WriteAnswer *const answer = arena.make<WriteAnswer>(request, edit, true, told_cas, target, with);
    add_op(Verb::insert, answer, &target.slot, with).insert =
        arena.make<Insert>(Insert{.values = row,
                                  .on_duplicate = plain ? OnDuplicate::update : OnDuplicate::decide,
                                  .edit = plain ? nullptr : &edit,
                                  .reads_old_values = !plain && reads_old_values});
    return;
  }
  EditRows &rows = *arena.make<EditRows>(find_of(row, container), &edit);
  rows.erases = request.action == Action::erase;
  rows.reads_old_values = reads_old_values;
  Reply *reply = nullptr;
  if (gets) {
    rows.rows_wanted = true;
    reply = arena.make<GetAndTouchAnswer>(request, edit, target, group, with);
  } else {
    reply = arena.make<WriteAnswer>(request, edit, false, told_cas, target, with);
  }
  add_op(Verb::edit, reply, &target.slot, with).edit = &rows;
}

void lower_memory(const Request &request, Bytes key, OpenContainer &target, Cache &cache, Group *group,
                  const Surroundings &with) {
  Arena &arena = with.batch.arena();
  const Request *keyed = &request;
  if (key.data() != request.key.data() || key.size() != request.key.size()) {
    Request &copy = *arena.make<Request>(request);
    copy.key = key;
    keyed = &copy;
  }
  add_op(Verb::answer, arena.make<MemoryAnswer>(request, *keyed, target, cache, group, with), nullptr, with);
}

void lower_flush(const Request &request, OpenContainer &target, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  EditRows &rows = *arena.make<EditRows>();
  rows.find = {.comparison = Comparison::at_least, .limit = std::numeric_limits<uint64_t>::max()};
  rows.edit = arena.make<FlushEdit>();
  rows.erases = true;
  add_op(Verb::edit, arena.make<FlushAnswer>(request, target, with), &target.slot, with).edit = &rows;
}

void lower_erase_expired(Bytes key, OpenContainer &target, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  const Container &container = *target.container;
  const std::span<Value> values = arena.array<Value>(container.key_columns());
  if (!split_key(container, arena.copy(key), values)) return;
  EditRows &rows = *arena.make<EditRows>(find_of(values, container), arena.make<ExpiredEdit>(container, with.now));
  rows.erases = true;
  Op &op = add_op(Verb::edit, arena.make<ErasedAnswer>(target, with.statistics), &target.slot, with);
  op.edit = &rows;
  op.internal = true;
}

void lower_login(const Request &request, const Surroundings &with) {
  Arena &arena = with.batch.arena();
  add_op(Verb::login, arena.make<LoginAnswer>(request, with), nullptr, with).login =
      arena.make<Login>(request.user, request.password);
}

void lower_statistics(const Request &request, const Teller &teller, const Surroundings &with) {
  add_op(Verb::answer, with.batch.arena().make<StatisticsAnswer>(request, teller, with), nullptr, with);
}

}  // namespace postern::memcached
