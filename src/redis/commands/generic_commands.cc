#include <span>
#include <utility>
#include <vector>

#include "redis/commands/key_edit.h"
#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/work/work.h"

namespace postern::redis {
namespace {

/// For several keys: each notes whether it exists, and the last one answers the number.
class PresenceReply final : public KeyReply {
 public:
  PresenceReply(Call &call, const Place &place)
      : KeyReply(call, place.open->table), open_(*place.open), watched_(call, place) {}
  Flow row(Row row) override {
    watched_.note(*open_.map, row, now_ms());
    met_ = true;
    there_ = state_of(*open_.map, row, now_ms()).live;
    return Flow::more;
  }
  void done(const Outcome &outcome) override {
    failure_ = outcome.failure == Failure::bad_key_value ? Failure::none : outcome.failure;
    if (!met_ && failure_ == Failure::none) watched_.note(*open_.map, {}, now_ms());
    if (failure_ != Failure::none && all.empty()) return;
    if (failure_ != Failure::none) return fail(outcome);
    if (all.empty()) return;
    int64_t count = 0;
    for (const PresenceReply *const one : all) {
      if (one->failure_ != Failure::none) return fail({.failure = one->failure_});
      if (one->there_) ++count;
    }
    begin().integer(count);
  }
  void restart() override {
    passage_.take_back();
    there_ = met_ = false;
    failure_ = Failure::none;
  }

  std::span<const PresenceReply *const> all{};  ///< the last one's

 private:
  OpenMap &open_;
  WatchedRead watched_;
  bool met_ = false;
  bool there_ = false;
  Failure failure_ = Failure::none;
};

Bytes name_of(Type type) {
  switch (type) {
    case Type::none: break;
    case Type::string: return "string";
    case Type::list: return "list";
    case Type::set: return "set";
    case Type::hash: return "hash";
    case Type::zset: return "zset";
    case Type::stream: return "stream";
  }
  return "none";
}

/// Deletes several keys, wherever they are.
class DeleteWork final : public Work {
 public:
  DeleteWork(Call &call, std::vector<Place> places) : Work(call, *places.front().open), places_(std::move(places)) {}

 private:
  Task<> run() override {
    int64_t count = 0;
    for (const Place &place : places_) {
      use(*place.open);
      if (place.generic()) {
        const Entry entry = co_await lock(RowKey(place));
        if (!entry.live) continue;
        co_await clear(entry);
        ++count;
        continue;
      }
      bool live = false;
      EditBy erase([&](Row row, Draft &) {
        live = state_of(place.map(), row, now_ms()).live;
        return Decision::erase;
      });
      add_edit(place.open->table, {.key = place.key, .limit = 1}, erase, true);
      co_await go();
      if (!live) continue;
      ++count;
      note_erased(place.name.substr(place.map().prefix().size()), ErasedKeys::Why::replaced);
    }
    writer().integer(count);
  }

  const std::vector<Place> places_;
};

}  // namespace

namespace lower {

Next exists(Call &call) {
  const auto keys = call.arguments.subspan(1);
  const std::span<const PresenceReply *> replies = call.arena().array<const PresenceReply *>(keys.size());
  size_t count = 0;
  PresenceReply *last = nullptr;
  for (const Bytes key : keys) {
    const Place place = place_of(call, key);
    if (place.state != Place::State::there) continue;
    last = call.arena().make<PresenceReply>(call, place);
    replies[count++] = last;
    add_find(call, place, place.open->table, *last);
  }
  if (last == nullptr) return answer_integer(call, 0);
  last->all = replies.first(count);
  return Next::go_on;
}

Next del(Call &call) {
  std::vector<Place> places;
  for (const Bytes key : call.arguments.subspan(1)) {
    const Place place = place_of(call, key);
    if (place.state == Place::State::broken) return refuse_place(call, place);
    if (place.state != Place::State::there) continue;
    if (!place.map().may_delete()) return refuse_delete(call, place);
    places.push_back(place);
  }
  if (places.empty()) return answer_integer(call, 0);
  for (const Place &place : places) {
    if (!place.generic()) continue;
    open_elements(call, *place.open);
    note_fed(call, place.name);  // a deleted stream ends the waits of its groups' consumers
  }
  if (places.size() == 1) return write_key(call, places[0], *call.arena().make<DeleteEdit>(call, places[0]));
  return begin_work(call, tables_of(call).keep<DeleteWork>(call, std::move(places)));
}

Next type(Call &call) {
  return read_key(call, call.arguments[1], [](Writer &writer, const KeyState *state, Row) {
    writer.status(name_of(state == nullptr ? Type::none : state->type));
  });
}

}  // namespace lower
}  // namespace postern::redis
