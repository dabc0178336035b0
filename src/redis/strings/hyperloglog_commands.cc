// hyperloglog_commands.cc: PFADD, PFCOUNT, PFMERGE.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redis/registry/handlers.h"
#include "redis/call_tables.h"
#include "redis/strings/hyperloglog_reads.h"
#include "redis/strings/hyperloglog_text.h"
#include "redis/strings/string_edit.h"
#include "redis/strings/string_work.h"

namespace postern::redis {
namespace {

class AddEdit final : public StringEdit, public Kept {
 public:
  AddEdit(Call &call, const Place &place) : StringEdit(call, place), elements_(call.arguments.subspan(2)) {
    HyperLogLogText fresh;
    for (const Bytes element : elements_) fresh.add(element);
    fresh.note_changed();
    made_ = fresh.text();
    create(Value::of(made_));
  }

 private:
  Decision change(const KeyState &now, StringDraft &next) override {
    char room[20];
    HyperLogLog registers;
    const Bytes text = text_of(now.value, room);
    if (const Bytes wrong = read_hyperloglog(text, registers); !wrong.empty()) {
      begin().error(wrong);
      return Decision::keep;
    }
    HyperLogLogText known(text);
    changed_ = false;
    for (const Bytes element : elements_) changed_ |= known.add(element);
    if (!changed_) return Decision::keep;
    known.note_changed();
    grown_ = known.text();
    next.set(Value::of(grown_));
    return Decision::write;
  }
  void tell(Writer writer) override { writer.integer(changed_ ? 1 : 0); }
  void forget() override { changed_ = true; }

  const std::span<const Bytes> elements_;
  bool changed_ = true;  // a new key always is
  std::string made_;
  std::string grown_;
};

/// The base of commands on several HyperLogLogs.
class HyperLogLogWork : public StringWork {
 public:
  HyperLogLogWork(Call &call, OpenMap &open, std::vector<Place> from)
      : StringWork(call, open), from_(std::move(from)) {}

 protected:
  /// Returns false after answering an error.
  bool merge(const Held &held) {
    if (!held.there) return true;
    if (held.type != Type::string) return writer().error(wrong_type), false;
    const Bytes wrong = read_hyperloglog(held.text, *all_);
    if (!wrong.empty()) return writer().error(wrong), false;
    any_dense_ |= !HyperLogLogText(held.text).is_sparse();
    return true;
  }

  const std::vector<Place> from_;
  std::unique_ptr<HyperLogLog> all_;
  bool any_dense_ = false;
};

class CountWork final : public HyperLogLogWork {
 public:
  CountWork(Call &call, OpenMap &open, std::vector<Place> from)
      : HyperLogLogWork(call, open, std::move(from)), locks_(call.in_unit) {}

 private:
  Task<> run() override {
    all_ = std::make_unique<HyperLogLog>();
    for (const Place &place : from_) {
      if (place.state != Place::State::there) continue;
      Held held;
      if (locks_) held = co_await hold(place);
      else held = co_await see(place);
      if (!merge(held)) co_return;
    }
    writer().integer(static_cast<int64_t>(all_->count()));
  }

  const bool locks_;  // rows that EXEC and scripts have read do not change before their end
};

class MergeWork final : public HyperLogLogWork {
 public:
  MergeWork(Call &call, const Place &to, std::vector<Place> from)
      : HyperLogLogWork(call, *to.open, std::move(from)), to_(to) {}

 private:
  Task<> run() override {
    all_ = std::make_unique<HyperLogLog>();
    any_dense_ = false;
    const Held target = co_await hold(to_);
    if (!merge(target)) co_return;
    for (const Place &place : from_) {
      if (place.state != Place::State::there) continue;
      const Held held = co_await hold(place);
      if (!merge(held)) co_return;
    }
    HyperLogLogText merged = target.there ? HyperLogLogText(target.text) : HyperLogLogText();
    if (any_dense_) merged.make_dense();
    merged.raise(*all_);
    merged.note_changed();
    co_await set(to_, merged.text(), target.expires_ms);
    writer().ok();
  }

  const Place to_;
};

/// Returns false after answering an error.
bool places_of(Call &call, std::span<const Bytes> keys, std::vector<Place> &places) {
  for (const Bytes key : keys) {
    const Place place = place_of(call, key);
    if (place.state == Place::State::broken) return refuse_place(call, place), false;
    if (place.generic()) open_elements(call, *place.open);
    places.push_back(place);
  }
  return true;
}

}  // namespace

namespace lower {

Next pfadd(Call &call) {
  const Place place = place_of(call, call.arguments[1]);
  if (!may_write_string(call, place)) return Next::go_on;
  return write_string(call, place, tables_of(call).keep<AddEdit>(call, place), true);
}

Next pfcount(Call &call) {
  std::vector<Place> places;
  if (!places_of(call, call.arguments.subspan(1), places)) return Next::go_on;
  OpenMap *open = nullptr;
  for (const Place &place : places)
    if (place.state == Place::State::there) open = place.open;
  if (open == nullptr) return answer_integer(call, 0);
  return begin_reading_work(call, tables_of(call).keep<CountWork>(call, *open, std::move(places)));
}

Next pfmerge(Call &call) {
  const Place to = place_of(call, call.arguments[1]);
  if (!may_write_string(call, to)) return Next::go_on;
  if (!to.map().may_create()) return refuse_read_only(call, to);
  if (to.generic()) open_elements(call, *to.open);
  std::vector<Place> from;
  if (!places_of(call, call.arguments.subspan(2), from)) return Next::go_on;
  return begin_work(call, tables_of(call).keep<MergeWork>(call, to, std::move(from)));
}

}  // namespace lower
}  // namespace postern::redis
