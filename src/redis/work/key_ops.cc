#include "redis/work/key_ops.h"

#include <algorithm>
#include <limits>

#include "items/expiry.h"
#include "redis/session.h"
#include "redis/wire/numbers.h"

namespace postern::redis {

bool read_database(Call &call, Bytes text, int64_t &number) {
  if (!parse_integer(text, number)) refuse(call, not_an_integer);
  else if (number < INT32_MIN || number > INT32_MAX)
    refuse(call, "ERR value is out of range, value must between -2147483648 and 2147483647");
  else if (number < 0 || number >= database_count) refuse(call, "ERR DB index is out of range");
  else return true;
  return false;
}

Place place_of(Call &call, Bytes key) {
  Place place = call.session.tables().open().find(call.session.client().database(), key, call.batch);
  if (place.state == Place::State::there && place.generic() && key.size() > entry::key_bytes_max) {
    place.state = Place::State::no_row;
    place.why = "ERR a key can have 512 bytes";
  }
  return place;
}

namespace {

/// Programs select other databases as they can of any Redis: the error says what is missing.
Next refuse_unmapped(Call &call) {
  constexpr Bytes unmapped = "ERR no table is mapped for this key";
  const std::string database = std::to_string(call.session.client().database());
  if (database == "0") return refuse(call, unmapped);
  return refuse(call, unmapped,
                " in database " + database + ": CALL postern.redis_make_keyspace(" + database + ", '', 'postern_redis" +
                    database + "')");
}

}  // namespace

Next refuse_place(Call &call, const Place &place) {
  switch (place.state) {
    case Place::State::unmapped: return refuse_unmapped(call);
    case Place::State::broken: return refuse(call, "ERR ", place.why);
    case Place::State::there:
    case Place::State::no_row: break;
  }
  if (!place.why.empty()) return refuse(call, place.why);
  return refuse(call, "ERR no such key can be in '" + place.map().place() +
                          "': " + std::to_string(place.map().key_columns()) + " pieces are needed");
}

Next refuse_read_only(Call &call, const Place &place) {
  return refuse(call, "ERR mapping '" + place.map().row().prefix + "' is read only");
}

Next refuse_delete(Call &call, const Place &place) {
  return refuse(call, "ERR mapping '" + place.map().row().prefix + "' lets nothing be deleted");
}

Next refuse_expiry(Call &call, const Place &place) {
  return refuse(call, "ERR '" + place.map().row().prefix + "' has no column for expiry");
}

Op &add_op(Call &call, Verb verb, OpenTable &table, Reply &reply) {
  Op &op = call.batch.add();
  op.verb = verb;
  op.reply = &reply;
  op.slot = &table.slot;
  return op;
}

OpenTable &open_strings(Call &call, OpenMap &open) {
  return call.session.tables().open().open_strings(open, call.batch);
}

void note_fed(Call &call, Bytes key) {
  call.session.fed().note(call.session.client().database(), key);
}

WatchedRead::WatchedRead(Call &call, const Place &place)
    : watched_(place.generic() ? nullptr
                               : call.session.transaction().watched(call.session.client().database(), place.name)) {}

void WatchedRead::compare(const Map &map, Row row, int64_t now_ms) {
  const Print print = row.empty() ? Print{} : print_of(map, row, now_ms);
  if (!(print == watched_->print)) watched_->read_otherwise = true;
}

Op &add_find(Call &call, const Place &place, OpenTable &table, Reply &reply) {
  Op &op = add_op(call, Verb::find, table, reply);
  op.find = call.arena().make<Find>(Find{.key = place.key, .limit = 1});
  return op;
}

void KeyReply::fail(const Outcome &outcome) {
  if (!passage_.take_back()) return;
  Writer writer = begin();
  if (outcome.failure == Failure::not_open && table_.failure != Failure::none) {
    if (kind_of(table_.failure) == FailureKind::schema) return writer.error("ERR ", table_.message);
    Outcome opening = outcome;
    opening.failure = table_.failure;
    opening.message = table_.message;
    return write_failure(writer, opening);
  }
  write_failure(writer, outcome);
}

}  // namespace postern::redis
